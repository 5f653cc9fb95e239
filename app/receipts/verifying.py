"""Verify: is a file the release that a receipt shows to be charged for?

    receipt.require(policy)                 the log has signed the charge and the publish, and enough witnesses the log
    SHA-256(header + integers of the file)  is the digest of the publish entry: so header and counts are the published
    the file written again                  is the file: so its boxes, names and derived numbers are right as well

It shows the charge and the identity of the file. That the dataset's budget was kept, only a walk over the ledger shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from app.questions.formats import Format
from app.receipts import answers
from app.receipts.downloads import Form, Progress, UnfitFile
from core.arrays import Wholes
from core.errors import InvalidSynopsis
from core.log.policy import Policy
from core.log.receipt import Facts, Receipt
from core.synopsis import Outline, Synopsis


@dataclass(frozen=True, slots=True)
class Verified:
    """What was shown: the facts of the receipt, the form of the file, and whether a card was checked with it.

    `canonical` are the bytes of the synopsis, synopsis.bin, whatever the form of the file.
    """

    facts: Facts
    form: Form
    card_checked: bool
    canonical: bytes


def verify(
    data: bytes, receipt: Receipt, policy: Policy, *, card: bytes | None = None, progress: Progress | None = None
) -> Verified:
    """Check a file that is no bundle against its receipt. InvalidNote or UnfitFile with a sentence where it fails."""
    facts, form = receipt.require(policy), Form.of(data)
    if form is Form.BUNDLE:
        raise UnfitFile("A bundle within a bundle is not a release.")
    canonical = data
    if form is Form.CANONICAL:
        _require_canonical(data, receipt, facts)
    else:
        canonical = _require_download(data, form, receipt, facts, progress)
    if card is not None:
        _require_card(card, facts)
    return Verified(facts, form, card is not None, canonical)


def _require_canonical(data: bytes, receipt: Receipt, facts: Facts) -> None:
    digest = sha256(data).hexdigest()
    if digest != facts.digest:
        raise UnfitFile(f"{_other_digest(digest, facts)} It is another release, or was changed.")
    if not data.startswith(receipt.header.encode("ascii")):
        raise UnfitFile("The header in the receipt is not that of the synopsis.")


def _require_download(data: bytes, form: Form, receipt: Receipt, facts: Facts, progress: Progress | None) -> bytes:
    """The canonical bytes."""
    try:
        outline = Outline.of(receipt.header)
    except InvalidSynopsis as error:
        raise UnfitFile(f"The header in the receipt: {error}") from None
    content: Any  # an answer, or a table
    if form is Form.JSON:
        content = answers.read_answer(data)
        integers = answers.integers_of(content, outline)
    else:
        from app.receipts import tables  # noqa: PLC0415 - pyarrow: no other form needs it

        content = tables.read_table(data, Format(form.value))
        integers = tables.integers_of(content, outline, Format(form.value))
    canonical = receipt.header.encode("ascii") + _bytes_of(integers)
    digest = sha256(canonical).hexdigest()
    synopsis = _synopsis(canonical)
    difference: str | None = None
    if synopsis is not None and form is Form.JSON:
        difference = answers.difference(content, synopsis, facts.digest)
    elif synopsis is not None:
        difference = tables.difference(data, content, synopsis, facts.digest, Format(form.value), progress)
    if digest != facts.digest:
        hint = "" if difference is None else f" {difference}"
        raise UnfitFile(
            f"{_other_digest(digest, facts)} A count was changed, a row moved, or it is another release.{hint}"
        )
    if synopsis is None:
        raise UnfitFile("The published bytes are no synopsis that this version of rugnik can read.")
    if difference is not None:
        raise UnfitFile(difference)
    return canonical


def _other_digest(digest: str, facts: Facts) -> str:
    return f"The file gives the digest {digest[:16]}…; the publish entry has {facts.digest[:16]}…."


def _bytes_of(integers: Wholes) -> bytes:
    return integers.astype("<i8").tobytes()


def _synopsis(canonical: bytes) -> Synopsis | None:
    try:
        return Synopsis.from_bytes(canonical)
    except InvalidSynopsis:
        return None


def _require_card(card: bytes, facts: Facts) -> None:
    if facts.card is None:
        raise UnfitFile("The publish entry names no release card, so that this one may be anybody's.")
    if sha256(card).hexdigest() != facts.card:
        raise UnfitFile("The release card is not the one that the publish entry names.")
