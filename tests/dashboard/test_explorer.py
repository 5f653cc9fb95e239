"""The explorer's view: kept in its address, limited to a part in every panel, taken along as a link or a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.dashboard.test_access import violations
from tests.dashboard.test_analyst import drag, explored
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City

Window = Callable[..., Surfer]


def query(page: Page) -> list[tuple[str, str]]:
    """What the page's address has of the view."""
    return parse_qsl(urlsplit(page.url).query, keep_blank_values=True)


def chosen(page: Page) -> dict[str, Any]:
    """What the controls of the page say, and how many rows it counted."""
    ids = ("x-axis", "y-axis", "marginal-attribute", "k", "colour", "noise", "box-0-from", "box-0-to")
    values = {name: page.locator(f"#{name}").input_value() for name in ids}
    return values | {
        "boundaries": page.get_by_label("boundaries").is_checked(),
        "snap": page.locator("#box-snap").is_checked(),
        "chips": page.locator(".chip").all_inner_texts(),
        "count": page.locator("#box-answer .answer").get_attribute("data-count"),
    }


def test_a_link_shows_the_same_view_again(window: Window, city: City) -> None:
    """Axes, k, colours, noise, toggles, a part and a counted box: after a reload, and for who signs in first."""
    page = explored(window, city, 3)
    page.get_by_label("Across").select_option("visits")
    page.get_by_label("k", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.locator("#map[data-ready='5']").wait_for()
    page.get_by_label("Colour").select_option("log")
    page.get_by_label("Noise").select_option("each")
    page.get_by_label("boundaries").uncheck()
    page.get_by_label("Attribute", exact=True).select_option("income")
    page.get_by_label("income to", exact=True).fill("3000")
    page.get_by_role("button", name="Show only this part").click()
    page.locator("#map[data-part='income:..3000'][data-ready='5']").wait_for()
    page.get_by_label("age from").fill("30")
    page.locator("#box-snap").check()
    page.get_by_label("age from").press("Enter")
    page.locator("#box-answer .answer").wait_for()
    expect(page.locator(".chip")).to_contain_text("income 0 to below ")
    seen, address = chosen(page), page.url
    assert query(page) == [
        ("x", "visits"),
        ("one", "income"),
        ("k", "5"),
        ("colour", "log"),
        ("noise", "each"),
        ("where", "income:..3000"),
        ("box", "age:30.."),
        ("hide", "boundaries"),
        ("snap", "true"),
    ]
    page.reload()
    colleague = window(city.url).page
    colleague.goto(address)
    colleague.get_by_label("Key").fill(city.keys["analyst"])
    colleague.get_by_role("button", name="Sign in").click()
    for other in (page, colleague):
        other.locator("#map[data-part='income:..3000'][data-ready='5'][data-look='log each']").wait_for()
        other.locator("#box-answer .answer").wait_for()
        expect(other.locator(".chip")).to_contain_text("income 0 to below ")
        assert (chosen(other), other.url) == (seen, address)


def test_back_undoes_one_deliberate_step(window: Window, city: City) -> None:
    """And Forward does it again; a slider that moves is one step, however many values it passes."""
    page = explored(window, city, 2)
    page.get_by_label("Colour").select_option("log")
    page.evaluate(
        "const k = document.getElementById('k'); for (const value of [5, 6, 7]) { k.value = value;"
        " k.dispatchEvent(new Event('input')); } k.dispatchEvent(new Event('change'));"
    )
    page.get_by_label("age from").fill("50")
    page.get_by_label("age from").press("Enter")
    page.locator("#box-answer .answer").wait_for()
    assert query(page) == [("k", "7"), ("colour", "log"), ("box", "age:50..")]
    page.go_back()
    expect(page.locator("#box-answer .answer")).to_have_count(0)
    expect(page.get_by_label("age from")).to_have_value("")
    assert query(page) == [("k", "7"), ("colour", "log")]
    page.go_back()
    page.locator("#map[data-ready='4'][data-look='log shown']").wait_for()
    page.go_back()
    page.locator("#map[data-look='linear shown']").wait_for()
    assert query(page) == []
    for _ in range(3):
        page.go_forward()
    page.locator("#map[data-ready='7'][data-look='log shown']").wait_for()
    expect(page.locator("#box-answer .answer")).to_have_count(1)


def test_what_does_not_fit_is_left_out_of_the_address_with_a_note(window: Window, city: City) -> None:
    """Unknown names, attributes, numbers and ranges; the rest of the view is shown."""
    analyst = window(city.url, city.keys["analyst"])
    odd = [
        "x=shoe",
        "k=99",
        "k=x",
        "where=age:900..901",
        "where=age:40..30",
        "box=shoe:1..2",
        "box=age:x..",
        "colour=red",
    ]
    odd += ["y=income&x=income", "who=me", "hide=all", "where=income"]
    page = analyst.go(f"/releases/{city.releases[2]}?{'&'.join(odd)}&where=income:1000..3000&where=income:..")
    page.locator("#map[data-part='income:1000..3000'][data-ready='4']").wait_for()
    assert query(page) == [("where", "income:1000..3000")]
    expect(page.locator("#view-note")).to_contain_text(
        "does not fit this release: x=shoe, k=99, k=x, where=age:900..901"
    )
    for text in odd[4:]:
        for one in text.split("&"):
            expect(page.locator("#view-note")).to_contain_text(one)
    expect(page.locator("#problem")).to_be_empty()
    expect(page.locator(".chip")).to_contain_text(["income 1,000 to below 3,000"])
    analyst.expected_statuses.add(422)
    page.goto(f"{city.url}/releases/{city.releases[2]}?where=age:0x10..0x20")  # only the service sees what is wrong
    expect(page.locator("#view-note")).to_have_text("Left out, because this release has no such part: age:0x10..0x20.")
    page.locator("#map[data-part=''][data-ready='4']").wait_for()
    expect(page.locator("#part")).to_be_hidden()
    assert query(page) == []


def test_the_link_is_copied_or_shown(window: Window, city: City) -> None:
    """To the clipboard where the browser allows it, else into a field."""
    page = explored(window, city, 1)
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#view-status")).to_have_text("The link is copied.")
    assert page.evaluate("window.copied") == page.url
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('no'); }; }")
    page.locator("#copy-link").click()
    expect(page.get_by_label("Link to this view")).to_be_visible()
    expect(page.get_by_label("Link to this view")).to_have_value(page.url)


