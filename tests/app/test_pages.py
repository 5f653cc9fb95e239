"""Pages without a browser: they escape what people wrote, stay small, say errors in words, load our own files."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Iterator
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from app.access.permissions import Role
from app.dashboard import assets, words
from app.dashboard.pages import _data
from app.main import create_app, make_service
from app.settings.settings import Settings
from core.budget import Epsilon
from core.domain.kinds import attribute_of
from rugnik.wire.kinds import KINDS
from tests.support.databases.books import filled_ledger, vast_ledger, without_triggers
from tests.support.service.api import ATTRIBUTES, Api, frozen_clock

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \" '"
LIMIT = 2_000_000  # bytes of a page


def pages_of(api: Api, release: str) -> Iterator[tuple[Role, str, str]]:
    """Every page that shows something, as everybody who may see it."""
    paths = ["/", "/datasets/city", "/datasets/city/release", f"/releases/{release}", "/ledger", "/keys", "/register"]
    for role in Role:
        for path in paths:
            reply = api.call(role, "GET", path)
            if reply.status_code == 200:
                yield role, path, reply.text


def test_what_people_wrote_is_text_on_every_page(sqlite_api: Api) -> None:
    """Descriptions, names of keys and attributes, reasons: no tag of theirs reaches a page, no block ends early."""
    attributes = [{"name": "<b>a</b>", "lower": 0, "upper": 1}]
    key = sqlite_api.admin("POST", "/v1/keys", json={"name": HOSTILE[:40], "role": "curator"}).json()["key"]
    body = {"name": "city", "description": HOSTILE, "attributes": attributes, "budget": "1"}
    assert sqlite_api.call_with(key, "POST", "/v1/datasets", json=body).status_code == 201
    granted = sqlite_api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": HOSTILE})
    assert granted.status_code == 201
    release = sqlite_api.published(b"<b>a</b>\n0.5\n", clusters=1, size={"declared": 5})
    seen = list(pages_of(sqlite_api, release))
    assert len(seen) > 15
    for role, path, page in seen:
        assert "<script>alert" not in page, (role, path)
        assert "<img" not in page
        assert "<b>a</b>" not in page
        for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL):
            json.loads(block)
    assert any(
        html.escape(HOSTILE, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in p for *_, p in seen
    )


@given(st.text())
def test_a_data_block_is_read_back_as_it_was(value: str) -> None:
    """Whatever the text, the block holds no sign that HTML would take for its end or for an entity."""
    block = str(_data({"value": value}))
    assert "<" not in block
    assert "&" not in block
    assert json.loads(block) == {"value": value}


def test_no_page_has_a_script_or_style_of_its_own(sqlite_api: Api) -> None:
    """Every script has an address of ours or is data; there is no style element, attribute or handler."""
    sqlite_api.register()
    for _, path, page in pages_of(sqlite_api, sqlite_api.published()):
        for tag in re.findall(r"<script[^>]*>", page):
            assert f'src="/static/{assets.version()}/' in tag or 'type="application/json"' in tag, (path, tag)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|https?://(?!www\.w3\.org)", page), path


def test_pages_do_not_grow_with_the_ledger(sqlite_settings: Settings) -> None:
    """Twice as many entries, the same pages but for a few digits, all of them far below the limit."""
    weights: list[dict[str, int]] = []
    for entries in (3000, 6000):
        settings = sqlite_settings.model_copy(update={"data_dir": sqlite_settings.data_dir.with_name(f"d{entries}")})
        service = make_service(settings, frozen_clock)
        vast_ledger(service, entries=entries)
        service.database.dispose()
        with Api(create_app(settings, frozen_clock)) as api:
            assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]
            paths = ("/", "/datasets/vast", "/ledger", "/ledger?before=1500", "/ledger?text=wave")
            weights.append({path: len(api.auditor("GET", path).content) for path in paths})
    for path, weight in weights[1].items():
        assert weight < LIMIT
        assert weight == pytest.approx(weights[0][path], rel=0.03)


BUDGET = r'<dl class="budget-words">.*?</dl>'


def test_a_ledger_that_somebody_changed_does_not_take_the_pages_down(sqlite_settings: Settings) -> None:
    """Budgets are shown as they were verified; the ledger shows what it can; a changed last entry is told at once."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        filled_ledger(api.service, orders=3)
        before = re.findall(BUDGET, api.auditor("GET", "/").text, re.DOTALL)
        assert len(before) == 2
        with without_triggers(api.service) as connection:
            connection.execute(text("UPDATE ledger SET epsilon_nano = 1 WHERE kind = 'grant'"))
            connection.execute(text("UPDATE ledger SET detail = '?' WHERE kind = 'charge'"))
            connection.commit()
        overview, ledger = (api.auditor("GET", path) for path in ("/", "/ledger"))
        assert (overview.status_code, ledger.status_code) == (200, 200)
        assert re.findall(BUDGET, overview.text, re.DOTALL) == before
        assert "cannot be read as an entry" in ledger.text
        with without_triggers(api.service) as connection:
            connection.execute(text("UPDATE ledger SET actor = 'x' WHERE seq = (SELECT max(seq) FROM ledger)"))
            connection.commit()
        ready = api.call(None, "GET", "/readyz")
        assert (ready.status_code, "not the one that this service verified" in ready.text) == (503, True)


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/datasets/never", 404), ("/releases/never", 404)])
def test_an_error_is_a_page_in_words(sqlite_api: Api, path: str, status: int) -> None:
    """With a way on; under /v1 the same failure is a problem."""
    reply = sqlite_api.auditor("GET", path)
    assert (reply.status_code, reply.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "Go to the overview" in reply.text
    assert "never" not in reply.text
    assert sqlite_api.auditor("GET", f"/v1{path}").headers["content-type"] == "application/problem+json"


def test_a_fault_of_our_own_is_a_page_without_its_cause(sqlite_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 in words; the exception's message stays inside."""

    def fail(*_: object) -> None:
        raise RuntimeError("CANARY")

    monkeypatch.setattr("app.releases.overview.ledger_status", fail)
    reply = sqlite_api.auditor("GET", "/")
    assert reply.status_code == 500
    assert reply.headers["content-type"].startswith("text/html")
    assert "CANARY" not in reply.text


def test_a_page_after_signing_out_leads_back_through_the_form(sqlite_api: Api) -> None:
    """The address is kept, its signs are quoted, and the form takes it."""
    reply = sqlite_api.call(None, "GET", "/ledger?kind=grant&text=a%20b")
    assert (reply.status_code, reply.headers["location"]) == (
        303,
        "/sign-in?next=/ledger%3Fkind%3Dgrant%26text%3Da%2520b",
    )
    form = sqlite_api.call(None, "GET", reply.headers["location"])
    assert 'name="next" value="/ledger?kind=grant&amp;text=a%20b"' in form.text


def test_files_are_kept_for_ever_under_an_address_that_changes_with_them(sqlite_api: Api) -> None:
    """Immutable and compressed; an old address, another name or a way out of the folder is not found."""
    names = [path.name for path in Path(assets.__file__).with_name("static").iterdir()]
    assert {"style.css", "common.js", "icon.svg"} < set(names)
    for name in [*names, assets.PLOTLY]:
        reply = sqlite_api.call(None, "GET", assets.address(name))
        assert reply.status_code == 200
        assert "immutable" in reply.headers["cache-control"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.content == assets.assets()[name].body
    plain = sqlite_api.call(None, "GET", assets.address(assets.PLOTLY), headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert len(gzip.compress(plain.content)) < LIMIT
    for path in (
        f"/static/old/{names[0]}",
        f"/static/{assets.version()}/none.js",
        f"/static/{assets.version()}/..%2fviews.py",
    ):
        assert sqlite_api.call(None, "GET", path).status_code == 404


@given(st.integers(0, 20 * 10**9))
def test_the_meaning_of_an_epsilon_is_its_bound_on_odds(nano: int) -> None:
    """Odds after are at most e^epsilon times those before, for a record's presence, and its square for what it says."""
    told = words.meaning(Epsilon(nano))
    loss = nano / 1e9
    assert told.factor == pytest.approx(exp(loss))
    for guess in told.guesses:
        odds = guess.before / (1 - guess.before)
        for after, power in ((guess.presence, 1), (guess.value, 2)):
            assert guess.before <= after <= 1
            assert after == pytest.approx(odds * exp(power * loss) / (1 + odds * exp(power * loss)))


def test_an_epsilon_beyond_floats_still_has_a_meaning() -> None:
    """e^999 is no float; what it promises can be said all the same."""
    told = words.meaning(Epsilon(999 * 10**9))
    assert told.factor > 1e300
    assert "practically no protection" in told.verdict


@pytest.mark.parametrize(
    ("share", "told"), [(0.5, "50 %"), (0.6224, "62.2 %"), (0.99999999, "over 99.9 %"), (1.0, "over 99.9 %")]
)
def test_a_probability_is_never_rounded_to_certainty(share: float, told: str) -> None:
    """However large epsilon is, the page does not say 100 %."""
    assert words.percent(share) == told


def test_the_wizard_goes_on_with_an_open_order_only(sqlite_api: Api) -> None:
    """Not with a published or void one, nor under another dataset's name."""
    sqlite_api.register(budget="3")
    sqlite_api.register("other")
    published = sqlite_api.published()
    ordered = sqlite_api.order().json()["id"]
    assert sqlite_api.curator("GET", f"/datasets/city/release?order={ordered}").status_code == 200
    assert sqlite_api.curator("GET", f"/datasets/other/release?order={ordered}").status_code == 404
    assert sqlite_api.curator("GET", f"/datasets/city/release?order={published}").status_code == 404
    assert ATTRIBUTES[0]["name"] in sqlite_api.curator("GET", "/datasets/city/release").text


def test_pages_have_a_class_for_every_kind_of_attribute() -> None:
    """With the same title that pages made by the service have; all of them are in the table of attribute.js."""
    scripts = [asset.body.decode() for name, asset in assets.assets().items() if name.endswith(".js")]
    pattern = re.compile(r'class (\w+) extends \w+ \{\s+static kind = "(\w+)";\s+static title = "([\w ]+)";')
    classes = [match for script in scripts for match in pattern.findall(script)]
    assert {kind: title for _, kind, title in classes} == {kind: each.title for kind, each in KINDS.items()}
    (table,) = re.findall(r"export const KINDS = Object.fromEntries\(\s*\[([\w, ]+)\]", "".join(scripts))
    assert sorted(table.split(", ")) == sorted(name for name, _, _ in classes)


@pytest.mark.parametrize(
    ("fields", "kind", "bounds"),
    [
        ({"lower": 0.0, "upper": 2.5}, "number", "0 to 2.5"),
        ({"kind": "integer", "lower": 0, "upper": 110}, "whole number", "0 to 110"),
        ({"kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"}, "date", "2026-01-01 to 2026-12-31"),
        (
            {"kind": "datetime", "lower": "2026-01-01T00:00:00Z", "upper": "2027-01-01T00:00:00Z"},
            "date and time",
            "2026-01-01 00:00:00 UTC to 2027-01-01 00:00:00 UTC",
        ),
        ({"kind": "category", "values": ["f", "T"], "other": True}, "category", "f, T, all others together"),
    ],
)
def test_an_attribute_in_words(fields: dict[str, Any], kind: str, bounds: str) -> None:
    """Its kind, and its bounds or values."""
    attribute = attribute_of({"name": "a"} | fields)
    assert (words.kind(attribute), words.bounds(attribute)) == (kind, bounds)
