"""Hypothesis strategies for hostile lines: quotes, line ends, byte order marks, odd numbers."""

from __future__ import annotations

from hypothesis import strategies as st

_SCRAPS = [
    b'"',
    b'""',
    b",",
    b"\r",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b" ",
    b"\t",
    b"\\",
    b"'",
    b"#",
    b"\x0b",
    b"\x85",
    b"\xe2\x80\xa8",
    b"NA",
    b"nan",
    b"-inf",
    b"0.5",
    b"7",
    b"1e3",
    b"1_0",
    b"{",
    b'{"x": 1, "y": 0.5}',
    b"x,y",
    b"9" * 150,
    b"w" * 500,
]

# Anything made of the characters that numbers are made of, and of those that Python's float() takes besides.
NUMBERS = st.one_of(
    st.text(alphabet="0123456789.+-eE \t", max_size=12).map(str.encode),
    st.text(alphabet="0123456789.+-eE_xXpPdDfFinaty()\x0b\x0c\x1c\x85\xa0\u2003\u0661\u4e00, ", max_size=8).map(
        str.encode
    ),
    st.floats().map(lambda number: repr(number).encode()),
    st.integers().map(lambda number: str(number).encode()),
    st.tuples(
        st.sampled_from(["", "+", "-", " ", "--"]),
        st.text(alphabet="0123456789", max_size=40),
        st.sampled_from(["", "."]),
        st.text(alphabet="0123456789", max_size=40),
        st.sampled_from(["", "e", "E+", "e-", "e400", "e-400"]),
        st.text(alphabet="0123456789", max_size=3),
    ).map(lambda parts: "".join(parts).encode()),
)

FIELDS = st.one_of(
    NUMBERS,
    st.sampled_from(_SCRAPS),
    st.binary(max_size=8).map(lambda field: field.replace(b"\n", b"")),
)

_GOOD = st.tuples(st.floats(-1, 11), st.floats(-2, 2)).map(lambda row: f"{row[0]},text,{row[1]}".encode())
_ROWS = st.lists(FIELDS, min_size=1, max_size=4).map(b",".join)
_SCRAP_LINES = st.lists(st.sampled_from(_SCRAPS), max_size=6).map(b"".join)
_ANY = st.binary(max_size=30).map(lambda line: line.replace(b"\n", b""))

# One line each, for a file of three columns; good rows are as likely as all the others together.
LINES = st.one_of(_GOOD, _GOOD, _GOOD, _ROWS, _SCRAP_LINES, _ANY)
