"""Checks of what a method is given, before anything is sent: a wrong argument is answered with a sentence.

The service checks every request by itself. These checks are for what could not be sent at all, or would be sent as
something else than was meant: a text in place of a list, a tuple of three in place of a range, None in place of a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import iscoroutinefunction
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from rugnik.errors import UnfitArgument

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def described(value: object) -> str:
    """A value in a few words, for a message: a long one by its type alone."""
    if value is None or isinstance(value, bool):
        return f"{value}"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= 40 else f"a text of {len(value)} characters"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return f"the number {value}" if isinstance(value, Real) else f"a {type(value).__name__}"


def unfit(name: str, expected: str, value: object) -> UnfitArgument:
    """The error for an argument: what is expected, and what was given."""
    return UnfitArgument(f"{name} is {expected}; given was {described(value)}.")


def one_answer(method: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """A method that gives one answer: `group_by` is refused with the call that gives an answer for each value."""

    def refuse_groups(given: Mapping[str, Any]) -> None:
        if "group_by" in given:
            raise by_group(method.__annotations__["return"])

    @wraps(method)
    def asking(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        refuse_groups(kwargs)
        return method(*args, **kwargs)

    @wraps(method)
    async def waiting(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Any:
        refuse_groups(kwargs)
        return await method(*args, **kwargs)  # type: ignore[misc] # it is a coroutine function

    return waiting if iscoroutinefunction(method) else asking  # type: ignore[return-value] # what awaits stays so


def by_group(answer: str) -> UnfitArgument:
    """The error for `group_by` where there is one answer, of this type."""
    return UnfitArgument(
        f'This gives one answer. For each value of a category, ask_by_group(release, {answer}, "sex", …) gives one.'
    )


def whole(name: str, value: Any) -> int:
    """A whole number, of Python or of NumPy."""
    if isinstance(value, bool) or not (
        isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    ):
        raise unfit(name, "a whole number, such as 5", value)
    return int(value)


def number(name: str, value: Any) -> float:
    """A number, of Python or of NumPy."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise unfit(name, "a number, such as 0.95", value)
    return float(value)


def text(name: str, expected: str, value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise unfit(name, expected, value)
    return value


def names(name: str, value: str | Sequence[str]) -> list[str]:
    """Names of attributes; a single text is the name of one."""
    listed = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else []
    if not listed or not all(isinstance(each, str) for each in listed):
        raise unfit(name, 'the name of an attribute, or a list of names such as ["age", "income"]', value)
    return listed


def numbers(name: str, value: float | Iterable[float]) -> list[float]:
    """Numbers; a single one is a list of one."""
    if isinstance(value, str) or not isinstance(value, Real | Iterable):
        raise unfit(name, "a number, or a list of numbers such as [0.25, 0.5]", value)
    return [number(name, each) for each in ([value] if isinstance(value, Real) else value)]


def points(given: Any, value_of: Callable[[Any], Any]) -> list[list[Any]]:
    """The rows of a list of points, of a NumPy array, or of a data frame."""
    if hasattr(given, "itertuples"):  # of pandas: to go through it would give the names of its columns
        given = given.itertuples(index=False, name=None)
    try:
        listed = [None if isinstance(each, str) else [value_of(value) for value in each] for each in given]
    except TypeError:
        listed = [None]
    values = [each for each in listed if each is not None]
    if len(values) != len(listed):
        raise unfit("points", "a list of points, each with a value for every attribute that is no category", given)
    return values
