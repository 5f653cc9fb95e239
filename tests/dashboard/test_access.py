"""Accessibility of every page, light and dark, wide and narrow: axe, keyboard navigation, no overflow."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.chromium import Surfer
from tests.support.browser.city import City

Window = Callable[..., Surfer]
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# Dates are written in one form on every page: 18 Nov 2026, with the time of day where it is known.
DAY = re.compile(r"\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}(, \d\d:\d\d)?")
ISO_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,2},")
TIMES = "[...document.querySelectorAll('time')].map((time) => time.textContent.trim())"
PROSE = """(() => {
    const main = document.getElementById("main").cloneNode(true);
    main.querySelectorAll("pre, code, script, .chart, .map").forEach((part) => part.remove());
    return main.textContent;
})()"""
PAGES: list[tuple[str | None, str]] = [
    (None, "/sign-in"),
    ("admin", "/"),
    ("admin", "/keys"),
    ("admin", "/datasets/mobility"),
    ("analyst", "/"),
    ("analyst", "/datasets/pilot"),
    ("analyst", "/datasets/survey-2026/compare?left={two}&right={three}"),
    ("analyst", "/releases/{one}"),
    ("analyst", "/releases/{two}"),
    ("auditor", "/ledger"),
    ("auditor", "/log"),
    ("analyst", "/releases/{two}/receipt"),
    ("analyst", "/releases/{two}/card"),
    ("auditor", "/datasets/survey-2026"),
    ("curator", "/register"),
    ("curator", "/datasets/survey-2026/release"),
    ("curator", "/datasets/mobility/release?order={ordered}"),
    ("curator", "/releases/{ordered}"),
    ("analyst", "/keys"),
    ("analyst", "/nowhere"),
]


def opened(window: Window, city: City, scheme: str, width: int) -> Callable[[str | None, str], Page]:
    """Pages by role and address, each role in a window of its own, everything on them unfolded."""
    windows: dict[str | None, Surfer] = {}
    names = {"one": city.releases[1], "two": city.releases[2], "three": city.releases[3], "ordered": city.ordered}

    def go(role: str | None, path: str) -> Page:
        if role not in windows:
            options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
            windows[role] = window(city.url, city.keys[role] if role else None, **options)
            windows[role].expected_statuses |= {403, 404}
        page = windows[role].go(path.format(**names))
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        return page

    return go


def violations(page: Page) -> list[Any]:
    """What axe objects to; it is handed to the page from outside, since the policy lets no page load it."""
    page.evaluate(AXE)
    report = page.evaluate("(rules) => axe.run({exclude: ['.plot-container']}, rules)", RULES)
    return [(v["id"], [node["html"][:160] for node in v["nodes"]]) for v in report["violations"]]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_spills_over(window: Window, city: City, scheme: str, width: int) -> None:
    """Labels, contrast, landmarks, names and order of every page; none is wider than its window; one form of dates."""
    go = opened(window, city, scheme, width)
    problems_by_page = {}
    for role, path in PAGES:
        page = go(role, path)
        if problems := violations(page):
            problems_by_page[f"{role} {path}"] = problems
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert [text for text in page.evaluate(TIMES) if not DAY.fullmatch(text)] == [], path
        assert not ISO_DAY.search(page.evaluate(PROSE)), path
    assert problems_by_page == {}


def test_the_keyboard_reaches_everything_in_reading_order(window: Window, city: City) -> None:
    """Tab goes from the skip link down the page, and what has the focus can be seen."""
    page = window(city.url, city.keys["auditor"]).go("/ledger")
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    expect(focused).to_have_text("Skip to the content")
    expect(focused).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    expected = ["Export NDJSON", "Export CSV", "verify", "text", "dataset", "kind", "actor", "since"]
    assert [field for field in seen if field in expected] == [*expected[:-1], *["since"] * seen.count("since")]


def test_the_theme_can_be_switched_and_is_kept(window: Window, city: City) -> None:
    """From the system's choice to the other one, on this page and on the next."""
    page = window(city.url, city.keys["analyst"], color_scheme="dark").page
    back = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(back)
    page.get_by_role("button", name="Switch between light and dark").click()
    light = page.evaluate(back)
    assert light != dark
    page.reload()
    assert page.evaluate(back) == light
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(back) == dark
