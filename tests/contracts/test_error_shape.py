"""One shape for every failure: RFC 9457, a status that agrees with itself, and never a word of what was sent."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from anyio import to_thread
from httpx import Response
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app.access.permissions import Role
from app.faults import IN_WORDS
from app.ingest.limits import MIB
from app.releases import datasets, reading, uploading
from core.budget import HOW_TO_WRITE
from rugnik.wire.limits import NAME
from tests.support.service.api import CSV, Api
from tests.support.service.bad_bodies import BAD_BODIES
from tests.support.service.failures import CANARY, FAILURES
from tests.support.service.routes import operation_of, operations
from tests.support.service.world import World, opened_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One application for all failures: none of them changes anything that another one needs."""
    with opened_world(tmp_path_factory.mktemp("world")) as opened:
        yield opened


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[World]:
    """An application of its own, for failures that break it; one upload at a time, and no long wait for a second."""
    folder = tmp_path / "gone"
    folder.mkdir()
    memory = {"upload_memory_bytes": MIB, "max_spool_bytes": 2 * MIB, "max_upload_bytes": 2 * MIB}
    with opened_world(tmp_path, max_uploads=1, upload_wait_seconds=0.01, spool_dir=folder, **memory) as opened:
        folder.rmdir()
        yield opened


def assert_problem(reply: Response, status: int, problem: str) -> None:
    """The shape that all failures share."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert body["type"] == f"urn:rugnik:problem:{problem}"
    assert body["status"] == status
    for field in ("title", "detail"):
        assert isinstance(body[field], str)
        assert body[field].strip()
    sent_back = reply.text + str(reply.headers)
    assert CANARY.lower() not in sent_back.lower()


@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_has_the_one_shape_and_echoes_nothing(world: World, failure: str) -> None:
    """application/problem+json with type, title, status and detail; what the client sent is not in it."""
    expected = FAILURES[failure]
    assert_problem(expected.send(world), expected.status, expected.problem)


def test_failures_change_nothing(world: World) -> None:
    """After every failure in a row the ledger ends where it ended, and every object is as it was."""

    def seen() -> list[str]:
        everything = ["/v1/ledger/export", "/v1/datasets/city", "/v1/datasets/shut", f"/v1/releases/{world.ordered}"]
        return [world.api.auditor("GET", path).text for path in everything]

    prepared = {"idempotency-conflict", "own-request", "request-decided"}  # these first make what they are refused for
    unchanging = [failure for failure in FAILURES.values() if failure.problem not in prepared]
    before = seen()
    for failure in unchanging:
        failure.send(world)
    assert seen() == before


@pytest.mark.parametrize("failure", ["no key", "garbage for a key", "revoked key", "metrics without a key"])
def test_a_missing_key_is_asked_for(world: World, failure: str) -> None:
    """401 says which scheme to use."""
    assert FAILURES[failure].send(world).headers["www-authenticate"] == "Bearer"


def test_a_wrong_method_is_told_the_right_ones(world: World) -> None:
    """405 lists what is allowed, as HTTP requires."""
    assert set(FAILURES["wrong method"].send(world).headers["allow"].split(", ")) >= {"GET"}


@pytest.mark.parametrize(
    ("failure", "setting"),
    [
        ("upload too large by its own word", "RUGNIK_MAX_UPLOAD_BYTES"),
        ("upload too large as it streams", "RUGNIK_MAX_UPLOAD_BYTES"),
        ("upload that inflates too far", "RUGNIK_MAX_INFLATED_BYTES"),
        ("too many rows", "RUGNIK_MAX_UPLOAD_ROWS"),
        ("too many columns", "RUGNIK_MAX_UPLOAD_COLUMNS"),
        ("more than the spool holds", "RUGNIK_MAX_SPOOL_BYTES"),
        ("more clusters than cells", "RUGNIK_MAX_CELLS"),
        ("grant beyond the limit", "RUGNIK_MAX_BUDGET"),
    ],
)
def test_a_refusal_at_a_cap_names_the_setting(world: World, failure: str, setting: str) -> None:
    """Whoever runs the service learns which variable to change."""
    assert FAILURES[failure].send(world).json()["setting"] == setting


@pytest.mark.parametrize(
    ("failure", "detail"),
    [
        (
            "unknown parameter",
            "There is no parameter of that name here; this takes: where, level, snap, group_by, simultaneous.",
        ),
        (
            "unknown parameter of a file",
            "There is no parameter of that name here; this takes: count, seed, format, where.",
        ),
        (
            "misspelt parameter",
            "There is no parameter of that name here; this takes: where, level, snap, group_by, simultaneous. "
            "Is it 'where'?",
        ),
        ("a number for epsilon", "'epsilon' must be text, such as \"0.5\"; you sent a number with a decimal point."),
        ("epsilon too long", f"'epsilon': {HOW_TO_WRITE}"),
        ("no epsilon", HOW_TO_WRITE),
        ("bad dataset name", f"'name': {IN_WORDS[NAME]}"),
        ("JSON without end", "The body is not JSON: see character 10."),
    ],
)
def test_a_common_mistake_is_told_in_plain_words(world: World, failure: str, detail: str) -> None:
    """What to write instead, and no pattern."""
    assert FAILURES[failure].send(world).json()["detail"] == detail


@pytest.mark.parametrize(("path", "body", "detail"), BAD_BODIES)
def test_a_body_that_does_not_fit_is_told_what_each_field_must_be(
    world: World, path: str, body: object, detail: str
) -> None:
    """The field by its name, what it must be, and of what was sent no more than its kind."""
    caller = Role.ADMIN if path.endswith(("/keys", "/grants")) else Role.CURATOR
    options = {} if body is None else {"json": body}
    reply = world.api.call(caller, "POST", path.format(**vars(world)), **options)
    assert reply.json()["detail"] == detail
    assert_problem(reply, 422, "invalid-request")
    assert reply.json()["errors"][0]["loc"][0] == "body"


def test_bad_bodies_are_sent_to_every_route_that_takes_one(world: World) -> None:
    """A new route brings a bad body."""
    posted = {path.format(**vars(world)) for path, _, _ in BAD_BODIES}
    met = [operation_of(world.api.app, "POST", path) for path in posted]
    documented = [said for (method, _), said in operations(world.api.app).items() if method == "POST"]
    answering = [said for said in documented if "requestBody" in said and "307" not in said["responses"]]
    takes_body = {said["operationId"] for said in answering}
    assert {said["operationId"] for said in met if said is not None} == takes_body


@pytest.mark.parametrize("failure", [name for name, each in FAILURES.items() if each.problem == "invalid-request"])
def test_no_refusal_is_in_the_words_of_the_framework(world: World, failure: str) -> None:
    """Its words change with its version, and tell nothing to somebody who does not know it."""
    text = FAILURES[failure].send(world).text
    for words in ("Input should", "Value error", "String should", "List should", "Field required", "Unable to", "^"):
        assert words not in text
    assert 'is not valid."' not in text  # what `app.faults` has no words for


def test_an_upload_that_says_it_is_too_large_is_refused_before_it_is_read(world: World) -> None:
    """413 by the word of Content-Length: the sender is spared sending it all."""
    read = []

    async def chunks() -> AsyncIterator[bytes]:
        read.append(True)
        yield b"age,income\n"

    headers = CSV | {"Content-Length": "100001"}
    assert_problem(world.api.upload(world.ordered, chunks(), headers), 413, "too-large")
    assert read == []


def failing(*_: object, **__: object) -> None:
    """A fault that nobody foresaw, with a row in its message."""
    raise RuntimeError(f"31.4,{CANARY}")


FAULTS: list[tuple[object, str, Callable[[World], Response]]] = [
    (datasets, "list_all", lambda world: world.api.curator("GET", "/v1/datasets")),
    (reading, "get", lambda world: world.api.curator("GET", f"/v1/releases/{world.ordered}")),
    (uploading, "read_upload", lambda world: world.api.upload(world.ordered)),
    (uploading, "draw_synopsis", lambda world: world.api.upload(world.api.order().json()["id"])),  # it is burnt then
]


@pytest.mark.parametrize(("module", "name", "send"), FAULTS, ids=[fault[1] for fault in FAULTS])
def test_a_fault_of_our_own_says_nothing_of_its_cause(
    world: World, monkeypatch: pytest.MonkeyPatch, module: object, name: str, send: Callable[[World], Response]
) -> None:
    """500 in the same shape, for reads and in the middle of an upload, without the exception's words."""
    monkeypatch.setattr(module, name, failing)
    assert_problem(send(world), 500, "internal-error")


