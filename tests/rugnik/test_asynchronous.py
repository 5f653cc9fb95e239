"""AsyncClient: every method of Client, awaited; made from it, so that the two cannot differ."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from app.access.permissions import Role
from rugnik import AsyncClient, Client, Retries, errors
from tests.support.event_loops import run
from tests.support.service.api import ROWS
from tests.support.service.live import Live, break_before, lose_reply, refuse
from tests.support.service.questions import EXAMPLES
from tools.asynchronous import ROOT, expected


def asked(live: Live, ask: Callable[[AsyncClient], Awaitable[Any]], role: Role = Role.CURATOR) -> Any:
    """What a coroutine returns, with an asynchronous client of a role; it notes its waits as the other one does."""

    async def with_client() -> Any:
        async with AsyncClient(live.url, live.keys[role], retries=Retries(sleep=live.naps.append)) as client:
            return await ask(client)

    return run(with_client)


def test_the_asynchronous_client_is_up_to_date() -> None:
    """If this fails, run `python -m tools.asynchronous`."""
    for path, text in expected().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, path


@pytest.mark.parametrize("name", [name for name in dir(Client) if not name.startswith("_")])
def test_every_method_of_the_client_is_there(name: str) -> None:
    """With the same parameters and words; it is awaited, or iterated over with `async for`."""
    ours, theirs = getattr(AsyncClient, name), getattr(Client, name)
    if isinstance(theirs, property) or name == "from_environment":
        return
    assert list(inspect.signature(ours).parameters.values()) == list(inspect.signature(theirs).parameters.values())
    assert inspect.iscoroutinefunction(ours) or inspect.isasyncgenfunction(ours)
    assert ours.__doc__ == theirs.__doc__


def test_stage_one_and_every_question(live: Live, curator: Client, tmp_path: Path) -> None:
    """Order, upload from a file, ask, download: the answers are those of the other client."""
    (tmp_path / "rows.csv").write_bytes(ROWS)

    async def work(client: AsyncClient) -> Any:
        order = await client.order(live.city, epsilon="0.5", clusters=4)
        published = await client.upload(order, tmp_path / "rows.csv", gzip=True)
        answers = [
            await client.ask(live.city, each.answer, **each.parameters)
            if each.body is None
            else await client.ask_with_body(live.city, each.answer, each.body)
            for each in EXAMPLES
        ]
        await client.download_rows(live.city, tmp_path / "a.csv", count=7, seed=1)
        assert (await client.releases(live.city)).latest is not None
        assert [each.name for each in await client.datasets()].count(live.city) == 1
        assert [each async for each in client.requests(dataset=live.city)] == []
        return published, answers

    published, answers = asked(live, work)
    assert (published.state, published.ingest.rows_read) == ("published", 500)
    for example, answer in zip(EXAMPLES, answers, strict=True):
        if example.body is None:
            assert answer == curator.ask(published.id, example.answer, **example.parameters)
        else:
            assert answer == curator.ask_with_body(published.id, example.answer, example.body)
    curator.download_rows(published, tmp_path / "b.csv", count=7, seed=1)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_many_questions_are_asked_at_once(live: Live, curator: Client, order: str) -> None:
    """No request waits for the answer of another one: the service answers when all of them are there."""
    curator.upload(order, ROWS, media_type="text/csv")
    together = asyncio.Barrier(4)

    async def meet(gate: Any, scope: Any, receive: Any, send: Any) -> None:
        await together.wait()
        await gate.app(scope, receive, send)

    async def gathered(client: AsyncClient) -> Any:
        return await asyncio.gather(*(client.count(order, {"age": (x, x + 10)}) for x in range(4)))

    live.gate.faults["GET"] = [meet] * 4
    assert [each.parameters["where"] for each in asked(live, gathered)] == [[f"age:{x}..{x + 10}"] for x in range(4)]


@pytest.mark.parametrize("fault", [refuse(503, "busy", after="7"), break_before, lose_reply])
def test_what_is_safe_to_repeat_is_repeated(live: Live, order: str, fault: Any) -> None:
    """A GET, and an upload that did not get through, as the other client does it; the waits are the same."""
    live.gate.faults["GET"] = [fault]
    names = asked(live, lambda client: client.datasets())
    assert live.city in [each.name for each in names]
    assert len(live.naps) == 1
    live.gate.faults["PUT"] = [fault]
    published = asked(live, lambda client: client.upload(order, io.BytesIO(ROWS), media_type="text/csv"))
    assert published.state == "published"


@pytest.mark.usefixtures("curator")
def test_errors_are_the_same(live: Live, tmp_path: Path) -> None:
    """Classes and sentences; nothing is left of a download that broke."""
    with pytest.raises(errors.NotFound, match="Did you mean"):
        asked(live, lambda client: client.count(f"{live.city}x"))
    with pytest.raises(errors.UnfitArgument, match="k is a whole number"):
        asked(live, lambda client: client.clusters(live.city, "five"))  # type: ignore[arg-type]
    with pytest.raises(errors.UnfitArgument, match=r"ask_by_group\(release, Moments, "):
        asked(live, lambda client: client.moments(live.city, group_by="sex"))  # type: ignore[call-arg]
    with pytest.raises(errors.NotAllowed):
        asked(live, lambda client: client.ledger_head())
    live.gate.faults["GET"] = [break_before] * 4
    with pytest.raises(errors.NotReached):
        asked(live, lambda client: client.export_ledger(tmp_path / "ledger"), Role.AUDITOR)
    assert list(tmp_path.glob("ledger*")) == []


@pytest.mark.usefixtures("curator")
def test_the_ledger_is_gone_through_and_verified(live: Live) -> None:
    """Pages as an asynchronous iterator, and the steps of a verification."""

    async def audit(client: AsyncClient) -> Any:
        steps: list[Any] = []
        outcome = await client.verify_ledger_on_record(steps.append)
        entries = [entry.seq async for entry in client.ledger_entries()]
        return outcome.valid, len(steps) > 0, entries, await client.log_checkpoint()

    valid, stepped, entries, checkpoint = asked(live, audit, Role.AUDITOR)
    assert (valid, stepped, entries) == (True, True, list(range(1, len(entries) + 1)))
    assert checkpoint


@pytest.mark.usefixtures("curator")
def test_a_coroutine_function_may_wait(live: Live) -> None:
    """`Retries(sleep=…)` takes either kind; without it, asyncio waits."""
    waited: list[float] = []

    async def nap(seconds: float) -> None:
        waited.append(seconds)

    async def with_client() -> Any:
        async with AsyncClient(live.url, live.keys[Role.CURATOR], retries=Retries(sleep=nap)) as client:
            return await client.datasets()

    live.gate.faults["GET"] = [refuse(503, "busy", after="3")]
    assert run(with_client)
    assert waited == [3.0]
