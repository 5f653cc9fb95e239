"""The command `rugnik`, for an installation that may have the client alone.

`pip install rugnik` brings httpx and no more. A wheel has its scripts with every extra, so the command is there even
then, and says which extra it needs.
"""

from __future__ import annotations

import sys

_OURS = {"app", "core", "migrations", "rugnik"}
_COMMAND = {"rich", "typer"}  # the extra `cli`


def main() -> None:
    """Run the command line; a package that is not installed ends it with one sentence and exit code 2."""
    try:
        from app.cli import main as command_line

        command_line()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _OURS or package in sys.stdlib_module_names:
            raise
        sys.stderr.write(f"{_advice(package)}\n")
        sys.exit(2)


def _advice(package: str) -> str:
    if package in _COMMAND:
        return (
            f"The command rugnik needs {package}: pip install 'rugnik[server]', "
            "or 'rugnik[cli]' if the service runs elsewhere."
        )
    return f"This command needs {package}: pip install 'rugnik[server]'."