def test_a_busy_service_says_when_to_come_back(lone: World) -> None:
    """503 with Retry-After while another upload holds the only slot."""
    started, go_on = Event(), Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"age,income\n"
        started.set()
        await to_thread.run_sync(go_on.wait)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lone.api.upload, lone.fresh_order(), slow())
        try:
            assert started.wait(60)
            busy = lone.api.upload(lone.ordered, f"age,income,{CANARY}\n", CSV)
        finally:
            go_on.set()
        assert first.result().status_code == 200
    assert_problem(busy, 503, "busy")
    assert int(busy.headers["retry-after"]) >= 1


def test_a_full_disk_is_not_the_files_fault(lone: World) -> None:
    """503 where the spool is needed and cannot be made; the order stays open."""
    headers = {"Content-Type": "application/vnd.apache.parquet"}
    more_than_memory = CANARY * (MIB // len(CANARY) + 1)
    assert_problem(lone.api.upload(lone.ordered, more_than_memory, headers), 503, "spool-failure")
    assert_problem(lone.api.upload(lone.ordered, CANARY, headers), 422, "unreadable-upload")
    assert lone.api.upload(lone.ordered).status_code == 200


def test_a_reader_that_runs_out_of_memory_is_not_the_files_fault(lone: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 without the size that was asked for; nothing was drawn, and the same rows are published later."""

    def short(*_: object, **__: object) -> None:
        raise MemoryError(CANARY)

    with monkeypatch.context() as patched:
        patched.setattr(uploading, "read_upload", short)
        refused = lone.api.upload(lone.ordered)
    assert_problem(refused, 503, "out-of-memory")
    assert int(refused.headers["retry-after"]) >= 1
    assert lone.api.curator("GET", f"/v1/releases/{lone.ordered}").json()["state"] == "ordered"
    assert lone.api.upload(lone.ordered).status_code == 200


@pytest.mark.parametrize("damage", ["another ledger's", "damaged", "unreadable"])
def test_a_service_that_is_not_ready_says_so_in_the_one_shape(lone: World, damage: str) -> None:
    """503 from /readyz while the witness saw another ledger, cannot be understood or cannot be read."""
    witness = lone.api.service.witness.path
    seen = witness.read_text().split("\n")
    other_root = "\n".join([*seen[:2], base64.b64encode(bytes(32)).decode(), *seen[3:]])
    witness.unlink()
    if damage == "unreadable":
        witness.mkdir()
    else:
        witness.write_text(CANARY if damage == "damaged" else other_root)
    assert_problem(lone.api.call(None, "GET", "/readyz"), 503, "not-ready")


def test_a_database_that_is_gone_is_a_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Retry-After, and without the statement or its parameters, which a driver's message quotes."""

    def gone(*_: object, **__: object) -> None:
        raise OperationalError(f"SELECT '{CANARY}'", {"name": CANARY}, Exception(CANARY))

    monkeypatch.setattr(datasets, "list_all", gone)
    reply = world.api.curator("GET", "/v1/datasets")
    assert_problem(reply, 503, "database-unavailable")
    assert int(reply.headers["retry-after"]) >= 1


def test_an_unmigrated_database_is_not_ready(lone: World) -> None:
    """503 from /readyz names the command that helps."""
    with lone.api.service.database.transaction() as tx:
        tx.execute(text("DELETE FROM alembic_version"))
    reply = lone.api.call(None, "GET", "/readyz")
    assert_problem(reply, 503, "not-ready")
    assert "rugnik migrate" in reply.json()["detail"]


@pytest.mark.parametrize("damage", ["damaged", "unreadable"])
def test_no_order_is_charged_without_a_witness_to_ask(lone: World, damage: str) -> None:
    """Whether the ledger is the newest cannot be known then, so nothing is taken from it."""
    witness = lone.api.service.witness.path
    before = lone.api.budget()
    witness.unlink()
    if damage == "unreadable":
        witness.mkdir()
    else:
        witness.write_text("?")
    refused = lone.api.order()
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:not-ready")
    assert lone.api.budget() == before


def test_an_order_that_could_not_be_witnessed_is_not_charged(lone: World) -> None:
    """503 before the commit: neither is the epsilon spent, nor can a restored copy forget it."""
    before = lone.api.budget()
    witness = lone.api.service.witness.path
    lock = witness.with_name(witness.name + ".lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    assert_problem(lone.api.order(), 503, "not-ready")
    assert lone.api.budget() == before


NUL = [
    ("curator", "GET", "/v1/datasets/%00"),
    ("curator", "POST", "/v1/datasets/%00/close"),
    ("curator", "GET", "/v1/releases/r%00"),
    ("curator", "DELETE", "/v1/releases/%00"),
    ("auditor", "GET", "/v1/ledger?dataset=%00"),
    ("admin", "DELETE", "/v1/keys/k%00"),
]


def test_a_nul_in_a_name_is_not_found_on_any_database(api: Api) -> None:
    """PostgreSQL cannot even be asked for such a name; that is no fault of the service."""
    for role, method, path in NUL:
        reply = getattr(api, role)(method, path)
        assert reply.status_code in {404, 422}, (path, reply.text)
