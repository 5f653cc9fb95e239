"""README's shell lines, to be run as printed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def blocks(heading: str) -> list[str]:
    """The shell blocks under one heading, in order."""
    section = README.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def bash(script: str, folder: Path, variables: dict[str, str]) -> str:
    """What a script prints; it must succeed, line by line."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=variables,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout
