"""The command line against a real server."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from app.access.permissions import Role
from app.cli import main
from tests.support.service.live import Live

Run = Callable[..., Result]


@pytest.fixture
def run(live: Live) -> Run:
    """Run `rugnik` with the key of a role; standard output and standard error are captured separately."""

    def invoke(role: Role | None, *arguments: object, code: int = 0, given: str | None = None) -> Result:
        env = {name: None for name in os.environ if name.startswith("RUGNIK_")}
        env |= {"RUGNIK_URL": live.url, "RUGNIK_KEY": live.keys[role] if role else None, "COLUMNS": "200"}
        done = CliRunner().invoke(main, [str(argument) for argument in arguments], env=env, input=given)
        assert done.exit_code == code, (done.output, done.exception)
        assert "Traceback" not in done.output
        return done

    return invoke
