"""The HTTP reference, from the OpenAPI document of a service that is never started."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.http.reference import Operation, read_reference
from app.http.schemas import Described
from docs.reference.markdown import prose, sections, table


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
    reference = read_reference(document)
    codes = ", ".join(f"`{code}`" for code in reference.common_refusals)
    parts = [f"Any route may refuse a request with {codes}. The routes below list only further statuses."]
    for title, operations in reference.groups.items():
        parts += [f"## {title}", *map(_operation, operations)]
    return sections([*parts, "## Bodies and answers", *map(_described, reference.schemas)])


def _operation(operation: Operation) -> str:
    parameters = [each._replace(meaning=prose(each.meaning)) for each in operation.parameters]
    refusals = ", ".join(f"`{code}`" for code in operation.refusals)
    return sections(
        [
            f"### {operation.method} {operation.path}",
            prose(operation.text),
            table(("Parameter", "In", "Type", "Default", "Meaning"), parameters),
            f"Body: {operation.body}." if operation.body else "",
            f"Reply: `{operation.status}`. {operation.reply}"
            if operation.is_redirect
            else f"Reply: `{operation.status}`, {operation.reply}.",
            f"Further statuses: {refusals}." if refusals else "",
        ]
    )


def _described(schema: Described) -> str:
    has_meanings = any(meaning for *_, meaning in schema.fields)
    header = ("Field", "Type", "Default", "Meaning")[: 4 if has_meanings else 3]
    rows = [(*each[:3], prose(each[3]))[: len(header)] for each in schema.fields]
    return sections([f"### {schema.title}", prose(schema.text), schema.values, table(header, rows)])
