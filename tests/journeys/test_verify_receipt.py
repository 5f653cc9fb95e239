"""docs/verify_receipt.py, the verifier that needs no rugnik: as a person runs it, where rugnik cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.budget import Epsilon
from core.ledger.entry import LedgerEntry
from core.log.note import Note
from core.log.receipt import Receipt, header_of
from tests.support.documents import ROOT
from tests.support.receipts import CHARGED, PUBLISHED, TestLog, ledger_of, resealed
from tests.support.synopses import SORTS, sort_of

LOG = TestLog.new()
SYNOPSIS = sort_of("thresholded, every kind of attribute")
BYTES = SYNOPSIS.to_bytes()
RECEIPT = LOG.receipt_of(SYNOPSIS)
SCRIPT = ROOT / "docs" / "verify_receipt.py"


def run(folder: Path, receipt: Receipt, synopsis: bytes = BYTES, log: TestLog = LOG) -> tuple[int, str]:
    """The exit code and what was printed. -I: neither the folder nor PYTHONPATH is looked at."""
    (folder / "receipt").write_text(str(receipt), encoding="utf-8")
    (folder / "synopsis.bin").write_bytes(synopsis)
    keys = [str(key.verifier) for key in (log.key, *log.witnesses)]
    words = [sys.executable, "-I", str(SCRIPT), keys[0], "receipt", "synopsis.bin", *keys[1:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("sort", SORTS)
def test_every_sort_of_release_verifies(sort: str, tmp_path: Path) -> None:
    """With the number of witnesses."""
    synopsis = sort_of(sort)
    code, printed = run(tmp_path, LOG.receipt_of(synopsis), synopsis.to_bytes())
    assert (code, "epsilon 1 was charged to clinic" in printed) == (0, True), printed
    assert "signed by rugnik.example/city and 2 witnesses" in printed


@pytest.mark.parametrize("size", range(6, 20))
def test_logs_of_every_shape_verify(size: int, tmp_path: Path) -> None:
    """From the size at which the publish is the newest entry."""
    entries = ledger_of(SYNOPSIS)[:6]
    while len(entries) < size:
        entries.append(resealed(entries[1], seq=len(entries) + 1, previous=entries[-1].hash))
    assert run(tmp_path, LOG.receipt(entries, CHARGED, PUBLISHED, header_of(BYTES)))[0] == 0


def changed(place: int, **fields: Any) -> list[LedgerEntry]:
    """The ledger with one other entry, whose hash fits."""
    entries = ledger_of(SYNOPSIS)
    entries[place] = resealed(entries[place], **fields)
    return entries


def receipt_of(entries: list[LedgerEntry], charge: int = CHARGED, publish: int = PUBLISHED) -> Receipt:
    """The receipt of another ledger."""
    return LOG.receipt(entries, charge, publish, header_of(BYTES))


def cut(note: Note) -> Note:
    """Without its last signature."""
    return Note(note.text, note.signatures[:-1])


REFUSED: dict[str, tuple[Callable[[], Receipt], str]] = {
    "another log": (lambda: TestLog.new().receipt_of(SYNOPSIS), "The log has not signed the checkpoint."),
    "a missing witness": (
        lambda: replace(RECEIPT, checkpoint=cut(RECEIPT.checkpoint)),
        "witness2.example has not signed the checkpoint.",
    ),
    "an edited charge": (
        lambda: replace(RECEIPT, charge=replace(RECEIPT.charge, epsilon=Epsilon.parse("0.25"))),
        "The charge entry does not match its hash.",
    ),
    "a charge that was made up": (
        lambda: replace(RECEIPT, charge=resealed(RECEIPT.charge, actor="eve")),
        "The charge entry is not in the signed log.",
    ),
    "a publish that was made up": (
        lambda: replace(RECEIPT, publish=resealed(RECEIPT.publish, actor="eve")),
        "The publish entry is not in the signed log.",
    ),
    "a proof that is too short": (
        lambda: replace(RECEIPT, charge_hashes=RECEIPT.charge_hashes[:-1]),
        "A proof of inclusion has too few hashes.",
    ),
    "an entry that is newer": (
        lambda: replace(RECEIPT, charge=resealed(RECEIPT.charge, seq=99)),
        "An entry is newer than the signed log.",
    ),
    "a grant for a charge": (
        lambda: receipt_of(ledger_of(SYNOPSIS), charge=0),
        "The charge entry does not match its hash.",
    ),
    "another release": (
        lambda: receipt_of(ledger_of(SYNOPSIS), charge=3),
        "The two entries and the synopsis differ in their release.",
    ),
    "another epsilon": (
        lambda: receipt_of(changed(CHARGED, epsilon=Epsilon.parse("0.25"))),
        "The synopsis has another epsilon than the one that was charged.",
    ),
    "another digest": (
        lambda: receipt_of(changed(PUBLISHED, detail={"digest": "0" * 64})),
        "The synopsis is not the one that was published.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_so_is_one_sentence_and_code_1(case: str, tmp_path: Path) -> None:
    """And no success is printed before it."""
    make, sentence = REFUSED[case]
    assert run(tmp_path, make()) == (1, sentence + "\n")


def test_a_changed_synopsis_is_refused(tmp_path: Path) -> None:
    """In its last bit."""
    assert run(tmp_path, RECEIPT, BYTES[:-1] + b"\x01")[1] == "The synopsis is not the one that was published.\n"


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_without_its_arguments_it_prints_its_usage(words: list[str]) -> None:
    """One sentence on each, and no traceback."""
    done = subprocess.run([sys.executable, "-I", str(SCRIPT), *words], capture_output=True, text=True, check=False)
    assert "python verify_receipt.py LOG_KEY RECEIPT SYNOPSIS" in done.stderr
    assert "Traceback" not in done.stderr
