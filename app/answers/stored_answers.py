"""The table of stored answers: costly answers, shared by all workers and kept over a restart.

Each row has a MAC under the service's secret, so that a row which somebody else wrote counts as not there.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from sqlalchemy import Connection, delete, func, select, type_coerce, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import NullType

from app.storage.tables import answers


def load(tx: Connection, key: str, secret: bytes) -> bytes | None:
    """The stored answer; None if there is none with a right MAC."""
    # As the driver gives it: whoever edits a row may leave something that is no bytes.
    query = select(type_coerce(answers.c.body, NullType()), answers.c.mac).where(answers.c.key == key)
    row = tx.execute(query).first()
    if row is None or not isinstance(row[0], bytes):
        return None
    return row[0] if hmac.compare_digest(str(row[1]).encode(), _mac(key, row[0], secret).encode()) else None


def store(tx: Connection, key: str, body: bytes, secret: bytes, *, keep: int) -> bytes:
    """Store an answer unless another worker did so first, and drop all but the newest `keep`; returns the stored one.

    The first stored answer wins, so that all workers give the same bytes.
    """
    dialect = sqlite if tx.dialect.name == "sqlite" else postgresql
    values = {"key": key, "body": body, "mac": _mac(key, body, secret)}
    tx.execute(dialect.insert(answers).values(values).on_conflict_do_nothing(index_elements=["key"]))
    newest = tx.execute(select(func.max(answers.c.number))).scalar_one()
    tx.execute(delete(answers).where(answers.c.number <= newest - keep))
    first = load(tx, key, secret)
    if first is None:
        tx.execute(update(answers).where(answers.c.key == key).values(values))
    return first or body


def _mac(key: str, body: bytes, secret: bytes) -> str:
    return hmac.new(secret, b"answer %s " % key.encode() + body, sha256).hexdigest()
