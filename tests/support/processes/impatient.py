"""`rugnik serve` with short timeouts: `python -m tests.support.processes.impatient PORT`, settings by environment."""

from __future__ import annotations

import sys

from app.http import protocol as http_protocol
from app.http.middleware import body_limit
from app.operations.server import read_settings, serve

SECONDS = 2.5  # long enough for a well-behaved request on a busy machine

if __name__ == "__main__":
    for module, name in [
        (http_protocol, "HEAD_SECONDS"),
        (http_protocol, "WRITE_SECONDS"),
        (http_protocol, "REST_SECONDS"),
        (body_limit, "BODY_SECONDS"),
    ]:
        getattr(module, name)  # there, or this module is out of date
        setattr(module, name, SECONDS)

    def show(key: str) -> None:
        """On a line of its own: the log goes on after it."""
        sys.stderr.write(f"{key}\n")

    serve(read_settings(), host="127.0.0.1", port=int(sys.argv[1]), workers=1, show_key=show)
