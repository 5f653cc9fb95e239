"""What a worker process sets for itself before its first request."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.main import app_from_environment


def test_a_worker_gives_its_event_loop_the_interpreter_within_a_millisecond(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python's own five would delay every step of every request while rows are counted."""
    monkeypatch.setenv("RUGNIK_DATA_DIR", str(tmp_path / "data"))
    sys.setswitchinterval(0.005)
    app_from_environment().state.service.database.dispose()
    assert sys.getswitchinterval() <= 0.001
