"""Two releases side by side in a browser: the statistics, the page, and that it adds nothing to what the API says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City

Window = Callable[..., Surfer]
MINUS = "\N{MINUS SIGN}"
CALL = """async ([module, name, values]) => {
    const functions = await import(module.replace("compare.js", "difference.js"));
    return functions[name](...values);
}"""


def comparing(window: Window, city: City, query: str = "", **options: Any) -> Page:
    """The page of an analyst, once its charts are drawn."""
    page = window(city.url, city.keys["analyst"], **options).go(f"/datasets/survey-2026/compare{query}")
    page.locator("#compare[data-ready]").wait_for()
    return page


def called(page: Page, name: str, *values: Any) -> Any:
    """What a function of the page's statistics returns."""
    module = page.locator('script[type="module"][src*="compare"]').get_attribute("src")
    return page.evaluate(CALL, [module, name, values])


def test_a_difference_lies_between_opposite_ends_and_is_certain_without_zero(window: Window, city: City) -> None:
    """Numbers worked out by hand: right minus left, from low(right) - high(left) to high(right) - low(left)."""
    page = comparing(window, city)
    left = {"counts": [10, 100, 50], "low": [5, 90, 40], "high": [15, 110, 60]}
    right = {"counts": [14, 60, 70], "low": [8, 50, 61], "high": [20, 89, 80]}
    cells = called(page, "differences", left, right)
    assert [(cell["difference"], cell["low"], cell["high"], cell["sign"]) for cell in cells] == [
        (4, -7, 15, 0),
        (-40, -60, -1, -1),
        (20, 1, 40, 1),
    ]
    assert called(page, "noticeable", cells) == 19.5
    touching = called(
        page, "differences", {"counts": [1], "low": [0], "high": [5]}, {"counts": [9], "low": [5], "high": [12]}
    )
    assert touching[0]["sign"] == 0  # an interval that ends at 0 holds it


# Edges of both axes, the most cells, and what the page makes of them.
COMMON: list[tuple[list[float], list[float], int, dict[str, Any]]] = [
    # Every second edge of the right axis is one of the left: cells of both, none cut.
    ([0, 2, 4, 6, 8], list(range(9)), 8, {"side": 0, "places": [0, 1, 2, 3, 4], "whole": [True, True]}),
    # Twelfths and eighths share quarters.
    (
        [i / 12 for i in range(13)],
        [i / 8 for i in range(9)],
        8,
        {"side": 1, "places": [0, 2, 4, 6, 8], "whole": [True, True]},
    ),
    # Fifths and sevenths share nothing: the coarser one decides, and cells of the other one are cut.
    (
        [i / 7 for i in range(8)],
        [i / 5 for i in range(6)],
        8,
        {"side": 1, "places": list(range(6)), "whole": [False, True]},
    ),
    # Too many cells: edges in equal steps.
    (list(range(25)), list(range(25)), 4, {"side": 0, "places": [0, 6, 12, 18, 24], "whole": [True, True]}),
]


def test_cells_are_made_of_edges_that_both_releases_have(window: Window, city: City) -> None:
    """As many as the page asks for at most; where too few are shared, it says whose cells are cut."""
    page = comparing(window, city)
    for left, right, most, expected in COMMON:
        assert called(page, "commonEdges", [left, right], most) == expected


