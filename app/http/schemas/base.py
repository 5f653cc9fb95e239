"""What all request bodies share: epsilon travels as a decimal string, unknown fields are refused as mistakes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from core.plan import MAX_SIZE

EpsilonText = Annotated[
    str,
    Field(description='A decimal string with at most nine places, such as "0.25".', max_length=13, examples=["0.5"]),
]
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
DatasetName = Annotated[str, StringConstraints(pattern=NAME)]
NO_CONTROL = r"^[^\x00-\x1f\x7f]*$"  # PostgreSQL holds no NUL, and a name with a line end is a mistake
Line = Annotated[str, StringConstraints(pattern=NO_CONTROL, strip_whitespace=True)]
IN_WORDS = {  # what a pattern asks for
    NAME: "A name has letters, digits, dot, dash and underscore: up to 64, the first a letter or digit.",
    NO_CONTROL: "A text here has no line ends and no other control characters.",
}
Whole = Annotated[int, Field(strict=True, ge=1, le=MAX_SIZE)]


class Body(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="forbid")
