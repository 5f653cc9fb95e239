"""Bodies that do not fit their declaration, for every route that takes one, and the sentence that each is refused with.

The addresses name what a World holds, as in {published}.
"""

from __future__ import annotations

from typing import Any

from tests.support.service.api import ATTRIBUTES

_DATASETS, _ORDERS, _PLANS = "/v1/datasets", "/v1/datasets/city/releases", "/v1/datasets/city/plans"
_GRANTS, _RULE, _KEYS = "/v1/datasets/city/grants", "/v1/datasets/city/rule", "/v1/keys"
_COUNTS, _ASSIGN = "/v1/releases/{published}/counts", "/v1/releases/{published}/clusters/assign"
_SIZE, _REFUSE = "/v1/releases/{ordered}/size", "/v1/requests/q1/refuse"
_NAME = "A name has letters, digits, dot, dash and underscore: up to 64, the first a letter or digit."
_LINE = "A text here has no line ends and no other control characters."
_NOT_HERE = "has a field that is not known here."


def _dataset(**changes: Any) -> dict[str, Any]:
    return {"name": "new", "attributes": ATTRIBUTES, "budget": "1"} | changes


def _lower(value: Any) -> dict[str, Any]:
    return _dataset(attributes=[{"name": "a", "lower": value, "upper": 5}])


def _order(**changes: Any) -> dict[str, Any]:
    return {"epsilon": "0.1", "clusters": 2} | changes


BAD_BODIES: list[tuple[str, Any, str]] = [
    (_DATASETS, {}, "'name' is missing. 'attributes' is missing. 'budget' is missing."),
    (_DATASETS, [], "The body must be a JSON object, with Content-Type: application/json."),
    (_DATASETS, None, "The body is missing: send a JSON object."),
    (_DATASETS, _dataset(name="a b"), f"'name': {_NAME}"),
    (_DATASETS, _dataset(description="a\nb"), f"'description': {_LINE}"),
    (_DATASETS, _dataset(description="x" * 2001), "'description' must have at most 2,000 characters."),
    (_DATASETS, _dataset(attributes=[]), "'attributes' must not be empty."),
    (_DATASETS, _dataset(attributes=ATTRIBUTES * 17), "'attributes' must have at most 32 entries."),
    (_DATASETS, _dataset(budget=1), "'budget' must be text, such as \"0.5\"; you sent a whole number."),
    (_DATASETS, _dataset(unit={"kind": "family"}), "'unit.kind' must be 'record' or 'person'."),
    (_DATASETS, _dataset(colour="red"), f"The body {_NOT_HERE} It takes: name, description, attributes, unit, budget, "
     "two_persons_above, about."),
    (_DATASETS, _dataset(budgt="1"), f"The body {_NOT_HERE} Is it 'budget'?"),
    (_DATASETS, _dataset(attributes=[{"name": "a", "lowr": 0, "upper": 5}]), f"'attributes[0]' {_NOT_HERE} "
     "Is it 'lower'?"),
    (_DATASETS, _dataset(**{"budget" * 99: "1"}), f"The body {_NOT_HERE} It takes: name, description, attributes, "
     "unit, budget, two_persons_above, about."),
    (_DATASETS, _lower([]), "'attributes[0].lower' must be a number or text; you sent a list."),
    (_DATASETS, _lower("x" * 41), "'attributes[0].lower' must have at most 40 characters."),
    (_DATASETS, _dataset(about={"colour": "red"}), f"'about' {_NOT_HERE} It takes: curators, contact, intended_use, "
     "region, sector, collection, preparation, justification, licence."),
    (_ORDERS, _order(clusters="many"), "'clusters' must be a whole number; you sent text."),
    (_ORDERS, _order(clusters=2.5), "'clusters' must be a whole number; you sent a number with a decimal point."),
    (_ORDERS, _order(clusters=0), "'clusters' must be at least 1."),
    (_ORDERS, _order(rule="best"), "'rule' must be 'rugnik', 'eugkm' or 'adaptive'."),
    (_ORDERS, _order(label=""), "'label' must not be empty."),
    (_ORDERS, _order(size=500), "'size' must be an object; you sent a whole number."),
    (_ORDERS, _order(size={"declared": "500"}), "'size.declared' must be a whole number; you sent text."),
    (_ORDERS, _order(size={"declared": 0}), "'size.declared' must be at least 1."),
    (_ORDERS, _order(size={"estimate": 0.1}), "'size.estimate' must be text, such as \"0.5\"; you sent a number with "
     "a decimal point."),
    (_ORDERS, _order(size={"estimate": "0.1", "declared": 5}), "'size' has fields that do not go together, or that "
     "are not known here."),
    (_ORDERS, _order(attributes=[None]), "'attributes[0]' must be text; you sent null."),
    (_PLANS, {"clusters": 2}, "Give either epsilon or target."),
    (_PLANS, {"clusters": 2, "target": {"count_error": True}, "purpose": "fun"}, "'purpose' must be 'clusters' or "
     "'counts'."),
    (_PLANS, {"clusters": 2, "target": {"count_error": -1}}, "'target.count_error' must be above 0."),
    (_GRANTS, {"epsilon": "0.1", "reason": ""}, "'reason' must not be empty."),
    (_RULE, {"above": True}, "'above' must be text, such as \"0.5\"; you sent true or false."),
    (_KEYS, {"name": "x", "role": "king"}, "'role' must be 'admin', 'curator', 'analyst' or 'auditor'."),
    (_SIZE, {"rows": -1}, "'rows' must be at least 0."),
    (_REFUSE, {"reason": {}}, "'reason' must be text; you sent an object."),
    (_COUNTS, {"boxes": [[]], "levl": 0.9}, f"The body {_NOT_HERE} Is it 'level'?"),
    (_COUNTS, {"boxes": ["age:1..2"]}, "'boxes[0]' must be a list; you sent text."),
    (_COUNTS, {"boxes": [[]], "level": 2}, "'level': A level lies above 0 and is at most 0.999999."),
    (_COUNTS, {"boxes": [5] * 8}, " ".join(f"'boxes[{i}]' must be a list; you sent a whole number." for i in range(5))
     + " And 3 more in 'errors'."),
    (_ASSIGN, {"points": [[{}, 1]], "k": "x"}, "'points[0][0]' must be a number or text; you sent an object. 'k' must "
     "be a whole number; you sent text."),
]  # fmt: skip
