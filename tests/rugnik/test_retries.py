"""What is repeated, and what is never: against a real service that fails on purpose."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.access.permissions import Role
from rugnik import Client, Retries, errors
from tests.support.service.api import ROWS
from tests.support.service.live import Live, Unreliable, break_before, honest, lose_reply, refuse, repeat


def methods(live: Live) -> Counter[str]:
    """How many requests of each method arrived."""
    return Counter(method for method, _ in live.gate.seen)


@pytest.mark.parametrize(
    "fault", [refuse(503, "not-ready"), refuse(502), refuse(429, "slow-down"), break_before, lose_reply]
)
def test_a_get_is_repeated(live: Live, curator: Client, fault: object) -> None:
    """Whatever says "not now", and whatever breaks on the way: the answer comes with a later try."""
    live.gate.faults["GET"] = [fault, fault, fault]  # type: ignore[list-item]
    assert live.city in [dataset.name for dataset in curator.datasets()]
    assert methods(live)["GET"] == 4
    assert len(live.naps) == 3


def test_the_last_refusal_is_raised(live: Live, curator: Client) -> None:
    """Four tries in all, waits that double, and then the service's own words."""
    live.gate.faults["GET"] = [refuse(503, "not-ready") for _ in range(4)]
    with pytest.raises(errors.NotReady):
        curator.datasets()
    assert methods(live)["GET"] == 4
    for position, nap in enumerate(live.naps):
        assert 0.75 <= nap / (0.5 * 2**position) <= 1.25


@pytest.mark.parametrize(
    "refusal", [refuse(400, "bad-request"), refuse(404, "not-found"), refuse(500, "internal-error")]
)
def test_a_refusal_for_good_is_not_repeated(live: Live, curator: Client, refusal: object) -> None:
    """What will not change by asking again is raised at once."""
    live.gate.faults["GET"] = [refusal]  # type: ignore[list-item]
    with pytest.raises(errors.Problem):
        curator.datasets()
    assert methods(live) == {"GET": 1}
    assert live.naps == []


def test_retry_after_is_respected(live: Live, curator: Client) -> None:
    """The service's own number replaces ours; one that is too long to wait for is raised instead."""
    live.gate.faults["GET"] = [refuse(429, "too-many-requests", after="7"), refuse(503, "busy", after="3600")]
    with pytest.raises(errors.Busy) as busy:
        curator.datasets()
    assert live.naps == [7.0]
    assert busy.value.retry_after == 3600


@pytest.mark.parametrize("fault", [break_before, lose_reply, refuse(503, "database-unavailable")])
def test_an_order_is_repeated_and_charged_once(live: Live, curator: Client, fault: object) -> None:
    """The client makes an Idempotency-Key of its own: a lost reply costs no second epsilon."""
    live.gate.faults["POST"] = [fault, fault]  # type: ignore[list-item]
    live.gate.headers.clear()
    release = curator.order(live.city, epsilon="0.5", clusters=4)
    assert release.state == "ordered"
    keys = {headers["idempotency-key"] for headers in live.gate.headers}
    assert len(keys) == 1
    assert methods(live)["POST"] == 3
    assert curator.dataset(live.city).budget.spent == "0.5"
    assert curator.order(live.city, epsilon="0.5", clusters=4).id != release.id  # a new order has a new key
    again = curator.order(live.city, epsilon="0.5", clusters=4, idempotency_key=keys.pop())
    assert again.id == release.id


@pytest.mark.parametrize("fault", [break_before, lose_reply, refuse(503, "database-unavailable")])
def test_what_is_not_idempotent_is_sent_once(live: Live, curator: Client, fault: object) -> None:
    """Registering, granting, closing, voiding and issuing keys: whether it happened must be looked at, not guessed."""
    release = curator.order(live.city, epsilon="0.5", clusters=4).id
    live.gate.seen.clear()
    with live.client(Role.ADMIN) as admin:
        attempts = [
            ("POST", lambda: curator.register_dataset("town", {"age": (0, 1)}, budget=1)),
            ("POST", lambda: admin.grant(live.city, 1, reason="more")),
            ("POST", lambda: admin.issue_key("x", "analyst")),
            ("DELETE", lambda: curator.void(release)),
            ("POST", lambda: curator.close_dataset(live.city)),
        ]
        for method, attempt in attempts:
            live.gate.faults[method] = [fault]  # type: ignore[list-item]
            with pytest.raises((errors.NotReached, errors.DatabaseUnavailable)):
                attempt()
    assert len(live.gate.seen) == len(attempts)
    assert live.naps == []


def test_what_was_never_sent_is_repeated_whatever_it_is() -> None:
    """Where no connection comes about nothing can have happened."""
    naps: list[float] = []
    client = Client("http://127.0.0.1:1", "key", retries=Retries(sleep=naps.append))
    with client, pytest.raises(errors.NotReached):
        client.close_dataset("city")
    assert len(naps) == 3


def test_an_upload_whose_reply_is_lost_is_found_published(live: Live, curator: Client, order: str) -> None:
    """The release is asked how it stands, and the rows are not sent again; what became of them is not known."""
    live.gate.faults["PUT"] = [lose_reply]
    published = curator.upload(order, ROWS, media_type="text/csv")
    assert (published.state, published.ingest) == ("published", None)
    look, send = ("GET", f"/v1/releases/{order}"), ("PUT", f"/v1/releases/{order}/records")
    assert live.gate.seen == [look, send, look]


