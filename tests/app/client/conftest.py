"""Servers for the client's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.auth import Role
from app.client import Client
from app.config import Settings
from tests.support.live import Live, opened_live


@pytest.fixture
def live(sqlite_settings: Settings) -> Iterator[Live]:
    """A server of this test's own."""
    with opened_live(sqlite_settings) as opened:
        yield opened


@pytest.fixture
def curator(live: Live) -> Iterator[Client]:
    """A curator, with a dataset `city` registered."""
    with live.client(Role.CURATOR) as client:
        client.register_dataset("city", {"age": (0, 100), "income": (0, 1000)}, budget=3)
        live.gate.seen.clear()
        yield client


@pytest.fixture
def order(live: Live, curator: Client) -> str:
    """An order that waits for its rows."""
    release = curator.order("city", epsilon="0.5", clusters=4, declared=500).id
    live.gate.seen.clear()
    live.gate.headers.clear()
    return release