def test_the_page_asks_both_releases_at_975_and_shows_what_they_say(window: Window, city: City) -> None:
    """Each of the same boxes, simultaneous; every line of the table follows from the two answers of the API."""
    surfer = window(city.url, city.keys["analyst"])
    asked: dict[str, Any] = {}
    surfer.page.on(
        "request", lambda sent: asked.update({sent.url: sent.post_data_json}) if sent.url.endswith("/counts") else None
    )
    left, right = city.releases[2], city.releases[3]
    query = f"?left={left}&right={right}&attribute=age&attribute=income&cells=6"
    page = surfer.go(f"/datasets/survey-2026/compare{query}")
    page.locator("#compare[data-ready]").wait_for()
    headers = {"Authorization": f"Bearer {city.keys['analyst']}"}
    answers = []
    for release in (left, right):
        body = asked[f"{city.url}/v1/releases/{release}/counts"]
        assert (body["level"], body["simultaneous"]) == (0.975, True)
        reply = httpx.post(f"{city.url}/v1/releases/{release}/counts", headers=headers, json=body)
        answers.append(reply.json())
    assert len({json.dumps(body["boxes"]) for body in asked.values()}) == 1
    cells = len(answers[0]["counts"]) - 1  # the last box is all rows
    expect(page.locator("#verdict")).to_contain_text(f"of {cells} cells")
    page.get_by_text("All cells", exact=True).click()
    lines = page.locator("#all-cells tbody tr")
    expect(lines).to_have_count(cells)
    shown = [
        [text.replace(",", "").replace(MINUS, "-") for text in line.locator("td").all_inner_texts()]
        for line in lines.all()
    ]
    for i, line in enumerate(shown):
        low, high = (answers[1][a][i] - answers[0][b][i] for a, b in (("low", "high"), ("high", "low")))
        assert [float(line[4]), float(line[5])] == pytest.approx([low, high], abs=0.51)
        assert line[6] == ("rose" if low > 0 else "fell" if high < 0 else "no")
    # One scale for both maps, and what was chosen is in the form again.
    scales = page.evaluate("['left-chart', 'right-chart'].map((id) => document.getElementById(id).data[0].zmax)")
    assert scales[0] == scales[1]
    assert page.get_by_label("Cells on an axis").input_value() == "6"
    expect(page.get_by_label("Left", exact=True)).to_have_value(left)
    page.get_by_role("link", name="Swap").click()
    page.wait_for_url(f"**left={right}**")
    expect(page.get_by_label("Left", exact=True)).to_have_value(right)


def test_the_newest_two_are_compared_unless_others_are_chosen_and_never_those_of_another_dataset(
    window: Window, city: City
) -> None:
    """From the history of a dataset; one attribute where only one is shared; a sentence where there is one release."""
    page = window(city.url, city.keys["auditor"]).go("/datasets/survey-2026")
    page.get_by_role("link", name="Compare the newest two").click()
    page.locator("#compare[data-ready]").wait_for()
    expect(page.get_by_label("Right", exact=True)).to_have_value(city.releases[1])
    expect(page.get_by_label("Left", exact=True)).to_have_value(city.releases[3])
    expect(page.get_by_label("Up", exact=True)).to_have_count(0)
    expect(page.locator("tr", has_text="Epsilon").first).to_contain_text("differs")
    stranger = window(city.url, city.keys["analyst"])
    stranger.expected_statuses |= {404}
    expect(stranger.go("/datasets/pilot/compare").get_by_role("main")).to_contain_text("takes two published releases")
    page = stranger.go(f"/datasets/pilot/compare?left={city.releases[2]}&right={city.releases[3]}")
    expect(page.get_by_role("main")).to_contain_text("no published release of this id in this dataset")


