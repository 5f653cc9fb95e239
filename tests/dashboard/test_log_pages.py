"""The signed log in a browser: an auditor sees its checkpoint, its witnesses, and a receipt's path to the root."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import expect

from app.settings.settings import Settings
from core.log.ed25519 import SecretKey
from core.log.note import SignatureType, SigningKey
from tests.support.browser.chromium import Surfer
from tests.support.browser.city import curator_call
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, CSV, ROWS


def test_an_auditor_sees_the_log_its_witnesses_and_the_path_of_a_receipt(
    sqlite_settings: Settings, serve: Callable[..., Server], window: Callable[..., Surfer], tmp_path: Path
) -> None:
    """With a witness that is not there: its silence is shown, and what is signed is what anybody gets."""
    witness = SigningKey("w1.example", SignatureType.COSIGNATURE, SecretKey.generate()).verifier
    policy = tmp_path / "policy"
    policy.write_text(f"witness w1 {witness} http://127.0.0.1:9\nquorum none\n")
    own = sqlite_settings.model_dump(exclude_unset=True)
    server = serve(Settings(**(own | {"policy": policy, "checkpoint_seconds": 0, "origin": "city.example/ledger"})))
    key = server.issue_key("curator")
    body = {"name": "city", "attributes": ATTRIBUTES, "budget": "3"}
    curator_call(server, key, "POST", "/v1/datasets", json=body)
    terms = {"epsilon": "0.5", "clusters": 3, "size": {"declared": 500}}
    release = curator_call(server, key, "POST", "/v1/datasets/city/releases", json=terms)["id"]
    curator_call(server, key, "PUT", f"/v1/releases/{release}/records", content=ROWS, headers=CSV)
    auditor = window(server.url, server.issue_key("auditor"), viewport={"width": 390, "height": 800})
    page = auditor.go("/ledger")
    page.get_by_role("link", name="The signed log").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The signed log")
    checkpoint = httpx.get(f"{server.url}/log/checkpoint").text
    assert checkpoint.strip() in page.get_by_label("The checkpoint as it is signed").inner_text()
    expect(page.get_by_role("row", name="w1")).to_contain_text("nothing yet")
    page = auditor.go(f"/releases/{release}/receipt")
    path = page.get_by_role("img", name="joins from the entry to the root")
    expect(path).to_contain_text("root")
    expect(path).to_contain_text("entry")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download").click()
    assert Path(taken.value.path()).read_text().startswith("c2sp.org/tlog-proof@v1\n")
