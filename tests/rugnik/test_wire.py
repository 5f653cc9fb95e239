"""The wire types: frozen, spelled once, written by one rule and read tolerantly."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest

import rugnik
from rugnik import wire
from rugnik.errors import UnexpectedReply
from rugnik.wire.base import dumped, kinds_of
from rugnik.wire.cells import Axis, boxes_of, cell_frame

TYPES = [getattr(wire, name) for name in wire.__all__ if name not in {"Body", "Reply"}]
ANSWER = {"release": "r1", "synopsis_digest": "d", "epsilon_spent": "0", "question": "count", "parameters": {}}
ENDS = {"low": 1.0, "high": 3.0}
COUNT: dict[str, Any] = ANSWER | {
    "count": 2.0,
    "interval": {"level": 0.95, **ENDS},
    "noise": {**ENDS, "sd": 0.5},
    "discretisation": ENDS,
}
VERIFICATION = {"valid": True, "entries": 1, "head": {"seq": 1, "hash": "h"}, "first_bad": None, "reason": None}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: str(kind.__name__))
def test_every_type_is_a_frozen_dataclass_with_words(kind: Any) -> None:
    """Nobody changes an answer by accident, no field can be misspelled, and each type says what it is."""
    assert kind.__dataclass_params__.frozen
    assert "__dict__" not in dir(kind)
    assert kind.__doc__.strip().endswith(".")
    assert not kind.__doc__.startswith(f"{kind.__name__}(")


def test_a_reply_is_written_as_it_was_read() -> None:
    """The same fields in the same order, null where it was null."""
    for kind, data in ((wire.Count, COUNT), (wire.Verification, VERIFICATION)):
        assert dumped(kind.of(data)) == json.dumps(data, separators=(",", ":")).encode()


def test_a_field_is_left_out_while_it_has_its_default() -> None:
    """`snapped` is there where it was asked for."""
    snapped = COUNT | {"snapped": {"age": ENDS}}
    assert json.loads(dumped(wire.Count.of(snapped))) == snapped


def test_a_request_says_everything_that_it_asks_for() -> None:
    """A service of another version may have other defaults, and an order is on record for ever."""
    order = wire.OrderBody(epsilon="1", clusters=3, rule="rugnik", size=wire.EstimateBody(estimate="0.05"))
    sent = json.loads(dumped(order))
    assert (sent["rule"], sent["out_of_range"], sent["size"]) == ("rugnik", "clip", {"estimate": "0.05"})
    assert "attributes" not in sent
    sized = wire.OrderBody(epsilon="1", clusters=3, size=wire.DeclaredBody(declared=5))
    assert json.loads(dumped(sized))["size"] == {"declared": 5}
    assert json.loads(dumped(wire.CountsBody(boxes=[[]], level=0.95)))["level"] == 0.95


def test_raw_is_the_json_and_nothing_else_of_a_reply() -> None:
    """It has the fields of a newer service; it is neither compared, nor shown, nor written."""
    newer = wire.Count.of(COUNT | {"colour": "blue"})
    assert newer.raw["colour"] == "blue"
    assert newer == wire.Count.of(COUNT)
    assert "blue" not in repr(newer)
    assert b"blue" not in dumped(newer)
    assert wire.Interval(level=0.9, **ENDS).raw == {"level": 0.9, **ENDS}


def test_replies_are_copied_and_pickled_with_their_json() -> None:
    """As notebooks and process pools do."""
    newer = wire.Count.of(COUNT | {"colour": "blue"})
    unpickled = pickle.loads(pickle.dumps(newer))  # noqa: S301 - our own bytes
    for again in (unpickled, copy.deepcopy(newer)):
        assert (again, again.raw) == (newer, newer.raw)


@pytest.mark.parametrize("name", sorted(COUNT))
def test_a_reply_without_a_field_that_must_be_there_is_refused(name: str) -> None:
    """Named, so that somebody can see which service this is not."""
    with pytest.raises(UnexpectedReply, match=f"'{name}'"):
        wire.Count.of({key: value for key, value in COUNT.items() if key != name})


def test_a_plan_takes_an_epsilon_or_a_target() -> None:
    """Refused here as the service would refuse it."""
    for given in ({}, {"epsilon": "1", "target": wire.TargetBody(count_error=9)}):
        with pytest.raises(ValueError, match="either epsilon or target"):
            wire.PlanBody(clusters=3, **given)


def test_the_secret_of_a_key_is_not_shown() -> None:
    """A notebook keeps what repr() shows."""
    fields = {"id": "i", "name": "n", "role": "admin", "datasets": None, "created_at": "c", "revoked_at": None}
    assert "CANARY" not in repr(wire.NewKey.of(fields | {"key": "CANARY"}))


def test_what_is_exported_is_there() -> None:
    """`__all__` of the package and of its types; each type is exported once."""
    assert all(hasattr(rugnik, name) for name in rugnik.__all__)
    assert wire.__all__ == sorted(set(wire.__all__))
    assert all(dataclasses.is_dataclass(kind) for kind in TYPES)


def test_no_column_of_a_table_hides_another() -> None:
    """A category may be called like the column of counts, or like the end of another attribute."""
    ordered = Axis(name="age", edges=(0.0, 1.0))
    axes = (Axis(name="age_lower", kind="category", edges=(), labels=("a",)), ordered)
    axes += (Axis(name="count", kind="category", edges=(), labels=("b",)),)
    table = cell_frame(axes, boxes_of(axes), count=[7])
    assert table.to_dict("list") == {
        "age_lower": ["a"],
        "age_lower_2": [0.0],
        "age_upper": [1.0],
        "count_2": ["b"],
        "count": [7],
    }


def test_only_texts_of_dates_and_datetimes_are_read_as_times() -> None:
    """A text of another kind, such as a service of a newer version may send, stays a text in a data frame."""
    columns = {"day": [None, "2026-01-31"], "at": ["2026-01-31T10:00:00Z"], "stay": ["PT3H"], "age": [1.5, None]}
    assert kinds_of(columns) == {"day": "date", "at": "datetime"}
