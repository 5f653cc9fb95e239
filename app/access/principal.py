"""Principal: who is calling, and what they may do and see."""

from __future__ import annotations

from dataclasses import dataclass

from app.access.permissions import Permission, Role, names_of_roles_with
from app.errors import NotAllowed


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a key's id, name and role, and the datasets it is limited to (None: not limited)."""

    id: str
    name: str
    role: Role
    datasets: frozenset[str] | None

    @property
    def actor(self) -> str:
        """How the ledger names this caller."""
        return f"{self.name} [{self.id}]"

    def can(self, permission: Permission) -> bool:
        """Whether this caller's role has a permission."""
        return permission in self.role.permissions

    def require(self, permission: Permission) -> None:
        """Raise NotAllowed, with the names of the roles that may, where this caller's role lacks a permission."""
        if not self.can(permission):
            allowed = names_of_roles_with(permission)
            raise NotAllowed(f"This takes a key of role {allowed}; yours is {self.role.value}.")

    def may_see(self, dataset: str) -> bool:
        """Whether this key reaches a dataset of that name."""
        return self.datasets is None or dataset in self.datasets

    @property
    def is_limited(self) -> bool:
        """Whether this key reaches only the datasets on its list."""
        return self.datasets is not None

    @property
    def sees_whole_ledger(self) -> bool:
        """Whether this caller may read all entries: those of every dataset, and those about keys, which have none."""
        return self.can(Permission.AUDIT) and not self.is_limited

    def require_unlimited(self) -> None:
        """Raise NotAllowed for a key that is limited to some datasets."""
        if self.is_limited:
            raise NotAllowed("This needs a key that is not limited to some datasets.")