def test_the_map_and_the_answer_are_in_view_together(window: Window, city: City) -> None:
    """At 1440 by 900, with the count beside the box; the answer stays when the reader scrolls down."""
    page = explored(window, city, 2)
    drag(page, (0.15, 0.1), (0.4, 0.3))
    answer = page.locator("#box-answer .answer")
    expect(answer).to_be_in_viewport(ratio=1)
    expect(page.locator("#map")).to_be_in_viewport(ratio=1)
    expect(page.locator("#map .annotation-text")).to_have_text(answer.text_content() or "")
    page.locator("#moments").scroll_into_view_if_needed()
    expect(answer).to_be_in_viewport(ratio=1)
    # The chart of one attribute fills its card, whose height is that of the quantiles beside it.
    gap = page.evaluate(
        "(() => { const card = document.getElementById('marginal').parentElement;"
        " return card.getBoundingClientRect().bottom - card.lastElementChild.getBoundingClientRect().bottom; })()"
    )
    assert gap < 40
    page.wait_for_function(
        "() => { const chart = document.getElementById('marginal');"
        " return Math.abs(chart.querySelector('.main-svg').getBoundingClientRect().height - chart.clientHeight) < 2; }"
    )


def test_a_range_dragged_on_the_chart_is_the_part_of_every_panel(window: Window, city: City) -> None:
    """Map, clusters, quantiles, moments, downloads and further counts; the chart keeps its other bars, faint."""
    page = explored(window, city, 3)
    page.get_by_label("Attribute", exact=True).select_option("visits")
    page.locator("#marginal[data-ready='visits']").wait_for()
    page.locator("#marginal-words").scroll_into_view_if_needed()
    area = page.locator("#marginal .nsewdrag").first.bounding_box()
    assert area is not None
    for share, action in ((0.4, page.mouse.down), (0.8, page.mouse.up)):
        page.mouse.move(area["x"] + share * area["width"], area["y"] + 0.5 * area["height"], steps=8)
        action()
    page.locator("#map[data-part^='visits:'][data-ready='4']").wait_for()
    (part,) = [text for name, text in query(page) if name == "where"]
    low, high = (float(end) for end in part.removeprefix("visits:").split(".."))
    assert [low, high] == pytest.approx([16, 32], abs=0.5)
    base = f"/v1/releases/{city.releases[3]}"
    moments = city.ask(f"{base}/moments?where={part}")
    size = moments["size"]["interval"]
    rows = f"{int(size['low']):,} to {-int(-size['high'] // 1):,}"
    expect(page.locator("#box-scope")).to_have_text(f"In the part that is shown: {rows}.")
    page.locator(f"#marginal[data-part='{part}']").wait_for()
    expect(page.locator("#marginal .annotation-text")).to_have_text(f"{rows} rows")
    assert (
        page.evaluate("document.getElementById('map').data[0].z")
        == (city.ask(f"{base}/marginal?attributes=income,age&where={part}")["counts"])
    )
    whole = city.ask(f"{base}/marginal?attributes=visits")["counts"]
    bars = page.evaluate(
        "(({y, marker}) => ({y, colours: [...marker.color]}))(document.getElementById('marginal').data[0])"
    )
    assert bars["y"] == whole
    assert len(set(bars["colours"])) == 2
    page.get_by_label("age from").fill("50")
    page.get_by_label("age from").press("Enter")
    page.locator("#box-answer .answer").wait_for()
    box = f"where=age:50..&where=visits:{moments['slice']['visits']}"
    assert float(chosen(page)["count"]) == city.ask(f"{base}/count?{box}")["count"]
    assert f"where={part}" in (page.get_by_role("link", name="Synopsis csv").get_attribute("href") or "")
    assert violations(page) == []
    page.get_by_role("button", name="Remove visits").click()
    expect(page.locator("#part")).to_be_hidden()
    expect(page.locator("#map-title")).to_be_focused()
    assert query(page) == [("one", "visits"), ("box", "age:50..")]