def test_what_is_copied_runs_and_gives_what_the_page_shows(
    window: Window, city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All boxes of both releases: in Python with the differences of the table, with curl both answers behind them."""
    query = f"?left={city.releases[2]}&right={city.releases[3]}&attribute=age&attribute=income&cells=6"
    page = comparing(window, city, query)
    page.get_by_text("All cells", exact=True).click()
    shown = [
        [float(text.replace(",", "").replace(MINUS, "-")) for text in line.locator("td").all_inner_texts()[1:6]]
        for line in page.locator("#all-cells tbody tr").all()
    ]
    monkeypatch.setenv("RUGNIK_KEY", city.keys["analyst"])
    named: dict[str, Any] = {}
    exec(page.locator('[data-lines="compare"] [data-python]').text_content() or "", named)  # noqa: S102 - our own page's
    named["client"].close()
    columns = (named["left"].counts, named["right"].counts, named["difference"], named["low"], named["high"])
    for line, *values in zip(shown, *columns, strict=False):
        assert line == pytest.approx(values, abs=0.51)
    assert len(named["boxes"]) == len(shown) + 1  # and all rows
    done = subprocess.run(
        ["bash", "-c", page.locator('[data-lines="compare"] [data-curl]').text_content() or ""],
        env={"RUGNIK_KEY": city.keys["analyst"], "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    ).stdout.decode()
    left, end = json.JSONDecoder().raw_decode(done)
    right = json.loads(done[end:])
    assert [tuple(left["counts"]), tuple(right["counts"])] == [named["left"].counts, named["right"].counts]


# A category by a number, in cells of width 1 and 3; the second line has as many rows per width in every cell.
UNEVEN = """async (module) => {
    const of = (name) => import(module.replace("compare.js", name));
    const [{ barChart, heatChart, heightsOf }, { attributeOf }, { colours }] = await Promise.all(
        ["histogram.js", "attribute.js", "charts.js"].map(of));
    const place = attributeOf({ name: "place", kind: "integer", lower: 0, upper: 7 });
    const group = attributeOf({ name: "group", kind: "category", values: ["a", "b"] });
    const axes = [{ labels: ["a", "b"] }, { edges: [-0.5, 0.5, 3.5, 4.5, 7.5] }];
    const counts = [[10, 10, 10, 10], [20, 60, 20, 60]];
    const reach = { level: 0.95, each: 300, all: 400 };
    const map = heatChart(colours(), [place, group], { attributes: axes, counts, reach }, {});
    const bars = barChart(colours(), place, { attributes: [axes[1]], counts: counts[1], reach }, { whiskers: true });
    const { range } = heightsOf(bars.traces);
    const { title, words } = bars;
    return { map: map.traces[0], mapWords: map.words, bars: bars.traces[0], title, words, range };
}"""


def test_cells_of_different_width_are_drawn_by_density(window: Window, city: City) -> None:
    """No stripe where only a cell is wider; words and tooltip say so and give the count; bars keep their height."""
    page = comparing(window, city)
    module = page.locator('script[type="module"][src*="compare"]').get_attribute("src")
    drawn = page.evaluate(UNEVEN, module)
    assert drawn["map"]["z"] == [[20, 20 / 3, 20, 20 / 3], [40, 40, 40, 40]]
    assert [cell[2] for cell in drawn["map"]["customdata"][1]] == [20, 60, 20, 60]
    assert "noisy count %{customdata[2]" in drawn["map"]["hovertemplate"]
    assert "per cell of mean size" in drawn["map"]["hovertemplate"]
    assert drawn["mapWords"] == "Cells differ in size: colour is rows per cell of mean size."
    assert (drawn["bars"]["y"], drawn["title"]) == ([20, 20, 20, 20], "rows per value")
    assert drawn["words"] == "Cells differ in width: height is rows per value, so that areas are rows."
    assert [cell[2] for cell in drawn["bars"]["customdata"]] == [20, 60, 20, 60]
    assert drawn["bars"]["error_y"]["array"] == [300, 100, 300, 100]
    low, high = drawn["range"]
    assert 20 / (high - low) > 0.45  # the intervals are fifteen times as high


def test_falls_are_as_clear_as_rises_and_tooltips_have_the_interval_of_the_difference(
    window: Window, city: City
) -> None:
    """Nothing is muted for lying below zero, and the interval of a difference may lie below zero too."""
    query = f"?left={city.releases[2]}&right={city.releases[3]}&attribute=age&attribute=income&cells=6"
    page = comparing(window, city, query)
    traces = page.evaluate(
        "document.getElementById('difference-chart').data.filter((t) => t.type === 'heatmap')"
        ".map(({z, opacity, customdata, hovertemplate}) => ({z, opacity, customdata, hovertemplate}))"
    )
    (only,) = traces
    assert only.get("opacity") is None
    assert min(value for row in only["z"] for value in row) < 0
    assert min(low for row in only["customdata"] for low, *_ in row) < 0
    assert "95 % interval" in only["hovertemplate"]
    left = page.evaluate("document.getElementById('left-chart').data[0].hovertemplate")
    assert "97.5 % interval" in left
