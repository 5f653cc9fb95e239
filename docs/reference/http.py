"""The HTTP reference, from the OpenAPI document of a service that is never started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs.reference.markdown import prose, sections, table
from docs.reference.schemas import Schemas

METHODS = ("get", "post", "put", "delete")
ROUTE_GROUPS = {
    "datasets": "Datasets and budgets",
    "releases": "Plans, orders and uploads",
    "answers": "Questions",
    "ledger": "The ledger",
    "keys": "Keys",
    "health": "Health and metrics",
}


def text() -> str:
    """Every route by group, then every body and answer."""
    return render(openapi_document())


def openapi_document() -> dict[str, Any]:
    """The document that `/openapi.json` serves."""
    from app.main import create_app  # noqa: PLC0415 - it configures logging and turns core dumps off: only if asked
    from app.settings.settings import Settings  # noqa: PLC0415 - as above

    with TemporaryDirectory() as folder:
        root = Path(folder)
        settings = Settings(
            data_dir=root / "data",
            witness=root / "witness" / "head",
            database_url=None,
            spool_dir=root,
            log_level="error",
        )
        app = create_app(settings)
        try:
            document: dict[str, Any] = app.openapi()
        finally:
            app.state.service.database.dispose()
    return document


def render(document: dict[str, Any]) -> str:
    """An OpenAPI document as Markdown."""
    schemas = Schemas(document.get("components", {}).get("schemas", {}))
    operations = list(_operations(document))
    common = _common_refusals([operation for _, _, operation in operations])
    groups: dict[str, list[str]] = {}
    for method, path, operation in operations:
        groups.setdefault(operation["tags"][0], []).append(_operation(method, path, operation, schemas, common))
    codes = ", ".join(f"`{code}`" for code in sorted(common))
    parts = [f"Any route may refuse a request with {codes}. The routes below list only further statuses."]
    for tag, rendered in groups.items():
        parts += [f"## {ROUTE_GROUPS.get(tag, tag.capitalize())}", *rendered]
    return sections([*parts, "## Bodies and answers", schemas.text()])


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield method, path, methods[method]


def _common_refusals(operations: list[dict[str, Any]]) -> frozenset[str]:
    """The statuses of errors that every route with a key declares."""
    declared = [{code for code in operation["responses"] if code >= "400"} for operation in operations]
    return frozenset(set.intersection(*[codes for codes in declared if codes]))


def _operation(method: str, path: str, operation: dict[str, Any], schemas: Schemas, common: frozenset[str]) -> str:
    parameters = [
        (
            f"`{parameter['name']}`",
            parameter["in"],
            schemas.spell(parameter["schema"]),
            _default(parameter),
            prose(parameter.get("description", "")),
        )
        for parameter in operation.get("parameters", [])
    ]
    further = sorted(code for code in operation["responses"] if code >= "300" and code not in common)
    return sections(
        [
            f"### {method.upper()} {path}",
            prose(operation.get("description", "")),
            table(("Parameter", "In", "Type", "Default", "Meaning"), parameters),
            _request(operation, schemas),
            _reply(operation, schemas),
            f"Further statuses: {', '.join(f'`{code}`' for code in further)}." if further else "",
        ]
    )


def _default(parameter: dict[str, Any]) -> str:
    if parameter.get("required"):
        return "required"
    default = parameter["schema"].get("default")
    return "" if default in (None, "") else f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _request(operation: dict[str, Any], schemas: Schemas) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    return f"Body: {_contents(content, schemas)}." if content else ""


def _reply(operation: dict[str, Any], schemas: Schemas) -> str:
    code, reply = next((code, reply) for code, reply in operation["responses"].items() if code.startswith("2"))
    content = reply.get("content", {})
    return f"Reply: `{code}`, {_contents(content, schemas)}." if content else f"Reply: `{code}`, no body."


def _contents(content: dict[str, Any], schemas: Schemas) -> str:
    """The bodies by media type; what is not JSON is named by its media type alone."""
    spelled = []
    for media_type, described in content.items():
        schema = described.get("schema", {})
        known = media_type == "application/json" and schema
        spelled.append(schemas.spell(schema) if known else f"`{media_type}`")
    return " or ".join(spelled)
