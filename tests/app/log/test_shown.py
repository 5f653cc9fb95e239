"""What a log has shown it shows again: to other workers, after restarts, without periods, read-only, by odd clocks."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from app.log import shown
from app.main import create_app
from app.settings.settings import Settings
from app.storage.database import Database
from app.storage.tables import periods
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from tests.support.service.api import Api
from tests.support.service.cosigned import Clock, with_witnesses


@pytest.fixture
def clock() -> Clock:
    """A clock that the test moves; it begins five seconds after an hour."""
    return Clock()


def changed(settings: Settings, **changes: Any) -> Settings:
    return Settings(**(settings.model_dump(exclude_unset=True) | changes))


def size_shown(api: Api) -> int:
    """The size of the checkpoint that anybody sees."""
    reply = api.call(None, "GET", "/log/checkpoint")
    assert reply.status_code == 200, reply.text
    return Checkpoint.of(Note.parse(reply.text)).size


def settled(api: Api) -> None:
    """Wait until nobody asks a witness in the background."""
    thread = api.service.cosigner._thread
    if thread is not None:
        thread.join(timeout=300)


def begun(api: Api) -> list[tuple[int, int]]:
    """The periods on record."""
    with api.service.database.read_only() as tx:
        rows = tx.execute(select(periods.c.start, periods.c.size).order_by(periods.c.number)).all()
    return [(row.start, row.size) for row in rows]


def test_two_machines_whose_clocks_differ_show_the_same(settings: Settings, clock: Clock) -> None:
    """One is a tenth of a second behind where a period ends: the other has shown more, so it does as well."""
    behind = Clock()
    with Api(create_app(settings, clock)) as one, Api(create_app(settings, behind), one.keys) as two:
        one.register()
        one.published()
        before = size_shown(one)
        clock.move(3595)
        behind.move(3594.9)
        assert size_shown(two) == before
        after = size_shown(one)
        assert after == one.service.replay.head.seq > before
        assert size_shown(two) == after
        assert two.upload(str(two.order().json()["id"])).status_code == 200
        assert size_shown(one) == size_shown(two) == one.service.replay.head.seq - 2, "up to the charge"


def test_who_asks_first_in_a_period_begins_it_for_all(settings: Settings, clock: Clock) -> None:
    """A publication a moment later shows with the next one; the row says no more than the hour and what is public."""
    with Api(create_app(settings, clock)) as api:
        api.register()
        release = str(api.order().json()["id"])
        clock.move(3595)
        size = size_shown(api)
        start = int(clock.now.timestamp())
        assert begun(api)[-1] == (start, size) == (start // 3600 * 3600, api.service.replay.head.seq)
        assert api.upload(release).status_code == 200
        for _ in range(3):
            assert size_shown(api) == size
        assert begun(api)[-1] == (start, size)
        clock.move(3599)
        assert size_shown(api) == size
        clock.move(1)
        assert size_shown(api) == size + 2


def test_a_period_that_cannot_be_begun_shows_what_was_shown(
    sqlite_settings: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, or a lock that is held: fewer entries than would be due, and no error."""

    @contextmanager
    def full(_database: Database) -> Any:
        raise OperationalError("INSERT", {}, Exception("disk is full"))
        yield

    with Api(create_app(sqlite_settings, clock)) as api:
        api.register()
        api.published()
        before = size_shown(api)
        clock.move(3600)
        with monkeypatch.context() as patched:
            patched.setattr(Database, "transaction", full)
            assert size_shown(api) == before
        with api.service.ticks.beginning:
            assert size_shown(api) == before, "another thread is at it"
        assert size_shown(api) == before + 2


def test_nothing_is_taken_back_where_periods_are_turned_off_and_on(sqlite_settings: Settings, clock: Clock) -> None:
    """Within one period."""
    sizes = []
    with Api(create_app(sqlite_settings, clock)) as api:
        keys = api.keys
        api.register()
        api.published()
        sizes.append(size_shown(api))
    for seconds in (0, 3600, 7200, 0, 60):
        with Api(create_app(changed(sqlite_settings, checkpoint_seconds=seconds), clock), keys) as api:
            sizes.append(size_shown(api))
            api.published(epsilon="0.01")
            sizes.append(size_shown(api))
            waits = api.service.replay.head.seq - sizes[-1]
            assert waits == (0 if seconds == 0 else 2), seconds
    assert sizes == sorted(sizes)


# --- clocks that were wrong


def test_an_entry_of_a_clock_that_was_ahead_delays_no_receipt_for_long(settings: Settings, clock: Clock) -> None:
    """A release that is published afterwards has it after a whole period of the right clock, and not before."""
    with Api(create_app(settings, clock)) as api:
        api.register()
        clock.move(365 * 86_400)
        api.register("glitch")
        sizes = [size_shown(api)]
        clock.move(-365 * 86_400)
        keys = api.keys
    with Api(create_app(settings, clock), keys) as api:
        release = api.published()
        sizes.append(size_shown(api))
        assert sizes[1] == api.service.replay.head.seq - 2
        for _ in range(4):
            assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 409
            clock.move(1795)
            sizes.append(size_shown(api))
        clock.move(20)
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200
        sizes.append(size_shown(api))
        assert sizes[-1] == api.service.replay.head.seq
        assert sizes == sorted(sizes)


