"""`where` and `group_by`: the parameters that every question has beside its own, and how groups are answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from app.questions.boxes import parse_box
from app.questions.prepared import Prepared
from app.questions.question import Question, Registered
from core.adaptive.cells import AdaptiveCells
from core.checkpoint import Checkpoint
from core.domain.category import Category
from core.domain.domain import Domain
from core.errors import InvalidQuery
from core.intervals.levels import MAX_LEVEL
from core.noisy_histogram import NoisyHistogram
from core.queries.boxes import Chosen
from core.queries.effort import Effort, effort_of_slices
from rugnik import wire
from rugnik.wire.limits import Doc, Limits
from rugnik.wire.where import SLICE, Where

MAX_GROUPS = 1000


@dataclass(frozen=True, slots=True)
class Sliced:
    """The parameter of every question that is asked of a part of the rows."""

    where: Annotated[Where | None, Doc(SLICE)] = None


@dataclass(frozen=True, slots=True)
class ByGroup:
    """The parameter of every question that is answered group by group."""

    group_by: Annotated[
        str | None,
        Limits(max_length=64),
        Doc(
            "The name of a category: the question is answered for each of its values. Categories outside `where` are "
            "left out."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Together:
    """The parameter of every such question that has intervals."""

    simultaneous: Annotated[
        bool,
        Doc(
            "With group_by: each interval holds for all groups together with the level asked for (Bonferroni). The "
            "several intervals of one answer hold together only where they do without groups."
        ),
    ] = False


def shared_parameters(registered: Registered) -> list[type]:
    """The declarations of the parameters that a question has beside its own."""
    if registered.takes_body:
        return []
    return [*([] if registered.cuts_cells else [Sliced]), ByGroup, *([Together] if registered.has_level else [])]


def asked_with(registered: Registered, given: Mapping[str, Any]) -> Question:
    """The question with its own parameters and the shared ones. InvalidQuery where they do not go together."""
    own = dict(given)
    where = tuple(own.pop("where", None) or ())
    group_by, simultaneous = own.pop("group_by", None), own.pop("simultaneous", False)
    whole = registered.question(own, where)
    if group_by is None:
        if simultaneous:
            raise InvalidQuery("simultaneous=true is about groups: name a category with group_by as well.")
        return whole

    def ask(part: tuple[str, ...], level: float | None) -> Question:
        return registered.question(own if level is None else {**own, "level": level}, part)

    together = {"simultaneous": True} if simultaneous else {}
    return GroupedQuestion(
        name=whole.name,
        parameters={**whole.parameters, "group_by": group_by, **together},
        answerer=whole.answerer,
        costly=whole.costly,
        where=where,
        group_by=group_by,
        level=whole.parameters["level"] if simultaneous else None,
        ask=ask,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedQuestion(Question):
    """A question for each value of a category. With a `level`, each interval holds for all groups together.

    That is the interval of one number, say the mean of age, in every group. The several intervals of one answer hold
    together with that level only if they do without groups.
    """

    group_by: str
    level: float | None
    ask: Callable[[tuple[str, ...], float | None], Question]

    def answer(self, prepared: Prepared, checkpoint: Checkpoint) -> wire.Answer:
        """The answers for all values, one after the other."""
        questions, level = self._groups(prepared)
        groups = []
        for value, asked in questions.items():
            checkpoint()
            answer: Any = asked.answer(prepared, checkpoint)
            groups.append(wire.Group(value=value, answer=answer))
        return wire.Grouped(
            **self.common(prepared),
            group_by=self.group_by,
            simultaneous=level is not None,
            level_of_each=level,
            groups=tuple(groups),
        )

    def effort(self, prepared: Prepared) -> Effort:
        """An upper bound on the sum over all groups, from a single one of them, and what it takes to make them.

        To make a slice of each group takes longer than many answers do, so the estimate must not. The effort of a group
        follows from its grid, which all groups share, and grows with its listed cells at most in proportion. So no sum
        exceeds that of equal groups (Jensen's inequality): a group with at least the mean number of cells stands for
        all of them.
        """
        questions, _ = self._groups(prepared)
        asked = questions[self._typical(prepared, list(questions))]
        each = asked.effort(prepared)
        advice = f"{each.advice} Or ask about fewer groups: where={self.group_by}:… names some of them."
        slicing = effort_of_slices(prepared.histogram, len(questions)) if asked.where else 0.0
        return Effort(len(questions) * each.seconds + slicing, advice)

    def _typical(self, prepared: Prepared, labels: list[str]) -> str:
        """The group with the fewest listed cells of those that have the mean number or more."""
        histogram = prepared.part(tuple(sorted(set(self._others())))).histogram
        x = histogram.domain.names.index(self.group_by)
        places = _places(histogram, x)
        if places is None:
            return labels[0]
        attribute = histogram.domain.attributes[x]
        assert isinstance(attribute, Category)  # noqa: S101 - _labels has seen to it
        cells = np.bincount(places, minlength=histogram.grid.shape[x])
        by_label = dict(zip(attribute.labels, cells.tolist(), strict=True))
        mean = sum(by_label[label] for label in labels) / len(labels)
        return min((label for label in labels if by_label[label] >= mean), key=by_label.__getitem__)

    def _others(self) -> tuple[str, ...]:
        """The parts of other attributes."""
        return tuple(part for part in self.where if part.partition(":")[0] != self.group_by)

    def _groups(self, prepared: Prepared) -> tuple[dict[str, Question], float | None]:
        """The question of each group by its value; and its level, where that is corrected."""
        labels = _labels(prepared.synopsis.domain, self.group_by, self.where)
        level = None if self.level is None else _level_of_each(self.level, len(labels))
        others = self._others()
        return {label: self.ask((*others, f"{self.group_by}:{label}"), level) for label in labels}, level


def _places(histogram: NoisyHistogram, x: int) -> NDArray[np.int64] | None:
    """The category of each listed cell; None where each category has equally many cells."""
    cells, shape = histogram.cells, histogram.grid.shape
    if isinstance(cells, AdaptiveCells):
        return cells.leaves.places[:, x]
    return None if cells.listed is None else cells.listed // prod(shape[x + 1 :]) % shape[x]


def _labels(domain: Domain, name: str, where: tuple[str, ...]) -> list[str]:
    """The values of a category that lie in the part asked about, in order."""
    categories = {each.name: each for each in domain.attributes if isinstance(each, Category)}
    if name not in categories:
        names = ", ".join(categories) or "none"
        raise InvalidQuery(f"group_by takes the name of a category of this release; it has: {names}.")
    labels = list(categories[name].labels)
    for part in parse_box(where, domain):
        if isinstance(part, Chosen) and part.attribute == name:
            labels = [label for label in labels if label in part.labels]
    if not labels:
        raise InvalidQuery(f"The parts of {name} have no value in common.")
    if len(labels) > MAX_GROUPS:
        raise InvalidQuery(f"At most {MAX_GROUPS:,} groups are answered at once; name some with where={name}:a,b.")
    return labels


def _level_of_each(level: float, groups: int) -> float:
    """1 - (1 - level) / groups (Bonferroni)."""
    each = 1.0 - (1.0 - level) / groups
    if each > MAX_LEVEL:
        most = 1.0 - (1.0 - MAX_LEVEL) * groups
        raise InvalidQuery(f"Intervals for {groups} groups together have a level of at most {most:.6f}.")
    return each
