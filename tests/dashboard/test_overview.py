"""The overview in a browser: cards for a few datasets, a table to search for many, and what an admin sees first."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from app.settings.settings import Settings
from tests.dashboard.test_access import violations
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import ATTRIBUTES, City, curator_call
from tests.support.processes.server import Server

Window = Callable[..., Surfer]
NAMES = ["births", "buses", "clinics", "schools", "shops", "trees"]


def test_many_datasets_are_found_and_sorted_with_and_without_a_script(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """Five are cards; six are a table that filters while one types, and by the service where no script runs."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    for place, name in enumerate(NAMES[:-1]):
        body = {"name": name, "attributes": ATTRIBUTES[:1], "budget": f"{1 + place % 3}"}
        curator_call(server, key, "POST", "/v1/datasets", json=body)
    curator = window(server.url, key)
    expect(curator.page.locator(".dataset-card")).to_have_count(5)
    body = {"name": NAMES[-1], "description": "Felled and planted", "attributes": ATTRIBUTES, "budget": "0.5"}
    curator_call(server, key, "POST", "/v1/datasets", json=body)
    curator_call(server, key, "POST", "/v1/datasets/trees/releases", json={"epsilon": "0.48", "clusters": 2})

    page = curator.go("/")
    rows = page.locator("#datasets tbody tr:visible")
    expect(rows).to_have_count(6)
    expect(rows.last.get_by_role("img")).to_have_attribute("aria-label", "96 % of the budget is spent or ordered")
    page.get_by_label("Find a dataset").fill("FELLED")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("status")).to_contain_text("1 of 6 fit")
    page.get_by_label("Find a dataset").fill("b")
    expect(rows).to_have_count(2)
    assert violations(page) == []

    plain = window(server.url, server.issue_key("analyst"), java_script_enabled=False)
    page = plain.page
    page.get_by_label("Find a dataset").fill("b")
    page.get_by_label("Order by").select_option("remaining")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/?q=b&sort=remaining")
    expect(page.locator("#datasets tbody tr strong").filter(has_text="b")).to_have_text(["births", "buses"])
    page.get_by_role("link", name="Show all").click()
    page.get_by_role("link", name="Remaining sort by it").click()
    expect(page.locator("#datasets tbody tr a").first).to_have_text("trees")
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")

    admin = window(server.url, server.admin_key, viewport={"width": 390, "height": 900}).page
    glance = admin.get_by_label("At a glance")
    expect(glance).to_contain_text("in use: 1 admin, 1 analyst, 1 curator")
    expect(glance).to_contain_text("less than a tenth of the budget left: trees")
    assert violations(admin) == []
    assert admin.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_analyst_sees_no_chart_of_charges(window: Window, city: City) -> None:
    """Who does not read the ledger is told of sums alone, as by the API."""
    page = window(city.url, city.keys["analyst"]).page
    expect(page.locator(".dataset-card")).to_have_count(3)
    expect(page.locator(".spark-line")).to_have_count(0)
    expect(page.get_by_label("At a glance")).to_have_count(0)
