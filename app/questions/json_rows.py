"""Rows of values as JSON, in pieces."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np
import orjson

from core.domain.attribute import Attribute, Ordered
from core.domain.category import Category
from core.domain.number import Number
from core.queries.synthetic import Block, Column


def json_rows(blocks: Iterable[Block], attributes: Sequence[Attribute], empty: bytes) -> Generator[bytes, None, None]:
    """A JSON object in pieces: `empty` is it without rows, and its last field is an empty list for them."""
    yield empty.removesuffix(b"]}")
    first = True
    for block in blocks:
        inner = orjson.dumps(_json_block(block, attributes), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
        yield inner if first else b"," + inner
        first = False
    yield b"]}"


def _json_block(block: Block, attributes: Sequence[Attribute]) -> Any:
    """An array where all are numbers, which is written without a Python object per number; else a list of rows."""
    if all(isinstance(attribute, Number) and not attribute.keeps_missing for attribute in attributes):
        return np.stack([column.values for column in block], axis=1)
    return list(zip(*(_json_column(*pair) for pair in zip(attributes, block, strict=True)), strict=True))


def _json_column(attribute: Attribute, column: Column) -> list[Any]:
    """The values of an attribute as JSON has them; null where they are missing."""
    if isinstance(attribute, Category):
        written = np.array(attribute.labels, dtype=object)[column.values]
    else:
        assert isinstance(attribute, Ordered)  # noqa: S101 - every kind but category is
        written = attribute.written(column.values)
    values: list[Any] = list(written) if isinstance(written, list) else written.tolist()
    if column.missing is not None:
        for row in np.flatnonzero(column.missing).tolist():
            values[row] = None
    return values
