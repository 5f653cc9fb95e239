"""A curator with a dataset, and an order that waits for its rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.access.permissions import Role
from rugnik import Client
from tests.support.service.live import Live


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
