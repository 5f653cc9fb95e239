"""Ticks: a publication is shown once its period is over, whoever asks, however often, and in whatever process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, select

from app.log.ticks import Ticks, newest
from app.storage.tables import periods
from tests.app.ingest.mixed import cases

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
CLOCK = st.tuples(st.integers(-5000, 5000), st.sampled_from(["append", "look", "restart"]))


@contextmanager
def opened() -> Iterator[Connection]:
    """A database with no periods."""
    engine = create_engine("sqlite://")
    with engine.connect() as tx:
        periods.create(tx)
        yield tx
    engine.dispose()


def shown(tx: Connection, ticks: Ticks, now: datetime, size: int) -> int:
    """What a checkpoint may show of so many entries: whoever asks first in a period begins it."""
    ticks.begin(tx, now, size, appends=False)
    last = newest(tx)
    return size if last is None else last.shown(size)


@cases(100)
@given(
    seconds=st.sampled_from([1, 7, 60, 3600]),
    steps=st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(["append", "look", "restart"])), max_size=40),
)
def test_an_entry_is_never_shown_in_its_own_period_and_always_in_the_next(
    seconds: int, steps: list[tuple[int, str]]
) -> None:
    """The size that is shown is that of the entries of earlier periods: exactly, and so whoever looked when."""
    ticks, now, made = Ticks(seconds), BEGIN, []
    with opened() as tx:
        for pause, step in steps:
            now += timedelta(seconds=pause)
            period = int(now.timestamp()) // seconds
            if step == "append":
                ticks.begin(tx, now, len(made), appends=True)
                made.append(period)
            elif step == "restart":
                ticks = Ticks(seconds)
            if step != "append":
                assert shown(tx, ticks, now, len(made)) == sum(one < period for one in made)
            assert 0 < ticks.seconds_left(now) <= seconds


@cases(100)
@given(seconds=st.sampled_from([60, 3600]), steps=st.lists(CLOCK, max_size=30))
def test_a_wrong_clock_shows_no_entry_early_and_hides_none(seconds: int, steps: list[tuple[int, str]]) -> None:
    """Nothing is shown before the clock went on into another period after its append; what was shown stays."""
    ticks, now, made, before = Ticks(seconds), BEGIN, [], 0
    crossed = 0  # how often the clock went on into another period
    with opened() as tx:
        for pause, step in steps:
            period, now = int(now.timestamp()) // seconds, now + timedelta(seconds=pause)
            crossed += int(now.timestamp()) // seconds > period
            if step == "append":
                ticks.begin(tx, now, len(made), appends=True)
                made.append(crossed)
            elif step == "restart":
                ticks = Ticks(seconds)
            visible = shown(tx, ticks, now, len(made))
            assert all(one < crossed for one in made[:visible])
            assert visible >= before
            before = visible
        last = newest(tx)
        latest = now if last is None else max(now, datetime.fromtimestamp(last.start, UTC))
        starts = tx.execute(select(periods.c.start)).scalars().all()
        after = max([latest.timestamp(), *starts]) + seconds
        assert shown(tx, ticks, datetime.fromtimestamp(after, UTC), len(made)) == len(made)


@cases(100)
@given(
    seconds=st.sampled_from([60, 3600]),
    behind=st.integers(0, 10**5),
    steps=st.lists(st.tuples(st.integers(0, 5000), st.booleans(), st.booleans()), max_size=30),
)
def test_two_clocks_that_differ_never_show_less(seconds: int, behind: int, steps: list[tuple[int, bool, bool]]) -> None:
    """Of two machines on one database: what one has shown the other shows as well."""
    ticks, now, made, before = (Ticks(seconds), Ticks(seconds)), BEGIN, 0, 0
    with opened() as tx:
        for pause, is_behind, is_append in steps:
            now += timedelta(seconds=pause)
            clock = now - timedelta(seconds=behind * is_behind)
            if is_append:
                ticks[is_behind].begin(tx, clock, made, appends=True)
                made += 1
            visible = shown(tx, ticks[is_behind], clock, made)
            assert visible >= before
            before = visible


@pytest.mark.parametrize("ahead", [2, 7, 24 * 365])
def test_a_clock_that_was_ahead_once_delays_little(ahead: int) -> None:
    """What is published after that is shown after a whole period, or one more, and not when the clock gets there."""
    ticks, made = Ticks(3600), 0
    with opened() as tx:
        for hours in (0, ahead, 0.1):
            ticks.begin(tx, BEGIN + timedelta(hours=hours), made, appends=True)
            made += 1
        waiting = shown(tx, ticks, BEGIN + timedelta(hours=0.2), made)
        assert waiting < made
        assert shown(tx, ticks, BEGIN + timedelta(hours=1.9), made) == waiting
        for hour in range(3, 12):
            if hour != ahead:
                assert shown(tx, ticks, BEGIN + timedelta(hours=hour), made) == made
            ticks.begin(tx, BEGIN + timedelta(hours=hour, minutes=5), made, appends=True)
            made += 1
            assert shown(tx, ticks, BEGIN + timedelta(hours=hour, minutes=55), made) < made


def test_a_clock_that_is_set_back_twice_shows_no_entry_of_between() -> None:
    """One that was made in a period that had been begun before, by the same clock."""
    ticks = Ticks(3600)
    with opened() as tx:
        for made, hours in enumerate((8, 1, 8.1)):
            ticks.begin(tx, BEGIN + timedelta(hours=hours), made, appends=True)
        waiting = shown(tx, ticks, BEGIN + timedelta(hours=8.2), 3)
        assert waiting < 3
        assert shown(tx, ticks, BEGIN + timedelta(hours=5), 3) == waiting
        assert shown(tx, ticks, BEGIN + timedelta(hours=7), 3) == 3


def test_clocks_that_differ_by_hours_do_not_show_everything_by_turns() -> None:
    """Each period is begun once, so whoever asks one machine and then the other sees no moment of a publication."""
    ahead, right = Ticks(3600), Ticks(3600)
    with opened() as tx:
        seen = []
        for minute in range(1, 59):
            now = BEGIN + timedelta(minutes=minute)
            right.begin(tx, now, minute, appends=True)
            seen.append(shown(tx, right, now, minute + 1))
            seen.append(shown(tx, ahead, now + timedelta(hours=5), minute + 1))
        assert len(set(seen)) <= 2


def test_a_clock_that_is_behind_is_told_once() -> None:
    """Once for each period; a few seconds between two machines are no news."""
    ticks = Ticks(3600)
    with opened() as tx:
        ticks.begin(tx, BEGIN, 0, appends=True)
        last = newest(tx)
        assert not ticks.is_set_back(None, BEGIN)
        assert not ticks.is_set_back(last, BEGIN)
        assert not ticks.is_set_back(last, BEGIN - timedelta(seconds=2))
        assert ticks.is_set_back(last, BEGIN - timedelta(seconds=20))
        assert not ticks.is_set_back(last, BEGIN - timedelta(seconds=10))


def test_without_periods_everything_is_shown_at_once() -> None:
    """RUGNIK_CHECKPOINT_SECONDS=0, for services where the time of a publication is no secret."""
    with opened() as tx:
        assert shown(tx, Ticks(0), BEGIN, 4) == 4
        assert tx.execute(select(periods)).all() == []


def test_what_was_shown_without_periods_stays_when_they_come_back() -> None:
    """Also within the period in which they went."""
    with opened() as tx:
        Ticks(3600).begin(tx, BEGIN, 3, appends=True)
        assert shown(tx, Ticks(3600), BEGIN, 4) == 3
        assert shown(tx, Ticks(0), BEGIN, 5) == 5
        Ticks(0).begin(tx, BEGIN, 5, appends=True)
        assert shown(tx, Ticks(0), BEGIN, 6) == 6
        assert len(tx.execute(select(periods)).all()) == 2
        assert shown(tx, Ticks(3600), BEGIN, 6) == 6
        assert shown(tx, Ticks(3600), BEGIN, 7) == 6
