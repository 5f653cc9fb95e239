"""JSON schemas of the OpenAPI document, spelled for people: `list of Interval`, `text or null`.

Texts are Markdown of one line: code in backticks, and links to the headings of named schemas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "null": "null",
}
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} entries",
}


@dataclass(frozen=True, slots=True)
class Described:
    """A named schema: what it is, its values if it is a choice, and its fields as name, type, default and meaning."""

    title: str
    text: str
    values: str
    fields: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True, slots=True)
class Schemas:
    """The named schemas of a document."""

    named: Mapping[str, dict[str, Any]]

    def described(self) -> list[Described]:
        """Each schema, sorted by title."""
        return [_described(self, name, self.named[name]) for name in sorted(self.named, key=heading)]

    def spell(self, schema: Mapping[str, Any]) -> str:
        """One schema in words; a named one is a link."""
        if "$ref" in schema:
            title = heading(schema["$ref"].rpartition("/")[2])
            return f"[{title}](#{slug(title)})"
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return " or ".join(self.spell(choice) for choice in schema[key])
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self.spell(schema["allOf"][0])
        if "const" in schema:
            return f"`{schema['const']}`"
        if "enum" in schema:
            return " or ".join(f"`{value}`" for value in schema["enum"])
        return ", ".join([self._kind(schema), *_limits(schema)])

    def _kind(self, schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("items")
            return f"list of {self.spell(items)}" if items else "list"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"object of {self.spell(values)}" if isinstance(values, dict) and values else "object"
        return WORDS.get(str(kind), "anything")


def _described(schemas: Schemas, name: str, schema: Mapping[str, Any]) -> Described:
    required = set(schema.get("required", ()))
    fields = [
        (f"`{field}`", schemas.spell(inner), _presence(field, inner, required), inner.get("description", ""))
        for field, inner in schema.get("properties", {}).items()
    ]
    values = f"One of {schemas.spell(schema)}." if "enum" in schema else ""
    return Described(heading(name), schema.get("description", ""), values, fields)


def heading(name: str) -> str:
    """A schema's name; where two modules have one of that name, with its module in brackets."""
    *modules, last = name.split("__")
    return f"{last} ({modules[-1]})" if modules else last


def _presence(field: str, schema: Mapping[str, Any], required: set[str]) -> str:
    if field in required:
        return "required"
    default = schema.get("default")
    return "optional" if default in (None, "") else f"`{str(default).lower() if default is False else default}`"


def _limits(schema: Mapping[str, Any]) -> list[str]:
    return [words.format(_number(schema[key])) for key, words in LIMITS.items() if key in schema]


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) and abs(value) < 10**15 else f"{value:g}"


def slug(title: str) -> str:
    """The anchor of a heading, the same on a forge, in the built site and on the page /docs."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
