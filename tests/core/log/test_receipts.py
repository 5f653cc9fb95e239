"""Receipts: what one shows, that each change is refused with its own sentence, and that no byte of one can be bent."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.budget import Epsilon
from core.canonical import canonical_json
from core.ledger.kinds import Kind
from core.log.note import InvalidNote, Note
from core.log.policy import Policy
from core.log.receipt import Facts, InvalidReceipt, Receipt, header_of
from tests.core.test_synopsis import small
from tests.support.receipts import CHARGED, DAY, ORIGIN, PUBLISHED, SIGNED_AT, TestLog, ledger_of, resealed

CARD = "c" * 64
LOG = TestLog.new()
SYNOPSIS = small()
ENTRIES = ledger_of(SYNOPSIS, card=CARD)
HEADER = header_of(SYNOPSIS.to_bytes())
RECEIPT = LOG.receipt(ENTRIES, CHARGED, PUBLISHED, HEADER)
FACTS = Facts(
    origin=ORIGIN,
    size=7,
    dataset="clinic",
    release="r1",
    epsilon=Epsilon.parse("0.5"),
    digest=SYNOPSIS.digest,
    card=CARD,
    witnesses={"w1": SIGNED_AT, "w2": SIGNED_AT + 1},
    charge_seq=3,
    charged_on=DAY,
    publish_seq=6,
    published_on=DAY,
)


def signed(**changes: Any) -> Receipt:
    """The receipt of a ledger in which the fields of the publish or the charge are others: all hashes fit."""
    entries = list(ENTRIES)
    for name, place in (("publish", PUBLISHED), ("charge", CHARGED)):
        entries[place] = resealed(entries[place], **changes.get(name, {}))
    return LOG.receipt(entries, CHARGED, PUBLISHED, changes.get("header", HEADER))


def header_with(**fields: Any) -> str:
    """The header with other fields, in its canonical form."""
    magic, line, _ = HEADER.split("\n")
    return f"{magic}\n{canonical_json(json.loads(line) | fields).decode()}\n"


def test_a_receipt_shows_its_facts() -> None:
    """Read back from its text, and by nothing else than the policy."""
    assert Receipt.parse(str(RECEIPT)) == RECEIPT
    assert Receipt.parse(str(RECEIPT)).require(LOG.policy) == FACTS
    assert LOG.receipt_of(SYNOPSIS).require(LOG.policy).card is None
    assert (HEADER + "x").encode() == SYNOPSIS.to_bytes()[: len(HEADER)] + b"x"
    assert len(str(RECEIPT)) < 4096


def test_an_entry_with_a_time_shows_its_day() -> None:
    """Entries of version 0.1 have the second."""
    assert signed(charge={"at": "2025-03-01T10:00:00Z"}).require(LOG.policy).charged_on == "2025-03-01"


def test_a_policy_without_a_quorum_needs_the_log_alone() -> None:
    """Nobody else signed: nobody else is named."""
    alone = TestLog(LOG.key, (), 0)
    assert LOG.receipt(ENTRIES, CHARGED, PUBLISHED, HEADER, signers=0).require(alone.policy).witnesses == {}


def fork() -> Receipt:
    """Another history of the same size, signed by the log, with the witnesses' signatures on the true one."""
    forked = signed(charge={"epsilon": Epsilon.parse("0.25")}, header=header_with(epsilon="0.25"))
    own = LOG.key.sign(forked.checkpoint.text)
    return replace(forked, checkpoint=Note(forked.checkpoint.text, (own, *RECEIPT.checkpoint.signatures[1:])))


