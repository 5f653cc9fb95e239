"""`where`: which part of the rows a question is about."""

from __future__ import annotations

from typing import Annotated

from rugnik.wire.limits import Limits

PART = (
    "attribute:lower..upper, such as age:20..40; either end may be left out. The range of a number or a datetime is "
    "half-open, [lower, upper): a value equal to lower is counted, a value equal to upper is not, unless upper is the "
    "upper bound of a number. The range of an integer or a date is closed: hour:6..10 holds both 6 and 10, and hour:6 "
    "is the single value 6. A category is written sex:f or sex:f,x, with (other) for all values that are not on its "
    "list. Where missing values are kept, age:(missing) are the rows without an age; a range leaves them out. A range "
    "that reaches beyond the bounds is cut to them; one that is empty or lies outside them is refused. Parts of the "
    "same attribute intersect."
)
SLICE = (
    f"Ask about a part of the rows only: {PART} Repeat for more. Each range is moved to the nearest cell edges, so "
    "that the part consists of whole cells; `slice` in the answer says what was answered."
)
Where = Annotated[list[Annotated[str, Limits(max_length=500)]], Limits(max_length=64)]
