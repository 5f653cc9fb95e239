"""What a check tells of a messy file: which columns lose rows, and what to mend. Nothing of it leaves the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.access.permissions import Role
from app.cli.losses import share
from tests.app.cli.conftest import Run
from tests.support.service.live import Live

BOUNDS = ("-a", "sex:category:f,männlich", "-a", "age:integer:0..100", "-a", "income:0..5000")
BOUNDS = (*BOUNDS, "-a", "day:date:2026-01-01..2026-12-31")
MESSY = """sex,age,income,day,note
f,10,1.5,2026-02-01,
männlich,,9000,2026-02-01,
F,200,"1,5",01.02.2026,
f,10,1.5,2026-02-01,,too many
f,10,-1,2026-02-01,
"""


def test_a_check_tells_each_column_and_each_cause(run: Run, tmp_path: Path) -> None:
    """Columns found and not read, rows by cause, a line for each column that loses something, and hints."""
    file = tmp_path / "messy.csv"
    file.write_bytes(MESSY.encode())
    done = run(None, "check", file, *BOUNDS)
    told = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in done.stdout.splitlines()}
    assert told["columns"] == "all 4 found: sex, age, income, day; not read: note"
    assert told["rows dropped"] == "3 (60 %): 1 as lines with more or fewer fields than the first, 2 for a value"
    assert (told["rows kept"], told["rows clipped"]) == ("2", "1 (20 %)")
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert lines["sex"] == ["category", "0", "0", "1", "0", "0"]
    assert lines["age"] == ["integer", "1", "0", "0", "0", "0"]
    assert lines["income"] == ["number", "0", "1", "0", "1", "(50", "%)", "0"]
    assert lines["day"] == ["date", "0", "1", "0", "0", "0"]
    for hint in ("counted in each of them", "dates are written 2026-12-31", "decimal point", "double quotes"):
        assert hint in done.stderr
    assert "iconv" not in done.stderr
    kept = run(None, "check", file, "-a", "sex:category:f,männlich,(other)").stdout
    assert "1 (kept)" in next(line for line in kept.splitlines() if line.split()[:1] == ["sex"])
    file.write_bytes(MESSY.encode("latin-1"))
    assert "iconv -f LATIN1 -t UTF-8" in run(None, "check", file, *BOUNDS).stderr
    dropping = run(None, "check", file, *BOUNDS, "--out-of-range", "drop").stdout
    assert "clipped" not in dropping.replace("rows clipped", "")


ADVICE = {
    "another case": (b"Age,Income\n1,2\n", "'Age' to 'age' (another case), 'Income' to 'income' (another case)"),
    "a misspelt name": (b"age,incme\n1,2\n", "'incme' to 'income'."),
    "one other name": (b"age,b\n1,2\n", "The file has: age, b."),
    "a sign of a terminal": (b"age,in\x1bcome\n1,2\n", "'in\ufffdcome' to 'income'"),
    "other names": (b"a,b\n1,2\n", "names none of the columns that are looked for. If it is a row, put"),
    "no names": (b"alice,37,1200\n", "holds no names, but a row. If it is a row, put this line before it: age,income"),
    "semicolons": (b"age;income\n1;2\n", "separated by semicolons"),
    "tabs": (b"age\tincome\n1\t2\n", "separated by tabs"),
    "UTF-16": ("age,income\n1,2\n".encode("utf-16"), "is UTF-16"),
    "UTF-16 without its mark": ("age,income\n1,2\n".encode("utf-16-le"), "is UTF-16"),
    "Latin-1": ("age,Größe\n1,2\n".encode("latin-1"), "not UTF-8, perhaps Latin-1"),
    "Excel": (b"PK\x03\x04 xl/workbook.xml", "Excel workbook"),
    "Parquet": (b"PAR1....PAR1", "end its name in .parquet"),
    "gzip": (b"\x1f\x8b\x08", "end its name in .gz"),
}


@pytest.mark.parametrize("case", ADVICE)
def test_a_file_without_the_columns_is_told_what_to_mend(run: Run, tmp_path: Path, case: str) -> None:
    """By its first bytes, with exit code 7."""
    content, sentence = ADVICE[case]
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    said = run(None, "check", file, "-a", "age:0..100", "-a", "income:0..10", code=7).stderr
    assert sentence in said
    assert "alice" not in said


def test_init_makes_no_schema_of_a_row(run: Run, tmp_path: Path) -> None:
    """A file without a header: nothing of it is repeated, or written into a schema."""
    file = tmp_path / "rows.csv"
    file.write_bytes(b"alice,2026-01-31\nbob,2026-02-01\n")
    said = run(None, "init", file, code=7).stderr
    assert "its first line holds values" in said
    assert "alice" not in said
    assert list(tmp_path.iterdir()) == [file]


def test_a_workbook_is_told_what_to_save_it_as(run: Run, tmp_path: Path) -> None:
    """Its name promises no format that is read; the way on the command line is named."""
    file = tmp_path / "rows.xlsx"
    file.write_bytes(b"PK\x03\x04 xl/workbook.xml")
    said = run(None, "check", file, "-a", "age:0..100", code=7).stderr
    assert "save its sheet as 'csv utf-8" in said.lower()
    assert "--media-type" in said


def test_a_byte_order_mark_is_no_fault(run: Run, tmp_path: Path) -> None:
    """Spreadsheet programs write one."""
    file = tmp_path / "rows.csv"
    file.write_bytes(b"\xef\xbb\xbfage,income\n1,2\n")
    assert "all 2 found" in run(None, "check", file, "-a", "age:0..100", "-a", "income:0..10").stdout


def test_no_column_that_fits_ends_with_the_code_of_an_unfit_file(run: Run, live: Live, tmp_path: Path) -> None:
    """Also where missing values are kept, so that every row would be counted, and nothing is registered."""
    file = tmp_path / f"{live.city}.ndjson"
    file.write_bytes(b'{"Age": 1}\n' * 20)
    kept = ("-a", "age:0..100,(missing)")
    assert "no value for any column" in run(None, "check", file, *kept, code=7).stderr
    terms = ("--epsilon", "0.5", "--clusters", "2", "--budget", "1")
    assert "no value for any column" in run(Role.CURATOR, "release", file, *kept, *terms, "--yes", code=7).stderr
    assert "no dataset" in run(Role.CURATOR, "datasets", "show", live.city, code=1).stderr


def test_the_question_names_the_columns_that_lose_the_most(run: Run, live: Live, tmp_path: Path) -> None:
    """Before anything is registered or charged, and with the way out."""
    file = tmp_path / f"{live.city}.csv"
    file.write_bytes(MESSY.encode())
    terms = ("--epsilon", "0.5", "--clusters", "2", "--budget", "1")
    live.gate.seen.clear()
    said = run(Role.CURATOR, "release", file, *BOUNDS, *terms, code=7).stderr
    assert "by income (1 dropped, 1 clipped), sex (1 dropped), age (1 dropped)" in said
    assert "lines that are no rows (1)" in said
    assert {method for method, _ in live.gate.seen} <= {"GET"}


@pytest.mark.parametrize(
    ("number", "total", "shown"),
    [
        (0, 10, 0),
        (1, 10, "1 (10 %)"),
        (15, 1000, "15 (1.5 %)"),
        (1, 10**6, "1 (<0.1 %)"),
        (1200, 1200, "1,200 (100 %)"),
    ],
)
def test_a_share_has_the_digits_that_matter(number: int, total: int, shown: object) -> None:
    """Never 0 % of something."""
    assert share(number, total) == shown
