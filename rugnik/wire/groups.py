"""`group_by`: a question answered for each value of a category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from rugnik.wire.base import Reply
from rugnik.wire.common import Answer
from rugnik.wire.limits import Doc

_Answer = TypeVar("_Answer", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Reply):
    """A value of the category, and the answer about the rows that have it."""

    value: str
    answer: Annotated[Mapping[str, Any], Doc("As the question is answered without group_by, about this group alone.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(Answer):
    """A question answered for each value of a category, in their order; (other) and (missing) come last.

    With simultaneous=true, all intervals of the same kind hold together with the level asked for: each group is then
    answered at `level_of_each`, 1 - (1 - level) / groups.
    """

    group_by: str
    simultaneous: bool = False
    level_of_each: float | None = None
    groups: tuple[Group, ...]

    def answers(self, kind: type[_Answer]) -> dict[str, _Answer]:
        """The answers by value, as the type that the question has without group_by."""
        return {group.value: kind.of(group.answer) for group in self.groups}
