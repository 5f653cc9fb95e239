"""Rows of the log's tables with values of another type, which SQLite keeps: told in a sentence, and no error of the
program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.ledger import signed_tree
from app.ledger.verification import verify_all
from app.log.cosigning import signers
from app.main import create_app
from app.settings.settings import Settings
from tests.support.databases.books import without_triggers
from tests.support.service.api import Api
from tests.support.service.cosigned import Clock, with_witnesses

CHECKPOINTS = [
    "'abc', 0, 'x'",
    "'abc', 1, 'x'",
    "x'00', 0, 'x'",
    "x'00', 1, 'x'",
    "x'', 0, 'x'",
    "2.5, 1, 'x'",
    "-3, 1, 'x'",
    "3, 'zz', 'x'",
    "3, x'01', 'x'",
    "3, 0, x'00ff'",
    "100000, 0, x'00ff'",
]


@pytest.fixture(params=["without a quorum", "with a quorum"])
def api(request: pytest.FixtureRequest, sqlite_settings: Settings, tmp_path: Path) -> Iterator[Api]:
    """A service with a checkpoint on record."""
    clock = Clock()
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        settings = cosigned.settings
        if request.param == "without a quorum":
            settings = settings.model_copy(update={"policy": None})
        with Api(create_app(settings, clock)) as opened:
            opened.register()
            opened.published(epsilon="0.1")
            opened.register("more")
            opened.service.cosigner.sign_newest(opened.service)
            clock.move(3600)
            opened.service.cosigner.sign_newest(opened.service)
            assert opened.call(None, "GET", "/log/checkpoint").status_code == 200
            yield opened
            thread = opened.service.cosigner._thread
            if thread is not None:
                thread.join(60)


def write(api: Api, *statements: str) -> None:
    with without_triggers(api.service) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        connection.commit()


@pytest.mark.parametrize("row", CHECKPOINTS)
def test_an_odd_checkpoint_is_a_fault_of_the_log(api: Api, row: str) -> None:
    """A verification ends with its verdict; nobody who asks gets an error without a reason."""
    write(api, f"INSERT INTO checkpoints (size, sealed, note) VALUES ({row})")
    outcome = verify_all(api.service)
    assert not outcome.valid
    assert "stored checkpoint" in str(outcome.reason)
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is False
    for path in ("/log/checkpoint", "/readyz", "/v1/datasets/city"):
        assert api.call(None, "GET", path).status_code in (200, 401, 503), path
    assert api.order(epsilon="0.01").status_code == 201


def test_rows_that_differ_by_an_odd_sign_of_sealing_end_a_verification(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And do not have it read the same batch for ever."""
    monkeypatch.setattr(signed_tree, "_BATCH", 2)
    note = str(api.service.checkpoint(3))
    with without_triggers(api.service) as connection:
        for sign in ("a", "b", "c", "d", "e"):
            connection.exec_driver_sql("INSERT INTO checkpoints (size, sealed, note) VALUES (3, ?, ?)", (sign, note))
        connection.commit()
    assert not verify_all(api.service).valid


@pytest.mark.parametrize("value", ["'zz'", "x'01'", "2.5", "-1", "10000000000000"])
def test_odd_periods_and_signatures_stop_nothing(api: Api, value: str) -> None:
    """Signatures are checked, and asked for again; a period that cannot be read does not count."""
    before = api.call(None, "GET", "/log/checkpoint").text
    write(
        api,
        f"INSERT INTO periods (start, size) VALUES ({value}, {value})",
        f"INSERT INTO cosignatures (size, signer, line) VALUES ({value}, 'w0', x'00')",
        f"INSERT INTO cosignatures (size, signer, line) VALUES (3, {value}, x'00')",
    )
    signers(api.service)
    assert api.call(None, "GET", "/log/checkpoint").text == before
    assert api.call(None, "GET", "/readyz").status_code == 200
    assert verify_all(api.service).valid
    assert api.upload(str(api.order(epsilon="0.01").json()["id"])).status_code == 200


def test_signatures_that_are_bytes_do_not_count(api: Api) -> None:
    """They are asked for again."""
    write(api, "UPDATE cosignatures SET line = CAST(line AS BLOB)")
    assert signers(api.service) == {}
    assert api.upload(str(api.order(epsilon="0.01").json()["id"])).status_code == 200
