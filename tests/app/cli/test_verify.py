"""`rugnik verify`: a file, a receipt and a policy on this machine; no service, no key."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.bundles.bundle import Bundle
from app.cli import main, verifying
from app.receipts.downloads import Form
from tests.support.receipts import TestLog
from tests.support.synopses import download, sort_of

SYNOPSIS = sort_of("thresholded, every kind of attribute")
CARD = b'{"card":1}'
LOG = TestLog.new()
RECEIPT = str(LOG.receipt_of(SYNOPSIS, card=sha256(CARD).hexdigest()))


@dataclass(frozen=True)
class Desk:
    """A folder with a CSV file, its receipt beside it, and a policy."""

    folder: Path

    def verify(self, *arguments: object, code: int = 0, **variables: str | None) -> Result:
        """Run the command without any variable of the environment but those given."""
        env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("RUGNIK_")}
        words = ["verify", *map(str, arguments)]
        done = CliRunner().invoke(main, words, env=env | variables | {"COLUMNS": "200"})
        assert done.exit_code == code, (done.output, done.exception)
        assert "Traceback" not in done.output
        return done

    def write(self, name: str, content: bytes | str) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    @property
    def csv(self) -> Path:
        """The download."""
        return self.folder / "release.csv"

    @property
    def policy(self) -> Path:
        """What its reader trusts."""
        return self.folder / "policy"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """The folder."""
    made = Desk(tmp_path)
    made.write("release.csv", download(SYNOPSIS, Form.CSV))
    made.write("release.csv.tlog-proof", RECEIPT)
    made.write("policy", LOG.policy_text)
    return made


def bundle(card: bytes = CARD, receipt: str = RECEIPT) -> bytes:
    """A bundle of the release."""
    made = Bundle(
        SYNOPSIS.to_bytes(), receipt.encode(), card, croissant=b"{}", terms="", policy="log of-the-publisher\n"
    )
    return made.to_bytes()


def test_a_file_with_its_receipt_beside_it_is_verified(desk: Desk) -> None:
    """The facts and a sentence; that the budget is not shown is said as well."""
    done = desk.verify(desk.csv, "--policy", desk.policy)
    assert "release.csv is the release that epsilon 1 was charged for." in done.stdout
    for fact in (
        "clinic",
        "r1",
        "charged on 2026-01-02 as entry 3",
        SYNOPSIS.digest,
        "rugnik.example/city",
        "w1 (2026-",
    ):
        assert fact in done.stdout
    assert "does not show that the dataset's budget was kept" in done.stderr
    assert "vouches" not in done.stderr
    desk.verify(desk.csv, RUGNIK_POLICY=str(desk.policy))


def test_the_facts_are_given_as_json(desk: Desk) -> None:
    """For scripts; a failure too."""
    facts = json.loads(desk.verify(desk.csv, "--policy", desk.policy, "--json").stdout)
    assert (facts["valid"], facts["epsilon"], facts["budget_checked"], facts["form"]) == (True, "1", False, "csv")
    assert facts["witnesses"]["w1"] == "2026-09-21T14:13:20+00:00"
    other = desk.write("other.csv", b"a,b\n1,2\n")
    done = desk.verify(other, "--receipt", f"{desk.csv}.tlog-proof", "--policy", desk.policy, "--json", code=5)
    failed = json.loads(done.stdout)
    assert failed["valid"] is False
    assert failed["reason"] in done.stderr


def test_a_key_in_place_of_a_policy_is_enough_and_its_limits_are_told(desk: Desk) -> None:
    """The log's key; not that of a witness, and not anything else."""
    done = desk.verify(desk.csv, "--log-key", LOG.key.verifier)
    assert "the operator alone vouches" in done.stderr
    assert "key of a witness" in desk.verify(desk.csv, "--log-key", LOG.witnesses[0].verifier, code=2).stderr
    assert "name+keyid+base64" in desk.verify(desk.csv, "--log-key", "x", code=2).stderr
    other = TestLog.new().key.verifier
    assert "is not signed by the key" in desk.verify(desk.csv, "--log-key", other, code=5).stderr


def test_without_a_key_nothing_is_trusted(desk: Desk) -> None:
    """And it is told where to get one."""
    told = desk.verify(desk.csv, code=2).stderr
    assert "does not carry the key of its log" in told
    assert "/log/checkpoint" in told


