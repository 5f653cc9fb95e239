"""A witness signs a log that only grows: every status of the protocol, forks, rollbacks, races and damaged state."""

from __future__ import annotations

import multiprocessing
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from httpx import ASGITransport, AsyncClient, Response

from app.errors import CannotStart
from app.http.witness_server import MAX_BODY_BYTES, witness_app
from app.witnessing.durable_file import replace_file
from app.witnessing.witness import Witness
from app.witnessing.witness_key import witness_key
from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey
from core.log.note import Note, Signature, SigningKey
from core.log.witnessing import Submission
from tests.support.processes.climbing import accepts, climb
from tests.support.signed_log import SignedLog, cosigning_key, entries, log_key

TEXT = "text/plain; charset=utf-8"
SIZE = "text/x.tlog.size"


@pytest.fixture(scope="module")
def log() -> SignedLog:
    """Twenty entries."""
    return SignedLog(entries(20))


@pytest.fixture
def key() -> SigningKey:
    return cosigning_key("w")


@pytest.fixture
def witness(log: SignedLog, key: SigningKey, tmp_path: Path) -> Witness:
    """A witness that has seen nothing yet."""
    return Witness(key, [log.key.verifier], tmp_path / "state", clock=lambda: 1_700_000_000.9)


def ask(witness: Witness, method: str, path: str, body: bytes | None = None) -> Response:
    """One request to the application of a witness."""
    client = AsyncClient(transport=ASGITransport(witness_app(witness)), base_url="http://witness")
    with start_blocking_portal() as portal:
        return portal.call(partial(client.request, method, path, content=body))


def post(witness: Witness, body: bytes) -> tuple[int, str, str]:
    """Status, content type and text of a reply to add-checkpoint."""
    reply = ask(witness, "POST", "/add-checkpoint", body)
    return reply.status_code, reply.headers["content-type"], reply.text


def stored(witness: Witness) -> int:
    """The size that the witness has on its disk."""
    (size,) = witness.sizes().values()
    return size


def test_a_checkpoint_is_signed_with_the_time(witness: Witness, key: SigningKey, log: SignedLog) -> None:
    """200 with one line: a version 1 cosignature on the whole text."""
    status, content_type, text = post(witness, log.submission(0, 7))
    assert (status, content_type) == (200, TEXT)
    signature = Signature.parse(text.removesuffix("\n"))
    assert text.endswith("\n")
    assert signature.is_valid(key.verifier, log.note(7).text)
    assert signature.time == 1_700_000_000
    assert stored(witness) == 7


def test_lines_of_extensions_and_of_strangers_are_allowed(witness: Witness, key: SigningKey, log: SignedLog) -> None:
    """The whole text is signed; signatures of keys that are not known are ignored, and not kept."""
    text = log.note(5).text + "an extension\n"
    note = Note(text, (log_key().sign(text), log.key.sign(text), cosigning_key("x").sign(text, time=1)))
    line = witness.add_checkpoint(str(Submission(0, (), note)).encode())
    assert Signature.parse(line[:-1]).is_valid(key.verifier, text)
    (state,) = witness._folder.glob("*.checkpoint")
    assert len(Note.parse(state.read_text()).signatures) == 2


def test_it_grows_and_the_same_may_be_signed_again(witness: Witness, log: SignedLog) -> None:
    """Every step from any size to any later one, and again the newest."""
    before = 0
    for size in (1, 2, 3, 8, 13, 13, 20):
        assert post(witness, log.submission(before, size))[0] == 200
        before = size
    assert stored(witness) == 20


