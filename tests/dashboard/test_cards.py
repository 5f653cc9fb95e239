"""The card in a browser: texts from the form of a registration, on one page to print."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from app.settings.settings import Settings
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import curator_call
from tests.support.processes.server import Server
from tests.support.service.api import CSV, ROWS


def test_what_a_curator_writes_into_the_form_is_on_a_card_of_one_page(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Callable[..., Surfer]
) -> None:
    """Several lines become one text; empty fields read "not stated"; the link of the release leads to the card."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    curator = window(server.url, key)
    page = curator.go("/register")
    page.get_by_label("Name", exact=True).fill("city")
    for place, name in enumerate(("age", "income"), start=1):
        row = page.get_by_role("group", name=f"Attribute {place}", exact=True)
        for label, value in (("Attribute", name), ("Lower bound", "0"), ("Upper bound", "1000")):
            row.get_by_label(label, exact=True).fill(value)
    page.get_by_text("About it, for the card").click()
    page.get_by_label("Published by").fill("City <b>of</b> Bilen")
    page.get_by_label("Intended use").fill("Bus lines.\n\nAnd trams.")
    page.get_by_role("button", name="Register").click()
    page.wait_for_url("**/datasets/city")
    about = curator_call(server, key, "GET", "/v1/datasets/city")["about"]
    assert about == {"curators": "City <b>of</b> Bilen", "intended_use": "Bus lines. And trams."}
    terms = {"epsilon": "0.5", "clusters": 3, "size": {"declared": 500}}
    release = curator_call(server, key, "POST", "/v1/datasets/city/releases", json=terms)["id"]
    curator_call(server, key, "PUT", f"/v1/releases/{release}/records", content=ROWS, headers=CSV)
    reader = window(server.url, server.issue_key("auditor"), viewport={"width": 390, "height": 800})
    page = reader.go(f"/releases/{release}/card")
    expect(page.get_by_role("heading", level=1)).to_contain_text(release)
    expect(page.get_by_text("City <b>of</b> Bilen")).to_be_visible()
    assert page.get_by_text("not stated", exact=True).count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1033})  # A4 within its margins
    assert page.evaluate("document.documentElement.scrollHeight") <= 1033
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
