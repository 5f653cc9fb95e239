"""Synopsis: canonical bytes there and back, a digest that names them, and counts that stay as drawn."""

from __future__ import annotations

import dataclasses
import json
from hashlib import sha256
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.budget import Epsilon
from core.canonical import canonical_json
from core.cells import DenseCells, ThresholdedCells
from core.domain.axis import UniformAxis
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidSynopsis
from core.plan import MAX_SIZE, Rule
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.strategies import domains, epsilons, noisy_counts

HEADER = (
    b'{"clusters":3,"dataset":"clinic","domain":[["age",0.0,120.0],["b\\u00e4r",-1.5,1e+300]],"epsilon":"0.5",'
    b'"grid":{"cells_per_axis":2,"dimensions":2},"mechanism":"discrete_laplace","out_of_range":"clip",'
    b'"release":"r1","rule":"rugnik","size":1000,"size_declared":false,"size_epsilon":"0.025"}'
)
KNOWN = (
    b"rugnik synopsis 1\n"
    + HEADER
    + b"\n"
    + b"\x00\x00\x00\x00\x00\x00\x00\x00"
    + b"\xff\xff\xff\xff\xff\xff\xff\xff"
    + b"\x00\x01\x00\x00\x00\x00\x00\x00"
    + b"\x00\x00\x00\x00\x00\x00\x00\x80"
)
KNOWN_DIGEST = "6de373e154b80c0f76b7111b480de2c01728845765bc5945d6659ce16a88ac26"


def small(**changes: object) -> Synopsis:
    """The synopsis whose bytes are KNOWN, with changes."""
    fields: dict[str, object] = {
        "dataset": "clinic",
        "release": "r1",
        "domain": Domain((Number("age", -0.0, 120), Number("bär", -1.5, 1e300))),
        "cells": DenseCells(Grid.uniform(2, 2), np.array([0, -1, 256, -(2**63)])),
        "epsilon": Epsilon.parse("0.50"),
        "size_epsilon": Epsilon.parse("0.025"),
        "clusters": 3,
        "rule": Rule.RUGNIK,
        "out_of_range": OutOfRange.CLIP,
        "size": 1000,
        "size_declared": False,
    }
    return Synopsis(**{**fields, **changes})  # type: ignore[arg-type]


@st.composite
def synopses(draw: st.DrawFn) -> Synopsis:
    """Any synopsis of up to 27 cells."""
    domain = draw(domains())
    grid = Grid.uniform(draw(st.integers(1, 3)), domain.dimensions)
    epsilon = draw(epsilons(least=2))
    declared = draw(st.booleans())
    return Synopsis(
        dataset=draw(st.text()),
        release=draw(st.text()),
        domain=domain,
        cells=DenseCells(grid, draw(noisy_counts(grid.cell_count))),
        epsilon=epsilon,
        size_epsilon=Epsilon(0 if declared else draw(st.integers(1, epsilon.nano - 1))),
        clusters=draw(st.integers(1, 10**6)),
        rule=draw(st.sampled_from([Rule.RUGNIK, Rule.EUGKM])),
        out_of_range=draw(st.sampled_from(OutOfRange)),
        size=draw(st.integers(1, MAX_SIZE)),
        size_declared=declared,
    )


def fields_of(synopsis: Synopsis) -> dict[str, object]:
    """All fields, with the cells as their grid and a list of counts, so that they can be compared."""
    names = [field.name for field in dataclasses.fields(synopsis)]
    cells = (type(synopsis.cells), synopsis.grid, synopsis.counts.tolist(), synopsis.threshold)
    return {**{name: getattr(synopsis, name) for name in names}, "cells": cells}


@given(synopses())
def test_canonical_bytes_read_back_as_the_synopsis(synopsis: Synopsis) -> None:
    """Every field survives, the bytes are written the same again, and the digest is theirs."""
    data = synopsis.to_bytes()
    again = Synopsis.from_bytes(data)
    assert fields_of(again) == fields_of(synopsis)
    assert again.to_bytes() == data
    assert again.digest == synopsis.digest == sha256(data).hexdigest()
    assert again.histogram_epsilon + again.size_epsilon == again.epsilon