def refused(log: SignedLog) -> dict[str, tuple[bytes, int, str, str | None]]:
    """Bodies that a witness with nine entries refuses: status, content type, and the text where the protocol has it."""
    other = SignedLog(log.entries, log_key("another.example/log"))
    stranger = SignedLog(log.entries, log_key())
    fork = log.forked(5, 20)
    good = log.submission(9, 12)
    return {
        "nothing": (b"", 400, TEXT, None),
        "not UTF-8": (b"\xff" + good, 400, TEXT, None),
        "no old size": (good.partition(b"\n")[2], 400, TEXT, None),
        "a sign before the size": (good.replace(b"old 9", b"old +9"), 400, TEXT, None),
        "a zero before the size": (good.replace(b"old 9", b"old 09"), 400, TEXT, None),
        "no note": (good.partition(b"\n\n")[0] + b"\n\n", 400, TEXT, None),
        "no end of the last line": (good[:-1], 400, TEXT, None),
        "64 hashes": (_with_hashes(log, 64), 400, TEXT, None),
        "a short hash": (good.replace(b"old 9\n", b"old 9\nAAAA\n"), 400, TEXT, None),
        "an old size above the new one": (str(Submission(13, (), log.note(12))).encode(), 400, TEXT, None),
        "another log": (other.submission(9, 12), 404, TEXT, None),
        "the key of a stranger": (stranger.submission(9, 12), 403, TEXT, None),
        "a text that was changed": (good.replace(b"\n12\n", b"\n11\n"), 403, TEXT, None),
        "from nothing": (log.submission(0, 12), 409, SIZE, "9\n"),
        "from less": (log.submission(8, 12), 409, SIZE, "9\n"),
        "from more": (log.submission(10, 12), 409, SIZE, "9\n"),
        "going back": (log.submission(5, 8), 409, SIZE, "9\n"),
        "another tree of this size": (str(Submission(9, (), fork.note(9))).encode(), 409, TEXT, None),
        "a fork": (fork.submission(9, 12), 422, TEXT, None),
        "no proof": (str(Submission(9, (), log.note(12))).encode(), 422, TEXT, None),
        "a hash too many": (_with_hashes(log, 9), 422, TEXT, None),
        "a proof for the same size": (_same_size(log), 422, TEXT, None),
        "too much": (b"x" * (MAX_BODY_BYTES + 1), 413, TEXT, None),
    }


def _with_hashes(log: SignedLog, count: int) -> bytes:
    return str(Submission(9, (bytes(32),) * count, log.note(12))).encode()


def _same_size(log: SignedLog) -> bytes:
    return str(Submission(9, (bytes(32),), log.note(9))).encode()


@pytest.mark.parametrize("name", refused(SignedLog(entries(20))))
def test_what_is_not_right_is_refused_as_the_protocol_says(name: str, witness: Witness, log: SignedLog) -> None:
    """Status, content type, and for 409 the size; and nothing changed."""
    witness.add_checkpoint(log.submission(0, 9))
    before = {path.name: path.read_bytes() for path in witness._folder.iterdir()}
    body, status, content_type, text = refused(log)[name]
    reply = post(witness, body)
    assert reply[:2] == (status, content_type)
    assert reply[2].endswith("\n")
    assert text is None or reply[2] == text
    assert {path.name: path.read_bytes() for path in witness._folder.iterdir()} == before


def test_the_facts_are_public(witness: Witness, log: SignedLog) -> None:
    """The key, and the newest size of each log. Other addresses and methods are refused."""
    witness.add_checkpoint(log.submission(0, 9))
    assert ask(witness, "GET", "/").text == f"{witness.key.verifier}\n\n9 {log.key.name}\n"
    statuses = {path: ask(witness, "GET", path).status_code for path in ("/healthz", "/add-checkpoint", "/nothing")}
    assert statuses == {"/healthz": 200, "/add-checkpoint": 405, "/nothing": 404}


def test_each_log_has_a_state_of_its_own(key: SigningKey, log: SignedLog, tmp_path: Path) -> None:
    """One witness, two logs, one of them with two keys."""
    other = SignedLog(entries(3), log_key("../b/\u00e9"))
    second = SignedLog(log.entries, log_key())
    logs = [log.key.verifier, other.key.verifier, second.key.verifier]
    witness = Witness(key, logs, tmp_path / "state")
    witness.add_checkpoint(log.submission(0, 4))
    witness.add_checkpoint(second.submission(4, 6))
    witness.add_checkpoint(other.submission(0, 3))
    assert Witness(key, logs, tmp_path / "state").sizes() == {log.key.name: 6, "../b/\u00e9": 3}


