"""What is wrong with a request, in plain sentences: which field, and what it must be.

Faults come as pydantic lists them: `loc`, `type`, and maybe `ctx` and `input`. The words are ours, so that the service
and a bundle (`app.offline`), which knows no pydantic, say the same. No sentence has a value that was sent: at most its
kind in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from app.fields import hint, names_at
from core.budget import HOW_TO_WRITE
from core.intervals.levels import OUT_OF_BOUNDS
from rugnik.wire.base import Body
from rugnik.wire.limits import NAME, NO_CONTROL

IN_WORDS = {  # what a pattern asks for
    NAME: "A name has letters, digits, dot, dash and underscore: up to 64, the first a letter or digit.",
    NO_CONTROL: "A text here has no line ends and no other control characters.",
}
_OTHER_PATTERN = "It has characters that are not taken here."
_EPSILONS = ("epsilon", "budget", "estimate", "above", "two_persons_above")  # fields that are decimal strings
# Errors of pydantic about dataclasses and choices, under the names that clients of this service know.
_TYPES = {
    "unexpected_keyword_argument": "extra_forbidden",
    "dataclass_type": "model_attributes_type",
    "literal_error": "enum",
}
# Values of another kind than the field has, and the kind that it has.
_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
_MUST_BE = {
    "finite_number": "must be a finite number",
    "int_parsing_size": "must be a whole number with fewer digits",
    "string_unicode": "must be text in valid Unicode",
}
_JSON_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number with a decimal point"),
    ((str, bytes), "text"),
    (Mapping, "an object"),
    (list, "a list"),
)
_TOGETHER = "fields_together"  # of our own: every alternative has a field that is not its own
_HINT = "hint"  # of our own as well: which field was meant
_UNKNOWN = "has a field that is not known here."
_SAID = 5  # faults that `detail` has in words; `errors` has all
# How pydantic names an alternative in a place: after its type. No field of a body is called so.
_ALTERNATIVE = re.compile(r"int|float|str|bool|constrained-\w+|\w+\[.*|[A-Z]\w*Body")


@dataclass(frozen=True, slots=True)
class _Fault:
    place: tuple[str | int, ...]
    type: str
    limits: Mapping[str, Any] = field(default_factory=dict)
    sent: Any = None

    @classmethod
    def of(cls, listed: Mapping[str, Any]) -> _Fault:
        kind, place = _TYPES.get(listed["type"], listed["type"]), tuple(listed["loc"])
        # The last part of an unknown field's place is its name, and that is the client's text.
        place = place[:-1] if kind == "extra_forbidden" else place
        return cls(place, kind, listed.get("ctx") or {}, listed.get("input"))

    @property
    def name(self) -> str:
        """The field as a person writes it: `attributes[0].lower`; empty for the body as a whole."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.place[1:])
        return "".join(parts).removeprefix(".")

    @property
    def subject(self) -> str:
        """How its sentence begins."""
        name = f"'{self.name}'"
        return {"path": f"{name} in the address", "header": f"The header {name}"}.get(str(self.place[0]), name)


def places(faults: Iterable[Mapping[str, Any]], body: type[Body] | None = None) -> list[dict[str, Any]]:
    """The entries of `errors`: where in the request, which kind of mistake, and a sentence.

    Where a value may be of several types and fits none, there is one fault and not one for each type. `body` is the
    type that the body should have: the first unknown fields have hints, and no more, because each takes time.
    """
    merged = _merged(_hinted(faults, body))
    return [{"loc": list(fault.place), "type": fault.type, "msg": _sentence(fault)} for fault in merged]


def detail(entries: Sequence[Mapping[str, Any]]) -> str:
    """All of them in words, or the first ones."""
    said = " ".join(str(entry["msg"]) for entry in entries[:_SAID])
    more = len(entries) - _SAID
    return said if more <= 0 else f"{said} And {more:,} more in 'errors'."


def _hinted(faults: Iterable[Mapping[str, Any]], body: type[Body] | None) -> Iterator[_Fault]:
    """The faults, the first unknown fields with a hint which field of this body was meant."""
    hints = 0
    for listed in faults:
        fault = _Fault.of(listed)
        if fault.type == "extra_forbidden" and body is not None and hints < _SAID:
            hints += 1
            meant = hint(str(listed["loc"][-1]), names_at(body, fault.place[1:]))
            yield replace(fault, limits={_HINT: meant})
        else:
            yield fault


def _merged(faults: Iterable[_Fault]) -> Iterator[_Fault]:
    for union, group in groupby(faults, key=_union):
        if union is None:
            yield from group
        else:
            yield from _merged(_nearest(list(group), len(union)))