@pytest.mark.parametrize(
    ("fault", "looks"),
    [
        (break_before, ["GET"]),
        (refuse(503, "busy", after="2"), []),
        (refuse(504), ["GET"]),
        (refuse(503, "spool-failure"), ["GET"]),
    ],
)
def test_an_upload_that_did_not_get_through_is_repeated(
    live: Live, curator: Client, order: str, fault: object, looks: list[str], tmp_path: Path
) -> None:
    """A source that can be read again: the whole file is sent once more, and counted once.

    Where the rows may have been taken, the client looks whether the release is still ordered.
    """
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS)
    live.gate.faults["PUT"] = [fault, fault]  # type: ignore[list-item]
    reported: list[tuple[int, int | None]] = []
    published = curator.upload(order, file, progress=lambda sent, total: reported.append((sent, total)))
    assert published.ingest is not None
    assert (published.state, published.ingest.rows_read) == ("published", 500)
    assert reported[-1] == (len(ROWS), len(ROWS))
    sent = [method for method, _ in live.gate.seen]
    assert sent == ["GET", "PUT", *looks, "PUT", *looks, "PUT"]


def test_what_another_upload_published_is_not_ones_own(live: Live, curator: Client, order: str) -> None:
    """No row was read of a try that was refused because the service is busy, so the release has other rows."""

    async def busy(app: Unreliable, scope: Any, receive: Any, send: Any) -> None:
        with live.client(Role.CURATOR) as other:
            await asyncio.to_thread(other.upload, order, ROWS[: len(ROWS) // 2], media_type="text/csv")
        await refuse(503, "busy")(app, scope, receive, send)

    live.gate.faults["PUT"] = [busy]
    with pytest.raises(errors.ReleaseEnded) as ended:
        curator.upload(order, ROWS, media_type="text/csv")
    assert ended.value.state == "published"


def test_a_file_object_is_read_again_from_where_it_stood(live: Live, curator: Client, order: str) -> None:
    """A second try sends what the first one did."""
    file = io.BytesIO(b"junk" + ROWS)
    file.seek(4)
    live.gate.faults["PUT"] = [break_before]
    published = curator.upload(order, file, media_type="text/csv")
    assert published.ingest is not None
    assert published.ingest.rows_read == 500


def test_an_upload_that_can_be_read_only_once_is_not_repeated(live: Live, curator: Client, order: str) -> None:
    """A pipe has no beginning to go back to; the order stays open for another upload."""

    class Pipe:
        def __init__(self) -> None:
            self._parts = [ROWS, b""]

        def read(self, _size: int) -> bytes:
            return self._parts.pop(0)

    live.gate.faults["PUT"] = [break_before]
    with pytest.raises(errors.NotReached):
        curator.upload(order, Pipe(), media_type="text/csv")
    assert curator.upload(order, Pipe(), media_type="text/csv").state == "published"


def test_a_second_try_that_finds_the_release_published_is_a_success(live: Live, curator: Client, order: str) -> None:
    """The first try may get through after it was given up; the 409 of the second one then tells so."""
    live.gate.faults["PUT"] = [lose_reply]
    live.gate.faults["GET"] = [honest, repeat(curator.release(order).raw)]  # as it was before the first try got through
    published = curator.upload(order, ROWS, media_type="text/csv")
    assert (published.state, published.ingest) == ("published", None)
    assert methods(live)["PUT"] == 2


def test_a_release_that_takes_no_rows_is_sent_none(live: Live, curator: Client, order: str) -> None:
    """Published or void: told in the service's own words, before gigabytes are sent in vain."""
    curator.void(order)
    live.gate.seen.clear()
    with pytest.raises(errors.ReleaseEnded, match="void") as ended:
        curator.upload(order, ROWS, media_type="text/csv")
    assert ended.value.state == "void"
    assert live.gate.seen == [("GET", f"/v1/releases/{order}")]
    with pytest.raises(errors.ReleaseEnded) as refused:
        curator.void(order)
    assert (ended.value.detail, ended.value.title, ended.value.status) == (
        refused.value.detail,
        refused.value.title,
        refused.value.status,
    )


def test_health_is_asked_once(live: Live, curator: Client) -> None:
    """A probe wants the present state, not the one after a minute of patience."""
    live.gate.faults["GET"] = [refuse(503, "not-ready")]
    with pytest.raises(errors.NotReady):
        curator.ready()
    assert live.naps == []


def test_a_download_that_breaks_is_repeated_and_never_left_in_part(live: Live, curator: Client, tmp_path: Path) -> None:
    """The file under its name is a whole one: the old one or the new one."""
    target = tmp_path / "ledger.ndjson"
    target.write_text("old")
    with live.client(Role.AUDITOR) as auditor:
        live.gate.faults["GET"] = [break_before] * 4
        with pytest.raises(errors.NotReached):
            auditor.export_ledger(target)
        assert (target.read_text(), [path.name for path in tmp_path.glob("*.part")]) == ("old", [])
        live.gate.faults["GET"] = [break_before]
        auditor.export_ledger(target)
    assert f'"{live.city}"' in target.read_text()
    assert curator.dataset(live.city).state == "open"
