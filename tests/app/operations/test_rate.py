"""The rate of long questions of a key: a burst, then an even pace, and nobody else's business."""

from __future__ import annotations

import pytest

from app.errors import TooManyRequests
from app.operations.lanes import Lane
from app.operations.rate import Rate
from tests.support.event_loops import run


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        """The time that was set."""
        return self.now


def test_a_key_may_ask_in_a_burst_and_then_at_an_even_pace() -> None:
    """60 a minute: 60 at once, then one a second; after a minute of rest 60 again, and never more."""
    clock = Clock()
    rate = Rate(60, clock)
    assert [rate.wait("a") for _ in range(60)] == [0.0] * 60
    assert rate.wait("a") == pytest.approx(1.0)
    clock.now += 0.75
    assert rate.wait("a") == pytest.approx(0.25)
    clock.now += 0.25
    assert [rate.wait("a") == 0.0 for _ in range(2)] == [True, False]
    clock.now += 3600
    assert [rate.wait("a") == 0.0 for _ in range(61)] == [True] * 60 + [False]


def test_keys_have_rates_of_their_own() -> None:
    """Who has used up all does so for nobody else."""
    rate = Rate(1, Clock())
    assert [rate.wait(key) == 0.0 for key in ("a", "a", "b")] == [True, False, True]


def test_a_lane_tells_a_key_beyond_its_rate_when_to_come_back() -> None:
    """429 although a slot is free; the seconds are whole and not too few."""

    async def test() -> None:
        lane = Lane("test", slots=9, per_key=9, queue=0, rate=Rate(2, Clock()))
        for _ in range(2):
            await lane.enter("a", noted=True)
        with pytest.raises(TooManyRequests, match="2 long questions") as refused:
            await lane.enter("a", noted=True)
        assert refused.value.retry_after == 30
        await lane.enter("b", noted=True)
        assert lane.noted_refusals["rate"] == 1

    run(test)
