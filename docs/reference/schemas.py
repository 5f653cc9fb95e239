"""JSON schemas of the OpenAPI document, spelled for people: `list of Interval`, `text or null`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docs.reference.markdown import prose, sections, slug, table

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
class Schemas:
    """The named schemas of a document."""

    named: Mapping[str, dict[str, Any]]

    def text(self) -> str:
        """Each schema under its own heading: what it is, and its fields."""
        return sections(self._described(name, self.named[name]) for name in sorted(self.named, key=heading))

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

    def _described(self, name: str, schema: Mapping[str, Any]) -> str:
        required = set(schema.get("required", ()))
        fields = schema.get("properties", {})
        rows = [[f"`{field}`", self.spell(inner), _presence(field, inner, required)] for field, inner in fields.items()]
        header = ["Field", "Type", "Default"]
        if any("description" in inner for inner in fields.values()):
            header.append("Meaning")
            for row, inner in zip(rows, fields.values(), strict=True):
                row.append(prose(inner.get("description", "")))
        values = f"One of {self.spell(schema)}." if "enum" in schema else ""
        return sections([f"### {heading(name)}", prose(schema.get("description", "")), values, table(header, rows)])


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
