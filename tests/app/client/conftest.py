"""Servers for the client's tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from app.auth import Role
from app.client import Client
from app.config import Settings
from tests.support.live import Live, opened_live

_names = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One server for the tests of a file."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("client") / "data", log_level="warning")
    with opened_live(settings) as opened:
        yield opened


@pytest.fixture
def live(server: Live) -> Live:
    """The server, with nothing left of an earlier test that this one could notice; `city` is a name of its own."""
    server.gate.faults.clear()
    server.gate.seen.clear()
    server.gate.headers.clear()
    server.naps.clear()
    server.city = f"city-{next(_names)}"
    return server


@pytest.fixture
def curator(live: Live) -> Iterator[Client]:
    """A curator, with a dataset of the name `live.city` registered."""
    with live.client(Role.CURATOR) as client:
        client.register_dataset(live.city, {"age": (0, 100), "income": (0, 1000)}, budget=3)
        live.gate.seen.clear()
        yield client


@pytest.fixture
def order(live: Live, curator: Client) -> str:
    """An order that waits for its rows."""
    release = curator.order(live.city, epsilon="0.5", clusters=4, declared=500).id
    live.gate.seen.clear()
    live.gate.headers.clear()
    return release
