"""Following a log: new entries only, and whatever was changed before or in them is seen. By the command, over HTTP."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import main
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from core.log.tree import Frontier, root
from tests.support.shown_ledger import Shown, shown
from tests.support.signed_log import SignedLog, cosigning_key, entries, log_key

LOG = SignedLog(entries(40))


@pytest.fixture
def service() -> Iterator[Shown]:
    """A service that shows twenty of forty entries."""
    with shown(LOG) as showing:
        showing.size = 20
        yield showing


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "ledger.state"


def follow(service: Shown, state: Path, *options: str, code: int = 0) -> Result:
    """`rugnik ledger follow` against the server."""
    env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("RUGNIK_")}
    env |= {"RUGNIK_URL": service.url, "RUGNIK_KEY": "k"}
    done = CliRunner().invoke(main, ["ledger", "follow", str(state), *options], env=env)
    assert done.exit_code == code, (done.output, done.exception)
    return done


def refused(service: Shown, state: Path, *options: str) -> str:
    """What the command says, on one line, where it ends with 5; the state is as it was before."""
    before = state.read_bytes() if state.exists() else None
    said = follow(service, state, *options, code=5).stderr
    assert (state.read_bytes() if state.exists() else None) == before
    return said


def test_each_visit_fetches_what_is_new(service: Shown, state: Path) -> None:
    """The first takes the key from the service and says so; a later one costs three requests, or one."""
    first = follow(service, state)
    assert "20 new entries hold. The log has 20" in first.stdout
    assert str(LOG.key.verifier) in first.stderr
    assert "Budgets were not checked" in first.stderr
    assert service.requests == ["/log/checkpoint", "/log/policy", "/v1/ledger"]
    service.size, service.requests = 33, []
    second = follow(service, state)
    assert "13 new entries hold. The log has 33" in second.stdout
    assert "First visit" not in second.stderr
    assert service.requests == ["/log/checkpoint", "/v1/ledger/consistency", "/v1/ledger"]
    service.requests = []
    assert "0 new entries hold" in follow(service, state).stdout
    assert service.requests == ["/log/checkpoint"]
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    kept = json.loads(state.read_text())
    assert Checkpoint.of(Note.parse(kept["checkpoint"])).size == 33
    assert len(kept["frontier"]) == 2


def test_only_new_entries_are_asked_for(state: Path) -> None:
    """2,500 entries in three pages the first time; then one page for one entry, and a state as small as before."""
    log = SignedLog(entries(2501))
    with shown(log) as service:
        service.size = 2500
        follow(service, state)
        assert service.requests.count("/v1/ledger") == 3
        service.size, service.requests = 2501, []
        follow(service, state)
        assert service.requests.count("/v1/ledger") == 1
    assert state.stat().st_size < 2000


def test_an_empty_log_can_be_followed(state: Path) -> None:
    """From before its first entry on."""
    with shown(LOG) as service:
        service.size = 0
        assert "0 new entries" in follow(service, state).stdout
        service.size = 3
        assert "3 new entries" in follow(service, state).stdout


def test_a_fork_is_seen_and_proved(service: Shown, state: Path) -> None:
    """Of the same size and of a larger one. Both signed checkpoints are kept as evidence."""
    follow(service, state)
    service.log = LOG.forked(10, 40)
    assert "two different trees of 20 entries" in refused(service, state)
    evidence = Path(f"{state}.evidence")
    assert evidence.read_text() == f"{LOG.note(20)}\n{service.log.note(20)}"
    service.size = 30
    said = refused(service, state)
    assert "does not begin with the 20 entries of the last visit any more" in said
    assert str(evidence) in said
    service.log = LOG
    follow(service, state)


def test_a_fork_after_the_last_visit_is_no_fork_for_it(service: Shown, state: Path) -> None:
    """What was never seen may be anything: that is what witnesses are for."""
    follow(service, state)
    service.log, service.size = LOG.forked(20, 40), 40
    follow(service, state)


def test_a_proof_of_another_log_does_not_help(service: Shown, state: Path) -> None:
    """An honest proof beside a forked checkpoint: the entries do not have the signed root."""
    follow(service, state)
    service.log, service.proved, service.size = LOG.forked(10, 40), LOG, 30
    service.entries = LOG.entries
    assert "not those that it signed" in refused(service, state)
    service.log, service.proved = LOG, SignedLog(LOG.entries, log_key())
    assert "consistency proof is not signed" in refused(service, state)


def test_a_cut_tail_is_seen(service: Shown, state: Path) -> None:
    """Fewer entries than before."""
    follow(service, state)
    service.size = 19
    assert "had 20 entries at the last visit, and shows 19: its end is cut off" in refused(service, state)


def test_entries_that_are_kept_back_are_seen(service: Shown, state: Path) -> None:
    """Signed, and not shown: all of the rest, or one in the middle."""
    follow(service, state)
    service.size, service.entries = 30, LOG.entries[:25]
    assert "signed 30 entries, and the service shows 25" in refused(service, state)
    service.entries = [*LOG.entries[:24], *LOG.entries[25:]]
    assert "from entry 25 on: Entry 25 is missing" in refused(service, state)


def test_an_edited_entry_is_seen(service: Shown, state: Path) -> None:
    """As it stands, with a hash that fits, with a whole chain that fits, or unreadable."""
    follow(service, state)
    service.size = 30
    edited = replace(LOG.entries[24], actor="b")
    service.entries = [*LOG.entries[:24], edited, *LOG.entries[25:]]
    assert "from entry 25 on: The entry does not match its hash" in refused(service, state)
    service.entries[24] = edited.sealed()
    assert "from entry 26 on: The entry is not bound" in refused(service, state)
    service.entries = LOG.forked(24, 40).entries
    assert "their tree of 30 entries has another root" in refused(service, state)
    service.entries = [*LOG.entries[:24], replace(LOG.entries[24], at=5), *LOG.entries[25:]]
    assert "from entry 25 on: The entry cannot be read" in refused(service, state)


def test_the_key_of_the_first_visit_stays(service: Shown, state: Path) -> None:
    """Another key, another origin, no signature at all."""
    follow(service, state)
    service.checkpoint = SignedLog(LOG.entries, log_key()).note(20)
    assert "not signed with the key" in refused(service, state)
    service.checkpoint = SignedLog(LOG.entries, log_key("other.example/log")).note(20)
    assert "follows rugnik.example/ledger" in refused(service, state)
    service.checkpoint = replace(LOG.note(20), text=LOG.note(21).text)
    assert "not signed with the key" in refused(service, state)


def test_a_new_key_is_taken_over_while_both_sign(service: Shown, state: Path) -> None:
    """An entry that the old key signed names the new one. A new key by itself is not believed."""
    follow(service, state)
    new = log_key()
    named = replace(LOG.entries[20], kind=Kind.KEY, dataset=None, detail={"verifier": str(new.verifier)}).sealed()
    rotated = SignedLog(entries(9, after=[*LOG.entries[:20], named]), LOG.key)
    alone = SignedLog(rotated.entries, new)
    service.log, service.size = alone, 25
    assert "not signed with the key" in refused(service, state)
    both = rotated.note(25)
    service.log = rotated
    service.checkpoint = replace(both, signatures=(*both.signatures, new.sign(both.text)))
    assert follow(service, state).stdout.startswith("5 new entries hold")
    service.log, service.size, service.checkpoint = alone, 30, None
    assert follow(service, state).stdout.startswith("5 new entries hold")


def test_a_new_key_is_remembered_until_it_signs(service: Shown, state: Path) -> None:
    """A visit after the entry and before the restart, one while both sign, and one after the overlap."""
    new = log_key()
    named = replace(LOG.entries[20], kind=Kind.KEY, dataset=None, detail={"verifier": str(new.verifier)}).sealed()
    rotated = SignedLog(entries(9, after=[*LOG.entries[:20], named]), LOG.key)
    alone = SignedLog(rotated.entries, new)
    service.log, service.size = rotated, 21
    follow(service, state)
    assert json.loads(state.read_text())["successor"] == str(new.verifier)
    service.log, service.size = alone, 25
    assert "not signed with the key" in refused(service, state)  # the old key has to sign once more
    both = rotated.note(25)
    service.log = rotated
    service.checkpoint = replace(both, signatures=(*both.signatures, new.sign(both.text)))
    follow(service, state)
    kept = json.loads(state.read_text())
    assert (kept["key"], "successor" in kept) == (str(new.verifier), False)
    service.log, service.size, service.checkpoint = alone, 30, None
    assert follow(service, state).stdout.startswith("5 new entries hold")


def test_a_first_visit_checks_the_key_that_it_is_shown(service: Shown, state: Path) -> None:
    """It has to be one of this log, and to have signed."""
    service.key = log_key("other.example/log").verifier
    assert "no key of the log" in refused(service, state)
    service.key = log_key().verifier
    assert "not signed with the key" in refused(service, state)
    service.key = None
    service.checkpoint = Note("x\n", LOG.note(1).signatures)
    assert "is an origin, a size and a root" in refused(service, state)
    assert not state.exists()


def test_a_policy_asks_for_its_key_and_its_witnesses(service: Shown, state: Path, tmp_path: Path) -> None:
    """Nothing is taken from the service on trust then."""
    witness, policy = cosigning_key("w"), tmp_path / "policy"
    policy.write_text(f"log {LOG.key.verifier}\nwitness w {witness.verifier}\nquorum w\n")
    options = ("--policy", str(policy))
    assert "too few signatures" in refused(service, state, *options)
    note = LOG.note(20)
    service.checkpoint = replace(note, signatures=(*note.signatures, witness.sign(note.text, time=1)))
    done = follow(service, state, *options)
    assert "Witnesses that signed it: w." in done.stdout
    assert "/log/policy" not in service.requests
    assert "First visit" not in done.stderr
    policy.write_text(f"log {log_key().verifier}\nquorum none\n")
    assert "not signed by the key" in refused(service, state, *options)


@pytest.mark.parametrize("field", ["checkpoint", "frontier", "key", "all"])
def test_a_damaged_state_is_not_taken_for_a_first_visit(field: str, service: Shown, state: Path) -> None:
    """One sentence, exit code 1, and no request."""
    follow(service, state)
    kept = json.loads(state.read_text())
    wrong = {"checkpoint": str(LOG.note(21)), "frontier": kept["frontier"][::-1], "key": str(log_key().verifier)}
    state.write_text("" if field == "all" else json.dumps(kept | {field: wrong[field]}))
    service.requests = []
    assert "is damaged" in follow(service, state, code=1).stderr
    assert service.requests == []


def test_a_frontier_goes_on_from_its_subtrees() -> None:
    """For all sizes up to 70; and subtrees that do not fit the size are refused."""
    frontier = Frontier()
    log = SignedLog(entries(70))
    for entry in log.entries:
        frontier = Frontier(frontier.size, frontier.subtrees)
        frontier.append(bytes.fromhex(entry.hash))
        assert frontier.root == root(frontier.size, lambda level, index: log.nodes[level, index])
    for size, subtrees in ((3, [bytes(32)]), (1, [bytes(31)]), (-1, [bytes(32)]), (0, [bytes(32)])):
        with pytest.raises(ValueError, match="frontier"):
            Frontier(size, subtrees)
