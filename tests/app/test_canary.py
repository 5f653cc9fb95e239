"""Rows that were uploaded are found nowhere afterwards: not on disk, in a database, a log, a metric or a reply."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from app.access.permissions import Role
from app.main import create_app
from app.releases import uploading
from app.settings.settings import Settings
from tests.support.leaks.canaries import CSV, FILES, PARQUET, TEXT, UNFIT, csv, parquet, traces, traces_in
from tests.support.leaks.dumps import contents
from tests.support.processes.server import Server
from tests.support.service.api import ATTRIBUTES, Api, frozen_clock

MIB = 2**20
# Beyond what 1 MiB holds of records (two pages of 2^16 rows at 8 bytes each): the sealed spool is used.
MANY = 200_000
SIZES: dict[str, dict[str, Any]] = {"declared": {"declared": 1000}, "estimated": {"estimate": "0.05"}}
_PR_GET_DUMPABLE = 3  # of prctl(2)
Capture = pytest.CaptureFixture[str]


class Scene:
    """A service whose every file lies in one folder, and the search through all that it leaves behind."""

    def __init__(self, api: Api, folder: Path, capture: Capture) -> None:
        self.api = api
        self.folder = folder
        self._capture = capture

    def assert_clean(self) -> None:
        """No trace in files (database, WAL, shared memory, witness, spool, temporary), rows, logs, metrics, replies."""
        assert traces_in(self.folder) == {}
        database = self.api.service.database
        assert traces(contents(database)) == []
        if not database.is_sqlite:
            assert traces(copied(database.url.render_as_string(hide_password=False))) == []
        self.api.analyst("GET", "/v1/datasets")
        said = "".join(self._capture.readouterr())
        assert "request" in said  # it is the log, and it is at work (what a curator asks is not in it)
        assert traces(said) == []
        for role in Role:
            for path in (
                "/v1/datasets",
                "/v1/ledger",
                "/v1/ledger/export",
                "/v1/ledger/verify",
                "/v1/keys",
                "/metrics",
            ):
                assert traces(self.api.call(role, "GET", path).text) == []
            for release in self.api.call(role, "GET", "/v1/datasets/city").json()["releases"]:
                assert traces(self.api.call(role, "GET", f"/v1/releases/{release['id']}").text) == []


def copied(url: str) -> bytes:
    """Every table of a PostgreSQL database as `COPY` writes it."""
    parts = []
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert ("ledger",) in tables
        for (table,) in tables:
            with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
                parts += [bytes(part) for part in copy]
    return b"\n".join(parts)


def with_folders(settings: Settings, folder: Path) -> Settings:
    """The same rugnik with little memory, a spool folder of its own, and nothing to hide in its log."""
    (folder / "spool").mkdir(exist_ok=True)
    (folder / "tmp").mkdir(exist_ok=True)
    changes = {"spool_dir": folder / "spool", "upload_memory_bytes": MIB, "log_level": "debug"}
    return Settings(**(settings.model_dump(exclude_unset=True) | changes))


@pytest.fixture
def scene(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> Iterator[Scene]:
    """A service on each kind of database."""
    settings = with_folders(settings, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with Api(create_app(settings, frozen_clock)) as api:
        assert api.register(budget="20").status_code == 201
        yield Scene(api, tmp_path, capfd)


@pytest.mark.parametrize("file", FILES)
def test_the_canaries_are_in_what_is_sent(file: str) -> None:
    """The search would find them if they were left behind as they came."""
    make, headers = FILES[file]
    body = make(3)
    if "Content-Encoding" not in headers:
        assert {"text", "column"} <= set(traces(body))
        assert set(traces(body)) & {"age in decimals", "age as a double"}


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_left_after_a_success(scene: Scene, size: str) -> None:
    """Every kind of file, counted at once or held until the size is known; the curator's own reply included."""
    rows = MANY if size == "estimated" else 5_000
    for file, (make, headers) in FILES.items():
        release = scene.api.order(epsilon="0.5", size=SIZES[size]).json()["id"]
        reply = scene.api.upload(release, make(rows), headers)
        assert reply.status_code == 200, (file, reply.text)
        assert reply.json()["ingest"]["rows_read"] >= rows
        assert traces(reply.text + str(reply.headers)) == [], file
    scene.assert_clean()


def test_nothing_is_left_after_a_refusal(scene: Scene) -> None:
    """Files that cannot be taken: the reply quotes nothing of them, and the rows are as gone as after a success."""
    release = scene.api.order(size=SIZES["estimated"]).json()["id"]
    for file, (body, headers) in UNFIT.items():
        reply = scene.api.upload(release, body, headers)
        assert reply.status_code in {415, 422}, (file, reply.text)
        assert traces(reply.text + str(reply.headers)) == [], file
    scene.assert_clean()


CAPS = {"max_upload_bytes": 3 * MIB, "max_inflated_bytes": 3 * MIB, "max_upload_rows": 99_000, "max_spool_bytes": 1}


@pytest.mark.parametrize("cap", CAPS)
def test_nothing_is_left_after_a_cap_is_hit(
    sqlite_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture, cap: str
) -> None:
    """An upload that grew too large in the middle was already being counted, or held."""
    settings = with_folders(sqlite_settings, tmp_path).model_copy(update={cap: CAPS[cap]})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        release = api.order(size=SIZES["estimated"]).json()["id"]
        make, headers = FILES["CSV in gzip" if cap == "max_inflated_bytes" else "CSV"]
        body = make(MANY)

        async def chunks() -> AsyncIterator[bytes]:
            for start in range(0, len(body), MIB):
                yield body[start : start + MIB]

        reply = api.upload(release, chunks(), headers)
        assert reply.status_code == 413, reply.text
        assert traces(reply.text) == []
        Scene(api, tmp_path, capfd).assert_clean()


