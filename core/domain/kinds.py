"""The kinds of attributes by their names: one table for registrations, the ledger, synopses and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.domain.attribute import Attribute
from core.domain.category import Category
from core.domain.dates import Date, Datetime
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidDomain

KINDS: Mapping[str, type[Attribute]] = {kind.kind: kind for kind in (Number, Integer, Category, Date, Datetime)}


def attribute_of(fields: Mapping[str, Any]) -> Attribute:
    """The attribute that a declaration states: its `kind` (a number if none is given) and the fields of that kind."""
    kind = KINDS.get(fields.get("kind", Number.kind))
    if kind is None:
        raise InvalidDomain(f"The kind of an attribute is one of: {', '.join(KINDS)}.")
    return kind.declared(fields)
