"""`rugnik witness` in a process of its own, and witnesses that do not behave."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from core.log.note import VerifierKey
from core.log.policy import Policy
from tests.support.processes.demo import free_port

ROOT = Path(__file__).parents[3]


@dataclass
class RunningWitness:
    """A witness, its address, and the line that it printed for policies."""

    process: subprocess.Popen[str]
    url: str
    line: str

    @property
    def key(self) -> VerifierKey:
        """From the printed line."""
        return VerifierKey.parse(self.line.split()[2])

    def kill(self) -> None:
        """SIGKILL, as a power cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=60)


@contextmanager
def running_witness(
    folder: Path, log: VerifierKey, *, name: str = "witness", module: tuple[str, ...] = ("app.cli",)
) -> Iterator[RunningWitness]:
    """A witness with key and state in `folder`, for one log, until it answers."""
    folder.mkdir(exist_ok=True)
    (folder / "policy").write_text(f"log {log}\nquorum none\n")
    port = free_port()
    options = ["--key", f"{folder}/{name}.pem", "--policy", f"{folder}/policy", "--state", f"{folder}/state"]
    with (folder / "log").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *module, "witness", *options, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            cwd=ROOT,
            env={variable: value for variable, value in os.environ.items() if not variable.startswith("RUGNIK_")},
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        until_listening(port)
        yield RunningWitness(process, f"http://127.0.0.1:{port}", line)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=60)
        process.stdout.close()


def until_listening(port: int) -> None:
    """Wait until something accepts connections on a port of this machine."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("Nothing listens.")


Behaviour = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    """One request to a witness that does as it was told."""

    behaviour: Behaviour

    def do_POST(self) -> None:
        """Read the body, then behave."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).behaviour(self, body)

    def reply(self, status: int, body: bytes, content_type: str = "text/plain", **headers: str) -> None:
        """A whole reply."""
        self.send_response(status)
        for header, value in {"Content-Type": content_type, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that gave up is no fault here."""


@contextmanager
def odd_witness(behaviour: Behaviour) -> Iterator[str]:
    """The address of a real HTTP server that answers add-checkpoint as told."""
    handler = type("Odd", (Handler,), {"behaviour": staticmethod(behaviour)})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(timeout=60)


def policy_of(log: VerifierKey, witnesses: dict[str, tuple[VerifierKey, str | None]], *, least: str = "all") -> Policy:
    """A policy with these witnesses, by name: key and address."""
    lines = [f"log {log}", *(f"witness {name} {key} {url or ''}" for name, (key, url) in witnesses.items())]
    return Policy.parse("\n".join([*lines, f"group g {least} {' '.join(witnesses)}", "quorum g"]) + "\n")
