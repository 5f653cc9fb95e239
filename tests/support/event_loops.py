"""Tests that need an event loop get one of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


def run(test: Callable[[], Awaitable[_Result]]) -> _Result:
    """What a coroutine function returns on an event loop of its own, with a deadline that only a hang meets.

    In a thread, because a test of the dashboard may have left this one with a loop that runs.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(asyncio.wait_for(test(), 60))).result()  # type: ignore[arg-type]
