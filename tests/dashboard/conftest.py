"""One Chromium per test process; each test opens its own windows, which must end without errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from app.settings.settings import Settings
from tests.support.browser.chromium import Surfer, chromium, surfer
from tests.support.browser.city import City, built_city
from tests.support.processes.server import running_server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def window(browser: Browser) -> Iterator[Callable[..., Surfer]]:
    """Open windows; whatever went wrong in one of them fails the test."""
    opened: list[Surfer] = []

    def open_window(url: str, key: str | None = None, **options: Any) -> Surfer:
        opened.append(surfer(browser, url, **options))
        if key is not None:
            opened[-1].sign_in(key)
        return opened[-1]

    yield open_window
    for visitor in opened:
        visitor.assert_clean()
        visitor.context.close()


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    """A server with keys for every role and releases of one, two and three attributes; nobody changes it."""
    folder: Path = tmp_path_factory.mktemp("city")
    settings = Settings(data_dir=folder / "data", log_level="warning")
    server = running_server(settings, workers=1, log=folder / "server.log")
    yield built_city(server)
    server.stop()
