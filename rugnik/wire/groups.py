"""`group_by`: a question answered for each value of a category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from rugnik.errors import UnfitArgument
from rugnik.wire.base import Reply, imported_pandas
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

    With simultaneous=true, each interval (say, of the mean of age) holds for all groups together with the level asked
    for: each group is then answered at `level_of_each`, 1 - (1 - level) / groups. The several intervals of one answer
    hold together with the level asked for only where they do without groups, as those of hotspots.
    """

    group_by: str
    simultaneous: bool = False
    level_of_each: float | None = None
    groups: tuple[Group, ...]

    def answers(self, kind: type[_Answer]) -> dict[str, _Answer]:
        """The answers by value, as the type that the question has without group_by."""
        return {group.value: kind.of(group.answer) for group in self.groups}

    @property
    def kind(self) -> type[Answer] | None:
        """The type of each group's answer; None for a question that this client does not know."""
        from rugnik import wire  # noqa: PLC0415 - it imports this module

        kinds = (getattr(wire, name) for name in wire.__all__)
        return next((kind for kind in kinds if getattr(kind, "path", None) == self.question), None)

    def to_pandas(self) -> Any:
        """The tables of all groups below one another, each row with the value of its group."""
        kind = self.kind
        if kind is None or not hasattr(kind, "to_pandas"):
            raise UnfitArgument(f"There is no table of {self.question} by group: answers(…) has the answer of each.")
        pandas = imported_pandas()
        tables = {value: answer.to_pandas() for value, answer in self.answers(kind).items()}
        whole = pandas.concat(tables, names=[self.group_by]).reset_index(level=0)
        whole[self.group_by] = pandas.Categorical(whole[self.group_by], categories=list(tables))
        return whole.reset_index(drop=True)