def test_bytes_and_digest_have_a_known_answer() -> None:
    """A fixed synopsis has these bytes and this digest on every machine and in every year."""
    assert small().to_bytes() == KNOWN
    assert small().digest == KNOWN_DIGEST
    assert fields_of(Synopsis.from_bytes(KNOWN)) == fields_of(small())


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "clinic2"},
        {"release": "r2"},
        {"domain": Domain((Number("age", 0, 121), Number("bär", -1.5, 1e300)))},
        {"domain": Domain((Number("bär", -1.5, 1e300), Number("age", 0, 120)))},
        {"epsilon": Epsilon.parse("0.500000001")},
        {"size_epsilon": Epsilon.parse("0.025000001")},
        {"clusters": 4},
        {"rule": Rule.EUGKM},
        {"out_of_range": OutOfRange.DROP},
        {"size": 1001},
        {"size_declared": True},
        {"cells": DenseCells(Grid.uniform(2, 2), np.array([0, -1, 257, -(2**63)]))},
        {"cells": DenseCells(Grid.uniform(2, 2), np.array([-1, 0, 256, -(2**63)]))},
    ],
)
def test_the_digest_covers_every_field(change: dict[str, object]) -> None:
    """A change anywhere, by one billionth or one count, gives another digest."""
    assert small(**change).digest != small().digest


def test_a_flipped_byte_is_refused_or_has_another_digest() -> None:
    """No single damaged byte, whichever bit of it is wrong, passes for the original."""
    for place, mask in product(range(len(KNOWN)), (1, 2, 4, 8, 16, 32, 64, 128, 255)):
        data = bytearray(KNOWN)
        data[place] ^= mask
        try:
            synopsis = Synopsis.from_bytes(bytes(data))
        except InvalidSynopsis:
            continue
        assert synopsis.digest != KNOWN_DIGEST
        assert synopsis.to_bytes() == bytes(data)


@pytest.mark.parametrize("length", range(0, len(KNOWN), 7))
def test_a_shortened_synopsis_is_refused(length: int) -> None:
    """Truncation, with or without the first counts, is refused, and so are bytes too many."""
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(KNOWN[:length])
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(KNOWN + KNOWN[: length + 1])


@given(st.binary(max_size=80), st.booleans())
def test_bytes_that_are_no_synopsis_are_refused(data: bytes, begins_well: bool) -> None:
    """Noise, even after a good first line, is refused with the one error there is for it."""
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(b"rugnik synopsis 1\n" + data if begins_well else data)


def rewritten(header: bytes) -> bytes:
    """KNOWN with another header."""
    return KNOWN.replace(HEADER, header)


@pytest.mark.parametrize(
    "header",
    [
        HEADER.replace(b":3,", b": 3,"),
        HEADER.replace(b'"clusters":3,"dataset":"clinic",', b'"dataset":"clinic","clusters":3,'),
        HEADER.replace(b"b\\u00e4r", "bär".encode()),
        HEADER.replace(b"\\u00e4", b"\\u00E4"),
        HEADER.replace(b"120.0", b"120"),
        HEADER.replace(b"120.0", b"1.2e2"),
        HEADER.replace(b'["age",0.0', b'["age",-0.0'),
        HEADER.replace(b"1e+300", b"1e300"),
        HEADER.replace(b'"epsilon":"0.5"', b'"epsilon":"0.50"'),
        HEADER.replace(b'"epsilon":"0.5"', b'"epsilon":"00.5"'),
        HEADER.replace(b'"epsilon":"0.5"', b'"epsilon":0.5'),
        HEADER.replace(b"discrete_laplace", b"laplace"),
        HEADER.replace(b'"clusters":3,', b'"clusters":3,"clusters":3,'),
        HEADER.replace(b'"clusters":3,', b'"clusters":3,"colour":"red",'),
        HEADER.replace(b'"clusters":3,', b""),
        HEADER.replace(b'"rule":"rugnik"', b'"rule":"best"'),
        HEADER.replace(b'"out_of_range":"clip"', b'"out_of_range":"wrap"'),
        HEADER.replace(b'"cells_per_axis":2', b'"cells_per_axis":4'),
        HEADER.replace(b'"cells_per_axis":2', b'"cells_per_axis":0'),
        HEADER.replace(b'"dimensions":2', b'"dimensions":1'),
        HEADER.replace(b"120.0", b"NaN"),
        HEADER.replace(b"120.0", b"Infinity"),
        HEADER.replace(b"120.0", b"-120.0"),
        HEADER.replace(b'["age",0.0,120.0],', b""),
        HEADER + b" ",
        b" " + HEADER,
        b"[]",
        b"null",
        b"3",
        b'"text"',
        b"{}",
        b"",
        b"{",
    ],
)
def test_anything_but_the_canonical_form_is_refused(header: bytes) -> None:
    """Spaces, other key orders, other spellings of a number or a letter, unknown fields: one synopsis, one name."""
    assert header != HEADER
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(rewritten(header))


