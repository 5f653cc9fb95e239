"""Damaged CSV and NDJSON: lines, fields, quotes, escapes, numbers, nesting, duplicates, encodings."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.app.ingest.mixed import GOOD
from torture.fuzzing.damage import CANARY, Chance, damaged, reordered

_NAMES = [*GOOD, "note", "person"]
_FIELDS = [
    *("", " ", "0", "-0", "+1", "1e308", "1e309", "-1e999", "1e-400", "nan", "-NaN", "inf", "Infinity", "0x1p3"),
    *("9" * 400, "0." + "0" * 400 + "1", "1_0", "\u0661\u0662", "\uff11", "\u00bd", "1,5", "1;5", "1 000", "--1"),
    *("2026-02-30", "9999-12-31", "0000-00-00", "2026-03-01T24:00:00Z", "2026-03-01T12:00:00+99:99"),
    *('"', '""', '"""', 'a"b', '"a', "'", "\\", '\\"', "\r", "\0", "\ufeff", "\u2028", "\x85", "\x0b", "\x1a"),
    *(CANARY, "=cmd|' /C'!A0", "w" * 500, "NULL", "true", "(missing)", "(other)", "\U0001f600", "a,b", "a\nb"),
]
_MOST_BYTES = 2**20
_LONG = (65_535, 65_536, 65_537, 70_000, 300_000)  # around the longest line, and beyond it


def _row(chance: Chance) -> dict[str, str]:
    row = GOOD | {"note": CANARY, "person": f"p{chance.randrange(9)}", "age": str(chance.randrange(10))}
    return row | ({chance.choice(_NAMES): _field(chance)} if chance.random() < 0.2 else {})


def _field(chance: Chance) -> str:
    return chance.choice(_FIELDS) if chance.random() < 0.97 else "w" * chance.choice(_LONG)


def _encoded(text: str, chance: Chance) -> bytes:
    codec = chance.choice(["utf-8"] * 12 + ["utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-7"])
    return text.encode(codec, "replace")


# CSV: a table of fields, damaged as such, then written, then damaged as bytes.

_Table = list[list[str]]


def _with_field(table: _Table, chance: Chance) -> None:
    line = chance.choice(table)
    line[chance.randrange(len(line)) if line else 0 :][:1] = [_field(chance)]
    if line:
        line[chance.randrange(len(line))] = _field(chance)


def _with_fields(table: _Table, chance: Chance) -> None:
    place = chance.randrange(len(table))
    table[place] = reordered(table[place], chance)


def _with_lines(table: _Table, chance: Chance) -> None:
    table[:] = reordered(table, chance)


def _with_many(table: _Table, chance: Chance) -> None:
    line = [field[:500] for field in chance.choice(table)]
    table += [line] * chance.choice([100, 1000])


def _with_quoted(table: _Table, chance: Chance) -> None:
    line = chance.choice(table)
    if line:
        place = chance.randrange(len(line))
        quoted = chance.choice(['"{}"', '"{}', '{}"', '"{}""', '"{}"x', ' "{}"', '"{}\n{}"'])
        line[place] = quoted.format(line[place], line[place])


def _with_header(table: _Table, chance: Chance) -> None:
    header = table[0]
    if header:
        name = chance.choice(_NAMES)
        new = chance.choice([name, name.upper(), f" {name}", f"{name} ", f'"{name}"', "", CANARY, "x" * 5000])
        header[chance.randrange(len(header))] = new


def _wide(table: _Table, chance: Chance) -> None:
    for line in table[:10]:
        line.extend([CANARY] * chance.choice([1, 5000]))


_TABLE_DAMAGES: tuple[Callable[[_Table, Chance], None], ...] = (
    *(_with_field, _with_field, _with_field, _with_fields, _with_fields, _with_lines, _with_quoted, _with_quoted),
    *(_with_many, _with_header),
)


