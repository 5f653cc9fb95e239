"""Local files: read where they lie, with the same numbers of rows and the same refusals as an upload of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.ingest import local_file
from app.ingest.errors import UnreadableFile
from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.local_file import LocalFile
from app.ingest.upload import Ingest, check_upload
from core.records import OutOfRange
from tests.app.ingest.bodies import DOMAIN, WRITERS, parquet_body, table


def checked(source: list[bytes] | LocalFile, media_type: MediaType) -> Ingest:
    """The numbers of rows of a body."""
    return check_upload(
        source, media_type=media_type, gzip=False, domain=DOMAIN, out_of_range=OutOfRange.DROP, limits=Limits()
    )


@pytest.mark.parametrize("media_type", MediaType)
def test_a_local_file_is_read_like_an_upload_of_it(media_type: MediaType, tmp_path: Path) -> None:
    """The same numbers of rows, in every format."""
    body = WRITERS[media_type](table(3_000))
    (tmp_path / "rows").write_bytes(body)
    with LocalFile(tmp_path / "rows") as file:
        assert checked(file, media_type) == checked([body], media_type)


def test_a_damaged_local_file_is_refused(tmp_path: Path) -> None:
    """The checks before pyarrow are those of an upload."""
    body = parquet_body(table(100))
    (tmp_path / "rows").write_bytes(body[:-20] + b"\xff" * 12 + body[-8:])
    with LocalFile(tmp_path / "rows") as file, pytest.raises(UnreadableFile):
        checked(file, MediaType.PARQUET)


def test_a_local_file_is_the_one_that_was_opened_whatever_its_name_is_by_now(tmp_path: Path) -> None:
    """What was checked is what is read: another file of the same name is not looked at."""
    path = tmp_path / "rows"
    path.write_bytes(parquet_body(table(300)))
    with LocalFile(path) as file:
        path.unlink()
        path.write_bytes(parquet_body(table(20)))
        assert checked(file, MediaType.PARQUET).rows_read == 300


def test_a_local_file_is_read_through_python_where_descriptors_have_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers of rows, on systems without /proc."""
    monkeypatch.setattr(local_file, "_DESCRIPTORS", tmp_path / "none")
    path = tmp_path / "rows"
    path.write_bytes(parquet_body(table(300)))
    with LocalFile(path) as file:
        assert checked(file, MediaType.PARQUET).rows_read == 300
