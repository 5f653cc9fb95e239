"""`rugnik witness` as a real process: how it starts, what a crash leaves, and that it listens to this machine alone."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from app.cli import main
from core.log.note import Signature
from tests.support.processes.demo import free_port
from tests.support.processes.mortal_witness import STEPS
from tests.support.processes.witness import running_witness
from tests.support.signed_log import SignedLog, entries


def add(url: str, body: bytes) -> httpx.Response:
    """Submit to a witness."""
    return httpx.post(f"{url}/add-checkpoint", content=body, timeout=60)


def test_it_prints_its_line_signs_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    """The same key and the same state the second time, over real HTTP."""
    log = SignedLog(entries(9))
    with running_witness(tmp_path, log.key.verifier, name="w1") as witness:
        assert witness.line == f"witness w1 {witness.key} {witness.url}\n"
        reply = add(witness.url, log.submission(0, 4))
        assert Signature.parse(reply.text[:-1]).is_valid(witness.key, log.note(4).text)
        witness.process.terminate()
        witness.process.wait(timeout=60)
    with running_witness(tmp_path, log.key.verifier, name="w1") as again:
        assert again.key == witness.key
        reply = add(again.url, log.submission(0, 9))
        assert (reply.status_code, reply.headers["content-type"], reply.text) == (409, "text/x.tlog.size", "4\n")
        assert add(again.url, log.submission(4, 9)).status_code == 200
        assert httpx.get(again.url).text == f"{again.key}\n\n9 {log.key.name}\n"


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_witness_signs_no_fork_after_its_restart(step: str, tmp_path: Path) -> None:
    """What it wrote counts even if nobody got the signature; what it did not write was signed for nobody."""
    log = SignedLog(entries(12))
    fork = log.forked(4, 12)
    with running_witness(tmp_path, log.key.verifier) as witness:
        add(witness.url, log.submission(0, 4))
        witness.kill()
    with running_witness(tmp_path, log.key.verifier, module=("tests.support.processes.mortal_witness", step)) as mortal:
        with pytest.raises(httpx.RemoteProtocolError):
            add(mortal.url, log.submission(4, 9))
        mortal.process.wait(timeout=60)
    was_written = step == STEPS[2]
    with running_witness(tmp_path, log.key.verifier) as again:
        reply = add(again.url, fork.submission(4, 9))
        assert (reply.status_code, reply.text) == (409, "9\n") if was_written else reply.status_code == 200
        honest, other = (log, fork) if was_written else (fork, log)
        assert add(again.url, other.submission(9, 12)).status_code == 422
        assert add(again.url, honest.submission(9, 12)).status_code == 200


def test_a_wrong_start_is_one_sentence(tmp_path: Path) -> None:
    """No log, no policy, a port that is taken: exit code 2, before anything is made."""
    policy, key, state = tmp_path / "policy", tmp_path / "w.pem", tmp_path / "state"
    options = ["witness", "--key", str(key), "--policy", str(policy), "--state", str(state), "--port", str(free_port())]
    for content, words in (
        (b"quorum none\n", "nothing to sign for"),
        (b"log x\nquorum none\n", "Line 1"),
        (b"\xff", "UTF-8"),
    ):
        policy.write_bytes(content)
        done = CliRunner().invoke(main, options)
        assert (done.exit_code, words in done.stderr) == (2, True), done.output
    policy.write_text(f"log {SignedLog([]).key.verifier}\nquorum none\n")
    with running_witness(tmp_path / "running", SignedLog([]).key.verifier) as running:
        options[-1] = running.url.rpartition(":")[2]
        done = CliRunner().invoke(main, options)
        assert (done.exit_code, "is taken" in done.stderr) == (2, True)
    assert not key.exists()
    assert not state.exists()
