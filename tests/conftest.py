"""How every test runs: hypothesis with no clock, and without chance where a red build must mean a broken promise."""

from __future__ import annotations

import os
from functools import cache

import pytest
from httpx._transports import default
from hypothesis import HealthCheck, settings

# No deadline and no health check that measures time: a busy machine is not a bug.
settings.register_profile(
    "rugnik",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rugnik")
# `make quick`: fewer examples, where a test does not ask for a number of its own.
settings.register_profile("quick", settings.get_profile("rugnik"), max_examples=15)

# Each httpx.Client reads the certificates of all authorities, for 20 ms. No test connects over TLS, so one reading is
# enough for all of a test process. (`setattr`, because httpx keeps the name to itself.)
setattr(default, "create_ssl_context", cache(default.create_ssl_context))  # noqa: B010

pytest_plugins = ["tests.support.fixtures"]

# Tests that wait for processes and browsers: first, so that no core is idle at the end of a run.
_LONG = ("tests/journeys/", "tests/dashboard/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first; the order within the long and within the short ones stays random."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))
