"""A small HTTP server that shows a real signed ledger as a service does, honestly or not, and counts its requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from core.ledger.entry import LedgerEntry
from core.log.checkpoint import encoded
from core.log.note import Note, VerifierKey
from tests.support.signed_log import SignedLog


@dataclass
class Shown:
    """What the server shows. By default the whole log, and its own entries."""

    log: SignedLog
    url: str = ""
    size: int | None = None
    entries: list[LedgerEntry] | None = None
    checkpoint: Note | None = None
    proved: SignedLog | None = None  # the log that proofs are of
    key: VerifierKey | None = None
    requests: list[str] = field(default_factory=list)

    def reply(self, path: str, query: dict[str, str]) -> bytes:
        """The body of a reply."""
        self.requests.append(path)
        log, size = self.log, len(self.log.entries) if self.size is None else self.size
        if path == "/log/checkpoint":
            return str(self.checkpoint or log.note(size)).encode()
        if path == "/log/policy":
            return f"log {self.key or log.key.verifier}\nquorum none\n".encode()
        if path == "/v1/ledger/consistency":
            proved = self.proved or log
            proof = [encoded(digest) for digest in proved.proof(int(query["old"]), size)]
            return json.dumps({"checkpoint": str(proved.note(size)), "proof": proof}).encode()
        after, limit = int(query["after"]), int(query["limit"])
        rows = [entry.to_json() for entry in (self.entries or log.entries) if entry.seq > after][:limit]
        return json.dumps({"entries": rows, "next": None}).encode()


@contextmanager
def shown(log: SignedLog) -> Iterator[Shown]:
    """A running server."""
    showing = Shown(log)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = showing.reply(parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        showing.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield showing
        finally:
            server.shutdown()
            thread.join(timeout=60)
