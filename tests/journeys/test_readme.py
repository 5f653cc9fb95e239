"""The README's journey works as printed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from app.config import Settings
from tests.support.server import Server

README = Path(__file__).parents[2] / "README.md"


def shell_blocks(heading: str) -> str:
    """The shell lines under one heading of the README, as one script."""
    section = README.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))


def test_five_minutes_with_curl(sqlite_settings: Settings, serve: Callable[..., Server], tmp_path: Path) -> None:
    """Every line of the section runs, the upload publishes, and the exported ledger verifies without rugnik."""
    server = serve(sqlite_settings)
    script = shell_blocks("Five minutes with curl")
    script = script.replace("http://127.0.0.1:8000", server.url).replace("rugnik_admin_…", server.admin_key)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert '"state":"published"' in done.stdout
    assert '"valid":true' in done.stdout
    assert "every entry holds" in done.stdout