def _union(fault: _Fault) -> tuple[str | int, ...] | None:
    """The place of the value whose type has alternatives, if this fault is about one of them."""
    for at, part in enumerate(fault.place):
        if at and isinstance(part, str) and _ALTERNATIVE.fullmatch(part):
            return fault.place[:at]
    return None


def _nearest(faults: list[_Fault], depth: int) -> list[_Fault]:
    """The faults of the alternative that was meant, as far as one can tell; or one fault about all alternatives."""
    alternatives = [
        [replace(fault, place=fault.place[:depth] + fault.place[depth + 1 :]) for fault in group]
        for _, group in groupby(faults, key=lambda fault: fault.place[depth])
    ]
    own = [fault for alternative in alternatives for fault in alternative]
    if all(fault.type == "extra_forbidden" and len(fault.place) == depth for fault in own):
        return [replace(own[0], limits={_TOGETHER: True})]
    if all(fault.type in _KINDS and len(fault.place) == depth for fault in own):
        kinds = dict.fromkeys(_KINDS[fault.type] for fault in own)
        if "a number" in kinds:
            kinds.pop("a whole number", None)  # which is one as well
        return [replace(own[0], limits={"kinds": " or ".join(kinds)})]
    return min(alternatives, key=lambda each: sum(_is_another(fault, depth) for fault in each))


def _is_another(fault: _Fault, depth: int) -> bool:
    """Whether a fault says that another alternative was meant."""
    is_kind = fault.type in _KINDS and len(fault.place) == depth
    return is_kind or fault.type in ("missing", "extra_forbidden")


def _sentence(fault: _Fault) -> str:
    last = fault.place[-1]
    match fault.type:
        case "json_invalid":
            text = f"The body is not JSON: see character {int(last) + 1}"  # it counts from 0, and people do not
        case _ if len(fault.place) == 1:
            text = _about_body(fault)
        case _ if last == "level":
            text = f"'level': {OUT_OF_BOUNDS}"
        case "missing":
            text = f"{fault.subject} is missing"
        case "extra_forbidden" if _TOGETHER in fault.limits:
            text = f"{fault.subject} has fields that do not go together, or that are not known here"
        case "extra_forbidden":
            text = f"{fault.subject} {_UNKNOWN}{fault.limits.get(_HINT, '')}"
        case "string_pattern_mismatch":
            text = f"{fault.subject}: {IN_WORDS.get(fault.limits.get('pattern', ''), _OTHER_PATTERN)}"
        case "string_too_long" if last in _EPSILONS:
            text = f"{fault.subject}: {HOW_TO_WRITE}"
        case "value_error":
            text = f"{fault.subject}: {fault.limits.get('error')}"
        case _:
            text = f"{fault.subject} {_must(fault)}"
    return text if text.endswith((".", "?")) else f"{text}."


def _about_body(fault: _Fault) -> str:
    """About the body as a whole."""
    match fault.type:
        case "extra_forbidden":
            return f"The body {_UNKNOWN}{fault.limits.get(_HINT, '')}"
        case "missing":
            return "The body is missing: send a JSON object"
        case "value_error":
            text = str(fault.limits.get("error"))
            return text[:1].upper() + text[1:]
        case _:
            return "The body must be a JSON object, with Content-Type: application/json"


def _must(fault: _Fault) -> str:
    """What the value must be: the rest of the sentence."""
    kind, limits = fault.type, fault.limits
    if kind in _KINDS:
        example = ', such as "0.5"' if kind == "string_type" and fault.place[-1] in _EPSILONS else ""
        text = f"must be {limits.get('kinds', _KINDS[kind])}{example}{_sent(fault)}"
    elif kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        text = f"must be {words} {_number(limits[name])}"
    elif kind == "enum":
        text = f"must be {limits['expected']}"
    elif kind in ("string_too_short", "too_short") and limits.get("min_length") == 1:
        text = "must not be empty"
    elif kind in ("string_too_short", "too_short"):
        text = f"must have at least {_many(limits['min_length'], kind)}"
    elif kind in ("string_too_long", "too_long"):
        text = f"must have at most {_many(limits['max_length'], kind)}"
    else:
        text = _MUST_BE.get(kind, "is not valid")
    return text


def _sent(fault: _Fault) -> str:
    """The kind of what was sent in a body; in an address everything is text."""
    if fault.place[0] != "body":
        return ""
    return "; you sent " + next((name for kind, name in _JSON_KINDS if isinstance(fault.sent, kind)), "something else")


def _many(number: int, kind: str) -> str:
    one, many = ("character", "characters") if kind.startswith("string") else ("entry", "entries")
    return f"{number:,} {one if number == 1 else many}"


def _number(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