def test_a_release_of_the_wrong_clock_does_not_show_when_the_clock_is_set_right(
    sqlite_settings: Settings, clock: Clock
) -> None:
    """The moment when it is set right would bracket the publication: a whole period passes first."""
    with Api(create_app(sqlite_settings, clock)) as api:
        api.register()
        release = str(api.order().json()["id"])
        clock.move(5 * 3600)
        size = size_shown(api)
        assert api.upload(release).status_code == 200
        clock.move(-5 * 3600)
        assert size_shown(api) == size
        clock.move(3600)
        assert size_shown(api) == size
        clock.move(3600)
        assert size_shown(api) == size + 2


def test_a_clock_that_was_ahead_does_not_stop_the_quorum_from_sealing(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """The checkpoint that is shown grows, and the grace of witnesses that are silent ends as it should."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned, Api(create_app(cosigned.settings, clock)) as api:
        api.register()
        api.service.cosigner.sign_newest(api.service)
        clock.move(30 * 86_400)
        api.register("glitch")
        api.service.cosigner.sign_newest(api.service)
        clock.move(-30 * 86_400)
        before = size_shown(api)
        release = str(api.order().json()["id"])
        api.service.cosigner.sign_newest(api.service)
        assert api.upload(release).status_code == 200
        clock.move(2 * 3600)
        api.service.cosigner.sign_newest(api.service)
        assert size_shown(api) == api.service.replay.head.seq > before
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200
        settled(api)
        cosigned.all_up(up=False)
        api.order(epsilon="0.01")
        settled(api)
        assert api.call(None, "GET", "/readyz").status_code == 200
        clock.move(26 * 3600)
        assert api.call(None, "GET", "/readyz").status_code == 503
        settled(api)


def test_a_clock_that_was_set_back_is_in_the_log(
    sqlite_settings: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, whoever asks; an append says nothing, for its time may be private."""
    said: list[str] = []
    monkeypatch.setattr(shown.log, "warning", said.append)
    with Api(create_app(sqlite_settings, clock)) as api:
        api.register()
        clock.move(7 * 86_400)
        release = str(api.order().json()["id"])
        clock.move(-7 * 86_400)
        assert api.upload(release).status_code == 200
        assert said == []
        for _ in range(3):
            size_shown(api)
        assert said == ["clock_set_back"]


# --- read-only


def test_a_read_only_service_shows_no_less_than_before(settings: Settings, clock: Clock) -> None:
    """It signs nothing: it shows the note of the table or of the witness file that has all of it, or none."""
    with Api(create_app(settings, clock)) as api:
        keys = api.keys
        api.register()
        first = api.published()
        clock.move(3600)
        assert api.analyst("GET", f"/v1/releases/{first}/receipt").status_code == 200
        api.published(epsilon="0.1")
        charged = size_shown(api)
    still = changed(settings, read_only=True)
    with Api(create_app(still, clock), keys) as api:
        refused = api.call(None, "GET", "/log/checkpoint")
        assert (refused.status_code, "read-only" in refused.json()["detail"]) == (503, True)
        assert begun(api)[-1][1] <= charged
        clock.move(2 * 3600)
        assert size_shown(api) == api.service.replay.head.seq == charged + 2
        rows = begun(api)
    with Api(create_app(settings, clock), keys) as api:
        assert size_shown(api) == charged + 2
        assert len(begun(api)) == len(rows) + 1
    with Api(create_app(still, clock), keys) as api:
        assert size_shown(api) == charged + 2
        settings.witness_path.write_text("damaged")
        assert api.call(None, "GET", "/log/checkpoint").status_code == 503


def test_an_old_copy_that_is_read_only_shows_no_checkpoint(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """Its log is shorter than what was shown. Receipts that it has go on."""
    with Api(create_app(sqlite_settings, clock)) as api:
        keys = api.keys
        api.register()
        release = api.published()
        clock.move(3600)
        receipt = api.analyst("GET", f"/v1/releases/{release}/receipt")
        assert receipt.status_code == 200
    shutil.copy(sqlite_settings.sqlite_path, tmp_path / "old.db")
    with Api(create_app(sqlite_settings, clock), keys) as api:
        api.order(epsilon="0.1")
    old = changed(sqlite_settings, database_url=f"sqlite:///{tmp_path / 'old.db'}", read_only=True)
    with Api(create_app(old, clock), keys) as api:
        refused = api.call(None, "GET", "/log/checkpoint")
        assert (refused.status_code, "older copy" in refused.json()["detail"]) == (503, True)
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").content == receipt.content


def test_a_read_only_service_with_a_quorum_shows_what_it_has_signed(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """And not a stored checkpoint without it."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        with Api(create_app(cosigned.settings, clock)) as api:
            keys = api.keys
            api.register()
            api.service.cosigner.sign_newest(api.service)
            clock.move(3600)
            api.service.cosigner.sign_newest(api.service)
            sealed = api.call(None, "GET", "/log/checkpoint").text
        with Api(create_app(changed(cosigned.settings, read_only=True), clock), keys) as api:
            assert api.call(None, "GET", "/log/checkpoint").text == sealed
        with Api(create_app(changed(cosigned.settings, policy=None), clock), keys) as api:
            api.order()
            assert size_shown(api) == api.service.replay.head.seq
        with Api(create_app(changed(cosigned.settings, read_only=True), clock), keys) as api:
            refused = api.call(None, "GET", "/log/checkpoint")
            assert (refused.status_code, "quorum" in refused.json()["detail"]) == (503, True)