def test_many_labels_get_a_search_and_chosen_ones_stay_in_sight(window: Window, city: City) -> None:
    """A category of forty values; few values have none."""
    page = explored(window, city, 1)
    script = page.locator('script[type="module"][src$="explorer.js"]').get_attribute("src") or ""
    page.evaluate(
        "async ([fields, kinds]) => { const { fieldOf } = await import(fields);"
        " const { attributeOf } = await import(kinds);"
        " const values = [...Array(40).keys()].map((place) => `town ${place}`);"
        " window.field = fieldOf(attributeOf({ name: 'town', kind: 'category', values }), 9);"
        " document.getElementById('box-fields').append(window.field.element);"
        " const few = fieldOf(attributeOf({ name: 'few', kind: 'category', values: ['a', 'b'] }), 10);"
        " document.getElementById('box-fields').append(few.element); }",
        [script.replace("explorer.js", "fields.js"), script.replace("explorer.js", "attribute.js")],
    )
    town = page.get_by_role("group", name="town")
    town.get_by_label("town 7", exact=True).check()
    page.get_by_label("Search the values of town").fill("3")
    expect(town.get_by_role("checkbox")).to_have_count(14)  # 3, 13, 23, 30 … 39, and the one that is chosen
    expect(town.get_by_role("status")).to_have_text("13 match, 1 chosen")
    town.get_by_label("town 33").check()
    assert page.evaluate("window.field.part") == "town 7,town 33"
    expect(page.get_by_role("group", name="few").get_by_role("searchbox")).to_have_count(0)
    assert violations(page) == []


