"""Attributes of every kind in a browser: registered, ordered and uploaded by a curator, explored by an analyst."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from app.settings.settings import Settings
from tests.dashboard.test_access import violations
from tests.dashboard.test_analyst import HIDDEN
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City, clinic, visits
from tests.support.processes.server import Server, running_server

Window = Callable[..., Surfer]


@dataclass(frozen=True)
class Hospital(City):
    """A server with releases of a whole number, a date and a category; of a date and a category; of a category."""

    def count(self, release: int, *where: str) -> Any:
        """What the API counts in a box."""
        query = "&".join(f"where={quote(part)}" for part in where)
        return self.ask(f"/v1/releases/{self.releases[release]}/count?{query}")["count"]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hospital]:
    """Nobody changes it."""
    folder: Path = tmp_path_factory.mktemp("hospital")
    settings = Settings(data_dir=folder / "data", log_level="warning")
    server = running_server(settings, workers=1, log=folder / "server.log")
    keys = {role: server.issue_key(role) for role in ("curator", "analyst", "auditor")}
    names = (("age", "arrived", "sex"), ("arrived", "sex"), ("sex",))
    yield Hospital(server, keys, {len(each): clinic(server, keys["curator"], each) for each in names}, "")
    server.stop()


def explored(window: Window, hospital: Hospital, attributes: int, **options: Any) -> Page:
    """The explorer of a release, with its map and its clusters, if it has any."""
    page = window(hospital.url, hospital.keys["analyst"], **options).go(f"/releases/{hospital.releases[attributes]}")
    page.locator(f"#map[data-ready='{2 if attributes > 1 else 0}']").wait_for()
    return page


def drawn(page: Page, chart: str, field: str) -> Any:
    """A field of each trace of a chart; of what it has, the numbers."""
    return page.evaluate(f"document.getElementById('{chart}').data.map((trace) => trace.{field} ?? null)")


def counts_drawn(page: Page) -> Any:
    """The counts behind the colours of the map, part by part: colours are densities where cells differ in size."""
    parts = drawn(page, "map", "customdata")
    return [[[cell[2] for cell in row] for row in part] for part in parts if part and isinstance(part[0], list)]


def counted(page: Page) -> float:
    """The count that the page shows, once it has one."""
    answer = page.locator("#box-answer .answer")
    answer.wait_for()
    return float(answer.get_attribute("data-count") or "nan")


KINDS = {"age": "integer", "sex": "category", "arrived": "date", "seen": "datetime"}


def registering(window: Window, server: Server) -> tuple[Page, dict[str, Locator]]:
    """The form for a new dataset, with the name and the kind of four attributes; and their rows by name."""
    page = window(server.url, server.issue_key("curator")).go("/register")
    page.get_by_label("Name", exact=True).fill("hospital")
    rows = {}
    for place, (name, kind) in enumerate(KINDS.items(), start=1):
        if place > 2:  # two are there from the beginning
            page.get_by_role("button", name="Add an attribute").click()
        rows[name] = page.get_by_role("group", name=f"Attribute {place}", exact=True)
        rows[name].get_by_label("Attribute", exact=True).fill(name)
        rows[name].get_by_label("Kind").select_option(kind)
    return page, rows


def fill_bounds(rows: dict[str, Locator]) -> None:
    """Bounds and values; missing values of two attributes are kept, and all other categories have a cell."""
    bounds = {
        "age": ("0", "110"),
        "arrived": ("2026-01-01", "2026-12-31"),
        "seen": ("2026-01-01T00:00:00", "2027-01-01T00:00:00"),
    }
    for name, (lower, upper) in bounds.items():
        rows[name].get_by_label("Lower bound").fill(lower)
        rows[name].get_by_label("Upper bound").fill(upper)
    rows["seen"].get_by_label("Offset from UTC").fill("+01:00")
    rows["sex"].get_by_label("Values, one per line").fill("f, m\nx\n")
    rows["sex"].get_by_label("count all other values").check()
    for name in ("age", "sex"):
        rows[name].get_by_label("keep rows without a value").check()


def test_a_fault_of_a_registration_is_told_beside_its_field(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """Of every kind at once; the first one has the focus, and each is the description of its field."""
    page, rows = registering(window, serve(sqlite_settings))
    rows["age"].get_by_label("Lower bound").fill("0.5")
    page.get_by_role("button", name="Register").click()
    expected = {
        "age": "Write a whole number.",
        "sex": "List at least one value.",
        "arrived": "Choose a date.",
        "seen": "Choose a date and a time.",
    }
    for name, message in expected.items():
        expect(rows[name].locator(".field-fault")).to_have_text(message)
    expect(rows["age"].get_by_label("Lower bound")).to_be_focused()
    expect(rows["age"].get_by_label("Lower bound")).to_have_accessible_description(expected["age"])
    assert violations(page) == []
    fill_bounds(rows)
    page.get_by_label("Each person,").check()
    expect(page.locator("#budget-meaning")).to_contain_text("one person")
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".field-fault")).to_have_text("Write the name of the column.")


def test_a_curator_goes_from_every_kind_to_a_release_that_protects_persons(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window, tmp_path: Path
) -> None:
    """Registered, planned with what each attribute and each row costs, looked into, uploaded; pages name the unit."""
    page, rows = registering(window, serve(sqlite_settings))
    fill_bounds(rows)
    page.get_by_label("Each person,").check()
    page.get_by_label("Column with the ids of persons").fill("patient")
    expect(page.locator("#person-cost")).to_contain_text("the noise is 3 times as wide")
    page.get_by_role("button", name="Register").click()

    page.wait_for_url("**/datasets/hospital")
    expect(page.get_by_role("main")).to_contain_text("Protects persons: column patient, at most 3 rows each.")
    table = page.locator("table").filter(has_text="Bounds or values")
    expect(table).to_contain_text("f, m, x, all others together")
    expect(table).to_contain_text("2026-01-01 00:00:00+01:00 to 2027-01-01 00:00:00+01:00")
    expect(page.locator(".entries").first).to_contain_text("registration; protects persons: column patient")

    page.get_by_role("link", name="New release").first.click()
    page.get_by_label("seen (2026-01-01 00:00:00+01:00 to").uncheck()
    expect(page.locator("#plan-costs li")).to_have_count(3)
    expect(page.locator("#plan-costs")).to_contain_text("sex multiplies cells by 5.")
    expect(page.locator("#plan-people tbody tr")).to_have_count(5)
    expect(page.locator("#plan-people")).to_contain_text("3 (this dataset)")
    file = tmp_path / "visits.csv"
    file.write_bytes(visits(300) + b",30,2026-03-01,f\n" * 5)  # the last ones are nobody's
    page.locator("#file").set_input_files(file)
    verdict = page.locator("#file-verdict")
    expect(verdict).to_contain_text("5 would be dropped, 0 clipped")
    expect(verdict).to_contain_text(re.compile(r"\d \(\d+ % of the rows\) left out beyond the limit of rows per pers"))
    expect(verdict.locator(".warn-notice")).to_have_count(1)  # more than a twentieth
    page.locator("#order").click()
    expect(page.locator("#upload-step")).to_contain_text("at most 3 of each person are counted")
    page.get_by_role("button", name="Upload and publish").click()
    expect(page.get_by_role("heading", name="Published")).to_be_visible()
    expect(page.locator("#done-facts")).to_contain_text("Rows dropped5")


def test_marks_that_a_map_with_labels_cannot_have_are_not_offered(window: Window, hospital: Hospital) -> None:
    """Labels have no distances: the switches say so, and come back with two axes of numbers or dates."""
    page = explored(window, hospital, 3)
    switches = [page.get_by_role("checkbox", name="intervals"), page.get_by_label("boundaries")]
    for switch in switches:
        expect(switch).to_be_enabled()
    page.get_by_label("Up").select_option("sex")
    for switch in switches:
        expect(switch).to_be_disabled()
    expect(page.locator("#cluster-tools label").first).to_have_attribute(
        "title", re.compile("Labels have no distances")
    )
    expect(page.locator("#map-lost")).to_contain_text("Labels have no distances")
    page.get_by_label("Up").select_option("arrived")
    for switch in switches:
        expect(switch).to_be_enabled()
    expect(page.locator("#map-lost")).to_be_hidden()


def test_dates_lie_on_an_axis_of_dates_and_missing_values_apart(window: Window, hospital: Hospital) -> None:
    """The map is the marginal of the API, cell by cell: days by their edges, rows without an age beside the others."""
    page = explored(window, hospital, 3)
    asked = hospital.ask(f"/v1/releases/{hospital.releases[3]}/marginal?attributes=arrived,age")
    days, ages = asked["attributes"]
    values, missing = counts_drawn(page)[:2]
    assert values == [row[:-1] for row in asked["counts"]]
    assert missing == [row[-1:] for row in asked["counts"]]
    assert drawn(page, "map", "x")[0] == ages["edges"]
    edges = drawn(page, "map", "y")[0]
    assert page.evaluate("(all) => all.map((at) => new Date(at).toISOString().slice(0, 10))", edges) == days["edges"]
    assert page.evaluate("document.getElementById('map').layout.yaxis.type") == "date"
    expect(page.locator("#map-words")).to_contain_text("Rows without a value are apart.")
    centres = hospital.ask(f"/v1/releases/{hospital.releases[3]}/clusters?k=2")["centers"]
    for place, (_age, arrived) in enumerate(centres):
        expect(page.locator("#clusters-body tbody tr").nth(place)).to_contain_text(arrived)
    page.get_by_label("Attribute", exact=True).select_option("arrived")
    quantiles = hospital.ask(f"/v1/releases/{hospital.releases[3]}/quantiles?attribute=arrived&q=0.5")["quantiles"]
    expect(page.locator("#quantile-table tbody tr").nth(2)).to_contain_text(quantiles[0]["value"])
    ends = page.evaluate("document.getElementById('quantiles').data[0].x.slice(6, 8)")  # of the third, the median
    days = page.evaluate("(all) => all.map((at) => new Date(at).toISOString().slice(0, 10))", ends)
    assert days == [quantiles[0]["interval"]["low"], quantiles[0]["interval"]["high"]]
    moments = hospital.ask(f"/v1/releases/{hospital.releases[3]}/moments")["attributes"]
    expect(page.locator("#moments")).to_contain_text(f"Mean of arrived{moments[1]['mean']['value']}")


def test_a_box_of_every_kind_is_counted_as_the_api_counts_it(window: Window, hospital: Hospital) -> None:
    """Whole numbers and days with both ends, chosen categories, and rows without a value."""
    page = explored(window, hospital, 3)
    page.get_by_label("age from").fill("20")
    page.get_by_label("age to").fill("39")
    page.get_by_label("arrived from").fill("2026-03-01")
    page.get_by_label("arrived to").fill("2026-03-31")
    for label in ("f", "(other)"):
        page.get_by_role("group", name="sex").get_by_label(label, exact=True).check()
    page.get_by_role("button", name="Count", exact=True).click()
    where = ["age:20..39", "arrived:2026-03-01..2026-03-31", "sex:f,(other)"]
    assert counted(page) == hospital.count(3, *where)
    lines = page.locator('[data-lines="count"] [data-python]').text_content() or ""
    assert 'where=["age:20..39", "arrived:2026-03-01..2026-03-31", "sex:f,(other)"]' in lines
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("only rows without age").check()
    expect(page.get_by_label("age from")).to_be_disabled()
    page.get_by_role("button", name="Count", exact=True).click()
    assert counted(page) == hospital.count(3, "age:(missing)")
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("age from").fill("20.5")
    page.get_by_role("button", name="Count", exact=True).click()
    expect(page.locator(".field-fault:visible")).to_have_text("age: '20.5' is not a whole number.")


def test_a_drag_over_days_takes_whole_days(window: Window, hospital: Hospital) -> None:
    """The fields get the days that lie under the box, and the count is that of the API for whole cells."""
    page = explored(window, hospital, 2)
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    for share, action in ((91 / 365, page.mouse.down), (183 / 365, page.mouse.up)):  # where days begin
        page.mouse.move(area["x"] + share * area["width"], area["y"] + 0.5 * area["height"], steps=8)
        action()
    answer = counted(page)
    first, last = (page.get_by_label(f"arrived {end}").input_value() for end in ("from", "to"))
    snapped = hospital.ask(f"/v1/releases/{hospital.releases[2]}/count?snap=true&where=arrived:2026-04-02..2026-07-02")[
        "snapped"
    ]["arrived"]
    assert (first, last) == (snapped["low"], snapped["high"])
    box = f"snap=true&where=arrived:{first}..{last}"
    assert answer == hospital.ask(f"/v1/releases/{hospital.releases[2]}/count?{box}")["count"]


def test_a_part_is_shown_in_every_panel_and_named(window: Window, hospital: Hospital) -> None:
    """Map, clusters, marginal, quantiles and moments are those of the API's slice; a link leads to it; and back."""
    page = explored(window, hospital, 3)
    whole = page.locator("#moments tbody tr").first.text_content() or ""
    page.get_by_role("group", name="sex").get_by_label("f", exact=True).check()
    page.get_by_label("age from").fill("30")
    page.get_by_role("button", name="Show only this part").click()
    page.locator("#map[data-part='age:30.. sex:f'][data-ready='2']").wait_for()
    query = "where=age:30..&where=sex:f"
    base = f"/v1/releases/{hospital.releases[3]}"
    moments = hospital.ask(f"{base}/moments?{query}")
    low, high = moments["slice"]["age"].split("..")
    expect(page.locator(".chip")).to_have_text([f"age {low} to {high}\u00d7", "sex f\u00d7"])
    expect(page.locator("#moments tbody tr").first).to_contain_text(f"{round(moments['size']['value']):,}")
    assert counts_drawn(page)[0] == hospital.ask(f"{base}/marginal?attributes=arrived,age&{query}")["counts"]
    clusters = hospital.ask(f"{base}/clusters?k=2&{query}")
    for place, (_age, arrived) in enumerate(clusters["centers"]):
        expect(page.locator("#clusters-body tbody tr").nth(place)).to_contain_text(arrived)
    median = hospital.ask(f"{base}/quantiles?attribute=age&q=0.5&{query}")["quantiles"][0]
    expect(page.locator("#quantile-table tbody tr").nth(2)).to_contain_text(f"{median['value']:g}")
    assert "where=sex:f" in (page.get_by_role("link", name="Rows csv").get_attribute("href") or "")
    assert violations(page) == []
    page.reload()
    expect(page.locator(".chip")).to_have_text([f"age {low} to {high}\u00d7", "sex f\u00d7"])
    page.get_by_role("button", name="Show all rows").click()
    expect(page.locator("#part")).to_be_hidden()
    expect(page.locator("#moments tbody tr").first).to_have_text(whole)


