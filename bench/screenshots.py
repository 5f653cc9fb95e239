"""`python -m bench.screenshots`: the README's pictures of the dashboard, docs/overview.png and docs/explorer.png."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from app.cli import demo_data
from app.settings.settings import Settings
from tests.support.browser.chromium import chromium, surfer
from tests.support.browser.city import built_city, curator_call
from tests.support.processes.server import Server, running_server

DOCS = Path(__file__).parents[1] / "docs"
SIZE = {"width": 1280, "height": 800}
TALL = {"width": 1440, "height": 1400}
_MOST = 200_000  # bytes


def bike_trips(server: Server, key: str) -> str:
    """The demo's trips, released by place; the id of the release."""
    curator_call(server, key, "POST", "/v1/datasets", json=demo_data.SCHEMA)
    terms = {"attributes": ["x", "y"], "epsilon": "1", "clusters": 4}
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


def main() -> None:
    """Take both pictures from a temporary server."""
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
            analyst = surfer(browser, city.url, viewport=TALL)
            analyst.sign_in(city.keys["analyst"])
            page = analyst.go(f"/releases/{release}")
            page.locator("#map[data-ready='4']").wait_for()
            for label, value in (("x from", "1"), ("x to", "4"), ("y from", "5.5"), ("y to", "8.5")):
                page.get_by_label(label, exact=True).fill(value)
            page.get_by_role("button", name="Count", exact=True).click()
            page.locator("#box-answer .answer").wait_for()
            page.evaluate("scrollTo(0, 0)")
            save(page, "explorer.png")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
