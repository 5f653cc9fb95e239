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

import httpx

from app.settings.settings import Settings
from tests.support.processes.warm import Warm

_ADMIN_KEY = re.compile(r"rugnik_admin_\S+")


@dataclass
class Server:
    """A running server: its address, its admin key, its log."""

    process: subprocess.Popen[bytes] | Warm
    url: str
    log: Path

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
) -> tuple[subprocess.Popen[bytes] | Warm, str]:
    """Start `rugnik serve`, or another module that takes a port last, on a free port without waiting for it.

    One worker starts warm. Several are started by a supervisor, which gives each a process that begins at nothing.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [*(module or ["app.cli", "serve", "--workers", str(workers), "--port"]), str(port)]
    url, variables = f"http://127.0.0.1:{port}", environment(settings)
    with log.open("wb") as output:
        if workers == 1:
            return Warm(words, variables=variables, log=log), url
        command = [sys.executable, "-m", *words]
        return subprocess.Popen(
            command, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        ), url


def running_server(settings: Settings, *, workers: int, log: Path, module: list[str] | None = None) -> Server:
    """Start a server and wait until it is ready. One that does not get there is ended."""
    process, url = start_server(settings, workers=workers, log=log, module=module)
    server = Server(process=process, url=url, log=log)
    try:
        until_ready(process, url, log)
    except AssertionError:
        if process.poll() is None:
            server.kill()
        raise
    return server


def until_ready(process: subprocess.Popen[bytes] | Warm, url: str, log: Path) -> None:
    """Wait for a service, as long as its process lives."""
    with httpx.Client(base_url=url) as client:
        for _ in range(4800):  # some minutes: sixteen workers on a busy machine take more than one
            assert process.poll() is None, log.read_text()
            try:
                if client.get("/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
    raise AssertionError(log.read_text())
