"""`clusters/assign`: the analyst's own points and their nearest centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rugnik.wire.base import Body, frame
from rugnik.wire.common import Answer, Value
from rugnik.wire.limits import MAX_POINTS, Doc, Finite, Limits, Method
from rugnik.wire.where import SLICE, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignBody(Body):
    """The analyst's own points, each with a value for every attribute that is no category.

    Values are numbers; those of dates and datetimes are texts, as in `where`.
    """

    points: Annotated[list[list[Finite | str]], Limits(max_length=MAX_POINTS)]
    k: Annotated[int, Limits(ge=1)]
    seed: Annotated[int, Limits(ge=0, lt=2**63)] = 0
    method: Method = "posterior"
    where: Annotated[Where | None, Doc(SLICE)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Answer):
    """The number of the nearest centre for each point."""

    path: ClassVar[str] = "clusters/assign"

    labels: tuple[int, ...]
    centers: tuple[tuple[Value, ...], ...]
    method: Method
    method_reason: str

    def to_pandas(self) -> Any:
        """One row per point, in the order given: the number of its centre, counted from 0."""
        return frame({"label": self.labels})
