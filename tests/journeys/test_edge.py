"""Abusive or unauthenticated clients cost a real server little: bounded headers, bounded time, no memory."""

from __future__ import annotations

import select
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import httpx
import psutil
import pytest

from app.dashboard.assets import PLOTLY, version
from app.http.middleware.body_limit import MAX_FORM_BYTES, MAX_JSON_BYTES
from app.http.protocol import MAX_HEAD_BYTES
from app.settings.settings import Settings
from tests.support.processes.impatient import SECONDS
from tests.support.processes.server import Server, running_server
from tests.support.processes.sockets import PATIENCE, connected, ended, head, reply
from tests.support.service.api import ATTRIBUTES

JSON = {"Content_Type": "application/json"}
PROBLEM = "urn:rugnik:problem:"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`rugnik serve` as it is."""
    folder = tmp_path_factory.mktemp("server")
    running = running_server(Settings(data_dir=folder / "data", log_level="error"), workers=1, log=folder / "log")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`rugnik serve` with short timeouts."""
    folder = tmp_path_factory.mktemp("impatient")
    settings = Settings(data_dir=folder / "data", log_level="error")
    running = running_server(settings, workers=1, log=folder / "log", module=["tests.support.processes.impatient"])
    yield running
    running.stop()


def alive(server: Server) -> bool:
    """Whether somebody new gets an answer."""
    return httpx.get(f"{server.url}/healthz", timeout=60).status_code == 200


