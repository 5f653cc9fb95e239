"""Doc and Limits: what a field means and which values it takes, as metadata of `Annotated`.

    level: Annotated[float, Limits(gt=0, le=1), Doc("The probability that an interval holds with.")] = 0.95

They are standard-library values. The service validates by them and documents them in OpenAPI: pydantic calls the
methods with its name, and does not have to be there for anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

MAX_LABEL = 80  # characters
MAX_BOXES = 10_000  # in one request for counts
MAX_POINTS = 100_000  # in one request to assign points
# As in core, which knows nothing of this package; a test compares them.
MAX_LEVEL = 0.999999
MAX_SIZE = 10**12
MAX_DIMENSIONS = 32
MAX_ROWS = 1000  # of a person

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
# PostgreSQL holds no NUL, and a name with a line end is a mistake. Controls of a terminal, and those that turn the
# direction of writing or are not seen at all, would show a second person another text than the one on record.
NO_CONTROL = r"^[^\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]*$"


@dataclass(frozen=True, slots=True)
class Doc:
    """The description of a field, and maybe an example."""

    text: str
    example: str | None = None

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        described = handler(schema) | {"description": self.text}
        return described if self.example is None else described | {"examples": [self.example]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Which values of its type a field takes. The names are those of pydantic, except `choices`."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    strip_whitespace: bool | None = None
    strict: bool | None = None
    allow_inf_nan: bool | None = None
    choices: tuple[str, ...] | None = None

    def given(self) -> dict[str, Any]:
        """The limits that are set, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        if self.choices is not None:
            return {"type": "literal", "expected": list(self.choices)}
        return handler(source) | self.given()


def one_of(*choices: str) -> Limits:
    """The words that a field may hold."""
    return Limits(choices=choices)


Finite = Annotated[float, Limits(allow_inf_nan=False)]
Whole = Annotated[int, Limits(strict=True, ge=1, le=MAX_SIZE)]
Line = Annotated[str, Limits(pattern=NO_CONTROL, strip_whitespace=True)]
DatasetName = Annotated[str, Limits(pattern=NAME)]
EpsilonText = Annotated[
    str, Limits(max_length=13), Doc('A decimal string with at most nine places, such as "0.25".', example="0.5")
]
Level = Annotated[
    float,
    Limits(gt=0, le=MAX_LEVEL),
    Doc(f"The probability that an interval is to hold with: above 0, up to {MAX_LEVEL}."),
]
Cells = Annotated[int | None, Limits(ge=1, le=2**16), Doc("At most so many cells on an axis: neighbours are added up.")]
Seed = Annotated[int, Limits(ge=0, lt=2**63), Doc("A public seed: the same seed gives the same answer.")]
Method = Annotated[str, one_of("posterior", "projected", "thresholded", "lloyd"), Doc("How centres are placed.")]