def test_categories_are_bars_and_have_no_clusters(window: Window, hospital: Hospital) -> None:
    """A release of a category alone: a bar for each value, others and missing ones named, no clusters, no quantiles."""
    page = explored(window, hospital, 1)
    asked = hospital.ask(f"/v1/releases/{hospital.releases[1]}/marginal?attributes=sex")
    assert drawn(page, "map", "y")[0] == asked["counts"]
    ticks = page.evaluate("document.getElementById('map').layout.xaxis.ticktext")
    assert ticks == asked["attributes"][0]["labels"] == ["f", "m", "x", "(other)", "(missing)"]
    for card in ("#clusters-card", "#quantile-card"):
        expect(page.locator(card)).to_be_hidden()
    expect(page.locator("#moments tbody tr")).to_have_count(1)
    page.get_by_label("(missing)", exact=True).check()
    page.get_by_role("button", name="Count", exact=True).click()
    assert counted(page) == hospital.count(1, "sex:(missing)")


def test_a_category_can_be_an_axis_of_the_map(window: Window, hospital: Hospital) -> None:
    """Days across, categories up; without centres, which have no place there."""
    page = explored(window, hospital, 2)
    page.get_by_label("Up").select_option("sex")
    page.locator("#map[data-axes='arrived sex']").wait_for()
    asked = hospital.ask(f"/v1/releases/{hospital.releases[2]}/marginal?attributes=sex,arrived")
    assert counts_drawn(page)[0] == asked["counts"]
    assert page.evaluate("document.getElementById('map').data.find((t) => t.name === 'centres').x") == []
    page.get_by_label("Up").select_option("noisy count")
    page.locator("#map[data-axes='arrived']").wait_for()


