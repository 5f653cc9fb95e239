"""The demo as a person runs it, in a process of its own."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

_END = "Ctrl-C stops it."


@dataclass
class Demo:
    """A running demo: what it printed, and what its file of keys says."""

    process: subprocess.Popen[str]
    folder: Path
    printed: str = ""
    complaints: list[str] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """The variables of keys.env."""
        text = (self.folder / "keys.env").read_text()
        return dict(part.split("=", 1) for part in shlex.split(text) if "=" in part)

    def stop(self, sent: signal.Signals = signal.SIGINT) -> int:
        """Ctrl-C, and the code that it ends with."""
        self.process.send_signal(sent)
        return self.process.wait(timeout=60)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_demo(folder: Path, *command: str, port: int | None = None) -> Iterator[Demo]:
    """`rugnik demo`, or another command that takes its options, until it has said that it is ready."""
    options = ["--port", str(port or free_port()), "--data-dir", str(folder)]
    words = [*command[:-1], command[-1] + shlex.join(options)] if command else _rugnik("demo", *options)
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    demo = Demo(process, folder)
    complaining = Thread(target=demo.complaints.extend, args=(process.stderr,), daemon=True)
    complaining.start()
    try:
        for line in process.stdout:
            demo.printed += line
            if _END in line:
                break
        else:
            process.wait(timeout=60)
            complaining.join(timeout=60)
            raise AssertionError(demo.printed + "".join(demo.complaints))
        yield demo
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=60)
        complaining.join(timeout=60)
        process.stdout.close()
        process.stderr.close()


def _rugnik(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "app.cli", *arguments]
