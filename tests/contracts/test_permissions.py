"""Permissions are data: one table, which routes, pages and documents read and nothing else repeats."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from app.access.permissions import ROLES, Permission, Role, roles_with
from app.access.principal import Principal
from app.errors import NotAllowed
from app.http.access_document import permissions_by_route
from app.main import ROUTERS
from tests.contracts.test_roles import MATRIX, PAGES
from tests.support.service.routes import operations
from tests.support.service.world import opened_world

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "app/dashboard/templates"


def holder(role: Role) -> Principal:
    return Principal(id="k0", name="somebody", role=role, datasets=None)


def test_every_permission_is_described_and_held_by_somebody() -> None:
    """A permission that no role has would close a route for good; one without a sentence explains nothing."""
    for permission in Permission:
        assert permission.sentence.endswith(".")
        assert roles_with(permission)


def test_every_role_is_in_the_table() -> None:
    """A role without a row could not be asked what it may do."""
    assert set(ROLES) == set(Role)
    for role in Role:
        assert role.summary
        assert holder(role).can(Permission.SEE_DATASETS)


def test_no_role_both_uploads_and_raises_budgets() -> None:
    """Requests of whoever may upload leave no log line, so more epsilon and more keys are for somebody else to give."""
    for description in ROLES.values():
        assert not {Permission.CURATE, Permission.GRANT} <= description.permissions
        assert not {Permission.CURATE, Permission.MANAGE_KEYS} <= description.permissions


def test_a_refusal_names_the_roles_that_may() -> None:
    """The holder of a wrong key learns which key to ask for."""
    holder(Role.AUDITOR).require(Permission.ASK)
    with pytest.raises(NotAllowed) as refused:
        holder(Role.ADMIN).require(Permission.ASK)
    assert str(refused.value) == "This takes a key of role analyst, curator or auditor; yours is admin."


def test_the_permission_of_each_route_is_that_of_the_matrix() -> None:
    """What the signature of a route says is what a request of each role meets (test_roles.py)."""
    permissions = permissions_by_route(ROUTERS)
    for route, rule in (MATRIX | PAGES).items():
        permission = permissions[route]
        allowed = frozenset(roles_with(permission)) if permission else frozenset({*Role, None})
        assert allowed == rule.allowed, route


def test_the_openapi_document_names_the_roles_of_each_operation(tmp_path: Path) -> None:
    """Permission and roles for each operation that takes a key, for programs and in words; neither for the others."""
    with opened_world(tmp_path) as world:
        documented = operations(world.api.app)
    for route, rule in MATRIX.items():
        roles = {str(role) for role in rule.allowed if role is not None}
        operation = documented[route]
        if None in rule.allowed:
            assert "x-roles" not in operation
        else:
            assert set(operation["x-roles"]) == roles
            assert operation["description"].endswith(f"\n\nRoles: {', '.join(operation['x-roles'])}.")
            assert Permission(operation["x-permission"])


def test_no_role_is_named_outside_of_the_table() -> None:
    """Code and pages ask for permissions: a role is spelled where it is described and where the first keys are made."""
    makes_keys = {ROOT / "app/access/keys.py", ROOT / "app/cli/demo.py"}
    for file in sorted(ROOT.joinpath("app").rglob("*.py")):
        if file in makes_keys or file.name == "permissions.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                assert not ast.unparse(node).startswith("Role."), f"{file}:{node.lineno}"
    for template in sorted(TEMPLATES.glob("*.html")):
        text = template.read_text(encoding="utf-8")
        assert "Role." not in text, template
        assert ".role ==" not in text, template
