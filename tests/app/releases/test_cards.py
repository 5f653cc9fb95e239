"""The card of a release: on record with its digest, the same for ever, and silent about the rows."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.access.permissions import Role
from app.cards import sentences
from app.ledger.book import read_book
from app.ledger.entries import entries_until
from app.ledger.verification import verify_all
from app.main import create_app
from app.releases import cards, publishing
from app.settings.settings import Settings
from core.canonical import canonical_json
from core.ledger.kinds import Kind
from core.synopsis import Synopsis
from rugnik.wire.about import LONG, SHORT, TITLES
from tests.support.databases.books import CURATOR, without_triggers
from tests.support.service.api import ATTRIBUTES, ROWS, Api, frozen_clock

ABOUT = {
    "curators": "City of Bilen",
    "contact": "data@bilen.example",
    "intended_use": "Planning of bus lines",
    "region": "Bilen",
    "sector": "Government",
    "collection": "A survey in spring",
    "preparation": "None. Bounds are those of the form.",
    "justification": "Below 1 for a year",
    "licence": "https://creativecommons.org/licenses/by/4.0/",
}

SAME = {"Idempotency-Key": "same"}  # gives the release the same id in every service


def registered(api: Api, **about: Any) -> dict[str, Any]:
    """The reply to a registration of `city` with these texts."""
    body = {"name": "city", "description": "People", "attributes": ATTRIBUTES, "budget": "3"}
    reply = api.curator("POST", "/v1/datasets", json=body | ({"about": about} if about else {}))
    assert reply.status_code == 201, reply.text
    stored: dict[str, Any] = reply.json()
    return stored


def card(api: Api, release: str) -> dict[str, Any]:
    reply = api.analyst("GET", f"/v1/releases/{release}/card")
    assert reply.status_code == 200, reply.text
    stored: dict[str, Any] = reply.json()
    return stored


def publish_of(api: Api, release: str) -> dict[str, Any]:
    entries = api.auditor("GET", "/v1/ledger?kind=publish").json()["entries"]
    return next(entry for entry in entries if entry["release"] == release)


def tampered(api: Api, statement: str, **values: Any) -> None:
    with without_triggers(api.service) as connection:
        assert connection.execute(text(statement), values).rowcount > 0
        connection.commit()


# --- about


def test_what_a_curator_says_is_on_record_and_on_the_card(api: Api) -> None:
    """In the registration entry, in the reply about the dataset, and in every card."""
    assert registered(api, **ABOUT)["about"] == ABOUT
    grant = api.auditor("GET", "/v1/ledger?kind=grant").json()["entries"][0]
    assert grant["detail"]["about"] == ABOUT
    assert api.analyst("GET", "/v1/datasets/city").json()["about"] == ABOUT
    assert card(api, api.published())["predicate"]["about"] == ABOUT


def test_without_it_a_registration_is_as_before_and_a_card_says_not_stated(sqlite_api: Api) -> None:
    """Older entries keep their meaning: only the salt of every entry is added. Empty texts count as not given."""
    assert "about" not in registered(sqlite_api)
    detail = sqlite_api.auditor("GET", "/v1/ledger?kind=grant").json()["entries"][0]["detail"]
    assert set(detail) == {"reason", "domain", "unit", "description", "salt"}
    assert set(card(sqlite_api, sqlite_api.published())["predicate"]["about"].values()) == {"not stated"}
    body = {"name": "other", "attributes": ATTRIBUTES, "budget": "3", "about": {"region": " ", "sector": "Health"}}
    assert sqlite_api.curator("POST", "/v1/datasets", json=body).json()["about"] == {"sector": "Health"}


@pytest.mark.parametrize(
    "about",
    [
        {"colour": "blue"},
        {"region": "x" * (SHORT + 1)},
        {"collection": "x" * (LONG + 1)},
        {"region": "a\nb"},
        {"region": 7},
        [],
    ],
    ids=str,
)
def test_texts_that_are_too_long_or_of_other_fields_are_refused(sqlite_api: Api, about: Any) -> None:
    """A registration is for ever, so a mistake is refused."""
    body = {"name": "city", "attributes": ATTRIBUTES, "budget": "3", "about": about}
    assert sqlite_api.curator("POST", "/v1/datasets", json=body).status_code == 422


def test_texts_of_the_greatest_length_are_taken(sqlite_api: Api) -> None:
    """As many characters as the document says, of any alphabet."""
    fields = sqlite_api.app.openapi()["components"]["schemas"]["AboutBody"]["properties"]
    most = {name: fields[name]["anyOf"][0]["maxLength"] for name in TITLES}
    about = {name: "é" * length for name, length in most.items()}
    assert registered(sqlite_api, **about)["about"] == about


# --- the card on record


def test_a_card_is_a_statement_about_the_synopsis_and_its_digest_is_in_the_ledger(api: Api) -> None:
    """Subject, digest and bytes agree with the publish entry, and the ledger verifies."""
    registered(api, **ABOUT)
    release = api.published()
    reply, publish = api.analyst("GET", f"/v1/releases/{release}/card"), publish_of(api, release)
    stated = reply.json()
    assert reply.content == canonical_json(stated)
    assert sha256(reply.content).hexdigest() == publish["detail"]["card"]
    assert reply.headers["etag"] == f'"{publish["detail"]["card"]}"'
    assert reply.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert stated["_type"] == "https://in-toto.io/Statement/v1"
    assert stated["subject"] == [{"name": "synopsis.bin", "digest": {"sha256": publish["detail"]["digest"]}}]
    assert stated["predicate"]["on_record"] is True
    assert stated["predicate"]["budget"] == {"granted": "3", "spent": "0.5", "remaining": "2.5"}
    assert stated["predicate"]["release"]["published"] == publish["at"] == "2026-01-02"
    again = {"If-None-Match": reply.headers["etag"]}
    assert api.analyst("GET", f"/v1/releases/{release}/card", headers=again).status_code == 304
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]


def test_the_budget_is_that_after_the_charge_whatever_came_since(api: Api) -> None:
    """Grants, orders and voids between the charge and the upload do not show."""
    registered(api)
    release = str(api.order(epsilon="0.5").json()["id"])
    api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "more"})
    void = api.order(epsilon="0.25").json()["id"]
    api.curator("DELETE", f"/v1/releases/{void}")
    api.order(epsilon="0.125")
    assert api.upload(release).status_code == 200
    assert card(api, release)["predicate"]["budget"] == {"granted": "3", "spent": "0.5", "remaining": "2.5"}


def test_a_card_stays_byte_for_byte_when_its_texts_change(sqlite_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept as it was written; only cards of later releases have the new texts."""
    registered(sqlite_api)
    release = sqlite_api.published()
    before = sqlite_api.analyst("GET", f"/v1/releases/{release}/card").content
    monkeypatch.setattr(sentences, "COMPOSITION", "Otherwise.")
    assert sqlite_api.analyst("GET", f"/v1/releases/{release}/card").content == before
    assert card(sqlite_api, sqlite_api.published())["predicate"]["composition"] == "Otherwise."
    assert sqlite_api.auditor("GET", "/v1/ledger/verify").json()["valid"]