def test_another_version_of_the_format_is_refused() -> None:
    """The first line names the format, and only this one is read."""
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(KNOWN.replace(b"synopsis 1", b"synopsis 2"))


def test_the_counts_do_not_change() -> None:
    """The array is read-only, and a copy: writing to the one it came from does nothing."""
    source = np.array([1, 2, 3, 4])
    synopsis = small(cells=DenseCells(Grid.uniform(2, 2), source))
    digest = synopsis.digest
    source[:] = 0
    assert synopsis.counts.tolist() == [1, 2, 3, 4]
    assert synopsis.digest == digest
    with pytest.raises(ValueError, match="read-only"):
        synopsis.counts[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        synopsis.cells.counts += 1


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Synopsis)])
def test_no_field_can_be_set(name: str) -> None:
    """A synopsis is what it was when it was made."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(small(), name, None)


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros(3, dtype=np.int64),
        np.zeros((2, 2), dtype=np.int64),
        np.zeros(4, dtype=np.float64),
        np.zeros(4, dtype=np.int32),
        np.zeros(4, dtype=np.uint64),
        np.zeros(9, dtype=np.int64),
    ],
)
def test_counts_that_do_not_fit_the_grid_are_refused(counts: NDArray[np.generic]) -> None:
    """One signed 64-bit integer for each cell."""
    with pytest.raises(InvalidSynopsis):
        DenseCells(Grid.uniform(2, 2), counts)  # type: ignore[arg-type]


def test_the_grid_has_an_axis_for_each_attribute() -> None:
    """Cells of a grid of other dimensions than the domain's are refused."""
    with pytest.raises(InvalidSynopsis):
        small(cells=DenseCells(Grid.uniform(4, 1), np.zeros(4, dtype=np.int64)))


def test_the_header_holds_public_numbers_only() -> None:
    """These twelve fields and no other accompany the noisy counts."""
    line = small().to_bytes().split(b"\n")[1]
    assert sorted(json.loads(line)) == [
        "clusters",
        "dataset",
        "domain",
        "epsilon",
        "grid",
        "mechanism",
        "out_of_range",
        "release",
        "rule",
        "size",
        "size_declared",
        "size_epsilon",
    ]
    assert canonical_json(json.loads(line)) == line


WRONG_HEADERS = {
    "a float size": (b'"size":100', b'"size":1.0'),
    "a size that is no number": (b'"size":100', b'"size":NaN'),
    "a text size": (b'"size":100', b'"size":"x"'),
    "nested beyond reading": (b'"size":100', b'"size":' + b"[" * 100_000),
    "a float grid": (b'"cells_per_axis":2', b'"cells_per_axis":2.0'),
    "no dataset": (b'"dataset":"d"', b'"dataset":null'),
    "a bound beyond all numbers": (b"[[", b'[["z",' + b"9" * 400 + b",1],["),
    "more for the size than there was": (b'"size_epsilon":"0"', b'"size_epsilon":"5"'),
}


@pytest.mark.parametrize("name", WRONG_HEADERS)
def test_a_header_of_the_wrong_kind_is_refused(name: str) -> None:
    """Whatever is wrong with a header, InvalidSynopsis says so and no other exception gets out."""
    synopsis = Synopsis(
        dataset="d",
        release="r",
        domain=Domain((Number("x", 0, 1),)),
        cells=DenseCells(Grid.uniform(2, 1), np.array([1, -2])),
        epsilon=Epsilon.parse("1"),
        size_epsilon=Epsilon(0),
        clusters=1,
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
        size=100,
        size_declared=True,
    )
    old, new = WRONG_HEADERS[name]
    data = synopsis.to_bytes()
    assert old in data
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(data.replace(old, new, 1))