def test_pointing_at_a_cell_tells_its_range_its_count_and_its_interval(window: Window, city: City) -> None:
    """The interval is that of the API, and no fewer rows than none."""
    page = explored(window, city, 2)
    asked = city.ask(f"/v1/releases/{city.releases[2]}/marginal?attributes=income,age")
    trace = page.evaluate("(({text, customdata}) => ({text, customdata}))(document.getElementById('map').data[0])")
    reach = asked["reach"]["each"]
    pairs = zip(trace["customdata"], asked["counts"], strict=True)
    for (low, high, count), expected in (
        (cell, z) for row, counts in pairs for cell, z in zip(row, counts, strict=True)
    ):
        assert count == expected
        assert (low, high) == (max(0, round(expected - reach)), max(0, round(expected + reach)))
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 0.9 * area["width"], area["y"] + 0.1 * area["height"])
    page.locator("#map .hoverlayer tspan.line").first.wait_for()
    words = " ".join(page.locator("#map .hoverlayer tspan.line").all_text_contents())
    ages = asked["attributes"][1]["edges"]
    cell = next(place for place, edge in enumerate(ages[1:]) if edge > 90)
    assert f"age {ages[cell]:.1f} to {ages[cell + 1]:.1f}" in words
    assert "noisy count " in words
    assert "95 % interval: 0 to " in words


def test_cells_inside_of_a_counted_box_can_be_pointed_at(window: Window, city: City) -> None:
    """There one looks most; and a drag that begins inside of the box draws another one."""
    page = explored(window, city, 2)
    drag(page, (0.15, 0.1), (0.6, 0.6))
    page.locator("#box-answer .answer").wait_for()
    page.locator("#map .annotation-text").wait_for()
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 0.33 * area["width"], area["y"] + 0.72 * area["height"], steps=4)
    expect(page.locator("#map .hoverlayer text").first).to_contain_text("noisy count")
    first = page.get_by_label("age to").input_value()
    drag(page, (0.3, 0.3), (0.9, 0.8))
    expect(page.get_by_label("age to")).not_to_have_value(first)