def test_tables_are_read_on_a_phone(window: Window, hospital: Hospital) -> None:
    """390 pixels wide: attributes, the meaning of epsilon and clusters stand in lines with the titles of columns."""
    phone = window(hospital.url, hospital.keys["analyst"], viewport={"width": 390, "height": 844})
    page = phone.go("/datasets/clinic-3-age")
    for title, value in (("Bounds or values", "2026-01-01 to 2026-12-31"), ("That they are there", "%")):
        cell = page.locator(f"td[data-label='{title}']", has_text=value).first
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
        assert cell.evaluate("(cell) => getComputedStyle(cell, '::before').content") == f'"{title}"'
    page = phone.go(f"/releases/{hospital.releases[3]}")
    page.locator("#map[data-ready='2']").wait_for()
    cells = page.locator("#clusters-body tbody tr").first.locator("td")
    labels = cells.evaluate_all("(all) => all.map((one) => getComputedStyle(one, '::before').content)")
    assert labels[:4] == ['"No."', '"rows"', '"age"', '"arrived"']
    assert page.locator("#clusters-body .scroll").evaluate(HIDDEN) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_accepts_pages_of_every_kind(window: Window, hospital: Hospital, scheme: str, width: int) -> None:
    """Labels, contrast and order; and no page is wider than its window."""
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    for role, paths in (
        ("analyst", [f"/releases/{release}" for release in hospital.releases.values()]),
        ("curator", ["/datasets/clinic-3-age", "/datasets/clinic-3-age/release"]),
        ("auditor", ["/ledger", f"/releases/{hospital.releases[3]}"]),
    ):
        surfer = window(hospital.url, hospital.keys[role], **options)
        for path in paths:
            page = surfer.go(path)
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert violations(page) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
