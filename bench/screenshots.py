"""`python -m bench.screenshots`: pictures of the dashboard for the documentation, in docs/."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from app.cli import demo_data
from app.settings.settings import Settings
from tests.support.browser.chromium import chromium, surfer
from tests.support.browser.city import City, built_city, curator_call
from tests.support.processes.server import Server, running_server

DOCS = Path(__file__).parents[1] / "docs"
SIZE = {"width": 1280, "height": 800}
WIDE = {"width": 1440, "height": 900}
TALL = {"width": 1440, "height": 1560}
PHONE = {"width": 390, "height": 844}
_MOST = 200_000  # bytes


def bike_trips(server: Server, key: str) -> str:
    """The demo's trips, released by place and hour; the id of the release."""
    curator_call(server, key, "POST", "/v1/datasets", json=demo_data.SCHEMA)
    terms = {"attributes": ["x", "y", "hour"], "epsilon": "1", "clusters": 4}
    release = str(curator_call(server, key, "POST", f"/v1/datasets/{demo_data.DATASET}/releases", json=terms)["id"])
    headers = {"Content-Type": "text/csv"}
    curator_call(server, key, "PUT", f"/v1/releases/{release}/records", content=demo_data.csv(20_000), headers=headers)
    return release


def save(page: Page, name: str) -> None:
    """Save a picture with 256 colours, which is enough for flat surfaces and keeps the file small."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(colors=256)
    DOCS.mkdir(exist_ok=True)
    picture.save(DOCS / name, optimize=True)
    weight = (DOCS / name).stat().st_size
    assert weight < _MOST, (name, weight)
    print(f"docs/{name}: {weight / 1000:.0f} kB")


_BOX = "box=x:1..4&box=y:5.5..8.5&snap=true"
_MORNING = "where=hour:7..9&one=hour&colour=log&noise=all&k=3"
# The window and the view of each picture, as the page's address has it: a box that is counted; the morning alone, as
# it was dragged on the chart below the map, without what may be noise. Both of them in the dark, and on a phone.
VIEWS: dict[str, tuple[dict[str, Any], str]] = {
    "explorer.png": ({"viewport": WIDE}, _BOX),
    "explorer-part.png": ({"viewport": TALL}, _MORNING),
    "explorer-dark.png": ({"viewport": WIDE, "color_scheme": "dark"}, _BOX),
    "explorer-phone.png": ({"viewport": PHONE}, _MORNING),
    "explorer-phone-dark.png": ({"viewport": PHONE, "color_scheme": "dark"}, _BOX),
}


def explorer(browser: Browser, city: City, release: str) -> None:
    """Take the pictures of the explorer: each window opens a link to its view."""
    for name, (window, view) in VIEWS.items():
        analyst = surfer(browser, city.url, **window)
        analyst.sign_in(city.keys["analyst"])
        page = analyst.go(f"/releases/{release}?{view}")
        page.locator("#map[data-ready]:not([data-ready='0'])").wait_for()
        page.locator("#marginal[data-ready]").wait_for()
        if view == _BOX:
            page.locator("#map .annotation-text").wait_for()
        page.evaluate("scrollTo(0, 0)")
        save(page, name)


def main() -> None:
    """Take the pictures from a temporary server."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        settings = Settings(data_dir=Path(folder) / "data", log_level="warning")
        server = running_server(settings, workers=1, log=Path(folder) / "log")
        try:
            city = built_city(server)
            release = bike_trips(server, city.keys["curator"])
            auditor = surfer(browser, city.url, viewport=SIZE)
            page = auditor.sign_in(city.keys["auditor"])
            page.get_by_role("button", name="Verify now").click()
            page.get_by_text("entries holds").wait_for()
            page.reload()
            page.locator("time[title]").first.wait_for()
            save(page, "overview.png")
            explorer(browser, city, release)
            analyst = surfer(browser, city.url, viewport=TALL)
            analyst.sign_in(city.keys["analyst"])
            page = analyst.go(f"/datasets/survey-2026/compare?left={city.releases[2]}&right={city.releases[3]}")
            page.locator("#compare[data-ready]").wait_for()
            save(page, "compare.png")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
