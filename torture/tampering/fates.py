"""What comes of an edit beside the ledger, by table and column, and why it is no harm.

The service decides by the ledger alone. So an edit beside it is NOTICED (the verification says so, or no service starts
on it), or REFUSED (whoever needs the row is turned away, and nobody else is), or HARMLESS (all is done as before). In
no case does anybody get in, nor is anything answered, charged or published, that would not have been.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from torture.tampering.beside import DELETED, DOUBLED, RETYPED


class Fate(Enum):
    """What comes of an edit."""

    NOTICED = auto()
    REFUSED = auto()
    HARMLESS = auto()


_ALL = "*"
_CACHE = "A cache. An answer without the MAC of its key and body counts as not there, and is worked out again."
_FOR_PEOPLE = "A history for people to read. It proves nothing: only verifying the chain again does."
_OLD_TEXT = "A description of version 0.1, for people to read. Newer ones are in the ledger."
_SIGNED = "A signature of a witness is checked whenever it is read; one that is missing is asked for again."
_TIMES = "When a publication may be shown. It was public at the end of its day in any case."
_EXTRA = "Rows are looked up by the name of a release in the ledger; nobody asks for this one."

_Fates = Mapping[str, tuple[Fate, str]]
BY_TABLE: Mapping[str, _Fates] = {
    "alembic_version": {_ALL: (Fate.NOTICED, "No service starts on a database of another version.")},
    "answers": {_ALL: (Fate.HARMLESS, _CACHE)},
    "cards": {_ALL: (Fate.NOTICED, "The ledger has the digest of each card."), DOUBLED: (Fate.HARMLESS, _EXTRA)},
    "checkpoints": {
        _ALL: (Fate.NOTICED, "A verification checks the signature, the size and the root of each."),
        "sealed": (Fate.HARMLESS, "The signatures in the note say who signed, and are checked; this only sorts."),
        RETYPED: (Fate.NOTICED, "A verification says that the row cannot be read."),
        DELETED: (Fate.HARMLESS, "It is signed again. That the log was longer, the witness file knows."),
    },
    "cosignatures": {_ALL: (Fate.HARMLESS, _SIGNED)},
    "datasets": {_ALL: (Fate.HARMLESS, _OLD_TEXT)},
    "layers": {
        _ALL: (Fate.REFUSED, "The ledger has the digest of each layer; its release cannot go on with another."),
        DOUBLED: (Fate.HARMLESS, _EXTRA),
    },
    "ledger_lock": {
        _ALL: (Fate.HARMLESS, "Appends lock whichever row is there."),
        DELETED: (Fate.REFUSED, "Without the row nothing can be appended, and the service says so."),
    },
    "log": {
        _ALL: (Fate.NOTICED, "No service starts: the name and the first key are those of the key file."),
        "id": (Fate.HARMLESS, "There is one row, whatever its number."),
        DOUBLED: (Fate.HARMLESS, "The row that is read is the same."),
    },
    "periods": {_ALL: (Fate.HARMLESS, _TIMES)},
    "sessions": {
        _ALL: (Fate.REFUSED, "A session is bound to cookie and key: an edit signs its holder out, and nobody in."),
        DOUBLED: (Fate.HARMLESS, "Nobody has the cookie of the second row."),
    },
    "synopses": {_ALL: (Fate.NOTICED, "The ledger has the digest of each."), DOUBLED: (Fate.HARMLESS, _EXTRA)},
    "verifications": {_ALL: (Fate.HARMLESS, _FOR_PEOPLE)},
}


def fate_of(table: str, what: str) -> Fate:
    """What has to come of an edit of this column, or of rows deleted or doubled. KeyError for a table of no fate."""
    fates = BY_TABLE[table]
    return fates.get(what, fates[_ALL])[0]
