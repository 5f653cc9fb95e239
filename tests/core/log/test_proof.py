"""Proofs as files: an entry, its path to a root, and the checkpoint that a policy trusts."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.log.checkpoint import encoded
from core.log.note import InvalidNote
from core.log.policy import Policy
from core.log.proof import Proof
from tests.core.log.logs import ORIGIN, Tree, flipped, log_key, witness_key

LEAVES = [bytes([number]) * 32 for number in range(11)]
TREE = Tree(LEAVES)
LOG, WITNESS = log_key(), witness_key(2)
POLICY = Policy.parse(f"log {LOG.verifier}\nwitness w {WITNESS.verifier}\nquorum w\n")


def proof_of(index: int, size: int, extra: bytes = b"") -> Proof:
    """The proof of a leaf at a size, signed by the log and the witness."""
    note = TREE.checkpoint(size).signed(LOG)
    note = replace(note, signatures=(*note.signatures, WITNESS.sign(note.text, time=1)))
    return Proof(index, tuple(TREE.inclusion(index, size)), note, extra)


TEXT = str(proof_of(2, 5, b"extra data"))
HEAD = "c2sp.org/tlog-proof@v1\n"


def test_a_proof_is_the_lines_that_the_specification_says() -> None:
    """First line, extra data, index, hashes from the leaf's sibling on, an empty line, the checkpoint verbatim."""
    proof = proof_of(2, 5, b"extra data")
    hashes = "".join(f"{encoded(digest)}\n" for digest in proof.hashes)
    assert str(proof) == f"{HEAD}extra ZXh0cmEgZGF0YQ==\nindex 2\n{hashes}\n{proof.checkpoint}"
    assert str(replace(proof, extra=b"")) == f"{HEAD}index 2\n{hashes}\n{proof.checkpoint}"


def test_every_proof_is_read_back_and_holds() -> None:
    """For all leaves and sizes; a tree of one leaf has a proof without hashes."""
    for size in range(1, len(LEAVES) + 1):
        for index in range(size):
            proof = proof_of(index, size, bytes(index))
            assert Proof.parse(str(proof)) == proof
            signed = proof.require(LEAVES[index], POLICY)
            assert (signed.checkpoint, list(signed.cosignatures)) == (TREE.checkpoint(size), ["w"])


def test_a_proof_holds_for_its_entry_and_place_alone() -> None:
    """Not for another entry, another index, other hashes, or the checkpoint of another size."""
    proof = proof_of(2, 5)
    wrong = [replace(proof, index=index) for index in (0, 1, 3, 4, 5, 2**63 - 1)]
    wrong += [replace(proof, hashes=hashes) for hashes in ((), proof.hashes[1:], proof.hashes[::-1])]
    wrong += [replace(proof, hashes=(flipped(proof.hashes[0]), *proof.hashes[1:]))]
    wrong += [replace(proof, checkpoint=proof_of(2, size).checkpoint) for size in (3, 4, 6, 7)]
    for altered in wrong:
        with pytest.raises(InvalidNote, match="not in the tree"):
            altered.require(LEAVES[2], POLICY)
    for leaf in (LEAVES[1], b"", LEAVES[2] + b"\x00"):
        with pytest.raises(InvalidNote, match="not in the tree"):
            proof.require(leaf, POLICY)


def test_a_proof_holds_only_with_a_checkpoint_that_the_policy_trusts() -> None:
    """The reader's policy decides, not the file."""
    unsigned = replace(proof_of(2, 5), checkpoint=TREE.checkpoint(5).signed(LOG))
    with pytest.raises(InvalidNote, match="too few signatures"):
        unsigned.require(LEAVES[2], POLICY)
    assert unsigned.require(LEAVES[2], Policy.parse(f"log {LOG.verifier}\nquorum none")).cosignatures == {}
    with pytest.raises(InvalidNote, match=f"no key of the log {ORIGIN}"):
        proof_of(2, 5).require(LEAVES[2], Policy.parse("quorum none"))


def test_extra_data_is_not_signed() -> None:
    """Whoever reads it has to check it: a proof holds with any."""
    assert replace(proof_of(2, 5), extra=b"forged").require(LEAVES[2], POLICY)