def test_counts_cannot_be_reopened_for_writing() -> None:
    """Not even by asking: the digest names these counts for ever."""
    with pytest.raises(ValueError, match="WRITEABLE"):
        small().counts.flags.writeable = True


GRID = Grid.uniform(10**4, 4)
NUMBERS, COUNTS = np.array([0, 5, 10**16 - 1]), np.array([30, 31, 1000])


def listed(numbers: NDArray[np.int64] = NUMBERS, counts: NDArray[np.int64] = COUNTS, threshold: int = 30) -> Synopsis:
    """A thresholded synopsis of four attributes."""
    domain = Domain(tuple(Number(name, 0, 1) for name in "abcd"))
    return small(domain=domain, cells=ThresholdedCells(GRID, numbers, counts, threshold))


def test_listed_cells_go_there_and_back() -> None:
    """The numbers of the cells and their counts follow a header that names the threshold."""
    data = listed().to_bytes()
    assert b'"threshold":30' in data
    again = Synopsis.from_bytes(data)
    assert again.to_bytes() == data
    assert again.threshold == 30
    assert isinstance(again.cells, ThresholdedCells)
    assert (again.cells.numbers.tolist(), again.counts.tolist()) == ([0, 5, 10**16 - 1], [30, 31, 1000])
    with pytest.raises(ValueError, match="read-only"):
        again.cells.numbers[0] = 1


def test_nothing_listed_is_a_synopsis_too() -> None:
    """No cell may have reached the threshold."""
    nothing = np.array([], dtype=np.int64)
    none = listed(nothing, nothing)
    assert Synopsis.from_bytes(none.to_bytes()).to_bytes() == none.to_bytes()


@pytest.mark.parametrize(
    ("numbers", "counts", "threshold"),
    [
        (np.array([5, 0, 7]), COUNTS, 30),
        (np.array([0, 5, 5]), COUNTS, 30),
        (np.array([-1, 5, 7]), COUNTS, 30),
        (np.array([0, 5, 10**16]), COUNTS, 30),
        (np.array([2**62, -(2**62), 7]), COUNTS, 30),
        (np.array([0, 5]), COUNTS, 30),
        (np.array([0.0, 5.0, 7.0]), COUNTS, 30),
        (np.array([[0], [5], [7]]), COUNTS, 30),
        (NUMBERS, COUNTS, 31),
        (NUMBERS, np.array([0, 0, 0]), 0),
    ],
)
def test_lists_that_no_threshold_leaves_are_refused(
    numbers: NDArray[np.int64], counts: NDArray[np.int64], threshold: int
) -> None:
    """Cells ascend and lie on the grid, each has one count, and none is below the threshold."""
    with pytest.raises(InvalidSynopsis):
        listed(numbers, counts, threshold)


FORMAT_1 = Path(__file__).parent / "format_1"
DIGESTS = json.loads((FORMAT_1 / "digests.json").read_text())


@pytest.mark.parametrize("name", DIGESTS)
def test_synopses_that_were_stored_before_cells_had_classes_keep_their_bytes_and_digests(name: str) -> None:
    """Dense and thresholded synopses of format 1, stored when it was the only one, load as they did."""
    data = (FORMAT_1 / name).read_bytes()
    synopsis = Synopsis.from_bytes(data)
    assert synopsis.to_bytes() == data
    assert synopsis.digest == DIGESTS[name]
    assert type(synopsis.cells) is (DenseCells if name.startswith("dense") else ThresholdedCells)


def test_format_2_serves_axes_that_differ() -> None:
    """Format 1 names one number of cells for all axes; format 2 names each, and gives the same synopsis again."""
    uneven = small(cells=DenseCells(Grid((UniformAxis(1), UniformAxis(4))), np.zeros(4, dtype=np.int64)))
    assert uneven.to_bytes().startswith(b"rugnik synopsis 2\n")
    again = Synopsis.from_bytes(uneven.to_bytes())
    assert (again.grid, again.digest) == (uneven.grid, uneven.digest)
