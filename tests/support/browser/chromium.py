"""A real Chromium, and what every page in it must keep: no error, no request elsewhere, no break of the policy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# Root has no sandbox to step into, and a test asks nobody outside of this machine for anything.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE = 120_000  # milliseconds: a busy machine is not a bug
expect.set_options(timeout=_PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


@dataclass
class Surfer:
    """Somebody with a browser window, whose every page is watched."""

    context: BrowserContext
    url: str
    page: Page = field(init=False)
    faults: list[str] = field(default_factory=list)
    expected_statuses: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.context.set_default_timeout(_PATIENCE)
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        # A refusal that a test asks for shows up as a resource that failed to load; that is the test's business.
        wanted = any(f"status of {status} " in message.text for status in self.expected_statuses)
        if message.type in {"error", "warning", "trace"} and not wanted:
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.url + "/", "data:", f"blob:{self.url}/")):
            self.faults.append(f"request to {request.url}")

    def go(self, path: str) -> Page:
        """Open a page of the service, and wait until its charts are drawn."""
        self.page.goto(self.url + path)
        for chart in self.page.locator(".chart:visible").all():
            chart.locator(".main-svg").first.wait_for(state="attached")
        return self.page

    def sign_in(self, key: str) -> Page:
        """Sign in by the form."""
        self.go("/sign-in")
        self.page.get_by_label("Key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(self.url + "/")
        return self.page

    def assert_clean(self) -> None:
        """Nothing went wrong so far."""
        assert self.faults == []


def surfer(browser: Browser, url: str, **options: Any) -> Surfer:
    """A window of its own, with a cookie jar of its own."""
    return Surfer(browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options)), url)
