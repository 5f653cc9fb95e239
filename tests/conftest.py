"""How every test runs: hypothesis with no clock, and without chance where a red build must mean a broken promise."""

from __future__ import annotations

import os

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

pytest_plugins = ["tests.support.fixtures"]
