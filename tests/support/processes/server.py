"""Server: `rugnik serve` in processes of its own, as a person would run it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from app.settings.settings import Settings

_ADMIN_KEY = re.compile(r"rugnik_admin_\S+")


@dataclass
class Server:
    """A running server: its address, its admin key, its log."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    output: IO[bytes]

    @property
    def admin_key(self) -> str:
        """The key that the first start printed."""
        return _ADMIN_KEY.findall(self.log.read_text())[0]

    def issue_key(self, role: str, admin_key: str | None = None) -> str:
        """A key of a role, issued over HTTP."""
        reply = httpx.post(
            f"{self.url}/v1/keys",
            json={"name": role, "role": role},
            headers={"Authorization": f"Bearer {admin_key or self.admin_key}"},
        )
        assert reply.status_code == 201, reply.text
        return str(reply.json()["key"])

    def stop(self) -> None:
        """End it as a supervisor would, and its workers with it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)
        self.output.close()

    def kill(self) -> None:
        """End it and its workers without any warning."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=60)


def environment(settings: Settings) -> dict[str, str]:
    """The variables that make a process run with these settings; those of the caller are not passed on."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        own[f"RUGNIK_{name.upper()}"] = str(getattr(value, "get_secret_value", lambda value=value: value)())
    return own


def start_server(
    settings: Settings, *, workers: int, log: Path, module: list[str] | None
) -> tuple[subprocess.Popen[bytes], str, IO[bytes]]:
    """Start `rugnik serve`, or another module that takes a port last, on a free port without waiting for it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    output = log.open("wb")
    command = module or ["app.cli", "serve", "--workers", str(workers), "--port"]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, str(port)],
        env=environment(settings),
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return process, f"http://127.0.0.1:{port}", output


def running_server(settings: Settings, *, workers: int, log: Path, module: list[str] | None = None) -> Server:
    """Start a server and wait until it is ready."""
    process, url, output = start_server(settings, workers=workers, log=log, module=module)
    until_ready(process, url, log)
    return Server(process=process, url=url, log=log, output=output)


def until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait for a service, as long as its process lives."""
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(log.read_text())
