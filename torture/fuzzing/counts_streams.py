"""Damaged streams of counts: cells off the grid or out of order, counts below one, sums, words, and the stream."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from core.counting import Target
from core.domain.axis import OFFSET_STEPS
from torture.fuzzing.arrow_streams import damaged_stream
from torture.fuzzing.damage import CANARY, NUMBERS, Chance, damaged, odd_number, reordered

_Columns = dict[str, list[Any]]
_LEAST, _MOST = -(2**63), 2**63 - 1
# Ascending by differences of 64 bits, and yet not ascending.
_WRAPPED = [0, _MOST, _LEAST, -1]


def counts(chance: Chance, release: str, target: Target) -> bytes:
    """A stream of counts for the step that a release waits for, damaged."""
    columns = _sound(chance, target)
    stated = _stated(release, target)
    kind = chance.randrange(4)
    if kind == 0:
        for _ in range(chance.choice([1, 1, 2])):
            _damage_columns(columns, chance)
    if kind == 1:
        stated = _damaged_words(stated, chance)
    body = _written(columns, stated, chance if kind == 2 else None)
    return damaged_stream(body, body, chance) if kind == 3 and body else body


def _sound(chance: Chance, target: Target) -> _Columns:
    held = min(target.cell_count, chance.choice([0, 1, 5, 200]))
    cells = sorted(chance.sample(range(target.cell_count), held))
    numbers = [chance.choice([1, 2, 50, 10**6]) for _ in cells]
    sums = {
        f"offset_{axis}": [chance.randint(-number, number) * OFFSET_STEPS for number in numbers]
        for axis in range(target.offset_axes)
    }
    return {"cell": cells, "count": numbers, **sums}


def _stated(release: str, target: Target) -> bytes:
    stated = {"format": 1, "release": release, "step": target.step.value, "unit": target.order.unit.to_json()}
    return json.dumps(stated).encode()


def _damage_columns(columns: _Columns, chance: Chance) -> None:
    name = chance.choice(list(columns))
    values = columns[name]
    match chance.randrange(5):
        case 0 if values:
            place = chance.randrange(len(values))
            values[place] = max(_LEAST, min(_MOST, odd_number(chance, values[place])))
        case 1:
            columns[name] = reordered(values, chance)
        case 2:
            for other, listed in columns.items():
                columns[other] = (listed or [1])[-1:] * 4 + (listed or [1])[-1:]
            columns["cell"] = [*_WRAPPED, 1]
        case 3:
            columns[name] = [chance.choice([_LEAST, _MOST, *NUMBERS[:20]])] * len(values)
        case _:
            for other in columns:
                columns[other] = columns[other] * chance.choice([0, 2, 300])


def _damaged_words(stated: bytes, chance: Chance) -> bytes:
    words = json.loads(stated)
    name = chance.choice(list(words))
    odd: list[Any] = [
        None,
        True,
        -1,
        2,
        1e400,
        10**30,
        "",
        CANARY,
        "size",
        "leaves",
        [],
        {},
        {"kind": "person"},
        [[]] * 9,
    ]
    match chance.randrange(4):
        case 0:
            words[name] = chance.choice(odd)
        case 1:
            del words[name]
        case 2:
            words["unit"] = {"kind": "person", "column": chance.choice(odd), "max_rows": chance.choice(odd)}
        case _:
            nested = b"[" * chance.choice([9, 100_000])
            return chance.choice([damaged(stated, chance), nested, b"", b"[]", b"1", stated * 2, b"\xff" + stated])
    return json.dumps(words).encode()


def _written(columns: _Columns, stated: bytes, chance: Chance | None) -> bytes:
    """The stream; with a chance, of another schema: types, nulls, names, lengths."""
    arrays: dict[str, pa.Array] = {}
    length = min(map(len, columns.values()))
    for name, values in columns.items():
        clipped = np.array([max(_LEAST, min(_MOST, value)) for value in values[:length]], dtype=np.int64)
        arrays[name] = pa.array(clipped)
    if chance is not None:
        name = chance.choice(list(arrays))
        array = arrays.pop(name)
        other = chance.choice(
            [
                array.cast(pa.float64(), safe=False),
                array.cast(pa.uint64(), safe=False),
                array.cast(pa.string()),
                array.dictionary_encode(),
                pa.array([None, *array.to_pylist()][: len(array)], pa.int64()),
                array,
            ]
        )
        arrays[chance.choice([name, name, "offset_9", "", CANARY])] = other
    schema = pa.schema([(name, array.type) for name, array in arrays.items()], {b"rugnik": stated})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(list(arrays.values()), schema=schema))
    return sink.getvalue()
