"""Failed sign-ins are logged without the key, and slow down further tries; nobody is locked out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from app.access import sign_in_delays
from app.access.permissions import Role
from app.access.sign_in_delays import SignInDelays
from app.errors import TooManyRequests
from app.main import create_app
from app.settings.settings import Settings
from tests.support.browser.visitors import try_key
from tests.support.service.api import Api, frozen_clock

CANARY = "CANARY7f3a"


class Hours:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """The time it is set to."""
        return self.now


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Hours:
    """The clock that delays go by."""
    moved = Hours()
    monkeypatch.setattr(sign_in_delays, "time", moved)
    return moved


@pytest.fixture
def talkative(sqlite_settings: Settings) -> Iterator[Api]:
    """The application in this process, with its log."""
    with Api(create_app(sqlite_settings, frozen_clock)) as opened:
        yield opened


def test_a_failed_sign_in_is_logged_without_the_key(talkative: Api, capfd: pytest.CaptureFixture[str]) -> None:
    """One line each, with nothing of what was typed; a sign-in that works has none."""
    capfd.readouterr()
    analyst = talkative.keys[Role.ANALYST]
    for key in (CANARY, f"rugnik_admin_k1_{CANARY}", analyst[:-1]):
        assert try_key(talkative, key).status_code == 401
    said = capfd.readouterr().err
    assert [json.loads(line)["event"] for line in said.splitlines()] == ["sign_in_failed"] * 3
    assert CANARY not in said
    assert analyst.split("_")[2] not in said
    assert try_key(talkative, analyst).status_code == 303
    assert capfd.readouterr().err == ""


def test_failures_slow_down_more_and_more_up_to_a_bound(hours: Hours) -> None:
    """A few mistakes cost nothing; then each doubles the delay, to seconds and no further, and it wears off."""
    delays = SignInDelays()
    waits = []
    for _ in range(100):
        waits.append(delays.seconds("192.0.2.1"))
        delays.count_failure("192.0.2.1")
    assert waits[:3] == [0.0, 0.0, 0.0]
    assert waits == sorted(waits)
    assert 0 < waits[3] < waits[4] < waits[5]
    assert max(waits) == 4.0
    hours.now += 3600
    assert delays.seconds("192.0.2.1") == 0.0


@pytest.mark.usefixtures("hours")
def test_one_address_does_not_slow_down_the_others() -> None:
    """Of a thousand other addresses all but a few wait for nothing, and none longer than seconds."""
    delays = SignInDelays()
    for _ in range(1000):
        delays.count_failure("192.0.2.1")
    others = [delays.seconds(f"198.51.{i // 256}.{i % 256}") for i in range(1000)]
    assert sum(wait > 0 for wait in others) < 20
    assert max(others) <= 4.0


@pytest.mark.usefixtures("hours")
def test_memory_does_not_grow_with_addresses() -> None:
    """A fixed number of buckets, however many addresses try."""
    delays = SignInDelays()
    for i in range(10_000):
        delays.count_failure(str(i))
    assert len(delays._buckets) == 1024


def test_after_many_failures_the_right_key_still_signs_in(talkative: Api) -> None:
    """Later, and not never; keys in headers and sessions that run are not slowed at all."""
    delays: SignInDelays = talkative.app.state.sign_in_delays
    for _ in range(4):
        delays.count_failure("127.0.0.1")
    assert delays.seconds("127.0.0.1") > 0
    assert try_key(talkative, talkative.keys[Role.ANALYST]).status_code == 303


def test_few_tries_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused instead of holding a connection; whoever made no mistake does not wait and is served."""
    monkeypatch.setattr(sign_in_delays, "_MOST_WAITING", 2)
    delays = SignInDelays()
    for _ in range(20):
        delays.count_failure("guesser")

    async def tries() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(delays.wait, "guesser")
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(TooManyRequests):
                await delays.wait("guesser")
            await delays.wait("somebody else")
            group.cancel_scope.cancel()
        assert delays._waiting == 0

    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, tries).result()