def test_nothing_is_left_after_a_fault_of_our_own(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure in the middle of stage 1, whose message quotes a row, as a library's might."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(csv(2).decode())

    monkeypatch.setattr(uploading, "draw_synopsis", fail)
    reply = scene.api.upload(scene.api.order().json()["id"], csv(1000), CSV)
    assert reply.status_code == 500
    assert traces(reply.text) == []
    scene.assert_clean()


READERS = {
    "CSV": ("pyarrow.csv.read_csv", 200),  # then each line is read by itself
    "Parquet": ("pyarrow.parquet.ParquetFile", 422),
    "Arrow": ("pyarrow.ipc.read_schema", 422),
}


@pytest.mark.parametrize("file", READERS)
def test_what_a_reader_complains_of_is_not_passed_on(
    sqlite_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture, file: str
) -> None:
    """Libraries quote the lines that they cannot read: their messages reach neither the curator nor a log."""

    class Complaining:
        """Stands in for any function or class of a library."""

        def __init__(self, *_: object, **__: object) -> None:
            raise ValueError(csv(1).decode())

    reader, status = READERS[file]
    make, headers = FILES[file]
    body = make(9)
    with Api(create_app(with_folders(sqlite_settings, tmp_path), frozen_clock)) as api:
        api.register()
        release = api.order().json()["id"]
        with monkeypatch.context() as broken:
            broken.setattr(reader, Complaining)
            reply = api.upload(release, body, headers)
        assert reply.status_code == status, reply.text
        assert traces(reply.text) == []
        Scene(api, tmp_path, capfd).assert_clean()


def open_files_in(folder: Path) -> list[bytes]:
    """What this process holds open in a folder, also where the file has no name any more."""
    file_contents = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            if str(entry.readlink()).startswith(str(folder)):
                file_contents.append(os.pread(int(entry.name), os.fstat(int(entry.name)).st_size, 0))
    return file_contents


@pytest.mark.parametrize("file", ["CSV", "Parquet"])
def test_what_is_held_on_disk_meanwhile_is_sealed(
    sqlite_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture, file: str
) -> None:
    """In the middle of an upload the spool is there, has no name, and says nothing to whoever reads the disk."""
    settings = with_folders(sqlite_settings, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    make, headers = FILES[file]
    body = make(2 * MANY)
    held: list[bytes] = []

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), MIB):
            yield body[start : start + MIB]
        # Asked for more, so everything before was taken in.
        held.extend(open_files_in(tmp_path / "spool"))
        assert traces_in(tmp_path) == {}
        assert list((tmp_path / "spool").iterdir()) == []

    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        release = api.order(size=SIZES["estimated"]).json()["id"]
        assert api.upload(release, chunks(), headers).status_code == 200
        assert sum(map(len, held)) >= MIB
        assert [traces(sealed) for sealed in held] == [[]] * len(held)
        assert open_files_in(tmp_path / "spool") == []
        Scene(api, tmp_path, capfd).assert_clean()


class HalfAnUpload:
    """An upload that stops in the middle and keeps its connection open."""

    def __init__(self, server: Server, key: str, release: str, body: bytes, headers: dict[str, str]) -> None:
        host, port = server.url.removeprefix("http://").split(":")
        lines = [f"PUT /v1/releases/{release}/records HTTP/1.1", "Host: rugnik", f"Authorization: Bearer {key}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"X-Note: {TEXT}", f"Content-Length: {2 * len(body)}", "", ""]
        self.connection = socket.create_connection((host, int(port)))
        # The server reads no further than it has counted, so once all is sent, all but the sockets' buffers is taken.
        self.connection.sendall("\r\n".join(lines).encode() + body)


def test_nothing_is_left_after_sigkill_in_the_middle_of_an_upload(
    sqlite_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., Server]
) -> None:
    """No handler runs, nothing is tidied up: what the disk has then is all that an intruder could find."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    server = serve(with_folders(sqlite_settings, tmp_path))
    key = server.issue_key("curator")
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        dataset = {"name": "city", "attributes": ATTRIBUTES, "budget": "2"}
        assert client.post("/v1/datasets", json=dataset).status_code == 201
        order = {"epsilon": "0.5", "clusters": 4, "size": SIZES["estimated"]}
        orders = [client.post("/v1/datasets/city/releases", json=order).json()["id"] for _ in range(2)]
    bodies = [(csv(4 * MANY), CSV), (parquet(4 * MANY), PARQUET)]
    uploads = [
        HalfAnUpload(server, key, release, body, kind) for release, (body, kind) in zip(orders, bodies, strict=True)
    ]
    assert traces_in(tmp_path) == {}
    limits = Path(f"/proc/{server.process.pid}/limits").read_text()
    assert any(line.split()[:6] == ["Max", "core", "file", "size", "0", "0"] for line in limits.splitlines())
    server.kill()
    for upload in uploads:
        upload.connection.close()
    assert traces_in(tmp_path) == {}
    assert list((tmp_path / "spool").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_process_that_holds_rows_dumps_no_core(sqlite_api: Api) -> None:
    """Its memory is never written to a disk by a crash: neither as a file nor through a handler of the kernel's."""
    assert sqlite_api.service is not None
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
    assert ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