_LINE = encoded(bytes(32))
REFUSED = {
    "nothing": "",
    "another first line": TEXT.replace("@v1", "@v2"),
    "a space after the first line": TEXT.replace("@v1", "@v1 "),
    "a line before": f"\n{TEXT}",
    "no index": TEXT.replace("index 2\n", ""),
    "an empty index": TEXT.replace("index 2", "index "),
    "a leading zero": TEXT.replace("index 2", "index 02"),
    "a negative index": TEXT.replace("index 2", "index -2"),
    "two spaces before the index": TEXT.replace("index 2", "index  2"),
    "an index of 2^63": TEXT.replace("index 2", f"index {2**63}"),
    "an index of 5000 digits": TEXT.replace("index 2", f"index {'2' * 5000}"),
    "other digits": TEXT.replace("index 2", "index ٢"),
    "the index twice": TEXT.replace("index 2", "index 2\nindex 2"),
    "extra data twice": TEXT.replace("extra ", "extra AAAA\nextra "),
    "extra data after the index": TEXT.replace("index 2\n", "index 2\nextra AAAA\n"),
    "empty extra data": TEXT.replace("ZXh0cmEgZGF0YQ==", ""),
    "extra data without a space": TEXT.replace("extra ", "extra"),
    "extra data without padding": TEXT.replace("YQ==", "YQ"),
    "extra data in another spelling": TEXT.replace("YQ==", "YR=="),
    "a hash too short": TEXT.replace("index 2\n", f"index 2\n{encoded(bytes(31))}\n"),
    "a hash in another spelling": TEXT.replace("index 2\n", f"index 2\n{_LINE[:-2]}B=\n"),
    "64 hashes": TEXT.replace("index 2\n", f"index 2\n{f'{_LINE}{chr(10)}' * 61}"),
    "no empty line": TEXT.replace("\n\n", "\n", 1),
    "no checkpoint": TEXT[: TEXT.index("\n\n") + 2],
    "no line feed at the end": TEXT[:-1],
    "carriage returns": TEXT.replace("\n", "\r\n"),
    "a line after": f"{TEXT}more\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_malformed_proof_is_refused(text: str) -> None:
    """The valid one, which each differs from, is accepted."""
    assert Proof.parse(TEXT).index == 2
    with pytest.raises(InvalidNote):
        Proof.parse(text)


def test_an_empty_line_too_many_is_a_part_of_the_checkpoint() -> None:
    """Which then is none: its origin is empty."""
    with pytest.raises(InvalidNote, match="A checkpoint is"):
        Proof.parse(TEXT.replace("\n\n", "\n\n\n", 1)).require(LEAVES[2], POLICY)


def test_a_proof_of_many_lines_is_refused_without_splitting_them_all() -> None:
    """A file of megabytes costs no list of its lines."""
    text = TEXT.replace("index 2\n", "index 2\n" + "a\n" * 2_000_000)
    tracemalloc.start()
    with pytest.raises(InvalidNote, match="at most 63 hashes"):
        Proof.parse(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(text)


def test_63_hashes_are_read() -> None:
    """The most that a tree of 2^62 leaves needs."""
    assert len(Proof.parse(TEXT.replace("index 2\n", f"index 2\n{f'{_LINE}{chr(10)}' * 60}")).hashes) == 63


PIECES = st.sampled_from([*(line + "\n" for line in TEXT.split("\n")), "extra ", "index ", "0", "9", _LINE, "\n", "é"])


@given(
    st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3), max_size=12).map(lambda parts: HEAD + "".join(parts)))
)
def test_reading_raises_nothing_but_invalid_note(text: str) -> None:
    """And what is read is written the same."""
    try:
        proof = Proof.parse(text)
    except InvalidNote:
        return
    assert str(proof) == text


@given(st.integers(0, len(TEXT) - 1), st.characters(codec="utf-8"))
def test_a_proof_with_one_letter_changed_never_holds_with_other_content(place: int, letter: str) -> None:
    """Except in the extra data, which nothing signs."""
    changed = TEXT[:place] + letter + TEXT[place + 1 :]
    try:
        proof = Proof.parse(changed)
        signed = proof.require(LEAVES[2], POLICY)
    except InvalidNote:
        return
    assert signed.checkpoint == TREE.checkpoint(5)
    assert replace(proof, extra=b"") == proof_of(2, 5)


@given(st.integers(0, 2**63 - 1), st.lists(st.binary(min_size=32, max_size=32), max_size=63), st.binary())
def test_any_proof_is_read_back(index: int, hashes: list[bytes], extra: bytes) -> None:
    """Whether it holds or not."""
    proof = Proof(index, tuple(hashes), proof_of(0, 1).checkpoint, extra)
    assert Proof.parse(str(proof)) == proof
