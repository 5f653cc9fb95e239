"""The curator's journey in a browser: register, plan, order, upload, published; and no row is ever shown."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import expect

from app.config import Settings
from tests.support.browser import Surfer
from tests.support.city import City
from tests.support.server import Server

Window = Callable[..., Surfer]
CANARY = "31.41592"


def test_a_curator_goes_from_nothing_to_a_published_release(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Register, plan with the slider, order, choose a file, published; ledger and budget agree with the pages."""
    server = serve(sqlite_settings)
    curator = window(server.url, server.issue_key("curator"))
    page = curator.page
    expect(page.get_by_role("heading", name="No datasets yet")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Register a dataset").first.click()

    page.get_by_label("Name", exact=True).fill("city")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Attribute 1 needs a name")
    for row, (name, upper) in enumerate((("age", "100"), ("income", "5000"))):
        for label, value in (("Attribute", name), ("Lower bound", "0"), ("Upper bound", upper)):
            page.get_by_label(label, exact=True).nth(row).fill(value)
    page.get_by_label("Budget (epsilon)").fill("2")
    page.get_by_role("button", name="Register").click()
    page.wait_for_url("**/datasets/city")

    page.get_by_role("link", name="New release").first.click()
    order = page.locator("#order")
    expect(order).to_have_text("Order for epsilon 0.5")
    page.get_by_label("Epsilon", exact=True).fill("3")
    expect(page.get_by_role("alert").filter(has_text="Only 2 is left")).to_be_visible()
    expect(order).to_be_disabled()
    page.get_by_label("Epsilon, by slider").focus()
    page.keyboard.press("Home")
    expect(order).to_have_text("Order for epsilon 0.01")
    page.keyboard.press("End")
    expect(order).to_have_text("Order for epsilon 2")
    expect(page.locator("#plan-facts")).to_contain_text("Budget left after0")
    page.get_by_label("Epsilon", exact=True).fill("0.75")
    expect(order).to_have_text("Order for epsilon 0.75")
    expect(page.locator("#plan-facts")).to_contain_text("Budget left after1.25")
    order.click()

    expect(page.get_by_role("heading", name="Upload the rows")).to_be_visible()
    page.reload()  # an order survives that
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b"age,income\n" + f"{CANARY},271.8281\n".encode() * 3000 + b"x,y\n-5,1\n"))
    page.locator("#file").set_input_files(file)
    expect(page.get_by_label("compressed with gzip")).to_be_checked()
    page.get_by_role("button", name="Upload and publish").click()
    expect(page.get_by_role("heading", name="Published")).to_be_visible()
    done = page.locator("#done-facts")
    expect(done).to_contain_text("Rows read3,002")
    expect(done).to_contain_text("Rows dropped1")
    assert CANARY not in page.content()
    assert page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])") == "[{},{}]"

    page.get_by_role("link", name="Back to city").click()
    expect(page.locator(".budget-words").first).to_contain_text("0.75")
    expect(page.get_by_role("link", name="Explore")).to_be_visible()
    entries = httpx.get(
        f"{server.url}/v1/ledger", headers={"Authorization": f"Bearer {server.issue_key('auditor')}"}
    ).json()["entries"]
    assert [entry["kind"] for entry in entries] == ["grant", "charge", "publish"]
    assert page.locator("table.entries tbody tr").count() == len(entries) + 1  # and one release


def test_a_form_asks_for_the_name_first_and_says_what_a_vast_budget_means(window: Window, city: City) -> None:
    """From the top of the form down; and no factor of twenty digits."""
    page = window(city.url, city.keys["curator"]).go("/register")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Give the dataset a name")
    for much in ("50", "1e3"):
        page.get_by_label("Budget (epsilon)").fill(much)
        expect(page.locator("#budget-meaning")).to_contain_text("more than a million: practically no protection")


def test_figures_of_an_earlier_plan_do_not_stay_beside_a_fault(window: Window, city: City) -> None:
    """They go with the epsilon that they were for, and come back with one that can be read."""
    page = window(city.url, city.keys["curator"]).go("/datasets/pilot/release")
    expect(page.locator("#plan-facts")).to_be_visible()
    for unclear in ("1e3", ""):
        page.get_by_label("Epsilon", exact=True).fill(unclear)
        expect(page.get_by_role("alert").filter(has_text="Epsilon is a number")).to_be_visible()
        expect(page.locator("#plan-facts")).to_be_hidden()
        expect(page.locator("#epsilon-meaning")).to_be_empty()
    page.get_by_label("Epsilon", exact=True).fill("0.2")
    expect(page.locator("#plan-facts")).to_contain_text("Budget left after0.3")
    expect(page.locator("#order")).to_have_text("Order for epsilon 0.2")


def test_a_file_that_does_not_fit_is_told_in_words_and_may_be_sent_again(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Nothing is charged twice: the same order takes the right file afterwards, dropped on the page this time."""
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    headers = {"Authorization": f"Bearer {key}"}
    attributes = [{"name": "age", "lower": 0, "upper": 100}]
    httpx.post(
        f"{server.url}/v1/datasets", headers=headers, json={"name": "c", "attributes": attributes, "budget": "1"}
    )
    order = httpx.post(f"{server.url}/v1/datasets/c/releases", headers=headers, json={"epsilon": "1", "clusters": 2})
    curator = window(server.url, key)
    curator.expected_statuses |= {422}
    page = curator.go(f"/datasets/c/release?order={order.json()['id']}")
    unfit = [("rows.csv", b"a,b\n1,2\n", "no column for: age"), ("rows.parquet", b"CANARY", "Parquet")]
    for name, body, told in unfit:
        file = tmp_path / name
        file.write_bytes(body)
        page.locator("#file").set_input_files(file)
        page.get_by_role("button", name="Upload and publish").click()
        expect(page.locator("#file-name")).to_have_text(f"{name}, {len(body)} bytes")
        expect(page.locator("#upload-problem")).to_contain_text(told)
        assert "CANARY" not in page.content()

    transfer = page.evaluate_handle(
        """() => {
            const transfer = new DataTransfer();
            transfer.items.add(new File(["age\\n1\\n2\\n"], "right.csv"));
            return transfer;
        }"""
    )
    page.locator("#drop").dispatch_event("drop", {"dataTransfer": transfer})
    page.get_by_role("button", name="Upload and publish").click()
    expect(page.get_by_role("heading", name="Published")).to_be_visible()
