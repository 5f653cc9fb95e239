"""Errors mirror the service's problem types, one class each, with what a program may want to know."""

from __future__ import annotations

import ast
import inspect
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from app import problems
from app.access.permissions import Role
from app.http import problems as http_problems
from rugnik import Client, Retries, RugnikError, errors
from tests.support.service.live import Live, refuse


def problem_types() -> set[str]:
    """Every name of a problem in the server's code: those of its table, and those that it replies with by hand."""
    by_hand = {
        node.args[1].value
        for module in (problems, http_problems)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"problem", "reply"}
        if isinstance(node.args[1], ast.Constant)
    }
    return by_hand | {name for _, name, _ in problems.TABLE.values()}


def test_every_problem_of_the_service_has_its_class() -> None:
    """None is missing, and none is left of a problem that is gone; 405 is the framework's own."""
    assert len(problem_types()) > 25
    assert problem_types() | {"method-not-allowed", "forged-request", "misdirected-request"} == set(errors.PROBLEMS)


def test_every_class_stands_in_the_tree() -> None:
    """The module's docstring draws all of them."""
    tree = errors.__doc__ or ""
    names = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, RugnikError)]
    assert [name for name in names if f" {name}" not in tree and not tree.count(f"\n{name}\n")] == []


def test_a_problem_carries_its_fields(live: Live, curator: Client) -> None:
    """Requested and remaining epsilon, the state of a release, columns that do not fit, fields that are wrong."""
    with pytest.raises(errors.InsufficientBudget, match="epsilon") as short:
        curator.order(live.city, epsilon="3.5", clusters=4)
    assert (short.value.requested, short.value.remaining, short.value.status) == ("3.5", "3", 409)
    assert short.value.title == "Not enough epsilon is left"
    release = curator.order(live.city, epsilon="0.1", clusters=4).id
    with pytest.raises(errors.UnfitColumns) as unfit:
        curator.upload(release, b"age\n1\n", media_type="text/csv")
    assert unfit.value.columns == ["income"]
    digest = curator.upload(release, b"age,income\n1,2\n", media_type="text/csv").synopsis
    with pytest.raises(errors.ReleaseEnded) as ended:
        curator.upload(release, b"age,income\n1,2\n", media_type="text/csv")
    assert digest is not None
    assert (ended.value.state, ended.value.digest) == ("published", digest.digest)
    with pytest.raises(errors.InvalidRequest) as invalid:
        curator.order(live.city, epsilon="0.1", clusters=-1)
    assert invalid.value.errors[0]["loc"] == ["body", "clusters"]
    with pytest.raises(errors.TooManyCells) as many:
        curator.order(live.city, epsilon="0.1", clusters=10**9, declared=10**9)
    assert many.value.fields["setting"] == "RUGNIK_MAX_CELLS"
    with pytest.raises(errors.Invalid):
        curator.order(live.city, epsilon=0.1 + 0.2, clusters=2)  # seventeen places: refused, not rounded
    with live.client(None) as nobody, pytest.raises(errors.NotAuthenticated):
        nobody.datasets()
    with live.client(Role.ANALYST) as analyst, pytest.raises(errors.NotAllowed, match="role curator"):
        analyst.plan(live.city, epsilon=1, clusters=2)
    with pytest.raises(errors.NotFound):
        curator.dataset("no/such dataset?")


def test_a_problem_that_this_client_does_not_know_is_a_plain_problem(live: Live, curator: Client) -> None:
    """A newer service may invent one: status, words and name are there."""
    live.gate.faults["GET"] = [refuse(418, "a-teapot")]
    with pytest.raises(errors.Problem, match=r"Not now\.") as odd:
        curator.datasets()
    assert type(odd.value) is errors.Problem
    assert (odd.value.name, odd.value.status) == ("a-teapot", 418)


def test_another_service_is_told_from_rugnik(live: Live, curator: Client) -> None:
    """A gateway's page is not quoted, and not taken for an answer."""
    live.gate.faults["GET"] = [refuse(404), refuse(200)]
    with pytest.raises(errors.UnexpectedReply, match="not rugnik's"):
        curator.datasets()
    with pytest.raises(errors.UnexpectedReply, match="other than JSON"):
        curator.datasets()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:8000", "ftp://127.0.0.1", "http://", "http://[", ""])
def test_an_address_where_nothing_answers_gives_one_error(url: str) -> None:
    """NotReached, with the address in it, whatever httpx calls it."""
    with pytest.raises(errors.NotReached), Client(url, "key", timeout=2.0, retries=Retries(attempts=1)) as client:
        client.health()


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    """Both forms of RFC 9110; nonsense counts as nothing."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert errors.seconds_asked("7") == 7.0
    assert 25 <= (errors.seconds_asked(later) or 0) <= 30
    assert errors.seconds_asked("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    for nothing in (None, "soon", "-1", ""):
        assert errors.seconds_asked(nothing) is None
    assert isinstance(errors.problem_of(httpx.Response(500, request=httpx.Request("GET", "http://x"))), RugnikError)