def test_a_head_beyond_its_limit_gets_431(server: Server) -> None:
    """One long value, many short fields, a long address, whole or without an end: a problem, and the end."""
    long = "a" * MAX_HEAD_BYTES
    heads = [
        head("GET", "/healthz", X_Note=long),
        head("GET", "/healthz", **{f"X_{number}": "a" for number in range(MAX_HEAD_BYTES // 32)}),
        head("GET", f"/healthz?{long}"),
        head("GET", "/healthz", X_Note=long)[:-4],
    ]
    for sent in heads:
        with connected(server.url) as connection:
            connection.sendall(sent)
            status, headers, problem = reply(connection)
            assert (status, headers["content-type"]) == (431, "application/problem+json"), sent[:40]
            assert (problem["type"], problem["status"]) == (PROBLEM + "head-too-large", 431)
            assert ended(connection)
    with connected(server.url) as connection:
        connection.sendall(head("GET", "/healthz", X_Note="a" * (MAX_HEAD_BYTES // 2)))
        assert reply(connection)[0] == 200


def test_a_trailer_without_an_end_is_not_read_for_ever(server: Server) -> None:
    """Nor a chunk's extension: whatever the parser has nothing to show for counts as a head."""
    key = server.issue_key("curator")
    for begun in (b"0\r\nX-Trailer: ", b"1;extension="):
        with connected(server.url) as connection, suppress(OSError):
            sent = head("POST", "/v1/datasets", Transfer_Encoding="chunked", Authorization=f"Bearer {key}")
            connection.sendall(sent + begun)
            for _ in range(1000):
                connection.sendall(b"a" * MAX_HEAD_BYTES)
            raise AssertionError("the server has read 30 MB")


def test_what_is_not_http_gets_a_problem(server: Server) -> None:
    """400 in the shape of every other refusal."""
    with connected(server.url) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        status, headers, problem = reply(connection)
        assert (status, headers["content-type"]) == (400, "application/problem+json")
        assert problem["type"] == PROBLEM + "bad-request"
        assert ended(connection)


@pytest.mark.parametrize("shown", [{}, {"Authorization": "Bearer rugnik_curator_k00000000_x"}, {"Cookie": "rugnik=x"}])
def test_a_body_of_nobody_is_not_waited_for(server: Server, shown: dict[str, str]) -> None:
    """401 at once for a body that is half sent, or not at all, with its length stated or in chunks."""
    for length in ({"Content_Length": str(MAX_JSON_BYTES)}, {"Transfer_Encoding": "chunked"}):
        with connected(server.url) as connection:
            connection.sendall(head("POST", "/v1/datasets", **JSON, **length, **shown))
            status, headers, problem = reply(connection)
            assert (status, problem["type"]) == (401, PROBLEM + "not-authenticated")
            assert headers["www-authenticate"] == "Bearer"


def test_half_sent_bodies_of_nobody_cost_no_memory(server: Server) -> None:
    """Forty of them, each of nearly the most that a body may have."""
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    half = bytes(MAX_JSON_BYTES - 1024)
    with ExitStack() as open_ones:
        for _ in range(40):
            connection = open_ones.enter_context(connected(server.url))
            connection.sendall(head("POST", "/v1/datasets", **JSON, Content_Length=str(MAX_JSON_BYTES)))
            try:
                connection.sendall(half)
            except OSError:
                continue  # refused and closed before all of it was sent
        assert process.memory_info().rss - before < 40 * MAX_JSON_BYTES / 4
    assert alive(server)


def test_a_sign_in_form_is_small(server: Server) -> None:
    """413 by its own word and as it streams; nobody fills the memory through the one form that is open to all."""
    with connected(server.url) as connection:
        connection.sendall(head("POST", "/sign-in", Content_Length=str(MAX_FORM_BYTES + 1)))
        assert reply(connection)[0] == 413
    with connected(server.url) as connection:
        connection.sendall(head("POST", "/sign-in", Transfer_Encoding="chunked") + b"ffff\r\n" + bytes(0xFFFF))
        assert reply(connection)[0] == 413


def test_one_key_holds_a_bounded_part_of_the_memory_with_its_bodies(server: Server) -> None:
    """Two large bodies at once; a third gets 503 and Retry-After, while small ones and other keys go on."""
    greedy, other = (server.issue_key("curator") for _ in range(2))
    large = {"Content_Length": str(MAX_JSON_BYTES)} | JSON
    with ExitStack() as open_ones:
        held = [open_ones.enter_context(connected(server.url)) for _ in range(3)]
        for connection in held:
            connection.sendall(head("POST", "/v1/datasets", **large, Authorization=f"Bearer {greedy}"))
            connection.sendall(bytes(MAX_JSON_BYTES - 1))
        (refused,), _, _ = select.select(held, [], [], PATIENCE)
        status, headers, problem = reply(refused)
        assert (status, problem["type"]) == (503, PROBLEM + "busy")
        assert int(headers["retry-after"]) >= 1
        for name, key in (("small", greedy), ("others", other)):
            body = {"name": name, "attributes": ATTRIBUTES, "budget": "1"}
            made = httpx.post(f"{server.url}/v1/datasets", json=body, headers={"Authorization": f"Bearer {key}"})
            assert made.status_code == 201, made.text


def test_eleven_hundred_idle_connections_leave_the_service_alive(server: Server) -> None:
    """The ones that waited longest are closed; somebody new is answered."""
    with ExitStack() as open_ones:
        idle = [open_ones.enter_context(connected(server.url)) for _ in range(1100)]
        assert alive(server)
        assert ended(idle[0])
        idle[-1].sendall(head("GET", "/healthz"))
        assert reply(idle[-1])[0] == 200


def test_connections_at_work_are_not_closed_for_new_ones(
    sqlite_settings: Settings, serve: Callable[..., Server]
) -> None:
    """Uploads under way keep their places; a further caller gets 503 and Retry-After, and is let in afterwards."""
    server = serve(sqlite_settings.model_copy(update={"max_connections": 3, "max_uploads": 4}))
    key = server.issue_key("curator")
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "city", "attributes": ATTRIBUTES, "budget": "3"})
        terms = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 500}}
        orders = [client.post("/v1/datasets/city/releases", json=terms).json()["id"] for _ in range(3)]
    with ExitStack() as open_ones:
        uploads = []
        for order in orders:
            connection = open_ones.enter_context(connected(server.url))
            fields = {"Authorization": f"Bearer {key}", "Content_Type": "text/csv", "Content_Length": "15"}
            connection.sendall(head("PUT", f"/v1/releases/{order}/records", **fields, Expect="100-continue"))
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")  # its thread waits for rows
            uploads.append(connection)
        with connected(server.url) as further:
            status, headers, problem = reply(further)
            assert (status, problem["type"]) == (503, PROBLEM + "busy")
            assert int(headers["retry-after"]) >= 1
            assert ended(further)
        for connection in uploads:
            connection.sendall(b"age,income\n1,2\n")
            assert reply(connection)[0] == 200
    assert alive(server)


def test_half_a_head_is_not_waited_for_for_ever(impatient: Server) -> None:
    """Nothing at all, half a head, or a byte now and then: the connection ends, with 408 where something was sent."""
    with connected(impatient.url) as silent, connected(impatient.url) as half:
        half.sendall(b"GET /healthz HTTP/1.1\r\nHost: rug")
        status, _, problem = reply(half)
        assert (status, problem["type"]) == (408, PROBLEM + "too-slow")
        assert ended(half)
        assert ended(silent)
    with connected(impatient.url) as trickle:
        trickle.sendall(b"GET /healthz HTTP/1.1\r\nX-Note: ")
        assert sent_until_ended(trickle)


def sent_until_ended(connection: socket.socket) -> bool:
    """Send a byte now and then until the other side has had enough."""
    connection.settimeout(0.1)
    for _ in range(600):
        try:
            connection.sendall(b"a")
            if not connection.recv(2**16):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def test_half_a_body_is_not_waited_for_for_ever(impatient: Server) -> None:
    """408 for a JSON body that does not end, and for a sign-in form; what is sent on after a reply ends as well."""
    key = impatient.issue_key("curator")
    with connected(impatient.url) as connection:
        sent = head("POST", "/v1/datasets", **JSON, Content_Length="100", Authorization=f"Bearer {key}")
        connection.sendall(sent + b"{")
        status, _, problem = reply(connection)
        assert (status, problem["type"]) == (408, PROBLEM + "too-slow")
        assert sent_until_ended(connection)
    with connected(impatient.url) as connection:
        connection.sendall(head("POST", "/sign-in", Content_Length="100") + b"key=")
        assert reply(connection)[0] == 408


def test_a_reply_that_nobody_reads_ends(impatient: Server) -> None:
    """A script of some megabytes, asked for and not read: the connection is given up, and its buffer with it."""
    script = f"/static/{version()}/{PLOTLY}"
    assert len(httpx.get(f"{impatient.url}{script}").content) > 2**20
    process = psutil.Process(impatient.process.pid)
    with connected(impatient.url, receive_buffer=4096) as connection:
        connection.sendall(20 * head("GET", script))  # more than the buffers of the kernel take
        port = connection.getsockname()[1]
        for _ in range(600):
            if not any(link.raddr and link.raddr.port == port for link in process.net_connections("tcp")):
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the connection is still open")
    assert alive(impatient)


def test_an_upload_and_a_long_answer_outlive_the_timeouts(impatient: Server) -> None:
    """The timeouts are for clients that keep the service waiting, not for work that takes its time."""
    key = impatient.issue_key("curator")
    shown = {"Authorization": f"Bearer {key}"}
    database = impatient.log.with_name("data") / "rugnik.db"
    with httpx.Client(base_url=impatient.url, headers=shown, timeout=60) as client:
        client.post("/v1/datasets", json={"name": "city", "attributes": ATTRIBUTES, "budget": "3"})
        terms = {"epsilon": "0.5", "clusters": 4, "size": {"declared": 500}}
        order = client.post("/v1/datasets/city/releases", json=terms).json()["id"]
        with connected(impatient.url) as connection, closing(sqlite3.connect(database)) as other:
            fields = shown | {"Content_Type": "text/csv", "Content_Length": "15"}
            connection.sendall(head("PUT", f"/v1/releases/{order}/records", **fields) + b"age,income\n")
            time.sleep(2 * SECONDS)
            connection.sendall(b"1,2\n")
            assert reply(connection)[0] == 200
            other.execute("BEGIN IMMEDIATE")  # while this holds the database, an order waits for it
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(client.post, "/v1/datasets/city/releases", json=terms)
                time.sleep(1.25 * SECONDS)  # longer than the timeouts, shorter than an order waits
                assert not waiting.done()
                other.rollback()
                assert waiting.result().status_code == 201