def test_what_is_missing_or_unreadable_is_one_sentence(desk: Desk) -> None:
    """Receipt, policy, file: each with its name."""
    alone = desk.write("alone.csv", desk.csv.read_bytes())
    assert "alone.csv.tlog-proof" in desk.verify(alone, "--policy", desk.policy, code=2).stderr
    assert "nowhere.csv" in desk.verify(desk.folder / "nowhere.csv", "--policy", desk.policy, code=1).stderr
    assert "nowhere" in desk.verify(desk.csv, "--policy", desk.folder / "nowhere", code=1).stderr
    bad = desk.write("bad", "log x\n")
    assert "bad" in desk.verify(desk.csv, "--policy", bad, code=2).stderr
    binary = desk.write("binary", b"\xff")
    assert "a text" in desk.verify(desk.csv, "--policy", binary, code=2).stderr
    assert "no text" in desk.verify(desk.csv, "--policy", desk.policy, "--receipt", binary, code=5).stderr
    empty = desk.write("empty", b"")
    assert "begins with the line" in desk.verify(desk.csv, "--policy", desk.policy, "--receipt", empty, code=5).stderr


def test_a_missing_witness_is_refused(desk: Desk) -> None:
    """The policy of the reader counts, and nobody else's."""
    stricter = TestLog(LOG.key, (*LOG.witnesses, TestLog.new(witnesses=1).witnesses[0]), 3)
    policy = desk.write("stricter", stricter.policy_text)
    assert "too few signatures of witnesses" in desk.verify(desk.csv, "--policy", policy, code=5).stderr


def test_a_bundle_brings_its_receipt_and_its_card(desk: Desk) -> None:
    """An edited one is refused, and so is one that is no bundle."""
    whole = desk.write("x.rugnik", bundle())
    assert json.loads(desk.verify(whole, "--policy", desk.policy, "--json").stdout)["card_checked"] is True
    older = desk.write("older.rugnik", bundle(receipt=str(LOG.receipt_of(SYNOPSIS))))  # its publish names no card
    assert json.loads(desk.verify(older, "--policy", desk.policy, "--json").stdout)["card_checked"] is False
    assert "does not carry the key" in desk.verify(whole, code=2).stderr  # the bundle's own policy is never trusted
    for name, content, sentence in (
        ("card.rugnik", bundle(card=b"{}"), "The release card is not the one"),
        (
            "counts.rugnik",
            bundle(receipt=str(LOG.receipt_of(sort_of("dense")))),
            "It is another release, or was changed.",
        ),
        ("more.rugnik", bundle() + b"x", "data after its end"),
        ("cut.rugnik", bundle()[:100], "bundle is cut off"),
    ):
        assert sentence in desk.verify(desk.write(name, content), "--policy", desk.policy, code=5).stderr
    elsewhere = desk.write("elsewhere", str(TestLog.new().receipt_of(SYNOPSIS)))
    assert "is not signed" in desk.verify(whole, "--policy", desk.policy, "--receipt", elsewhere, code=5).stderr


def test_a_card_beside_a_file_is_checked_where_it_is_given(desk: Desk) -> None:
    """The digest is in the publish entry."""
    card = desk.write("card.json", CARD)
    assert "no card was given" in desk.verify(desk.csv, "--policy", desk.policy).stdout
    assert "no card was given" not in desk.verify(desk.csv, "--policy", desk.policy, "--card", card).stdout


def test_the_canonical_bytes_are_written_where_they_are_asked_for(desk: Desk) -> None:
    """Their SHA-256 is the digest; after a failure there is no file."""
    out = desk.folder / "synopsis.bin"
    elsewhere = TestLog.new().key.verifier
    desk.verify(desk.csv, "--log-key", elsewhere, "-o", out, code=5)
    assert not out.exists()
    desk.verify(desk.csv, "--policy", desk.policy, "-o", out)
    assert out.read_bytes() == SYNOPSIS.to_bytes()


def test_a_large_file_has_a_progress_bar(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal it is not drawn; the check goes on."""
    monkeypatch.setattr(verifying, "_SLOW_BYTES", 1)
    desk.verify(desk.csv, "--policy", desk.policy)