def csv(chance: Chance) -> bytes:
    """A CSV file, damaged."""
    rows = [_row(chance) for _ in range(chance.randrange(12))]
    table = [list(_NAMES), *(list(row.values()) for row in rows)]
    for _ in range(chance.choice([1, 1, 2, 4])):
        if table:
            chance.choice(_TABLE_DAMAGES)(table, chance)
    if table and chance.random() < 0.01:
        _wide(table, chance)
    comma = chance.choice([","] * 30 + [";", "\t", "|", ",,"])
    end = chance.choice(["\n"] * 20 + ["\r\n", "\r\n", "\r", "\n\r", "\n\n", "\r\r\n"])
    text = end.join(comma.join(line) for line in table) + chance.choice([end, end, "", "\x1a", '"'])
    data = _encoded(text, chance)[:_MOST_BYTES]
    return damaged(data, chance) if chance.random() < 0.3 else data


# NDJSON: each line is written from tokens, so that each token can be wrong.

_VALUES = [
    *("0", "-0", "-0.0", "1e400", "-1E+400", "1e-999", "9" * 400, "00", "01", "1.", ".5", "+1", "0x10", "1_0"),
    *("NaN", "Infinity", "-Infinity", "null", "true", "false", "True", "nil", "", "''", "undefined"),
    *('""', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\x41"', '"\\u12"', '"\\', '"', '"\t"', '"\x01"'),
    *('"\u0661"', '"2026-02-30"', '"9999-12-31T23:59:60Z"', f'"{CANARY}"', "[]", "{}", "[1]", '{"a":1}', "[,]"),
    *("/* */1", "1//x", "{1:2}", '{"a":1,}', "[1,]", "\u20281", "\ufeff1", '"' + "w" * 70_000 + '"'),
]


def _nested(chance: Chance) -> str:
    opening = chance.choice(["[", '{"a":', '[{"a":'])
    depth = chance.choice([3, 200, 1023, 1024, 1025, 5000, 12_000])
    closing = "".join("]" if mark == "[" else "}" for mark in reversed([each for each in opening if each in "[{"]))
    return opening * depth + "1" + closing * chance.choice([depth, depth, depth - 1, 0])


def _value(text: str, chance: Chance) -> str:
    choice = chance.random()
    if choice < 0.8:
        is_number = bool(text) and not text.strip("-.0123456789")
        return text if is_number and chance.random() < 0.5 else json.dumps(text)
    return chance.choice(_VALUES) if choice < 0.99 else _nested(chance)


def _key(name: str, chance: Chance) -> str:
    written = json.dumps(name)
    if chance.random() < 0.95:
        return written
    escaped = "".join(f"\\u{ord(each):04x}" for each in name)
    return chance.choice([f'"{escaped}"', name, f"'{name}'", written.upper(), '""', "1", "null", f'"{name}\\u0000"'])


def _line(chance: Chance) -> str:
    pairs = [f"{_key(name, chance)}:{_value(text, chance)}" for name, text in _row(chance).items()]
    if chance.random() < 0.3:
        pairs = reordered(pairs, chance)
    comma = chance.choice([","] * 20 + [", ", ",,", ";", ""])
    frame = chance.choice(
        ["{%}"] * 20 + ["{%", "%}", "[%]", "{{%}}", "{%}{%}", "{%},", "// {%}", " {%} ", "{%}\r", '"%"']
    )
    return frame.replace("%", comma.join(pairs))


def ndjson(chance: Chance) -> bytes:
    """An NDJSON file, damaged."""
    lines = [_line(chance) for _ in range(chance.randint(0, 12))]
    if lines and chance.random() < 0.3:
        lines = reordered(lines, chance)
    if lines and chance.random() < 0.02:
        lines += [chance.choice(lines)[:1000]] * 500
    end = chance.choice(["\n"] * 20 + ["\r\n", "\r", "\n\n", "\n \n", "\x1e", ",\n"])
    start, close = chance.choice([("", "")] * 20 + [("[", "]"), ("\ufeff", ""), ("\n\n", ""), ("", "\0")])
    data = _encoded(start + end.join(lines) + chance.choice([end, ""]) + close, chance)
    return damaged(data, chance) if chance.random() < 0.3 else data
