"""The page /docs in a browser: every route, a search, and an address for each entry."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from app.access.permissions import Role
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City


def test_a_reader_finds_a_route_and_its_address_leads_back_to_it(city: City, window: Callable[..., Surfer]) -> None:
    """From the footer; nothing is loaded from elsewhere, and nothing is wider than a telephone."""
    reader = window(city.server.url, city.keys[Role.ANALYST], viewport={"width": 390, "height": 800})
    page = reader.go("/")
    page.get_by_role("link", name="HTTP reference").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("HTTP reference")
    order = page.locator("#releases_order")
    expect(order).to_be_visible()
    page.get_by_label("Search").fill("quantiles of one")
    expect(page.locator("#answers_quantiles")).to_be_visible()
    expect(order).to_be_hidden()
    page.goto(page.url + "#releases_order")
    expect(order).to_have_attribute("open", "")
    expect(order).to_contain_text("$RUGNIK_URL/v1/datasets/NAME/releases")
    order.get_by_role("link", name="OrderBody").click()
    expect(page.locator("#orderbody")).to_contain_text("A name for people")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
