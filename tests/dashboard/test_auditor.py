"""The auditor and the admin in a browser: verify, search and export the ledger; issue and revoke keys, grant."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import date
from pathlib import Path

from playwright.sync_api import expect

from app.main import make_service
from app.settings.settings import Settings
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City
from tests.support.databases.books import filled_ledger
from tests.support.processes.server import Server
from tests.support.service.api import frozen_clock

Window = Callable[..., Surfer]


def tamper(settings: Settings, statement: str) -> None:
    """Change the ledger behind the triggers' back, in the file itself."""
    with sqlite3.connect(settings.sqlite_path) as file:
        names = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in names:
            file.execute(f"DROP TRIGGER {name}")
        file.execute(statement)
    file.close()


def test_an_auditor_verifies_and_a_tampered_copy_is_broken_at_the_right_entry(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """Whole before, broken at entry 7 after somebody changed it, and the page leads there."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=4)
    service.database.dispose()
    server = serve(sqlite_settings)
    key = server.issue_key("auditor")
    page = window(server.url, key).page
    expect(page.locator("#last-verified")).to_contain_text("never")
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("status")).to_contain_text("entries holds, and the witness agrees")
    page.reload()
    expect(page.locator("#last-verified")).to_contain_text("whole up to entry")

    tamper(sqlite_settings, "UPDATE ledger SET actor = 'nobody' WHERE seq = 7")
    page.get_by_role("link", name="Ledger", exact=True).click()
    page.get_by_role("button", name="Verify now").click()
    outcome = page.get_by_role("status")
    expect(outcome).to_contain_text("Broken at entry 7.")
    expect(outcome).to_contain_text("The 6 before it hold")
    outcome.get_by_role("link", name="Look at entry 7").click()
    page.wait_for_url("**/ledger?before=8#entry-7")
    expect(page.locator("#entries tbody tr").first).to_have_id("entry-7")
    expect(page.locator("#last-verified")).to_contain_text("broken at entry 7")


def test_what_a_verification_says_fits_a_phone(window: Window, city: City) -> None:
    """390 pixels wide: the hash of the head is wrapped, not pushed out of the page, and stands clear of the button."""
    page = window(city.url, city.keys["auditor"], viewport={"width": 390, "height": 844}).go("/ledger")
    page.get_by_role("button", name="Verify now").click()
    notice = page.locator("#verify-outcome .notice")
    expect(notice).to_contain_text("The head is")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    button, notice_box = page.locator("#verify").bounding_box(), notice.bounding_box()
    assert button is not None
    assert notice_box is not None
    assert notice_box["y"] - (button["y"] + button["height"]) >= 8


def test_an_auditor_finds_an_entry(window: Window, city: City) -> None:
    """By kind, dataset and text; the filters stay in the address and in the form, and Clear brings all back."""
    page = window(city.url, city.keys["auditor"]).go("/ledger")
    rows = page.locator("#entries tbody tr")
    every = len(city.ask("/v1/ledger", "auditor")["entries"])
    expect(rows).to_have_count(every)
    page.get_by_label("Kind").select_option("publish")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(3)
    assert page.get_by_label("Kind").input_value() == "publish"
    page.get_by_label("Search").fill(city.releases[2])
    page.get_by_label("Dataset").fill("survey-2026")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(city.releases[2])
    page.get_by_label("Search").fill("no such thing")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No entry fits.")).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(rows).to_have_count(every)


def test_an_entry_shows_its_day_in_every_zone(window: Window, city: City) -> None:
    """The ledger keeps the UTC day: it reads the same everywhere, and no hour is made up for it."""
    for zone in ("UTC", "Asia/Tokyo", "America/Los_Angeles"):
        page = window(city.url, city.keys["auditor"], timezone_id=zone, locale="en-GB").go("/ledger")
        times = page.locator("#entries tbody time")
        days = [date.fromisoformat(str(time.get_attribute("datetime"))) for time in times.all()]
        assert times.all_inner_texts() == [f"{day.day} {day:%b %Y}" for day in days]


def test_an_entry_is_read_on_a_phone_without_scrolling_sideways(window: Window, city: City) -> None:
    """390 pixels wide: each value has its title beside it, and every one lies within the window."""
    page = window(city.url, city.keys["auditor"], viewport={"width": 390, "height": 844}).go("/ledger")
    row = page.locator("#entries tbody tr").first
    cells = [cell for cell in row.locator("td").all() if cell.is_visible()]
    assert len(cells) >= 7
    for cell in cells:
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert (
            cell.evaluate("(cell) => getComputedStyle(cell, '::before').content")
            == f'"{cell.get_attribute("data-label")}"'
        )


def test_the_ledger_is_taken_away_by_two_buttons(window: Window, city: City) -> None:
    """NDJSON to verify and CSV to read, each whole."""
    page = window(city.url, city.keys["auditor"]).go("/ledger")
    every = len(city.ask("/v1/ledger", "auditor")["entries"])
    for form, lines in (("NDJSON", every), ("CSV", every + 1)):
        with page.expect_download() as saved:
            page.get_by_role("link", name=f"Export {form}").click()
        body = Path(saved.value.path()).read_text()
        assert body.count("\n") == lines
    assert saved.value.suggested_filename == "ledger.csv"


def test_a_dataset_page_draws_every_entry(window: Window, city: City) -> None:
    """As many marks as entries, the last step at the budget's spent epsilon, by entry and by time."""
    page = window(city.url, city.keys["auditor"]).go("/datasets/survey-2026")
    chart = "document.getElementById('steps-chart')"
    page.locator("#steps-chart[data-ready='entry']").wait_for()
    entries = city.ask("/v1/ledger?dataset=survey-2026", "auditor")["entries"]
    spent = city.ask("/v1/datasets/survey-2026")["budget"]["spent"]
    assert page.evaluate(f"{chart}.data[2].x") == [entry["seq"] for entry in entries]
    assert page.evaluate(f"{chart}.data[1].y.at(-1)") == float(spent)
    page.get_by_label("Across").select_option("time")
    page.locator("#steps-chart[data-ready='time']").wait_for()
    assert page.evaluate(f"{chart}.layout.xaxis.type") == "date"


def test_an_admin_lets_somebody_in_grants_and_revokes(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """The key is shown once and works; a grant is on the record; a revoked key's session ends where it is."""
    server = serve(sqlite_settings)
    admin = window(server.url, server.admin_key)
    page = admin.go("/keys")
    page.get_by_role("button", name="Issue").click()
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page.get_by_label("Name")).to_have_accessible_description("Write who will hold it.")
    page.get_by_label("Name").fill("Ada at the office")
    admin.expected_statuses |= {422}
    page.get_by_label("Datasets").fill("no such name")
    page.get_by_role("button", name="Issue").click()
    expect(page.get_by_label("Datasets")).to_have_accessible_description(re.compile("A name has letters"))
    expect(page.get_by_role("alert").first).to_contain_text("Datasets: A name has letters")
    page.get_by_label("Datasets").fill("")
    page.get_by_role("button", name="Issue").click()
    secret = page.locator("#secret")
    expect(secret).to_contain_text("rugnik_curator_")
    key = secret.inner_text()
    curator = window(server.url, key)
    curator.page.evaluate(
        """(body) => fetch("/v1/datasets", {method: "POST", body: JSON.stringify(body), headers: {
            "Content-Type": "application/json",
            "X-Rugnik-CSRF": document.querySelector('meta[name="csrf-token"]').content}}).then((r) => r.status)""",
        {"name": "c", "attributes": [{"name": "a", "lower": 0, "upper": 1}], "budget": "1"},
    )
    page = admin.go("/datasets/c")
    page.get_by_label("Reason, on the record").fill("a second wave")
    page.get_by_label("Epsilon", exact=True).fill("1e9")
    page.get_by_role("button", name="Grant").click()
    expect(page.get_by_label("Epsilon", exact=True)).to_have_accessible_description(re.compile("plain digits"))
    page.get_by_label("Epsilon", exact=True).fill("0.5")
    page.get_by_role("button", name="Grant").click()
    expect(page.locator(".entries").first).to_contain_text("a second wave")
    expect(page.locator(".budget-words").first).to_contain_text("1.5")

    page = admin.go("/keys")
    assert key not in page.content()
    row = page.locator("#keys tr", has_text="Ada at the office")
    row.get_by_role("button").click()
    row.get_by_role("button", name="Revoke for good?").click()
    expect(row).to_contain_text("revoked just now")
    curator.go("/")
    expect(curator.page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_signing_out_leaves_nothing_behind(window: Window, city: City) -> None:
    """Back at the form, no cookie, and the back button shows no page of the session."""
    surfer = window(city.url, city.keys["analyst"])
    assert [cookie["httpOnly"] for cookie in surfer.context.cookies()] == [True]
    assert city.keys["analyst"] not in surfer.page.content()
    assert json.loads(surfer.page.evaluate("JSON.stringify({...localStorage})")) == {}
    surfer.page.get_by_role("button", name="Sign out").click()
    expect(surfer.page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert surfer.context.cookies() == []
    surfer.page.go_back()
    expect(surfer.page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_page_that_is_refused_or_unknown_keeps_the_menu_and_the_way_out(window: Window, city: City) -> None:
    """Whoever is signed in sees so, reads a sentence, and can go on or sign out from there."""
    surfer = window(city.url, city.keys["analyst"])
    surfer.expected_statuses |= {403, 404}
    for path, text in (
        ("/keys", "This takes a key of role admin; yours is analyst."),
        ("/nowhere", "There is nothing at this address."),
    ):
        page = surfer.go(path)
        expect(page.get_by_role("main")).to_contain_text(text)
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert surfer.context.cookies() == []


def test_a_wrong_key_is_told_and_a_link_leads_on_after_signing_in(window: Window, city: City) -> None:
    """Nobody who follows a link has to find the page again."""
    surfer = window(city.url)
    surfer.expected_statuses |= {401}
    page = surfer.go("/ledger?kind=grant")
    page.get_by_label("Key").fill("rugnik_auditor_k0_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("This key is not known here")
    page.get_by_label("Key").fill(city.keys["auditor"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/ledger?kind=grant")
