"""Roles and permissions as data: what each permission allows, and which permissions each role has.

This is the one table of access. Routes name a permission (`app.http.callers`), pages ask `caller.can(...)`, and the
OpenAPI document and docs/permissions.md are written from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Permission(StrEnum):
    """One thing that a caller may do. `sentence` says what it allows."""

    SEE_DATASETS = "see_datasets"
    SEE_ORDERS = "see_orders"
    ASK = "ask"
    CURATE = "curate"
    READ_LEDGER = "read_ledger"
    AUDIT = "audit"
    GRANT = "grant"
    DECIDE = "decide"
    MANAGE_KEYS = "manage_keys"
    READ_METRICS = "read_metrics"

    @property
    def sentence(self) -> str:
        """What this permission allows, for documents."""
        return _SENTENCES[self]


_SENTENCES: Mapping[Permission, str] = {
    Permission.SEE_DATASETS: "See datasets, their budgets and their published releases.",
    Permission.SEE_ORDERS: "See releases that are not published: orders that are open, burnt or void.",
    Permission.ASK: "Ask questions about published synopses, and download them.",
    Permission.CURATE: "Register and close datasets; plan, order, upload and void releases. "
    "Requests of such a caller are neither logged nor counted.",
    Permission.READ_LEDGER: "Read the ledger entries of the datasets that the key reaches.",
    Permission.AUDIT: "Read entries about keys; take the head of the ledger, export it and verify it.",
    Permission.GRANT: "Raise the budget of a dataset.",
    Permission.DECIDE: "Set the two-person rule of a dataset; approve what another key asked for, and refuse it. "
    "An order and a void take `curate` as well, a grant takes `grant`.",
    Permission.MANAGE_KEYS: "Issue, list and revoke keys.",
    Permission.READ_METRICS: "Read the service's counters at /metrics.",
}


class Role(StrEnum):
    """What a key was issued for. No role implies another: `ROLES` lists the permissions of each."""

    ADMIN = "admin"
    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"

    @property
    def summary(self) -> str:
        """What holders of this role do, in a few words."""
        return ROLES[self].summary

    @property
    def permissions(self) -> frozenset[Permission]:
        """What this role may do."""
        return ROLES[self].permissions


@dataclass(frozen=True, slots=True)
class RoleDescription:
    """A role in a few words, and its permissions."""

    summary: str
    permissions: frozenset[Permission]


ROLES: Mapping[Role, RoleDescription] = {
    Role.ANALYST: RoleDescription(
        "asks about published releases",
        frozenset({Permission.SEE_DATASETS, Permission.ASK}),
    ),
    Role.CURATOR: RoleDescription(
        "registers, orders, uploads",
        frozenset(
            {
                Permission.SEE_DATASETS,
                Permission.SEE_ORDERS,
                Permission.ASK,
                Permission.CURATE,
                Permission.READ_LEDGER,
                Permission.DECIDE,
            }
        ),
    ),
    Role.AUDITOR: RoleDescription(
        "reads the whole ledger",
        frozenset(
            {
                Permission.SEE_DATASETS,
                Permission.SEE_ORDERS,
                Permission.ASK,
                Permission.READ_LEDGER,
                Permission.AUDIT,
            }
        ),
    ),
    Role.ADMIN: RoleDescription(
        "keys and grants",
        frozenset(
            {
                Permission.SEE_DATASETS,
                Permission.SEE_ORDERS,
                Permission.READ_LEDGER,
                Permission.AUDIT,
                Permission.GRANT,
                Permission.DECIDE,
                Permission.MANAGE_KEYS,
                Permission.READ_METRICS,
            }
        ),
    ),
}


def roles_with(permission: Permission) -> tuple[Role, ...]:
    """The roles that have a permission, in the order of the table."""
    return tuple(role for role, description in ROLES.items() if permission in description.permissions)


def names_of_roles_with(permission: Permission) -> str:
    """The same as words: "curator, auditor or admin"."""
    *others, last = [role.value for role in roles_with(permission)]
    return f"{', '.join(others)} or {last}" if others else last
