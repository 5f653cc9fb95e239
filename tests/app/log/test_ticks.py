"""Ticks: a publication is shown once its period is over, whoever asks, however often, and in whatever process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, select

from app.log.ticks import Ticks
from app.storage.tables import periods

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)


def shown(tx: Connection, ticks: Ticks, now: datetime, size: int) -> int:
    """What a checkpoint may show of so many entries."""
    before = tx.execute(select(ticks.size_before(now))).scalar_one()
    return size if before is None else int(before)


@given(
    seconds=st.sampled_from([1, 7, 60, 3600]),
    steps=st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(["append", "look", "restart"])), max_size=40),
)
def test_an_entry_is_never_shown_in_its_own_period_and_always_in_the_next(
    seconds: int, steps: list[tuple[int, str]]
) -> None:
    """The size that is shown is that of the entries of earlier periods: exactly, and so whoever looked when."""
    ticks, now, made = Ticks(seconds), BEGIN, []
    engine = create_engine("sqlite://")
    with engine.connect() as tx:
        periods.create(tx)
        for pause, step in steps:
            now += timedelta(seconds=pause)
            period = int(now.timestamp()) // seconds
            if step == "append":
                ticks.begin(tx, now, len(made))
                made.append(period)
            elif step == "restart":
                ticks = Ticks(seconds)
            assert shown(tx, ticks, now, len(made)) == sum(one < period for one in made)
            assert 0 < ticks.seconds_left(now) <= seconds
    engine.dispose()


@given(moves=st.lists(st.integers(-5000, 5000), max_size=30), seconds=st.sampled_from([60, 3600]))
def test_a_clock_that_is_set_back_shows_no_entry_early_and_hides_none(moves: list[int], seconds: int) -> None:
    """Nothing is shown before a period later than that of its append has begun; what was shown stays."""
    ticks, now, made, latest, before = Ticks(seconds), BEGIN, [], 0, 0
    engine = create_engine("sqlite://")
    with engine.connect() as tx:
        periods.create(tx)
        for pause in moves:
            now += timedelta(seconds=pause)
            ticks.begin(tx, now, len(made))
            made.append(int(now.timestamp()) // seconds)
            latest = max(latest, made[-1])
            visible = shown(tx, ticks, now, len(made))
            assert all(one < latest for one in made[:visible])
            assert before <= visible < len(made)
            before = visible
    engine.dispose()


def test_without_periods_everything_is_shown_at_once() -> None:
    """RUGNIK_CHECKPOINT_SECONDS=0, for services where the time of a publication is no secret."""
    engine = create_engine("sqlite://")
    with engine.connect() as tx:
        periods.create(tx)
        Ticks(0).begin(tx, BEGIN, 3)
        assert shown(tx, Ticks(0), BEGIN, 4) == 4
        assert tx.execute(select(periods)).all() == []
    engine.dispose()
