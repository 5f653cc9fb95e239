"""Stands in for `docker` where there is none: refuses a command that docker-compose.yml could not carry out.

`python -m tests.support.deployment.docker_stand_in compose …` checks verb, options and services, and does nothing.
"""

from __future__ import annotations

import sys

from tests.support.deployment.composed import COMPOSE

_OPTIONS = {
    "up": {"--build", "--detach"},
    "logs": set(),
    "build": set(),
    "stop": set(),
    "run": {"--rm"},
}


def complaint(words: list[str]) -> str | None:
    """What is wrong with a command."""
    match words:
        case ["compose", verb, *rest] if verb in _OPTIONS:
            unknown = {word for word in rest if word.startswith("-")} - _OPTIONS[verb]
            missing = {word for word in rest if not word.startswith("-")} - set(COMPOSE["services"])
            return f"no such option or service: {unknown | missing}" if unknown | missing else None
    return f"not a command of docs/operations.md: {words}"


if __name__ == "__main__":
    sys.exit(complaint(sys.argv[1:]))
