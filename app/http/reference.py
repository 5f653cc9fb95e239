"""The routes of the OpenAPI document as values for people: what the page /docs and the page docs/http.md show.

Texts are Markdown of one line, as in `app.http.schemas`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.http.schemas import Described, Schemas

GROUPS = {
    "datasets": "Datasets and budgets",
    "releases": "Plans, orders and uploads",
    "answers": "Questions",
    "ledger": "The ledger",
    "keys": "Keys",
    "health": "Health and metrics",
}
_METHODS = ("get", "post", "put", "delete")
_REDIRECT = "307"
_DEEPEST = 4  # objects in objects of an example
_TELLING = ("epsilon", "above")  # optional fields without which an example says nothing


class Parameter(NamedTuple):
    """A parameter of a route; `place` is path, query or header."""

    name: str
    place: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A route: its parameters; body and reply in words; statuses of refusals."""

    method: str
    path: str
    id: str
    summary: str
    text: str
    parameters: Sequence[Parameter]
    body: str
    status: str
    reply: str
    refusals: Sequence[str]
    curl: str

    @property
    def is_redirect(self) -> bool:
        """Whether it leads elsewhere; `reply` is a sentence then."""
        return self.status == _REDIRECT


@dataclass(frozen=True, slots=True)
class Reference:
    """All routes by group, the statuses with which any of them may refuse, and the bodies and answers."""

    groups: Mapping[str, Sequence[Operation]]
    common_refusals: Sequence[str]
    schemas: Sequence[Described]


def read_reference(document: Mapping[str, Any]) -> Reference:
    """The reference of an OpenAPI document."""
    schemas = Schemas(document.get("components", {}).get("schemas", {}))
    operations = list(_operations(document))
    common = _common_refusals([operation for _, _, operation in operations])
    groups: dict[str, list[Operation]] = {}
    for method, path, operation in operations:
        tag = operation["tags"][0]
        group = groups.setdefault(GROUPS.get(tag, tag.capitalize()), [])
        group.append(_operation(method, path, operation, schemas, common))
    return Reference(groups, sorted(common), schemas.described())


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield method, path, methods[method]


def _common_refusals(operations: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The statuses of errors that every route with a key declares."""
    declared = [{code for code in operation["responses"] if code >= "400"} for operation in operations]
    return frozenset(set.intersection(*[codes for codes in declared if codes]))


def _operation(
    method: str, path: str, operation: Mapping[str, Any], schemas: Schemas, common: frozenset[str]
) -> Operation:
    text = operation.get("description", "")
    status, reply = _reply(operation, schemas)
    content = operation.get("requestBody", {}).get("content", {})
    return Operation(
        method=method.upper(),
        path=path,
        id=operation["operationId"],
        summary=text.partition("\n\n")[0],
        text=text,
        parameters=[
            Parameter(
                name=f"`{each['name']}`",
                place=each["in"],
                type=schemas.spell(each["schema"]),
                default=_default(each),
                meaning=each.get("description", ""),
            )
            for each in operation.get("parameters", [])
        ],
        body=_contents(content, schemas),
        status=status,
        reply=reply,
        refusals=sorted(code for code in operation["responses"] if _is_further(code) and code not in common),
        curl=_curl(method.upper(), path, operation, schemas),
    )


def _is_further(code: str) -> bool:
    return code >= "300" and code != _REDIRECT


def _default(parameter: Mapping[str, Any]) -> str:
    if parameter.get("required"):
        return "required"
    default = parameter["schema"].get("default")
    return "" if default in (None, "") else f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _reply(operation: Mapping[str, Any], schemas: Schemas) -> tuple[str, str]:
    """The status of success, and what comes with it."""
    replies = operation["responses"].items()
    code, reply = next((code, reply) for code, reply in replies if code.startswith(("2", _REDIRECT)))
    if code == _REDIRECT:
        return code, reply["description"]
    return code, _contents(reply.get("content", {}), schemas) or "no body"


def _contents(content: Mapping[str, Any], schemas: Schemas) -> str:
    """The bodies by media type; what is not JSON is named by its media type alone."""
    spelled = []
    for media_type, described in content.items():
        schema = described.get("schema", {})
        known = media_type == "application/json" and schema
        spelled.append(schemas.spell(schema) if known else f"`{media_type}`")
    return " or ".join(spelled)


def _curl(method: str, path: str, operation: Mapping[str, Any], schemas: Schemas) -> str:
    """A line to copy. What the reader has to put in stands in capitals."""
    address = path.replace("{", "").replace("}", "")
    for part in (part for part in path.split("/") if part.startswith("{")):
        address = address.replace(part.strip("{}"), part.strip("{}").upper())
    required = [each for each in operation.get("parameters", []) if each["in"] == "query" and each.get("required")]
    query = "&".join(f"{each['name']}={each['name'].upper()}" for each in required)
    content = operation.get("requestBody", {}).get("content", {})
    parts = ["curl"]
    if _REDIRECT in operation["responses"]:
        parts.append("-L")
    if method == "DELETE" or (method == "POST" and not content):
        parts.append(f"-X {method}")
    if operation.get("security"):
        parts.append('-H "Authorization: Bearer $RUGNIK_KEY"')
    if "application/json" in content:
        body = _example(content["application/json"]["schema"], schemas.named)
        parts.append(f"--json '{json.dumps(body, ensure_ascii=False)}'")
    elif content:
        parts.append(f"-T FILE -H 'Content-Type: {next(iter(content))}'")
    return " ".join([*parts, f'"$RUGNIK_URL{address}{f"?{query}" if query else ""}"'])


def _example(schema: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]], name: str = "", depth: int = 0) -> Any:
    """A value that fits: the fields of an object that it takes, one entry of a list, the least number."""
    chosen = schema
    while "$ref" in chosen or "anyOf" in chosen:
        chosen = named[chosen["$ref"].rpartition("/")[2]] if "$ref" in chosen else chosen["anyOf"][0]
    example: Any = name.upper()
    if "examples" in chosen or "enum" in chosen:
        example = (chosen.get("examples") or chosen["enum"])[0]
    elif chosen.get("type") == "object" and depth < _DEEPEST:
        fields = chosen.get("properties", {})
        taken = [each for each in fields if each in chosen.get("required", ()) or each in _TELLING]
        example = {each: _example(fields[each], named, each, depth + 1) for each in taken}
    elif chosen.get("type") == "array":
        example = [_example(chosen.get("items", {}), named, name, depth + 1)]
    elif chosen.get("type") in ("integer", "number"):
        example = int(chosen.get("minimum", 1))
    return example