def test_threads_never_get_two_forks_signed(witness: Witness, log: SignedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once from the same size, of two logs that part after entry 5, on a slow disk: one of them is signed."""
    witness.add_checkpoint(log.submission(0, 5))

    def slowly(path: Path, content: bytes) -> None:
        time.sleep(0.02)
        replace_file(path, content)

    monkeypatch.setattr("app.witnessing.witness.replace_file", slowly)
    fork = log.forked(5, 20)
    bodies = [each.submission(5, size) for size in range(6, 21) for each in (log, fork)]
    with ThreadPoolExecutor(16) as pool:
        signed = list(pool.map(partial(accepts, witness), bodies))
    assert signed.count(True) == 1


def test_processes_never_get_two_forks_signed(key: SigningKey, tmp_path: Path) -> None:
    """Two processes for each of two forks share one state: each size is signed once, and all sizes for one fork."""
    secret = log_key()
    pems = key.secret.to_pem(), secret.secret.to_pem()
    spawn = multiprocessing.get_context("spawn")
    actors = ("honest", "honest", "thief", "thief")
    sinks = [tmp_path / f"signed{number}" for number in range(len(actors))]
    processes = [
        spawn.Process(target=climb, args=(*pems, actor, 60, tmp_path / "state", sink))
        for actor, sink in zip(actors, sinks, strict=True)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
        assert process.exitcode == 0
    signed = [line.split() for sink in sinks for line in sink.read_text().splitlines()]
    assert sorted(int(size) for size, _ in signed) == list(range(1, 61))
    forks = [SignedLog(entries(60, actor), secret) for actor in set(actors)]
    assert {root for _, root in signed} in [{fork.root(size).hex() for size in range(1, 61)} for fork in forks]


@pytest.mark.parametrize("content", [b"", b"\xff", b"nonsense\n", None])
def test_a_damaged_state_is_not_taken_for_none(
    content: bytes | None, witness: Witness, key: SigningKey, log: SignedLog
) -> None:
    """It signs nothing, neither while it runs nor after a start: otherwise it would forget what it signed."""
    witness.add_checkpoint(log.submission(0, 9))
    (state,) = witness._folder.glob("*.checkpoint")
    state.write_bytes(state.read_bytes().replace(b"\n9\n", b"\n8\n") if content is None else content)
    assert post(witness, log.submission(0, 12))[0] == 503
    assert ask(witness, "GET", "/healthz").status_code == 503
    with pytest.raises(CannotStart, match="state file"):
        Witness(key, [log.key.verifier], witness._folder)


def test_a_state_of_another_key_is_not_used(witness: Witness, log: SignedLog) -> None:
    """A new key is a new witness."""
    witness.add_checkpoint(log.submission(0, 9))
    with pytest.raises(CannotStart, match="folder of its own"):
        Witness(cosigning_key("w"), [log.key.verifier], witness._folder)


def test_a_state_that_cannot_be_written_signs_nothing(
    witness: Witness, log: SignedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No signature without its state on the disk."""
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    status, _, text = post(witness, log.submission(0, 9))
    assert (status, "—" in text) == (503, False)
    monkeypatch.undo()
    assert post(witness, log.submission(0, 8))[0] == 200


def test_the_state_is_on_the_disk_before_the_signature_leaves(
    witness: Witness, log: SignedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content, then the new name, then the folder that holds the name."""
    steps: list[str] = []
    fsync, rename = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        fsync(descriptor)

    def noted_rename(path: Path, target: Path) -> Path:
        steps.append("name")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_rename)
    witness.add_checkpoint(log.submission(0, 9))
    assert steps == ["content", "name", "folder"]


def test_a_key_is_made_once_and_private(tmp_path: Path) -> None:
    """0600, PKCS#8, the same one each time; its name is that of its file."""
    made = witness_key(tmp_path / "w1.pem")
    assert made.verifier == witness_key(tmp_path / "w1.pem").verifier
    assert made.name == "w1"
    assert witness_key(tmp_path / "w1.pem", "other.example/w").name == "other.example/w"
    assert stat.S_IMODE((tmp_path / "w1.pem").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["w1.pem"]
    assert SecretKey.from_pem((tmp_path / "w1.pem").read_bytes()).public == made.secret.public


def test_a_key_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """Open to others, no key at all, a file in place of a folder, a name with a space."""
    path = tmp_path / "w.pem"
    witness_key(path)
    path.chmod(0o640)
    with pytest.raises(CannotStart, match="chmod 600"):
        witness_key(path)
    path.chmod(0o600)
    with pytest.raises(CannotStart, match="--name"):
        witness_key(path, "a b")
    path.write_text("no key")
    with pytest.raises(CannotStart, match="PEM"):
        witness_key(path)
    with pytest.raises(CannotStart, match="cannot be read or made"):
        witness_key(path / "w.pem")


def test_what_is_kept_is_what_was_signed(witness: Witness, log: SignedLog) -> None:
    """The state file is itself a note that anybody can check."""
    witness.add_checkpoint(log.submission(0, 9))
    (state,) = witness._folder.glob("*.checkpoint")
    note = Note.parse(state.read_text())
    assert Checkpoint.of(note) == Checkpoint.of(log.note(9))
    assert len(note.signed_by([log.key.verifier, witness.key.verifier])) == 2
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
