"""Signed notes: the published vectors, what each rule of the format refuses, and which signature counts for what."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey, verifies
from core.log.note import InvalidNote, Note, Signature, SignatureType, SigningKey, VerifierKey
from tests.core.log.logs import ORIGIN, flipped, log_key, secret_key, witness_key

# The example of Go's package golang.org/x/mod/sumdb/note: both halves of the key, and the signed note.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_SEED = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_NOTE = (
    f"{GO_TEXT}\n— PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
# The example of C2SP signed-note.
C2SP_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
C2SP_NOTE = (
    "This is an example message.\n\n— example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
# A checkpoint of a public log, with a signature of another algorithm, its Ed25519 signature, and four cosignatures.
ARCHE_KEY = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
WITNESS_KEYS = [
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
]
ARCHE_NOTE = """arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtE\
roeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23\
oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7s\
EodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0t\
gh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWf\
Bw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/T\
mN9DAg==
"""

TEXT = "a text\n\nwith an empty line in it\n"
LOG, WITNESS = log_key(), witness_key(2)


def line_of(name: str, value: bytes) -> str:
    return f"— {name} {base64.b64encode(value).decode()}\n"


LINE = line_of("somebody", bytes(68))


@pytest.mark.parametrize("text", [GO_KEY, C2SP_KEY, ARCHE_KEY, *WITNESS_KEYS])
def test_published_keys_are_read_and_written_the_same(text: str) -> None:
    """With the id that others compute. The base64 of two of them has plus signs."""
    key = VerifierKey.parse(text)
    assert str(key) == text
    assert key.id.hex() == text.split("+")[1]
    assert key.type is (SignatureType.COSIGNATURE if text in WITNESS_KEYS else SignatureType.LOG)


def test_a_note_of_go_is_made_and_verified_alike() -> None:
    """Ed25519 is deterministic: the same key signs the same text with the same bytes."""
    secret = SecretKey.of(Ed25519PrivateKey.from_private_bytes(base64.b64decode(GO_SEED)[1:]))
    key = SigningKey("PeterNeumann", SignatureType.LOG, secret)
    assert str(key.verifier) == GO_KEY
    assert str(Note(GO_TEXT, (key.sign(GO_TEXT),))) == GO_NOTE


@pytest.mark.parametrize(("key", "note"), [(GO_KEY, GO_NOTE), (C2SP_KEY, C2SP_NOTE), (ARCHE_KEY, ARCHE_NOTE)])
def test_published_notes_verify_and_changed_ones_do_not(key: str, note: str) -> None:
    """Signed-note's example, Go's example, and a checkpoint of a public log. One changed letter of the text is seen."""
    verifier, parsed = VerifierKey.parse(key), Note.parse(note)
    assert str(parsed) == note
    assert list(parsed.signed_by([verifier])) == [verifier]
    assert not replace(parsed, text=parsed.text.replace("e", "E", 1)).signed_by([verifier])
    assert not replace(parsed, text=parsed.text + "\n").signed_by([verifier])


def test_published_cosignatures_verify_with_their_time() -> None:
    """Of four witnesses of a public log, which signed within the same second."""
    note, keys = Note.parse(ARCHE_NOTE), list(map(VerifierKey.parse, WITNESS_KEYS))
    signed = note.signed_by(keys)
    assert list(signed) == keys
    assert {signature.time for signature in signed.values()} == {1779573024}
    assert Checkpoint.of(note).size == 1432088532
    for key, signature in signed.items():
        late = (signature.time + 1).to_bytes(8, "big") + signature.value[8:]
        assert not replace(signature, value=late).is_valid(key, note.text)


def test_every_flipped_bit_of_a_signature_is_seen() -> None:
    """Of a log's and of a witness's, the time and the key id among them."""
    for key in (LOG, WITNESS):
        signature = key.sign(TEXT, time=1_700_000_000)
        assert signature.is_valid(key.verifier, TEXT)
        for bit in range(8 * len(signature.value)):
            assert not replace(signature, value=flipped(signature.value, bit)).is_valid(key.verifier, TEXT)
        for bit in range(32):
            assert not replace(signature, key_id=flipped(signature.key_id, bit)).is_valid(key.verifier, TEXT)
        for value in (signature.value[:-1], signature.value + b"\x00", b"", b"\x00"):
            assert not replace(signature, value=value).is_valid(key.verifier, TEXT)


def test_a_signature_counts_for_its_key_and_text_alone() -> None:
    """Not for another text, another secret key, another name with the same key, or another type."""
    for key in (LOG, WITNESS):
        signature = key.sign(TEXT, time=5)
        others = [replace(key, secret=secret_key(9)), replace(key, name="another")]
        others += [replace(key, type=kind) for kind in SignatureType if kind is not key.type]
        for other in others:
            assert not signature.is_valid(other.verifier, TEXT)
            disguised = replace(signature, name=other.name, key_id=other.verifier.id)
            if other.name == key.name:  # Ed25519 does not sign the name
                assert not disguised.is_valid(other.verifier, TEXT)
        assert not signature.is_valid(key.verifier, TEXT + "more\n")
        assert not replace(signature, name="another").is_valid(key.verifier, TEXT)


def test_a_cosignature_and_a_log_signature_never_pass_as_each_other() -> None:
    """With the same secret key and name, and the bytes cut to fit: the texts that are signed differ."""
    log, witness = log_key(7, "same"), witness_key(7, "same")
    assert log.verifier.id != witness.verifier.id
    cosignature, signature = witness.sign(TEXT, time=5), log.sign(TEXT)
    for value in (cosignature.value, cosignature.value[8:]):
        assert not Signature("same", log.verifier.id, value).is_valid(log.verifier, TEXT)
    for value in (signature.value, bytes(7) + b"\x05" + signature.value):
        assert not Signature("same", witness.verifier.id, value).is_valid(witness.verifier, TEXT)


def test_no_checkpoint_reads_as_the_text_of_a_cosignature() -> None:
    """Not even with the origin 'cosignature/v1': the second line of a checkpoint is a number, there it is a time."""
    checkpoint = Checkpoint("cosignature/v1", 5, bytes(32))
    assert not checkpoint.text.startswith("cosignature/v1\ntime ")
    with pytest.raises(InvalidNote):
        Checkpoint.of(Note("cosignature/v1\ntime 5\n" + checkpoint.text, ()))


def test_notes_are_read_and_written_the_same() -> None:
    """Also with empty lines in the text, at its end, and a text of one empty line."""
    for text in (TEXT, "\n", "\n\n\n", "text\n\n", "é — +\n", "— looks like a signature AAAA\n"):
        note = Note(text, (LOG.sign(text), WITNESS.sign(text, time=0)))
        assert Note.parse(str(note)) == note
        assert list(note.signed_by([LOG.verifier, WITNESS.verifier])) == [LOG.verifier, WITNESS.verifier]


@pytest.mark.parametrize("name", ["é", "例え.example/ログ", "a\u0301", "\u202e", "—", "a=b/c:d", "x" * 5000])
def test_names_may_be_any_unicode_without_spaces_and_plus(name: str) -> None:
    """And are compared as they are written: no normalization."""
    key = log_key(name=name)
    assert VerifierKey.parse(str(key.verifier)) == key.verifier
    note = Note.parse(str(Note(TEXT, (key.sign(TEXT),))))
    assert list(note.signed_by([key.verifier])) == [key.verifier]
    assert log_key(name="á").verifier.id != log_key(name="a\u0301").verifier.id


BAD_NAMES = ["", "a b", "a+b", "a\u00a0b", "\u3000", "a\u2028", "a\x85", "a\tb", "a\nb", "a\x00b", "a\x1f", "\ud800"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_with_spaces_plus_or_control_characters_are_refused(name: str) -> None:
    """By keys of both halves and by signature lines: InvalidNote, and no other error."""
    with pytest.raises(InvalidNote):
        log_key(name=name)
    with pytest.raises(InvalidNote):
        VerifierKey.parse(f"{name}+00000000+{base64.b64encode(bytes([1]) + bytes(32)).decode()}")
    with pytest.raises(InvalidNote):
        Note.parse(f"text\n\n{line_of(name, bytes(68))}")


_MATERIAL = base64.b64encode(b"\x01" + secret_key(1).public).decode()
_ID = log_key(name="n").verifier.id.hex()
BAD_KEYS = {
    "nothing": "",
    "a name alone": "n",
    "no key": f"n+{_ID}",
    "an empty key": f"n+{_ID}+",
    "no id": f"n++{_MATERIAL}",
    "another id": f"n+00000000+{_MATERIAL}",
    "the id of another name": f"m+{_ID}+{_MATERIAL}",
    "a longer id": f"n+{_ID}00+{_MATERIAL}",
    "an id in capitals": f"n+{_ID.upper()}+{_MATERIAL}",
    "a key too short": f"n+{_ID}+{base64.b64encode(bytes(32)).decode()}",
    "a key too long": f"n+{_ID}+{base64.b64encode(bytes(34)).decode()}",
    "no base64": f"n+{_ID}+{_MATERIAL[:-1]}!",
    "base64 cut": f"n+{_ID}+{_MATERIAL[:-1]}",
    "a line feed": f"n+{_ID}+{_MATERIAL}\n",
    "a space": f"n+{_ID}+{_MATERIAL} ",
    "URL base64": f"n+{_ID}+{base64.urlsafe_b64encode(bytes([1] + [255] * 32)).decode()}",
}


@pytest.mark.parametrize("text", BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_a_malformed_verifier_key_is_refused(text: str) -> None:
    """The valid one, which each differs from, is accepted."""
    assert VerifierKey.parse(f"n+{_ID}+{_MATERIAL}").public == secret_key(1).public
    with pytest.raises(InvalidNote):
        VerifierKey.parse(text)


@pytest.mark.parametrize("kind", [0x00, 0x02, 0x05, 0x06, 0xFF])
def test_keys_of_other_algorithms_are_refused_by_name(kind: int) -> None:
    """The sentence says which types there are."""
    with pytest.raises(InvalidNote, match="type that is not supported"):
        VerifierKey.parse(f"n+00000000+{base64.b64encode(bytes([kind]) + bytes(32)).decode()}")


BAD_NOTES = {
    "nothing": "",
    "a text alone": "text\n",
    "no signature": "text\n\n",
    "no empty line": f"text\n{LINE}",
    "no text and no empty line": LINE,
    "an empty line alone before": f"\n{LINE}",
    "no line feed at the end": f"text\n\n{LINE[:-1]}",
    "an empty line after": f"text\n\n{LINE}\n",
    "an empty line between signatures, then text": f"text\n\n{LINE}\ntext\n",
    "another line among the signatures": f"text\n\n{LINE}text\n{LINE}",
    "carriage returns": f"text\n\n{LINE}".replace("\n", "\r\n"),
    "a carriage return in the text": f"te\rxt\n\n{LINE}",
    "a tab": f"te\txt\n\n{LINE}",
    "a null": f"te\x00xt\n\n{LINE}",
    "a lone surrogate": f"te\udcffxt\n\n{LINE}",
    "a hyphen for the dash": f"text\n\n{LINE}".replace("—", "-"),
    "an en dash": f"text\n\n{LINE}".replace("—", "\u2013"),
    "no space after the dash": f"text\n\n{LINE}".replace("— ", "—"),
    "two spaces": f"text\n\n{LINE}".replace("somebody ", "somebody  "),
    "a space at the end": f"text\n\n{LINE[:-1]} \n",
    "no base64": "text\n\n— somebody ???\n",
    "base64 without padding": f"text\n\n{line_of('somebody', bytes(67))}".replace("=", ""),
    "base64 in another spelling": f"text\n\n{line_of('somebody', bytes(67))}".replace("AA=", "AB="),
    "an id alone": f"text\n\n{line_of('somebody', bytes(4))}",
    "no signature in the line": "text\n\n— somebody \n",
    "101 signatures": f"text\n\n{LINE * 101}",
    "more than a million letters": f"{'x' * 1_000_000}\n\n{LINE}",
}


@pytest.mark.parametrize("note", BAD_NOTES.values(), ids=BAD_NOTES.keys())
def test_a_malformed_note_is_refused(note: str) -> None:
    """The valid one, which each differs from, is accepted."""
    assert Note.parse(f"text\n\n{LINE}").text == "text\n"
    with pytest.raises(InvalidNote):
        Note.parse(note)


def test_a_hundred_signatures_of_the_largest_kind_are_read() -> None:
    """The format asks for 16 at least; ML-DSA and other post-quantum signatures take up to 5 kB."""
    note = "text\n\n" + "".join(line_of(f"w{number}", bytes(5000)) for number in range(100))
    assert len(Note.parse(note).signatures) == 100


def test_signatures_of_other_keys_are_ignored() -> None:
    """Also those with the name, or with the id, of a known key."""
    genuine = LOG.sign(TEXT)
    same_name = replace(genuine, key_id=b"else", value=bytes(64))
    same_id = replace(genuine, name="another", value=bytes(64))
    note = Note(TEXT, (same_name, same_id, genuine))
    assert note.signed_by([LOG.verifier]) == {LOG.verifier: genuine}
    note.refuse_forgeries([LOG.verifier])
    assert not Note(TEXT, (same_name, same_id)).signed_by([LOG.verifier])


def test_the_first_valid_line_of_a_key_counts() -> None:
    """A witness may have signed twice, at two times; the same line twice is one signature."""
    early, late = WITNESS.sign(TEXT, time=1), WITNESS.sign(TEXT, time=2)
    note = Note(TEXT, (early, late, early))
    assert note.signed_by([WITNESS.verifier]) == {WITNESS.verifier: early}
    note.refuse_forgeries([WITNESS.verifier])


def test_an_invalid_line_of_a_known_key_is_a_forgery() -> None:
    """Even beside a valid one: somebody altered the note (signed-note: clients should reject it)."""
    forged = replace(LOG.sign(TEXT), value=bytes(64))
    for signatures in ((forged,), (LOG.sign(TEXT), forged), (forged, LOG.sign(TEXT))):
        with pytest.raises(InvalidNote, match=ORIGIN):
            Note(TEXT, signatures).refuse_forgeries([WITNESS.verifier, LOG.verifier])


@pytest.mark.parametrize("time", [None, -1, 2**63, 2**64])
def test_a_witness_signs_no_time_that_nobody_accepts(time: int | None) -> None:
    """The time is a whole number of seconds below 2^63."""
    with pytest.raises(ValueError, match="has a time"):
        WITNESS.sign(TEXT, time=time)


def test_a_cosignature_after_the_last_time_is_refused() -> None:
    """Although the witness did sign it."""
    for time, is_valid in ((2**63 - 1, True), (2**63, False)):
        message = f"cosignature/v1\ntime {time}\n{TEXT}".encode()
        value = time.to_bytes(8, "big") + WITNESS.secret.sign(message)
        assert Signature(WITNESS.name, WITNESS.verifier.id, value).is_valid(WITNESS.verifier, TEXT) == is_valid


@pytest.mark.parametrize("text", ["", "no line feed", "a\rb\n", "\x00\n", "\ud800\n"])
def test_nobody_signs_a_text_that_no_note_can_have(text: str) -> None:
    """Neither a log nor a witness."""
    for key in (LOG, WITNESS):
        with pytest.raises(InvalidNote):
            key.sign(text, time=1)


def test_the_repr_of_a_key_shows_no_secret() -> None:
    """Neither its bytes nor its PEM; the PEM itself gives the same key back."""
    key = log_key(5)
    pem = key.secret.to_pem()
    assert SecretKey.from_pem(pem).public == key.secret.public
    private = base64.b64decode(b"".join(pem.splitlines()[1:-1]))[-32:]
    assert private == (5).to_bytes(32, "big")
    for shown in (repr(key), repr(key.secret), str(key.secret)):
        assert repr(private)[2:-1] not in shown
        assert private.hex() not in shown
        assert repr(key.secret.public) in shown


def test_a_key_file_of_another_kind_is_refused() -> None:
    """With a sentence that quotes nothing of it."""
    pkcs8 = Encoding.PEM, PrivateFormat.PKCS8
    locked = Ed25519PrivateKey.generate().private_bytes(*pkcs8, BestAvailableEncryption(b"password"))
    for pem in (b"", b"rubbish", locked, secret_key(1).to_pem()[:-40]):
        with pytest.raises(ValueError, match="no PKCS#8 PEM"):
            SecretKey.from_pem(pem)
    with pytest.raises(ValueError, match="another kind than Ed25519"):
        SecretKey.from_pem(X25519PrivateKey.generate().private_bytes(*pkcs8, NoEncryption()))


def test_generated_keys_differ_and_sign() -> None:
    """Each from the operating system's randomness."""
    first, second = SecretKey.generate(), SecretKey.generate()
    assert first.public != second.public
    assert verifies(first.public, first.sign(b"m"), b"m")
    assert not verifies(second.public, first.sign(b"m"), b"m")
    assert not verifies(b"short", first.sign(b"m"), b"m")


PIECES = st.sampled_from(
    ["\n", "\n\n", "— ", "—", " ", "+", "A", "AAAAAAAA", "=", "==", "\r", "\x00", "é", "\ud800", LINE, GO_NOTE, GO_KEY]
)
HOSTILE = st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))


@given(HOSTILE)
def test_what_is_read_is_written_the_same_and_all_else_is_an_invalid_note(text: str) -> None:
    """No input raises anything but InvalidNote, and a note, a line and a key have one spelling each."""
    for parse in (Note.parse, Signature.parse, VerifierKey.parse):
        try:
            value = parse(text)
        except InvalidNote:
            continue
        assert str(value) == text
        if isinstance(value, Note):
            assert not value.signed_by([LOG.verifier, WITNESS.verifier])


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), st.integers(0, 2**63 - 1))
def test_any_text_can_be_signed_and_read_back(line: str, time: int) -> None:
    """By a log and by a witness."""
    text = line + "\n"
    note = Note(text, (LOG.sign(text), WITNESS.sign(text, time=time)))
    assert Note.parse(str(note)) == note
    assert note.signed_by([WITNESS.verifier])[WITNESS.verifier].time == time