def test_no_card_before_the_publish_nor_beyond_a_key(sqlite_api: Api) -> None:
    """An order has no card; a key of another dataset sees none."""
    registered(sqlite_api)
    ordered, published = sqlite_api.order().json()["id"], sqlite_api.published()
    for role in (Role.CURATOR, Role.ANALYST, Role.AUDITOR):
        assert sqlite_api.call(role, "GET", f"/v1/releases/{ordered}/card").status_code == 404
        assert sqlite_api.call(role, "GET", f"/releases/{ordered}/card").status_code == 404
    body = {"name": "x", "role": "analyst", "datasets": ["elsewhere"]}
    key = sqlite_api.admin("POST", "/v1/keys", json=body).json()["key"]
    assert sqlite_api.call_with(key, "GET", f"/v1/releases/{published}/card").status_code == 404


def test_a_try_that_fails_leaves_no_card(sqlite_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Card, synopsis and publish are one transaction: the second try stores all three once."""
    registered(sqlite_api)
    real, failures = publishing.card_of, iter([True])

    def failing(*arguments: Any, **options: Any) -> bytes:
        made = real(*arguments, **options)
        if next(failures, False):
            raise OSError("the disk is full")
        return made

    monkeypatch.setattr(publishing, "card_of", failing)
    release = sqlite_api.published()
    with sqlite_api.service.database.read_only() as tx:
        assert tx.execute(text("SELECT count(*) FROM cards")).scalar_one() == 1
    assert sqlite_api.auditor("GET", "/v1/ledger/verify").json()["valid"]
    assert card(sqlite_api, release)["predicate"]["on_record"]


# --- verification


@pytest.mark.parametrize("damage", ["edited", "swapped", "deleted", "no text"])
def test_a_card_that_is_not_the_one_on_record_is_found_and_not_served(sqlite_api: Api, damage: str) -> None:
    """`valid` is false at the publish entry, with the release in the sentence; a reader gets a problem."""
    registered(sqlite_api)
    first, second = sqlite_api.published(epsilon="0.1"), sqlite_api.published(epsilon="0.1")
    statement = {
        "edited": 'UPDATE cards SET body = replace(body, \'"epsilon":"0.1"\', \'"epsilon":"0.01"\')',
        "swapped": "UPDATE cards SET body = (SELECT body FROM cards WHERE release = :other)",
        "deleted": "DELETE FROM cards",
        "no text": "UPDATE cards SET body = 7",
    }[damage]
    values = {"other": second} if damage == "swapped" else {}
    tampered(sqlite_api, f"{statement} WHERE release = :release", release=first, **values)
    outcome = sqlite_api.auditor("GET", "/v1/ledger/verify").json()
    assert (outcome["valid"], outcome["first_bad"]) == (False, publish_of(sqlite_api, first)["seq"])
    assert first in outcome["reason"]
    refused = sqlite_api.analyst("GET", f"/v1/releases/{first}/card")
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:corrupt-synopsis")
    assert sqlite_api.analyst("GET", f"/v1/releases/{second}/card").status_code == 200


def test_a_card_of_other_terms_is_found_although_its_digest_fits(sqlite_api: Api) -> None:
    """The publish written anew with the digest of a false card: the card is compared with the charge."""
    registered(sqlite_api)
    release, service = sqlite_api.published(), sqlite_api.service
    false = cards.get_card(service, CURATOR, release).body.replace(b'"epsilon":"0.5"', b'"epsilon":"0.1"')
    publish = list(entries_until(service, service.replay.head))[-1]
    forged = replace(publish, detail={**publish.detail, "card": sha256(false).hexdigest()}).sealed()
    tampered(sqlite_api, "UPDATE cards SET body = :body", body=false.decode())
    detail = canonical_json(forged.detail).decode()
    change = "UPDATE ledger SET detail = :detail, hash = :hash WHERE seq = :seq"
    tampered(sqlite_api, change, detail=detail, hash=forged.hash, seq=publish.seq)
    outcome = verify_all(service)
    assert outcome.first_bad == publish.seq
    assert "another synopsis, dataset, release, charge or epsilon" in str(outcome.reason)


def test_a_release_from_before_cards_verifies_and_gets_one_that_says_so(api: Api, monkeypatch: Any) -> None:
    """Made on request and marked; no cache keeps it, because a later version may write another."""
    registered(api, **ABOUT)
    old = publishing.Drawn.synopsis
    monkeypatch.setattr(publishing.Drawn, "synopsis", lambda draw, synopsis: replace(old(draw, synopsis), result=None))
    release = api.published()
    assert set(publish_of(api, release)["detail"]) == {"digest", "salt"}
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]
    reply = api.analyst("GET", f"/v1/releases/{release}/card")
    predicate = reply.json()["predicate"]
    assert (predicate["on_record"], predicate["about"]) == (False, ABOUT)
    assert predicate["release"]["published"] == "2026-01-02"
    assert reply.headers["cache-control"] == "no-store"
    assert "NOT on record" in api.analyst("GET", f"/v1/releases/{release}/card?format=nist").text
    assert "NOT on record" in api.analyst("GET", f"/releases/{release}/card").text


# --- privacy


def test_neighbours_have_cards_that_differ_by_the_digest_alone(tmp_path: Path) -> None:
    """One row more, or a hundred times the rows: under one declared size, the same bytes but for the subject."""
    seen = {}
    for name, rows in (("usual", ROWS), ("one more", ROWS + b"50,500\n"), ("none", ROWS[:11]), ("many", ROWS * 100)):
        with Api(create_app(Settings(data_dir=tmp_path / name, log_level="error"), frozen_clock)) as api:
            registered(api, **ABOUT)
            body = api.analyst("GET", f"/v1/releases/{api.published(rows, headers=SAME)}/card").content
            (subject,) = json.loads(body)["subject"]
            seen[name] = body.replace(subject["digest"]["sha256"].encode(), b"the digest")
    assert len(set(seen.values())) == 1
    assert b'"the digest"' in seen["usual"]


def test_a_card_follows_from_the_synopsis_and_the_record(sqlite_api: Api) -> None:
    """Of a bought size, a person and an adaptive grid: all that depends on rows is in the synopsis already."""
    registered(sqlite_api)
    release = sqlite_api.published(size={"estimate": "0.1"})
    service = sqlite_api.service
    body = cards.get_card(service, CURATOR, release).body
    with read_book(service) as book:
        record = book.release(release)
        assert record is not None
        stored = book.tx.execute(text("SELECT body FROM synopses")).scalar_one()
        synopsis = Synopsis.from_bytes(zlib.decompress(stored))
        assert cards.card_of(book, record, synopsis, digest=synopsis.digest, published="2026-01-02") == body
    size = json.loads(body)["predicate"]["release"]["size"]
    assert size == {"bought": synopsis.size}
    assert not any("number of rows" in sentence for sentence in json.loads(body)["predicate"]["unprotected"])


def test_the_publish_rule_takes_a_digest_and_nothing_else(sqlite_api: Api) -> None:
    """The books refuse a publish whose card is named by anything but 64 hexadecimal digits."""
    registered(sqlite_api)
    release, service = sqlite_api.published(), sqlite_api.service
    publish = list(entries_until(service, service.replay.head))[-1]
    assert publish.kind is Kind.PUBLISH
    with service.replay.reading() as books:
        books.releases[release].last = Kind.DRAW
        for name, allowed in (("x", False), ("A" * 64, False), (None, False), ("a" * 64, True)):
            detail = {**publish.detail, "card": name}
            assert (books.objection(replace(publish, detail=detail)) is None) == allowed
        assert books.objection(replace(publish, detail={"digest": publish.detail["digest"]})) is None
        books.releases[release].last = Kind.PUBLISH
