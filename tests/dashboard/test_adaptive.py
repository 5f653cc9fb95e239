"""Adaptive releases in a browser: the leaves are drawn as they are, and tell their rows with an interval."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.settings.settings import Settings
from tests.dashboard.test_analyst import drag
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City, harbour
from tests.support.processes.server import running_server

Window = Callable[..., Surfer]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[City, dict[str, str]]]:
    """A server with adaptive releases; nobody changes it."""
    folder: Path = tmp_path_factory.mktemp("port")
    server = running_server(
        Settings(data_dir=folder / "data", log_level="warning"), workers=1, log=folder / "server.log"
    )
    keys = {role: server.issue_key(role) for role in ("curator", "analyst")}
    yield City(server, keys, {}, ""), harbour(server, keys["curator"])
    server.stop()


def explored(window: Window, city: City, release: str) -> Page:
    """The explorer of a release, with its map."""
    page = window(city.url, city.keys["analyst"]).go(f"/releases/{release}")
    page.locator("#map[data-ready]").wait_for()
    return page


def told(page: Page) -> Any:
    """What each square or bar of the map says: names of its cell, its rows, and what they lie between."""
    return page.evaluate(
        "document.getElementById('map').data.filter((t) => ['heatmap', 'bar'].includes(t.type))"
        ".map((t) => (t.type === 'bar' ? t.customdata : t.customdata.flat()))"
    )


def test_the_map_draws_every_leaf_with_its_rows(window: Window, port: tuple[City, dict[str, str]]) -> None:
    """Each leaf of the synopsis is on the map once, with its estimate; pointing at it and dragging over it work."""
    city, releases = port
    page = explored(window, city, releases["places"])
    leaves = city.ask(f"/v1/releases/{releases['places']}")["plan"]["grid"]["leaves"]
    expect(page.locator(".lede")).to_contain_text(
        f"rule adaptive, a base of 8 \u00d7 8 cells, cut into {leaves:,} leaves"
    )
    expect(page.locator("#map-words")).to_contain_text(f"All {leaves:,} leaves as they are")
    (squares,) = told(page)
    cells = {(across, up): rows for across, up, rows, _, _ in squares}
    leaf = city.ask(f"/v1/releases/{releases['places']}/synopsis")["layers"]["leaf"]
    assert len(cells) == leaves == len(leaf["estimates"])
    assert abs(sum(cells.values()) - sum(leaf["estimates"])) <= leaves / 2  # each is rounded
    assert all(low <= max(0, rows) <= high for _, _, rows, low, high in squares)
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 0.8 * area["width"], area["y"] + 0.3 * area["height"])
    expect(page.locator("#map .hoverlayer text").first).to_contain_text(
        re.compile("north .* to .*about .* rows.*95 % interval: .* to ")
    )
    drag(page, (0.01, 0.02), (0.3, 0.3))
    answer = page.locator("#box-answer .answer")
    answer.wait_for()
    assert float(answer.get_attribute("data-count") or "nan") == pytest.approx(2230, abs=300)


def test_leaves_of_all_categories_are_added_up(window: Window, port: tuple[City, dict[str, str]]) -> None:
    """On the same map, and those of a part alone where a part is shown."""
    city, releases = port
    page = explored(window, city, releases["flags"])
    expect(page.locator("#map-words")).to_contain_text("summed over the attributes that are not shown")
    widths = page.evaluate("(() => { const [t] = document.getElementById('map').data; return [t.x, t.y, t.z]; })()")
    sums = {}
    for part in ("", "?where=flag:own", "?where=flag:other"):
        if part:
            page.goto(f"{city.url}/releases/{releases['flags']}{part}")
            page.locator(f"#map[data-part='{part[7:]}'][data-ready]").wait_for()
        sums[part] = page.evaluate(
            "(() => { const rows = new Map(); const [chart] = document.getElementById('map').data;"
            " for (const [x, y, n] of chart.customdata.flat()) rows.set(`${x} ${y}`, n);"
            " return [...rows.values()].reduce((a, b) => a + b, 0); })()"
        )
    assert len(widths[2]) == len(widths[1]) - 1
    assert sums["?where=flag:own"] + sums["?where=flag:other"] == pytest.approx(4000, abs=400)


def test_bars_of_leaves_have_rows_for_areas(window: Window, port: tuple[City, dict[str, str]]) -> None:
    """Of a date with missing values: bars of different widths, those without a value apart."""
    city, releases = port
    page = explored(window, city, releases["days"])
    expect(page.locator("#map .ytitle")).to_have_text("rows per day")
    days, missing = page.evaluate(
        "document.getElementById('map').data.filter((t) => t.type === 'bar')"
        ".map((t) => [[...t.width], [...t.y], t.customdata])"
    )
    assert len(set(days[0])) > 1
    areas = [width / 86_400_000 * height for width, height in zip(*days[:2], strict=True)]
    assert areas == pytest.approx([cell[2] for cell in days[2]], abs=0.51)
    assert [cell[0] for cell in missing[2]] == ["(missing)"]
    assert missing[2][0][2] == pytest.approx(200, abs=60)


def test_bars_of_one_attribute_are_densities_that_no_interval_hides(
    window: Window, port: tuple[City, dict[str, str]]
) -> None:
    """Days in cells of 5 and of 6: areas are the counts of the API, and the bars keep half of the chart's height."""
    city, releases = port
    page = explored(window, city, releases["days"])
    page.locator("#marginal[data-ready='day']").wait_for()
    expect(page.locator("#marginal .ytitle")).to_have_text("rows per day")
    expect(page.locator("#marginal-words")).to_contain_text("height is rows per day, so that areas are rows")
    asked = city.ask(f"/v1/releases/{releases['days']}/marginal?attributes=day")
    drawn = page.evaluate(
        "(({data, layout}) => ({bars: data.map((t) => [[...t.width], [...t.y], t.customdata.map((c) => c[2])]),"
        " range: layout.yaxis.range}))(document.getElementById('marginal'))"
    )
    widths, heights, counts = drawn["bars"][0]
    assert [*counts, *drawn["bars"][1][2]] == asked["counts"]
    assert [width / 86_400_000 * height for width, height in zip(widths, heights, strict=True)] == pytest.approx(counts)
    low, high = drawn["range"]
    assert max(heights) - min(0, *heights) > 0.45 * (high - low)


def test_the_wizard_says_what_the_adaptive_rule_does(window: Window, port: tuple[City, dict[str, str]]) -> None:
    """The base of the plan, and of an order."""
    city, _ = port
    page = window(city.url, city.keys["curator"]).go("/datasets/harbour/release")
    for name in ("flag", "day"):
        page.locator(f"#attribute-checks input[value='{name}']").uncheck()
    page.locator("#plan details summary").click()
    page.locator("#rule").select_option("adaptive")
    expect(page.locator("#plan-facts")).to_contain_text(
        "a base of 8 \u00d7 8 cells, cut further where noisy counts are high"
    )