def test_no_tooltip_covers_the_answer_beside_a_box_until_the_pointer_moves_on(window: Window, city: City) -> None:
    """The pointer lies on the box when its drag ends, and a tooltip there would lie on the label."""
    page = explored(window, city, 2)
    drag(page, (0.15, 0.1), (0.4, 0.3))
    page.locator("#map .annotation-text").wait_for()
    tooltips = page.locator("#map .hoverlayer")
    expect(tooltips).to_have_css("visibility", "hidden")
    area = page.locator("#map .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 0.8 * area["width"], area["y"] + 0.2 * area["height"], steps=4)
    expect(tooltips).to_have_css("visibility", "visible")


def test_a_centre_without_a_region_on_the_map_is_said(window: Window, city: City) -> None:
    """Beside the map, with the slice; of two attributes, which have no slice, nothing is said."""
    page = explored(window, city, 3)
    asked = city.ask(f"/v1/releases/{city.releases[3]}/clusters?k=4")
    # The last centre lies where the first does on the map, and far from the slice.
    asked["centers"][3] = [*asked["centers"][0][:2], 40.0]
    asked["sizes"][3] = 1.0
    page.route("**/clusters?k=5", lambda route: route.fulfill(json=asked))
    page.get_by_label("k", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map-lost")).to_contain_text("Cluster 4 has no region on this map: ")
    expect(page.locator("#map-lost")).to_contain_text("visits = ")
    page.get_by_label("boundaries").uncheck()
    expect(page.locator("#map-lost")).to_be_hidden()
    page.get_by_label("Up").select_option("")
    expect(page.get_by_label("boundaries")).to_be_disabled()
    expect(page.get_by_role("checkbox", name="intervals")).to_be_enabled()


def test_long_notes_are_folded(window: Window, city: City) -> None:
    """A short summary, and the whole sentence in it; a short one stays as it is."""
    page = explored(window, city, 2)
    asked = city.ask(f"/v1/releases/{city.releases[2]}/clusters?k=4")
    names = ", ".join(f"income of centre {i}" for i in range(9))
    long = f"{names} at an end of the interval: the noise leaves no other."
    asked["notes"] = [long, "Short."]
    page.route("**/clusters?k=5", lambda route: route.fulfill(json=asked))
    page.get_by_label("k", exact=True).focus()
    page.keyboard.press("ArrowRight")
    folded = page.locator("#clusters-body details.note")
    expect(folded.locator("summary")).to_have_text("Note: some values lie at an end of their interval")
    expect(page.get_by_text(long)).to_be_hidden()
    folded.locator("summary").click()
    expect(page.get_by_text(long)).to_be_visible()
    expect(page.get_by_text("Note: Short.")).to_be_visible()
    assert violations(page) == []


def test_fields_show_the_part_that_is_shown(window: Window, city: City) -> None:
    """An empty end is that of the part, in the fields and in what is counted; without a part it is the public bound."""
    page = explored(window, city, 2)
    page.get_by_label("age to", exact=True).fill("40")
    page.get_by_role("button", name="Show only this part").click()
    page.locator("#map[data-part='age:..40'][data-ready='4']").wait_for()
    moments = city.ask(f"/v1/releases/{city.releases[2]}/moments?where=age:..40")
    low, high = moments["slice"]["age"].split("..")
    shown = f"{round(float(high), 1):g}"  # what the chip says
    expect(page.get_by_label("age from")).to_have_attribute("placeholder", low)
    expect(page.get_by_label("age to")).to_have_attribute("placeholder", shown)
    expect(page.locator(".chip")).to_contain_text(f"below {shown}")
    expect(page.get_by_label("income to")).to_have_attribute("placeholder", "5000")
    page.get_by_label("age from").fill("20")
    page.get_by_label("age from").press("Enter")
    page.locator("#box-answer .answer").wait_for()
    asked = city.ask(f"/v1/releases/{city.releases[2]}/count?where=age:20..{high}")
    assert float(chosen(page)["count"]) == asked["count"]
    page.get_by_role("button", name="Show all rows").click()
    expect(page.get_by_label("age to")).to_have_attribute("placeholder", "100")


NOISE = {
    "each": ("muted, per cell", "about one in 40 may stand out by chance"),
    "all": ("muted, all at once", "hold for all cells at once"),
}


def test_what_may_be_noise_is_muted(window: Window, city: City) -> None:
    """Cells whose interval reaches down to zero; the page says how many stand out, and what that promises."""
    page = explored(window, city, 2)
    asked = city.ask(f"/v1/releases/{city.releases[2]}/marginal?attributes=income,age")
    counts = [count for row in asked["counts"] for count in row]
    for mode, (option, promise) in NOISE.items():
        page.get_by_label("Noise").select_option(option)
        page.locator(f"#map[data-look='linear {mode}']").wait_for()
        out = [count if count > asked["reach"][mode] else None for count in counts]
        loud, muted = page.evaluate(
            "document.getElementById('map').data.filter(({type}) => type === 'heatmap')"
            ".map(({z, opacity}) => [z.flat(), opacity])"
        )
        assert loud == [out, 1]
        assert muted[0] == [None if stands is not None else count for stands, count in zip(out, counts, strict=True)]
        assert muted[1] < 0.3
        standing = sum(stands is not None for stands in out)
        expect(page.locator("#map-noise")).to_contain_text(f"{standing:,} of {len(counts):,} cells stand out")
        expect(page.locator("#map-noise")).to_contain_text(promise)
    page.get_by_label("Colour").select_option("log")
    page.locator("#map[data-look='log all']").wait_for()
    drawn = page.evaluate(
        "document.getElementById('map').data.slice(0, 2).map(({z}) => z.flat().filter((v) => v !== null)).flat()"
    )
    assert min(drawn) == 0  # counts below zero have the colour of zero
    assert len(drawn) == len(counts)


def test_the_notebook_asks_what_the_page_asks(window: Window, city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """A valid notebook without the key; its cells run one after the other, and their answers are those of the page."""
    page = explored(window, city, 2)
    page.get_by_label("age to", exact=True).fill("40")
    page.get_by_role("button", name="Show only this part").click()
    page.locator("#map[data-part='age:..40'][data-ready='4']").wait_for()
    page.get_by_label("income from").fill("1000")
    page.get_by_label("income from").press("Enter")
    page.locator("#box-answer .answer").wait_for()
    expect(page.locator(".chip")).to_contain_text("below")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Open in notebook").click()
    assert saved.value.suggested_filename == f"survey-2026-{city.releases[2]}.ipynb"
    text = Path(saved.value.path()).read_text()
    book = json.loads(text)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert city.keys["analyst"] not in text
    assert page.url in text
    monkeypatch.setenv("RUGNIK_KEY", city.keys["analyst"])
    named: dict[str, Any] = {}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec("".join(cell["source"]), named)  # noqa: S102 - it is our own page's
    named["client"].close()
    assert named["answer"].count == float(chosen(page)["count"])
    assert len(named["clusters"].centers) == 4
    for name in ("quantiles", "moments", "clusters", "rows", "synopsis"):
        assert named[name].raw["parameters"]["where"] == ["age:..40"], name


def test_an_address_adds_nothing_to_a_notebook_but_its_link(window: Window, city: City) -> None:
    """Brackets in a link that somebody else wrote would end it in Markdown, and load a picture from elsewhere."""
    page = explored(window, city, 2)
    module = page.locator('script[type="module"][src*="explorer"]').get_attribute("src")
    made = page.evaluate(
        """async ([module, link]) => (await import(module.replace("explorer", "notebook")))
            .notebook({ title: "t", link, connected: "", panels: [] })""",
        [module, "http://rugnik.test/releases/r1?x=)![](http://elsewhere.test/p.png)"],
    )
    text = "".join(made["cells"][0]["source"])
    assert "(http://rugnik.test/releases/r1?x=%29!%5B%5D%28http://elsewhere.test/p.png%29)." in text


def test_several_k_are_compared_on_request(window: Window, city: City) -> None:
    """The numbers are those of the API; where it recommends a k, one button takes it, and another part forgets it."""
    page = explored(window, city, 2)
    asked = city.ask(f"/v1/releases/{city.releases[2]}/clusters/scan?k=3..5")
    advised = asked | {"recommended": {"k": 5, "reason": "Its clusters are the most stable."}}

    def advise(route: Route) -> None:
        route.fulfill(json=advised)

    page.get_by_label("Compare k from").fill("3")
    page.get_by_label("to", exact=True).fill("2")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#scan-body")).to_contain_text("Write two whole numbers")
    page.get_by_label("to", exact=True).fill("5")
    page.get_by_role("button", name="Compare").click()
    page.locator("#scan-chart[data-ready='3 4 5']").wait_for()
    drawn = page.evaluate("document.getElementById('scan-chart').data.map(({x, y}) => [x, y])")
    assert drawn == [[[3, 4, 5], [line[name] for line in asked["scan"]]] for name in ("inertia", "stability")]
    expect(page.locator(".advice")).to_have_count(1 if asked.get("recommended") else 0)
    page.route("**/clusters/scan?*", advise)
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".advice")).to_contain_text("k = 5 is recommended. Its clusters are the most stable.")
    page.get_by_text("The numbers").click()
    expect(page.locator("#scan-table tbody tr")).to_have_count(3)
    assert violations(page) == []
    page.get_by_role("button", name="Take k = 5").click()
    page.locator("#map[data-ready='5']").wait_for()
    assert query(page) == [("k", "5")]
    page.get_by_label("age to", exact=True).fill("50")
    page.get_by_role("button", name="Show only this part").click()
    expect(page.locator(".advice")).to_have_count(0)
    expect(page.locator("#scan-chart")).to_be_hidden()


def test_another_method_is_told_and_no_empty_column_of_noise_is_shown(window: Window, city: City) -> None:
    """Between two k of which one is answered by a method without a model of the noise."""
    page = explored(window, city, 2)
    expect(page.locator(".method-note")).to_have_count(0)
    expect(page.locator("#clusters-body thead")).to_contain_text("noise?")
    other = city.ask(f"/v1/releases/{city.releases[2]}/clusters?k=5&method=projected")
    page.route("**/clusters?k=5", lambda route: route.fulfill(json=other))
    page.get_by_label("k", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.locator("#map[data-ready='5']").wait_for()
    note = page.locator(".method-note")
    expect(note).to_contain_text("Another method than for k = 4: projected in place of posterior.")
    expect(page.locator("#clusters-body")).to_contain_text("There is no column “noise?”")
    expect(page.locator("#clusters-body thead")).not_to_contain_text("noise?")