REFUSED: dict[str, tuple[Callable[[], Receipt], str]] = {
    "another log": (
        lambda: TestLog.new().receipt_of(SYNOPSIS),
        f"The checkpoint is not signed by the key of {ORIGIN} that the policy has.",
    ),
    "a log with another name": (
        lambda: replace(
            RECEIPT, checkpoint=replace(RECEIPT.checkpoint, text=RECEIPT.checkpoint.text.replace("c", "d"))
        ),
        f"The policy has no key of the log {ORIGIN.replace('c', 'd')}.",
    ),
    "a missing witness": (
        lambda: LOG.receipt(ENTRIES, CHARGED, PUBLISHED, HEADER, signers=1),
        "The checkpoint has too few signatures of witnesses: w1 signed it.",
    ),
    "a fork without witnesses": (
        lambda: replace(fork(), checkpoint=Note(fork().checkpoint.text, fork().checkpoint.signatures[:1])),
        "The checkpoint has too few signatures of witnesses: nobody signed it.",
    ),
    "a fork with the witnesses of the true log": (
        fork,
        "A signature of witness1.example on the note is not valid.",
    ),
    "a publish that was edited": (
        lambda: replace(RECEIPT, publish=replace(RECEIPT.publish, detail={"digest": "0" * 64})),
        "The publish entry does not match its hash.",
    ),
    "a charge that was edited": (
        lambda: replace(RECEIPT, charge=replace(RECEIPT.charge, epsilon=Epsilon.parse("0.25"))),
        "The charge entry does not match its hash.",
    ),
    "a publish that was made up": (
        lambda: replace(RECEIPT, publish=resealed(RECEIPT.publish, detail={"digest": "0" * 64})),
        "The publish entry is not in the tree that was signed.",
    ),
    "a charge that was made up": (
        lambda: replace(RECEIPT, charge=resealed(RECEIPT.charge, epsilon=Epsilon.parse("0.25"))),
        "The charge entry is not in the tree that was signed.",
    ),
    "a card that was made up": (
        lambda: replace(
            RECEIPT, publish=resealed(RECEIPT.publish, detail={"digest": SYNOPSIS.digest, "card": "d" * 64})
        ),
        "The publish entry is not in the tree that was signed.",
    ),
    "a grant for a charge": (
        lambda: LOG.receipt(ENTRIES, 0, PUBLISHED, HEADER),
        "The charge entry of the receipt is of the kind grant.",
    ),
    "a draw for a publish": (
        lambda: LOG.receipt(ENTRIES, CHARGED, 4, HEADER),
        "The publish entry of the receipt is of the kind draw.",
    ),
    "a charge after the publish": (
        lambda: LOG.receipt(
            [*ENTRIES, resealed(ENTRIES[CHARGED], seq=8, previous=ENTRIES[-1].hash)], 7, PUBLISHED, HEADER
        ),
        "The charge does not come before the publish.",
    ),
    "the charge of another release": (
        lambda: LOG.receipt(ENTRIES, 3, PUBLISHED, HEADER),
        "Publish, charge and header are not of the same release.",
    ),
    "the header of another release": (
        lambda: signed(header=header_with(release="r2")),
        "Publish, charge and header are not of the same release.",
    ),
    "a publish of no release": (
        lambda: signed(publish={"release": None}, charge={"release": None}, header=header_with(release=None)),
        "Publish, charge and header are not of the same release.",
    ),
    "another dataset": (
        lambda: signed(charge={"dataset": "other"}),
        "Publish, charge and header are not of the same dataset.",
    ),
    "another epsilon": (
        lambda: signed(header=header_with(epsilon="0.25")),
        "The header has another epsilon than the one that was charged.",
    ),
    "a charge of nothing": (
        lambda: signed(charge={"epsilon": Epsilon(0)}, header=header_with(epsilon="0")),
        "The header has another epsilon than the one that was charged.",
    ),
    "a header that is none": (lambda: signed(header="x"), "The header is not that of a synopsis."),
    "a header in another spelling": (
        lambda: signed(header=HEADER.replace(":", ": ", 1)),
        "The header is not that of a synopsis.",
    ),
    "a publish without a digest": (
        lambda: signed(publish={"detail": {}}),
        "The publish entry has no SHA-256 as its digest.",
    ),
    "a card that is no digest": (
        lambda: signed(publish={"detail": {"digest": SYNOPSIS.digest, "card": 7}}),
        "The publish entry has no SHA-256 as its card.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_so_is_refused_with_its_own_sentence(case: str) -> None:
    """Each of them as a file that can be read."""
    make, sentence = REFUSED[case]
    receipt = Receipt.parse(str(make()))
    with pytest.raises(InvalidNote) as refused:
        receipt.require(LOG.policy)
    assert str(refused.value) == sentence


def with_extra(**changes: Any) -> str:
    """The text of the receipt with other extra data."""
    first, extra, rest = str(RECEIPT).split("\n", 2)
    fields = json.loads(base64.b64decode(extra.removeprefix("extra "))) | changes
    return "\n".join([first, f"extra {base64.b64encode(canonical_json(fields)).decode()}", rest])


ENTRY = RECEIPT.charge.to_json()
UNREADABLE = {
    "nothing": "",
    "no extra": str(RECEIPT).replace("extra", "ixtra", 1),
    "a field more": with_extra(more=1),
    "a header that is no text": with_extra(header=1),
    "a charge that is no entry": with_extra(charge=[]),
    "a number that is a text": with_extra(charge=ENTRY | {"seq": "3"}),
    "a number that is true": with_extra(charge=ENTRY | {"seq": True}),
    "a number below one": with_extra(charge=ENTRY | {"seq": 0}),
    "a detail that is a list": with_extra(charge=ENTRY | {"detail": []}),
    "a kind that there is not": with_extra(charge=ENTRY | {"kind": "bribe"}),
    "a hash that is none": with_extra(charge_proof={"index": 2, "hashes": ["x"]}),
    "hashes that are numbers": with_extra(charge_proof={"index": 2, "hashes": [1]}),
    "no proof of the charge": with_extra(charge_proof=None),
    "a proof with a field more": with_extra(charge_proof={"index": 2, "hashes": [], "more": 1}),
    "another place": str(RECEIPT).replace("index 5", "index 4"),
    "another place of the charge": with_extra(charge_proof={"index": 1, "hashes": []}),
    "a line more": str(RECEIPT) + "\n",
    "too long": "x" * (2**26 + 1),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_no_receipt_is_refused(case: str) -> None:
    """With InvalidNote, and no other error."""
    with pytest.raises(InvalidNote):
        Receipt.parse(UNREADABLE[case])


def test_another_spelling_of_the_extra_data_is_refused() -> None:
    """The same JSON with a space is not canonical."""
    first, extra, rest = str(RECEIPT).split("\n", 2)
    spaced = base64.b64decode(extra.removeprefix("extra ")).replace(b":", b": ", 1)
    with pytest.raises(InvalidReceipt):
        Receipt.parse("\n".join([first, f"extra {base64.b64encode(spaced).decode()}", rest]))


TEXT = str(RECEIPT).encode()


def flipped(place: int, change: int, policy: Policy) -> tuple[Facts, str] | None:
    """The facts and the header of the receipt with one byte changed; None where it is refused."""
    text = bytearray(TEXT)
    text[place] ^= change
    try:
        receipt = Receipt.parse(text.decode())
        return receipt.require(policy), receipt.header
    except (InvalidNote, UnicodeDecodeError):
        return None


@given(st.integers(0, len(TEXT) - 1), st.integers(1, 255))
def test_no_flipped_byte_leaves_other_facts(place: int, change: int) -> None:
    """All but the header is signed. Another header has another digest: see tests/app/receipts."""
    shown = flipped(place, change, LOG.policy)
    assert shown is None or (shown[0] == FACTS and shown[1] != HEADER)


@given(st.integers(0, len(TEXT) - 1), st.integers(1, 255))
def test_a_flipped_byte_can_take_a_witness_away_where_none_has_to_sign(place: int, change: int) -> None:
    """Its line then names a key that nobody knows. No fact but the witnesses is another one, and none is added."""
    shown = flipped(place, change, replace(LOG.policy, quorum=None))
    if shown is not None:
        assert shown[0].witnesses.items() <= FACTS.witnesses.items()
        assert replace(shown[0], witnesses=FACTS.witnesses) == FACTS
        assert (shown[0] == FACTS) == (shown[1] != HEADER)


def test_the_kinds_of_a_receipt_are_those_of_the_ledger() -> None:
    """The two entries of the fixture, so that the cases above mean what they say."""
    assert [ENTRIES[place].kind for place in (CHARGED, PUBLISHED)] == [Kind.CHARGE, Kind.PUBLISH]
