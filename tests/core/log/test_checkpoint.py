"""Checkpoints: origin, size and root as the text of a signed note, in one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.log.checkpoint import ORIGIN, Checkpoint, decoded, encoded
from core.log.note import InvalidNote, Note
from tests.core.log.logs import log_key

ROOT = bytes(range(32))
LINE = encoded(ROOT)


def read(text: str) -> Checkpoint:
    return Checkpoint.of(Note(text, ()))


def test_a_checkpoint_is_three_lines() -> None:
    """As C2SP's example is."""
    text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    checkpoint = read(text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert checkpoint.text == text


def test_a_signed_checkpoint_is_read_back_from_its_note() -> None:
    """With the signatures of all keys of the log, as in a rotation."""
    keys = log_key(1), log_key(2)
    checkpoint = Checkpoint("rugnik.example/log", 0, ROOT)
    note = Note.parse(str(checkpoint.signed(*keys)))
    assert Checkpoint.of(note) == checkpoint
    assert list(note.signed_by(key.verifier for key in keys)) == [key.verifier for key in keys]


@pytest.mark.parametrize("origin", ["o", "an origin with spaces", "a+b", "例え", "x" * 1000, "— o AAAA"])
def test_an_origin_may_be_any_line(origin: str) -> None:
    """A client must not assume more of it (tlog-checkpoint)."""
    assert read(f"{origin}\n1\n{LINE}\n") == Checkpoint(origin, 1, ROOT)


def test_extension_lines_are_signed_and_not_read() -> None:
    """They are the log's own matter."""
    assert read(f"o\n1\n{LINE}\nextension\nanother\n") == Checkpoint("o", 1, ROOT)


REFUSED = {
    "nothing": "",
    "a line feed": "\n",
    "two lines": "o\n1\n",
    "no line feed at the end": f"o\n1\n{LINE}",
    "no line feed after an extension": f"o\n1\n{LINE}\nextension",
    "an empty origin": f"\n1\n{LINE}\n",
    "an empty size": f"o\n\n{LINE}\n",
    "an empty extension line": f"o\n1\n{LINE}\n\n",
    "an empty line before an extension": f"o\n1\n{LINE}\n\nextension\n",
    "a leading zero": f"o\n01\n{LINE}\n",
    "two zeros": f"o\n00\n{LINE}\n",
    "a sign": f"o\n+1\n{LINE}\n",
    "a negative size": f"o\n-1\n{LINE}\n",
    "a space before the size": f"o\n 1\n{LINE}\n",
    "a space after the size": f"o\n1 \n{LINE}\n",
    "a hexadecimal size": f"o\n0x1\n{LINE}\n",
    "an underscore": f"o\n1_0\n{LINE}\n",
    "other digits": f"o\n١\n{LINE}\n",  # noqa: RUF001 - an Arabic one
    "a size of 2^63": f"o\n{2**63}\n{LINE}\n",
    "a size of 5000 digits": f"o\n{'9' * 5000}\n{LINE}\n",
    "a short root": f"o\n1\n{encoded(bytes(31))}\n",
    "a long root": f"o\n1\n{encoded(bytes(33))}\n",
    "no base64": f"o\n1\n{LINE[:-1]}!\n",
    "no padding": f"o\n1\n{LINE[:-1]}\n",
    "base64 in another spelling": f"o\n1\n{encoded(bytes(32))[:-2]}B=\n",
    "a space after the root": f"o\n1\n{LINE} \n",
    "a lone surrogate in the root": f"o\n1\n\ud800{LINE[1:]}\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_malformed_checkpoint_is_refused(text: str) -> None:
    """The valid one, which each differs from, is accepted; so is the largest size."""
    assert read(f"o\n{2**63 - 1}\n{LINE}\n").size == 2**63 - 1
    with pytest.raises(InvalidNote):
        read(text)


@pytest.mark.parametrize(
    ("origin", "size", "root"), [("", 1, ROOT), ("a\nb", 1, ROOT), ("o", -1, ROOT), ("o", 2**63, ROOT), ("o", 1, b"")]
)
def test_no_checkpoint_is_made_that_could_not_be_read(origin: str, size: int, root: bytes) -> None:
    """So that nothing else is ever signed: an origin with a line feed could name another size."""
    with pytest.raises(InvalidNote):
        Checkpoint(origin, size, root)


@given(st.text() | st.tuples(*[st.text(st.characters(codec="utf-8"))] * 3).map("\n".join))
def test_reading_raises_nothing_but_invalid_note(text: str) -> None:
    """And what is read is a beginning of the text."""
    for end in ("", "\n"):
        try:
            checkpoint = read(text + end)
        except InvalidNote:
            continue
        assert (text + end).startswith(checkpoint.text)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1), st.integers(0, 2**63 - 1))
def test_any_checkpoint_is_read_back(origin: str, size: int) -> None:
    """And its root has one spelling."""
    checkpoint = Checkpoint(origin, size, ROOT)
    assert read(checkpoint.text) == checkpoint
    assert decoded(encoded(ROOT)) == ROOT


def test_our_own_origins_are_also_names_of_keys() -> None:
    """Printable ASCII without spaces and plus signs, so that the log's key can have the same name."""
    for origin in ("rugnik.example/log", "!", "~", "a" * 200):
        assert ORIGIN.fullmatch(origin)
        assert log_key(name=origin).verifier.name == origin
    for origin in ("", "a b", "a+b", "é", "a\n", "a" * 201, "\x7f"):
        assert not ORIGIN.fullmatch(origin)
