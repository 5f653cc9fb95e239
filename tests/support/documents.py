"""The pages of the documentation: their blocks of code, to be run as printed, and their links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Every Markdown page of the project, by its path from the root."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(paths)}


def code_blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of each block of code, in order."""
    return [(match[1], match[2]) for match in _BLOCK.finditer(text)]


def without_code(text: str) -> str:
    """A page without its blocks of code."""
    return _BLOCK.sub("", text)


def blocks(page: str, heading: str) -> list[str]:
    """The shell blocks of a page under one heading of the second level, in order."""
    section = (ROOT / page).read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [content for language, content in code_blocks(section) if language == "sh"]


def as_script(text: str) -> str:
    """The commands of a page as one shell session; Python blocks are piped to `python`, warnings as errors.

    Left out: the block that fetches the sources and starts the demo. `tests/journeys/test_demo.py` runs that one.
    """
    lines = []
    for language, content in code_blocks(text):
        if language == "sh" and "make demo" not in content:
            lines.append(content)
        elif language == "python":
            lines.append(f"python -W error - <<'END_OF_PYTHON'\n{content}END_OF_PYTHON\n")
    return "\n".join(lines)


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
