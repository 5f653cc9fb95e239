"""Who may call what, as documents: fields of the OpenAPI document, and the page docs/permissions.md.

Both are read from the signatures of the routes and from `app.access.permissions`, so they cannot disagree with what the
service does. `python -m docs.reference` writes the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from app.access.permissions import ROLES, Permission, roles_with
from app.http.callers import permission_of


def permissions_by_route(routers: Iterable[APIRouter]) -> dict[tuple[str, str], Permission | None]:
    """The permission that each method and path requires; None where no key is needed."""
    return {
        (method, route.path_format): permission_of(route.dependant)
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods or ())
    }


def add_to_openapi(app: FastAPI, routers: Iterable[APIRouter]) -> None:
    """Let the OpenAPI document name the permission and the roles of each operation."""
    permissions = permissions_by_route(routers)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _add_roles(generate(), permissions)
        return generate()  # the one that is kept by now

    app.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents for extending the document


def _add_roles(document: dict[str, Any], permissions: Mapping[tuple[str, str], Permission | None]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            permission = permissions.get((method.upper(), path))
            if permission is not None:
                roles = [role.value for role in roles_with(permission)]
                operation["x-permission"] = permission.value
                operation["x-roles"] = roles
                operation["description"] += f"\n\nRoles: {', '.join(roles)}."


def access_page(routers: Iterable[APIRouter]) -> str:
    """The tables of the page docs/permissions.md: roles, permissions and routes."""
    return "\n".join((_role_table(), _permission_table(), _route_table(permissions_by_route(routers))))


def _role_table() -> str:
    rows = [(role.value, description.summary) for role, description in ROLES.items()]
    return "## Roles\n\n" + _table(("Role", "In short"), rows)


def _permission_table() -> str:
    marks = [
        (
            f"`{permission.value}`",
            permission.sentence,
            *("yes" if permission in description.permissions else "" for description in ROLES.values()),
        )
        for permission in Permission
    ]
    return "## Permissions\n\n" + _table(("Permission", "Allows to", *(role.value for role in ROLES)), marks)


def _route_table(permissions: Mapping[tuple[str, str], Permission | None]) -> str:
    rows = [
        (
            f"`{method} {path}`",
            f"`{permission.value}`" if permission else "",
            ", ".join(role.value for role in roles_with(permission)) if permission else "no key needed",
        )
        for (method, path), permission in permissions.items()
    ]
    return "## Routes\n\n" + _table(("Route", "Permission", "Roles"), rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
