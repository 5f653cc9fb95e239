"""What an address that is not taken was probably meant to be: the methods that it takes, or the nearest route.

`routes` are methods and templates. No reply has text of the client, so results are templates and methods alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from itertools import zip_longest

from fastapi import APIRouter
from fastapi.routing import APIRoute

Routes = Collection[tuple[str, str]]

_LEAST_LIKE = 0.75  # of SequenceMatcher: 1 is the same text
_LONGEST = 100  # characters without parameters; a longer address is like none
_LONGEST_ADDRESS = 1000  # characters; a longer one is not looked at, because the server does nothing else meanwhile
_GIVEN = "\0"  # stands for a parameter
_PARAMETER = re.compile(r"\\\{\w+\\\}")  # in a template after re.escape


def documented(routers: Iterable[APIRouter]) -> list[tuple[str, str]]:
    """The methods and templates of all routes that are in the OpenAPI document, which takes long to make."""
    return [
        (method, route.path_format)
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in sorted(route.methods or ())
    ]


def methods_at(path: str, routes: Routes) -> list[str]:
    """The methods that an address takes; none where it leads nowhere."""
    if len(path) > _LONGEST_ADDRESS:
        return []
    return sorted({method for method, template in routes if _leads(path, template)})


def nearest(method: str, path: str, routes: Routes) -> str | None:
    """`GET /v1/releases/{release_id}/moments` for an address that is nearly one; None where none is near.

    What stands in the place of a parameter counts as right. Of two that are as near, the one with this method.
    """
    if len(path) > _LONGEST_ADDRESS:
        return None
    parts = path.split("/")
    likeness = {route: _likeness(parts, route[1].split("/")) for route in routes}
    best = max(likeness, key=lambda route: (likeness[route], route[0] == method), default=None)
    return None if best is None or likeness[best] < _LEAST_LIKE else " ".join(best)


def _leads(path: str, template: str) -> bool:
    """Whether an address is one of a template; `{rest}` is as many parts as there are."""
    pattern = re.escape(template).replace(re.escape("{rest}"), ".+")
    return re.fullmatch(_PARAMETER.sub("[^/]+", pattern), path) is not None


def _likeness(parts: list[str], template: list[str]) -> float:
    """How like they are, with one sign in both for each parameter that is given: long ones must cost no time."""
    is_given = [bool(part) and slot.startswith("{") for part, slot in zip_longest(parts, template, fillvalue="")]
    asked, meant = (
        "/".join(_GIVEN if given else part for part, given in zip(listed, is_given, strict=False))
        for listed in (parts, template)
    )
    if len(asked) > _LONGEST:
        return 0.0
    matcher = SequenceMatcher(None, asked, meant, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= _LEAST_LIKE else 0.0  # the first is slow, the second a bound
