"""The analyst in a browser: map, clusters, boxes; every number on the page is that of the API."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from app.settings.settings import Settings
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City, curator_call, million_cells, thresholded
from tests.support.processes.server import Server

Window = Callable[..., Surfer]
HIDDEN = "(one) => one.scrollWidth - one.clientWidth"  # pixels that one has to scroll for


def explored(window: Window, city: City, attributes: int, **options: Any) -> Page:
    """The explorer of a release, with its map and clusters drawn."""
    analyst = window(city.url, city.keys["analyst"], **options)
    page = analyst.go(f"/releases/{city.releases[attributes]}")
    page.locator("#map[data-ready='4']").wait_for()
    return page


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A box on the map, by shares of its width and height from the lower left."""
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    points = [(area["x"] + x * area["width"], area["y"] + (1 - y) * area["height"]) for x, y in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move((points[0][0] + points[1][0]) / 2, (points[0][1] + points[1][1]) / 2, steps=5)
    page.mouse.move(*points[1], steps=5)
    page.mouse.up()


def curl_line(page: Page, panel: str) -> str:
    """The curl line of a panel."""
    text = page.locator(f'[data-lines="{panel}"] [data-curl]').text_content()
    assert text is not None
    return text


def test_a_dragged_box_is_counted_as_the_api_counts_it(window: Window, city: City) -> None:
    """The bounds fill the fields, the number and its interval are those of GET …/count, digit for digit."""
    page = explored(window, city, 2)
    drag(page, (0.15, 0.1), (0.4, 0.3))
    answer = page.locator("#box-answer .answer")
    answer.wait_for()
    where = [
        f"{name}:{page.get_by_label(f'{name} from').input_value()}..{page.get_by_label(f'{name} to').input_value()}"
        for name in ("age", "income")
    ]
    box = "&".join(f"where={condition}" for condition in where)
    asked = city.ask(f"/v1/releases/{city.releases[2]}/count?snap=true&{box}")
    assert float(answer.get_attribute("data-count") or "nan") == asked["count"]
    assert (
        answer.text_content() == f"{_nearest(asked['interval']['low'])} to {_nearest(asked['interval']['high'])} rows"
    )
    expect(page.locator("#box-answer .interval")).to_have_text(
        f"With 95 % probability. Best single number: {_nearest(asked['count'])}."
    )
    # The box is where it was dragged, 0.15 to 0.4 of 0..100 and 0.1 to 0.3 of 0..5000, but for half a cell.
    ends = [float(end) for condition in where for end in condition.partition(":")[2].split("..")]
    assert ends == pytest.approx([15, 40, 500, 1500], rel=0.2)
    snapped = [asked["snapped"][name][end] for name in ("age", "income") for end in ("low", "high")]
    assert ends == pytest.approx(snapped, rel=1e-3)  # the fields show what was counted
    assert asked["count"] > 3000  # the youngest group lies in it
    query = parse_qs(urlsplit(re.search(r"'(http[^']+)'", curl_line(page, "count"))[1]).query)  # type: ignore[index]
    assert (query["where"], query["snap"]) == (where, ["true"])


def test_a_dragged_box_moves_to_cell_edges_unless_the_reader_chose_otherwise(window: Window, city: City) -> None:
    """The page says which box was answered and draws that one; who unticks the choice drags as finely as they like."""
    page = explored(window, city, 2)
    snap = page.get_by_label("Move the ends to the nearest cell edges")
    expect(snap).not_to_be_checked()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/count" in request.url else None)
    drag(page, (0.15, 0.1), (0.4, 0.3))
    moved = page.locator("#box-answer .snapped")
    expect(moved).to_have_count(2)
    expect(snap).to_be_checked()
    edges = city.ask(f"/v1/releases/{city.releases[2]}/marginal?attributes=age")["attributes"][0]["edges"]
    ends = [float(page.get_by_label(f"age {end}", exact=True).input_value()) for end in ("from", "to")]
    assert ends == pytest.approx([min(edges, key=lambda edge, end=end: abs(edge - end)) for end in ends], abs=0.05)
    assert f"box=age:{ends[0]:g}..{ends[1]:g}" in page.url  # and a link has what was counted
    page.wait_for_function(
        "edges => { const box = document.getElementById('map').layout.selections[0];"
        " return box && edges.includes(box.x0) && edges.includes(box.x1); }",
        arg=edges,
    )
    page.wait_for_timeout(300)
    assert len(asked) == 1  # the outline that moved is no drag of its own
    snap.uncheck()
    expect(moved).to_have_count(0)
    drag(page, (0.2, 0.2), (0.5, 0.4))
    expect(page.locator("#box-answer .answer")).to_have_count(1)
    expect(snap).not_to_be_checked()
    assert "snap" not in curl_line(page, "count")


def test_what_the_grid_can_add_is_shown_beside_each_interval(window: Window, city: City) -> None:
    """Of centres, means, standard deviations and quantiles."""
    page = explored(window, city, 2)
    asked = city.ask(f"/v1/releases/{city.releases[2]}/clusters?k=4")
    shifts = asked["uncertainty"][0]["discretisation"]
    shown = page.locator("#clusters-body tbody tr").first.locator(".grid-shift").all_inner_texts()
    assert [float(text.removeprefix("grid ± ").replace(",", "")) for text in shown] == pytest.approx(shifts, rel=1e-3)
    moments = page.locator("#moments tbody tr")
    expect(moments.nth(1)).to_contain_text(shown[0].removeprefix("grid ± "))
    expect(page.locator("#quantile-table thead")).to_contain_text("Cell")
    expect(page.locator("#quantile-table tbody tr").first.locator("td")).to_have_count(4)
    hovers = page.evaluate("document.getElementById('map').data.find((t) => t.name === 'centres').hovertemplate")
    assert all("grid ±" in words for words in hovers)


def test_a_box_can_be_written_without_a_mouse(window: Window, city: City) -> None:
    """Fields and the keyboard do what a drag does; Clear forgets it."""
    page = explored(window, city, 3)
    page.get_by_label("visits to").fill("10")
    page.get_by_label("visits to").press("Enter")
    answer = page.locator("#box-answer .answer")
    answer.wait_for()
    asked = city.ask(f"/v1/releases/{city.releases[3]}/count?where=visits:..10")
    assert float(answer.get_attribute("data-count") or "nan") == asked["count"]
    page.get_by_role("button", name="Clear").click()
    expect(answer).to_have_count(0)


NO_NUMBERS = {
    "1,5": "age: '1,5' is not a number; write 1.5.",
    "1,500": "age: '1,500' is not a number; write 1500 or 1.500.",
    "young": "age: 'young' is not a number.",
    "Infinity": "age: 'Infinity' is not a number.",
}


def test_what_is_no_number_is_told_at_its_field(window: Window, city: City) -> None:
    """In words and without asking the service; the map goes on working, and the box is counted once it is mended."""
    page = explored(window, city, 3)
    drag(page, (0.15, 0.1), (0.4, 0.3))
    answer = page.locator("#box-answer .answer")
    answer.wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/count" in request.url else None)
    field = page.get_by_label("age from")
    for written, message in NO_NUMBERS.items():
        field.fill(written)
        page.get_by_role("button", name="Count", exact=True).click()
        expect(page.locator(".field-fault:visible")).to_have_text(message)
        expect(field).to_be_focused()
        expect(field).to_have_accessible_description(message)
        expect(answer).to_have_count(0)
    page.get_by_label("Across").select_option("visits")
    page.locator("#map[data-axes='visits income']").wait_for()
    expect(page.locator("#problem")).to_be_empty()
    assert asked == []
    field.fill("1.5")
    field.press("Enter")
    answer.wait_for()
    expect(page.locator(".field-fault:visible")).to_have_count(0)


def test_a_field_spoilt_after_the_count_does_not_break_the_map(window: Window, city: City) -> None:
    """Another axis is drawn, without a box whose ends nobody knows."""
    page = explored(window, city, 3)
    drag(page, (0.15, 0.1), (0.4, 0.3))
    page.locator("#box-answer .answer").wait_for()
    page.get_by_label("income to").fill("abc")
    page.get_by_label("Across").select_option("visits")
    page.locator("#map[data-axes='visits income']").wait_for()
    expect(page.locator("#problem")).to_be_empty()
    assert page.evaluate("document.getElementById('map').layout.selections") == []


def _nearest(value: float) -> str:
    """As the page rounds: half up, with commas."""
    return f"{math.floor(value + 0.5):,}"


def test_the_parts_of_the_error_come_second(window: Window, city: City) -> None:
    """Below the interval of the whole error, with the API's numbers; of a box of whole cells nothing is said."""
    page = explored(window, city, 2)
    page.get_by_label("age from").fill("20.37")
    page.get_by_label("age from").press("Enter")
    cut = page.locator("#box-answer .cut")
    asked = city.ask(f"/v1/releases/{city.releases[2]}/count?where=age:20.37..")
    noise, ends = asked["noise"], asked["discretisation"]
    expect(cut).to_contain_text(
        f"{_nearest(ends['low'])} rows without the cut cells, {_nearest(ends['high'])} with all"
    )
    expect(cut).to_contain_text(f"Noise alone: {_nearest(noise['low'])} to {_nearest(noise['high'])}.")
    page.get_by_label("Move the ends to the nearest cell edges").check()
    expect(page.locator("#box-answer .snapped")).to_contain_text("age was counted from ")
    expect(cut).to_have_count(0)
    assert "snap=true" in curl_line(page, "count")
    page.get_by_label("Move the ends to the nearest cell edges").uncheck()
    expect(cut).to_have_count(1)
    page.get_by_label("age from").fill("")
    page.get_by_label("age from").press("Enter")
    expect(cut).to_have_count(0)
    expect(page.locator("#box-answer .interval")).to_have_count(1)


def test_ranges_are_said_to_be_half_open_and_an_empty_one_is_told_at_its_field(window: Window, city: City) -> None:
    """Before anything is asked; the focus goes to the field, and a mended range is counted."""
    page = explored(window, city, 2)
    expect(page.locator("section", has=page.locator("#box-title"))).to_contain_text("a row at the upper end is not")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/count" in request.url else None)
    for low, high in (("40", "20"), ("30", "30"), ("100", "")):
        page.get_by_label("age from").fill(low)
        page.get_by_label("age to").fill(high)
        page.get_by_label("age to").press("Enter")
        expect(page.locator(".field-fault:visible")).to_have_text(
            f"age: the range from {low} to {high or 100} is empty; the upper end is not counted."
        )
        expect(page.get_by_label("age to" if high else "age from")).to_be_focused()
    assert asked == []
    page.get_by_label("age from").fill("20")
    page.get_by_label("age from").press("Enter")
    page.locator("#box-answer .answer").wait_for()
    expect(page.locator(".field-fault:visible")).to_have_count(0)


def test_moving_k_shows_the_clusters_of_the_api(window: Window, city: City) -> None:
    """Every centre and size in the table is the one of GET …/clusters?k=, and the map draws as many."""
    page = explored(window, city, 2)
    page.get_by_label("k", exact=True).focus()
    for k in (5, 6):
        page.keyboard.press("ArrowRight")
        page.locator(f"#map[data-ready='{k}']").wait_for()
        asked = city.ask(f"/v1/releases/{city.releases[2]}/clusters?k={k}")
        rows = page.locator("#clusters-body tbody tr")
        expect(rows).to_have_count(k)
        for place, (centre, size) in enumerate(zip(asked["centers"], asked["sizes"], strict=True)):
            cells = [text.split("\n")[0] for text in rows.nth(place).locator("td").all_inner_texts()]
            assert cells[1] == f"{round(size):,}"
            assert [float(cell.replace(",", "")) for cell in cells[2:4]] == pytest.approx(
                centre, rel=6e-3
            )  # three digits are shown
    drawn = page.evaluate("document.getElementById('map').data.find((t) => t.name === 'centres').x")
    assert drawn == [centre[0] for centre in asked["centers"]]


@pytest.mark.parametrize("width", [1440, 1100, 390])
def test_no_attribute_of_the_clusters_is_out_of_sight(window: Window, city: City, width: int) -> None:
    """Three attributes with their intervals fit beside the map, and on a phone."""
    page = explored(window, city, 3, viewport={"width": width, "height": 900})
    assert page.locator("#clusters-body .scroll").evaluate(HIDDEN) == 0


def test_the_heat_map_is_the_marginal_of_the_api(window: Window, city: City) -> None:
    """Cell by cell, for any two attributes; choosing an axis twice swaps the two."""
    page = explored(window, city, 3)
    page.get_by_label("Across").select_option("visits")
    page.locator("#map[data-axes='visits income']").wait_for()
    page.get_by_label("Up").select_option("visits")
    page.locator("#map[data-axes='income visits']").wait_for()
    assert page.get_by_label("Across").input_value() == "income"
    asked = city.ask(f"/v1/releases/{city.releases[3]}/marginal?attributes=visits,income")
    drawn = page.evaluate("(({x, y, z}) => ({x, y, z}))(document.getElementById('map').data[0])")
    assert drawn["z"] == asked["counts"]
    assert drawn["y"] == asked["attributes"][0]["edges"]
    assert drawn["x"] == asked["attributes"][1]["edges"]


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The nearest centre of each point."""
    return ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize("attributes", [2, 3])
def test_the_boundaries_separate_what_the_api_assigns(window: Window, city: City, attributes: int) -> None:
    """A point is in the drawn cell of exactly the centre that is nearest to it; with three attributes, in the slice."""
    page = explored(window, city, attributes)
    rng = np.random.default_rng(1)
    centres, points = rng.uniform(-1, 1, (7, attributes)), rng.uniform(-1, 1, (300, attributes))
    points[:, 2:] = 0.2  # the slice
    given = [{"x": c[0], "y": c[1], "off": ((c[2:] - 0.2) ** 2).sum()} for c in centres]
    script = page.locator('script[type="module"][src$="explorer.js"]').get_attribute("src") or ""
    polygons = page.evaluate(
        "async ([path, given]) => (await import(path)).cells(given)",
        [script.replace("explorer.js", "voronoi.js"), given],
    )
    inside = np.array([[_holds(np.array(polygon), point[:2]) for polygon in polygons] for point in points])
    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == nearest(points, centres)).all()


def _holds(polygon: np.ndarray, point: np.ndarray) -> bool:
    """Whether a convex polygon, in either direction, holds a point."""
    if len(polygon) < 3:
        return False
    sides = np.roll(polygon, -1, axis=0) - polygon
    turns = sides[:, 0] * (point[1] - polygon[:, 1]) - sides[:, 1] * (point[0] - polygon[:, 0])
    turns = turns[np.abs(sides).sum(axis=1) > 1e-9]
    return bool((turns >= 0).all() or (turns <= 0).all())


def test_quantiles_and_moments_are_those_of_the_api(window: Window, city: City) -> None:
    """The tables under the charts say what the API says, for the attribute that is chosen."""
    page = explored(window, city, 2)
    page.get_by_label("Attribute", exact=True).select_option("income")
    expect(page.locator("#quantile-of")).to_have_text("of income")
    asked = city.ask(f"/v1/releases/{city.releases[2]}/quantiles?attribute=income&q=0.5")["quantiles"][0]
    median = page.locator("#quantile-table tbody tr").nth(2)
    expect(median).to_contain_text(f"{asked['value']:,.0f}")
    size = city.ask(f"/v1/releases/{city.releases[2]}/moments")["size"]
    expect(page.locator("#moments tbody tr").first).to_contain_text(f"{round(size['value']):,}")


def test_the_curl_lines_give_what_the_page_shows(window: Window, city: City, tmp_path: Path) -> None:
    """Every panel's line runs as it is printed, with the key in a variable, and answers 200."""
    page = explored(window, city, 2)
    page.get_by_role("button", name="Count", exact=True).click()
    page.locator("#box-answer .answer").wait_for()
    names = page.locator("[data-lines]").evaluate_all("all => all.map((one) => one.dataset.lines)")
    assert set(names) == {"map", "clusters", "scan", "count", "marginal", "quantiles", "moments", "rows"}
    for name in names:
        line = curl_line(page, name).replace("curl ", "curl -sSf ", 1)
        done = subprocess.run(
            ["bash", "-c", line],
            env={"RUGNIK_KEY": city.keys["analyst"], "PATH": "/usr/bin:/bin"},
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)
        if name != "rows":
            assert json.loads(done.stdout)["epsilon_spent"] == "0"
    assert (tmp_path / "rows.csv").read_text().count("\n") == 1001


def test_the_python_lines_give_what_the_page_shows(window: Window, city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every panel's lines run as they are printed, through the client, and their answer is the API's."""
    monkeypatch.setenv("RUGNIK_KEY", city.keys["analyst"])
    page = explored(window, city, 2)
    for name in page.locator("[data-lines]").evaluate_all("all => all.map((one) => one.dataset.lines)"):
        lines = page.locator(f'[data-lines="{name}"] [data-python]').text_content() or ""
        named: dict[str, Any] = {}
        exec(lines, named)  # noqa: S102 - it is our own page's
        named["client"].close()
        answer = named[lines.splitlines()[-1].partition(" = ")[0]]
        assert answer.raw["epsilon_spent"] == "0"
        assert answer.raw["release"] == city.releases[2]


def test_a_million_cells_stay_light(sqlite_settings: Settings, serve: Callable[..., Server], window: Window) -> None:
    """The map sums cells up, the page weighs less than 2 MB besides Plotly's file, and k waits to be asked for."""
    server = serve(sqlite_settings)
    release = million_cells(server, server.issue_key("curator"))
    page = window(server.url, server.issue_key("analyst")).go(f"/releases/{release}")
    page.locator("#map[data-axes]").wait_for()
    expect(page.locator("#map-words")).to_contain_text(re.compile("Each square sums up to 8 . 8 cells"))
    page.locator("#moments tbody tr").first.wait_for()
    weight = page.evaluate(
        """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter((one) => !one.name.endsWith('plotly.min.js')).reduce((sum, one) => sum + one.decodedBodySize, 0)"""
    )
    assert 10_000 < weight < 2_000_000
    expect(page.get_by_role("button", name="Find 5 clusters")).to_be_visible()
    assert page.evaluate("document.getElementById('map').data[0].z.length") == 125


def test_what_a_threshold_left_is_shown_with_its_bounds(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Window
) -> None:
    """Marginals without one reach for all cells, and clusters by another method than the usual, with the reason why."""
    server = serve(sqlite_settings.model_copy(update={"max_cells": 1000}))
    release = thresholded(server, server.issue_key("curator"))
    page = window(server.url, server.issue_key("analyst")).go(f"/releases/{release}")
    page.locator("#map[data-ready='3']").wait_for()
    expect(page.locator("#map-words")).to_contain_text("Point at a cell for its bounds")
    low, high, _ = page.evaluate("document.getElementById('map').data[0].customdata[0][0]")
    assert low <= page.evaluate("document.getElementById('map').data[0].z[0][0]") <= high
    expect(page.locator("#marginal-words")).to_contain_text("certain to lie between")
    expect(page.locator("#clusters-body")).to_contain_text("Method: thresholded. ")
    expect(page.locator("#clusters-body")).to_contain_text("There is no column “noise?”")
    expect(page.locator(".method-note")).to_have_count(0)
    expect(page.locator("#problem")).to_be_empty()
    assert page.locator("#clusters-body .scroll").evaluate(HIDDEN) == 0


def test_the_picture_and_the_data_can_be_taken_away(window: Window, city: City) -> None:
    """PNG and SVG of the map, the synopsis in every form, synthetic rows with the count and seed that were asked."""
    page = explored(window, city, 2)
    for form, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Picture as {form}").click()
        body = Path(saved.value.path()).read_bytes()
        assert body.startswith(start)
        assert len(body) > 5000
    page.get_by_label("Rows", exact=True).fill("7")
    page.get_by_label("Seed").fill("3")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Rows csv").click()
    rows = Path(saved.value.path()).read_text().splitlines()
    assert (rows[0], len(rows)) == ('"age","income"', 8)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Synopsis parquet").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"PAR1")


def test_one_attribute_is_shown_as_bars(window: Window, city: City) -> None:
    """No second axis to choose; the bars are the marginal, and a drag along them counts a range."""
    page = explored(window, city, 1)
    expect(page.get_by_label("Up")).to_be_hidden()
    asked = city.ask(f"/v1/releases/{city.releases[1]}/marginal?attributes=age")
    assert page.evaluate("document.getElementById('map').data[0].y") == asked["counts"]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if "/count" in request.url else None)
    drag(page, (0.2, 0.5), (0.4, 0.6))
    answer = page.locator("#box-answer .answer")
    answer.wait_for()
    page.wait_for_timeout(300)
    assert len(requests) == 1
    assert float(answer.get_attribute("data-count") or "0") > 0


def test_a_map_can_be_touched_on_a_phone(window: Window, city: City) -> None:
    """390 pixels wide: nothing is wider than the screen, and the panels work."""
    page = explored(window, city, 2, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    drag(page, (0.2, 0.2), (0.6, 0.6))
    page.locator("#box-answer .answer").wait_for()


def test_a_name_with_markup_is_shown_as_it_is_written(
    window: Window, serve: Callable[..., Server], sqlite_settings: Settings
) -> None:
    """No link, no bold letters, no template: charts show a name's letters, in titles and in hovers."""
    across, up = "<a href='//evil.example'>x</a>", "<b>y</b> & %{z}"
    body = {
        "name": "marked",
        "attributes": [{"name": name, "lower": 0, "upper": 1} for name in (across, up)],
        "budget": "1",
    }
    order = {"epsilon": "1", "clusters": 2, "size": {"declared": 100}}
    rows = f"{across},{up}\n" + "0.2,0.2\n0.8,0.8\n" * 50
    server = serve(sqlite_settings)
    key = server.issue_key("curator")
    curator_call(server, key, "POST", "/v1/datasets", json=body)
    release = curator_call(server, key, "POST", "/v1/datasets/marked/releases", json=order)["id"]
    csv = {"Content-Type": "text/csv"}
    curator_call(server, key, "PUT", f"/v1/releases/{release}/records", content=rows.encode(), headers=csv)
    page = window(server.url, server.issue_key("analyst")).go(f"/releases/{release}")
    page.locator("#map[data-ready]").wait_for()
    expect(page.locator("#map .xtitle")).to_have_text(across)
    expect(page.locator("#map .ytitle")).to_contain_text("<b>y</b> &")
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 0.45 * area["width"], area["y"] + 0.45 * area["height"])
    hover = page.locator("#map .hoverlayer text").first
    expect(hover).to_contain_text(across)
    expect(hover).to_contain_text("<b>y</b> & %")
    assert page.locator(".chart a").count() == 0
    assert "evil" not in "".join(page.locator("a").evaluate_all("(all) => all.map((one) => one.href)"))
