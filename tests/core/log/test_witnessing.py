"""What a witness signs, and the status with which it refuses, as C2SP tlog-witness says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.log.checkpoint import Checkpoint, encoded
from core.log.note import InvalidNote, Note
from core.log.tree import EMPTY_ROOT
from core.log.witnessing import SIZE_TYPE, Refused, Submission, require_acceptable, unseen
from tests.core.log.logs import ORIGIN, Tree, flipped, log_key, witness_key

MOST = 20
TREE = Tree([bytes([number]) for number in range(MOST)])
FORK = Tree([b"forked", *TREE.leaves[1:]])
LOG = log_key()
KEYS = [LOG.verifier]
PLAIN = "text/plain; charset=utf-8"


def submission(old: int, new: int, tree: Tree = TREE) -> Submission:
    """What an honest log sends."""
    return Submission(old, tuple(tree.consistency(old, new)), tree.checkpoint(new).signed(LOG))


TEXT = str(submission(3, 7))


def refused(sent: Submission, latest: Checkpoint) -> tuple[int, str]:
    """The status and media type of the refusal."""
    with pytest.raises(Refused) as refusal:
        require_acceptable(sent, latest, KEYS)
    assert refusal.value.text.endswith("\n")
    if refusal.value.media_type == SIZE_TYPE:
        assert refusal.value.text == f"{latest.size}\n"
    return refusal.value.status, refusal.value.media_type


def test_an_honest_log_is_signed_from_any_size_to_any_later_one() -> None:
    """From nothing too, and again at the same size."""
    for new in range(MOST + 1):
        for old in range(new + 1):
            latest = TREE.checkpoint(old) if old else unseen(ORIGIN)
            assert require_acceptable(Submission.parse(str(submission(old, new))), latest, KEYS) == TREE.checkpoint(new)


def test_a_fork_is_never_signed() -> None:
    """Whatever size it continues from, with its own proof or the honest one: only the first checkpoint is on trust."""
    for new in range(1, MOST + 1):
        for old in range(1, new + 1):
            for hashes in (FORK.consistency(old, new), TREE.consistency(old, new)):
                sent = Submission(old, tuple(hashes), FORK.checkpoint(new).signed(LOG))
                status, media_type = refused(sent, TREE.checkpoint(old))
                assert (status, media_type) == ((409, PLAIN) if old == new else (422, PLAIN))


def test_the_status_for_an_unknown_log_is_404() -> None:
    """Another origin, or no key for it: whatever else is wrong."""
    assert refused(submission(3, 7), unseen("another")) == (404, PLAIN)
    with pytest.raises(Refused) as refusal:
        require_acceptable(submission(3, 7), TREE.checkpoint(3), [])
    assert refusal.value.status == 404


def test_the_status_for_a_checkpoint_that_the_log_did_not_sign_is_403() -> None:
    """Not signed at all, by another key, by a witness only, or with an altered text; before its sizes are looked at."""
    note = TREE.checkpoint(7).signed(LOG)
    witness = witness_key(2)
    for wrong in (
        replace(note, signatures=()),
        TREE.checkpoint(7).signed(log_key(9)),
        replace(note, signatures=(witness.sign(note.text, time=1),)),
        replace(note, text=TREE.checkpoint(8).text),
    ):
        for old in (3, 5, 9):
            sent = Submission(old, tuple(TREE.consistency(3, 7)), wrong)
            assert refused(sent, TREE.checkpoint(3)) == (403, PLAIN)


def test_signatures_of_unknown_keys_are_ignored() -> None:
    """Beside one of the log."""
    note = TREE.checkpoint(7).signed(log_key(9), LOG)
    assert require_acceptable(replace(submission(3, 7), note=note), TREE.checkpoint(3), KEYS).size == 7


def test_the_status_for_an_old_size_above_the_new_one_is_400() -> None:
    """Although the witness has that size; a text that is no checkpoint gives the same."""
    assert refused(Submission(9, (), TREE.checkpoint(7).signed(LOG)), TREE.checkpoint(9)) == (400, PLAIN)
    rubbish = "rubbish\n"
    assert refused(Submission(0, (), Note(rubbish, (LOG.sign(rubbish),))), unseen(ORIGIN)) == (400, PLAIN)


def test_the_status_for_another_old_size_is_409_with_the_size() -> None:
    """So that a log can ask with 0 and learn where the witness is; a smaller log learns it too."""
    for old in (0, 2, 4, 7):
        assert refused(submission(old, 7), TREE.checkpoint(3)) == (409, SIZE_TYPE)
    assert refused(submission(3, 7), unseen(ORIGIN)) == (409, SIZE_TYPE)
    assert refused(submission(5, 7), TREE.checkpoint(9)) == (409, SIZE_TYPE)


def test_another_root_at_the_same_size_is_409_without_a_size() -> None:
    """Else the log would take the size, which it has already, and submit the same for ever."""
    sent = Submission(7, (), FORK.checkpoint(7).signed(LOG))
    assert refused(sent, TREE.checkpoint(7)) == (409, PLAIN)


def test_the_status_for_a_proof_that_does_not_hold_is_422() -> None:
    """Altered, cut, lengthened, missing, or there where it must be empty: from size 0 and at the same size."""
    honest = submission(3, 7)
    digest = honest.hashes[0]
    for hashes in ((), honest.hashes[1:], (*honest.hashes, digest), (flipped(digest), *honest.hashes[1:])):
        assert refused(replace(honest, hashes=hashes), TREE.checkpoint(3)) == (422, PLAIN)
    assert refused(replace(submission(0, 7), hashes=(digest,)), unseen(ORIGIN)) == (422, PLAIN)
    assert refused(replace(submission(7, 7), hashes=(digest,)), TREE.checkpoint(7)) == (422, PLAIN)
    assert refused(replace(submission(0, 0), hashes=(digest,)), unseen(ORIGIN)) == (422, PLAIN)


def test_an_empty_log_has_the_empty_root() -> None:
    """It may be signed; with another root it is refused."""
    assert require_acceptable(submission(0, 0), unseen(ORIGIN), KEYS) == Checkpoint(ORIGIN, 0, EMPTY_ROOT)
    forged = Submission(0, (), Checkpoint(ORIGIN, 0, bytes(32)).signed(LOG))
    assert refused(forged, unseen(ORIGIN)) == (409, PLAIN)


REFUSED = {
    "nothing": "",
    "no old size": TEXT.replace("old 3\n", ""),
    "another word": TEXT.replace("old 3", "new 3"),
    "an empty size": TEXT.replace("old 3", "old "),
    "a leading zero": TEXT.replace("old 3", "old 03"),
    "a negative size": TEXT.replace("old 3", "old -3"),
    "two spaces": TEXT.replace("old 3", "old  3"),
    "a size of 2^63": TEXT.replace("old 3", f"old {2**63}"),
    "a size of 5000 digits": TEXT.replace("old 3", f"old {'3' * 5000}"),
    "a hash too short": TEXT.replace("old 3\n", f"old 3\n{encoded(bytes(31))}\n"),
    "64 hashes": TEXT.replace("old 3\n", f"old 3\n{f'{encoded(bytes(32))}{chr(10)}' * 60}"),
    "no empty line": TEXT.replace("\n\n", "\n", 1),
    "no checkpoint": TEXT[: TEXT.index("\n\n") + 2],
    "no line feed at the end": TEXT[:-1],
    "carriage returns": TEXT.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_malformed_submission_is_refused(text: str) -> None:
    """The valid one, which each differs from, is accepted; so are 63 hashes."""
    assert Submission.parse(TEXT) == submission(3, 7)
    assert len(submission(3, 7).hashes) == 4
    most = TEXT.replace("old 3\n", f"old 3\n{f'{encoded(bytes(32))}{chr(10)}' * 59}")
    assert len(Submission.parse(most).hashes) == 63
    with pytest.raises(InvalidNote):
        Submission.parse(text)


PIECES = st.sampled_from([*(line + "\n" for line in TEXT.split("\n")), "old ", "0", "9", "\n", "é"])


@given(st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3), max_size=10).map("".join)))
def test_reading_raises_nothing_but_invalid_note(text: str) -> None:
    """And what is read is written the same; deciding about it raises nothing but a refusal."""
    try:
        sent = Submission.parse(text)
    except InvalidNote:
        return
    assert str(sent) == text
    for latest in (unseen(ORIGIN), TREE.checkpoint(3)):
        with suppress(Refused):
            assert require_acceptable(sent, latest, KEYS).origin == ORIGIN
