"""Two curators in two browsers: one orders above the two-person rule, the other approves on the dataset's page."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from app.settings.settings import Settings
from rugnik import Client
from tests.dashboard.test_access import violations
from tests.support.browser.chromium import Surfer
from tests.support.processes.server import Server

Window = Callable[..., Surfer]


def test_an_order_waits_until_the_other_curator_approves_it(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """The wizard says that it waits; the second click decides; then rows can be uploaded to it."""
    server = serve(sqlite_settings)
    first_key, second_key = server.issue_key("curator"), server.issue_key("curator")
    with Client(server.url, first_key) as client:
        client.register_dataset("city", {"age": (0, 100)}, budget=2, two_persons_above="0.1")
    first = window(server.url, first_key).go("/datasets/city/release")
    first.get_by_role("button", name="Order for epsilon").click()
    expect(first.locator("#plan-problem")).to_contain_text("waits until another key approves it")
    first.goto(f"{server.url}/datasets/city")
    expect(first.get_by_role("heading", name="Waiting for a second person")).to_be_visible()
    expect(first.get_by_role("button", name="Withdraw")).to_be_visible()
    expect(first.get_by_role("button", name="Approve")).to_have_count(0)

    page = window(server.url, second_key, viewport={"width": 390, "height": 900}).go("/datasets/city")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="for good?").click()
    expect(page.get_by_role("heading", name="Waiting for a second person")).to_have_count(0)
    expect(page.get_by_role("link", name="Upload rows")).to_be_visible()
    with Client(server.url, first_key) as client:
        assert client.dataset("city").budget.spent == "0.5"
