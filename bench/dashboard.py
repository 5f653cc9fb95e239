"""`python -m bench.dashboard`: first paint and weight of every page, with 100,000 ledger entries and 10^6 cells.

A real Chromium on loopback, each page in a window with an empty cache. Plotly's own file (1.4 MB compressed) is weighed
separately: a browser loads it once and keeps it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from app.ledger.replay import Replay
from app.main import make_service
from app.settings.settings import Settings
from bench.report import Section, chosen, publish
from tests.support.browser.chromium import chromium, surfer
from tests.support.browser.city import million_cells
from tests.support.databases.books import vast_ledger
from tests.support.processes.server import Server, running_server

ENTRIES = chosen(10_000, 100_000)
REPEATS = 5
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_BYTES = """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((one) => !one.name.endsWith('plotly.min.js')).reduce((sum, one) => sum + one.transferSize, 0)"""


def settled(page: Page) -> float:
    """Milliseconds from the start of the navigation until the charts are drawn."""
    for chart in page.locator(".chart").all():
        chart.locator(".main-svg").first.wait_for(state="attached")
    return float(page.evaluate("performance.now()"))


def seen(browser: Browser, server: Server, key: str, path: str) -> tuple[float, float, int]:
    """Median first paint and time until drawn, in milliseconds, and the bytes of one visit."""
    paints, drawn, weight = [], [], 0
    for _ in range(REPEATS):
        visitor = surfer(browser, server.url)
        visitor.sign_in(key)
        cookies = visitor.context.cookies()
        visitor.context.close()
        fresh = surfer(browser, server.url)
        fresh.context.add_cookies(cookies)  # type: ignore[arg-type]
        fresh.page.goto(server.url + path)
        drawn.append(settled(fresh.page))
        fresh.page.wait_for_load_state("networkidle", timeout=60_000)
        paints.append(float(fresh.page.evaluate(_PAINT)))
        weight = int(fresh.page.evaluate(_BYTES))
        fresh.assert_clean()
        fresh.context.close()
    return median(paints), median(drawn), weight


def verified(browser: Browser, server: Server, key: str) -> float:
    """Seconds that "Verify now" takes, from the click to the outcome."""
    auditor = surfer(browser, server.url)
    page = auditor.sign_in(key)
    start = page.evaluate("performance.now()")
    page.get_by_role("button", name="Verify now").click()
    page.get_by_text("entries holds").wait_for(timeout=120_000)
    taken = (page.evaluate("performance.now()") - start) / 1000
    auditor.context.close()
    return float(taken)


def measure(folder: Path) -> Section:
    """Every page that grows with the ledger or the synopsis."""
    settings = Settings(data_dir=folder / "data", log_level="warning")
    service = make_service(settings)
    vast_ledger(service, entries=ENTRIES)
    begin = time.perf_counter()
    Replay(service.database).refresh()
    at_start = time.perf_counter() - begin
    service.database.dispose()
    server = running_server(settings, workers=1, log=folder / "log")
    try:
        keys = {role: server.issue_key(role) for role in ("curator", "analyst", "auditor")}
        release = million_cells(server, keys["curator"])
        pages: Mapping[str, tuple[str, str]] = {
            "overview": ("auditor", "/"),
            f"dataset of {ENTRIES:,} entries": ("auditor", "/datasets/vast"),
            "ledger, newest": ("auditor", "/ledger"),
            "ledger, in the middle": ("auditor", f"/ledger?before={ENTRIES // 2}"),
            "ledger, text search": ("auditor", f"/ledger?text=wave+{ENTRIES // 10 - 1}"),
            "ledger, text that is nowhere": ("auditor", "/ledger?text=nowhere"),
            "explorer, 10^6 cells": ("analyst", f"/releases/{release}"),
            "release wizard": ("curator", "/datasets/wide/release"),
        }
        rows = []
        with chromium() as browser:
            for name, (role, path) in pages.items():
                paint, drawn, weight = seen(browser, server, keys[role], path)
                rows.append([name, f"{paint:.0f} ms", f"{drawn:.0f} ms", f"{weight / 1e3:,.0f} kB"])
            walk = verified(browser, server, keys["auditor"])
    finally:
        server.stop()
    remarks = [
        f"Median of {REPEATS} visits, each with an empty cache; Plotly's file is not in the weight.",
        f"“Verify now” on {ENTRIES:,} entries: {walk:.1f} s. The walk when a worker starts: {at_start:.1f} s.",
    ]
    return Section("The dashboard on loopback", remarks, ["page", "first paint", "charts stand", "weight"], rows)


def run() -> list[Section]:
    """The section of the report."""
    with tempfile.TemporaryDirectory() as folder:
        return [measure(Path(folder))]


if __name__ == "__main__":
    publish(run(), "dashboard")
