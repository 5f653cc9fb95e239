"""Secrets: by variable or by file, out of every message, and out of the text of whatever holds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from app.settings.database_url import parse_database_url, place_of
from app.settings.settings import SECRETS, Settings
from app.storage.database import Database

PASSWORD = "p@ss/w:rd%40#?" + "x" * 20  # every character that means something in a URL
URL = "postgresql+psycopg://rugnik@db.example/rugnik"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file for each secret, as a container would find it."""
    for name in SECRETS:
        (tmp_path / f"rugnik_{name}").write_text(f"{name} {PASSWORD}\n")
    return tmp_path


def test_each_secret_may_be_a_file(folder: Path) -> None:
    """Without the newline at its end, and with every other character as it is."""
    settings = Settings(secrets_dir=folder, database_url=URL)
    values = {name: getattr(settings, name).get_secret_value() for name in SECRETS}
    assert values == {name: f"{name} {PASSWORD}" for name in SECRETS}
    assert settings.url.password == f"database_password {PASSWORD}"


def test_the_folder_is_read_from_its_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable comes before its file, and a file that is missing is a secret that is not set."""
    monkeypatch.setenv("RUGNIK_SECRETS_DIR", str(folder))
    monkeypatch.setenv("RUGNIK_ADMIN_KEY", "v" * 32)
    (folder / "rugnik_metrics_key").unlink()
    settings = Settings()
    assert settings.admin_key == SecretStr("v" * 32)
    assert settings.metrics_key is None
    assert settings.database_password is not None


def test_a_secret_that_cannot_be_read_is_named_and_not_quoted(folder: Path) -> None:
    """A folder in the place of a file, bytes that are no text, an empty file, a folder that is not there."""
    secret = folder / "rugnik_admin_key"
    refused = {}
    for content in (b"", b"\xff" + PASSWORD.encode()):
        secret.write_bytes(content)
        with pytest.raises(ValidationError) as raised:
            Settings(secrets_dir=folder)
        refused[content] = str(raised.value)
    secret.unlink()
    secret.mkdir()
    with pytest.raises(ValidationError, match="rugnik_admin_key cannot be read"):
        Settings(secrets_dir=folder)
    with pytest.raises(ValidationError, match="is not a folder"):
        Settings(secrets_dir=folder / "missing")
    assert all("rugnik_admin_key" in message and PASSWORD not in message for message in refused.values())


def test_a_password_is_said_once() -> None:
    """Two passwords for one database are a mistake that somebody would look for."""
    with pytest.raises(ValidationError, match="holds a password as well"):
        Settings(database_url=URL.replace("rugnik@", "rugnik:a@"), database_password=SecretStr("b"))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://rugnik:{PASSWORD}@db.example/rugnik",  # two @: the rest would pass for a host
        f"postgresql+psycopg://rugnik:{PASSWORD[2:4]}{'x' * 20}/rugnik",  # no @: the password would pass for a port
        f"mysql://rugnik:{'x' * 20}@db.example/rugnik",
        f"{'x' * 20}",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_a_url_that_makes_no_sense_is_refused_without_being_quoted(url: str) -> None:
    """A wrong URL is where a password ends up in the wrong place."""
    with pytest.raises(ValidationError) as raised:
        Settings(database_url=url)
    assert "x" * 8 not in str(raised.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_way_to_name_postgresql_gets_the_driver_that_is_there(scheme: str) -> None:
    """Hosting services hand out URLs without a driver."""
    assert parse_database_url(f"{scheme}://u@h/d").drivername == "postgresql+psycopg"


def test_nothing_that_holds_a_secret_shows_it(folder: Path) -> None:
    """Not the settings' own text, not the URL's, not the engine's, not the place that messages tell."""
    settings = Settings(secrets_dir=folder, database_url=URL)
    database = Database(settings.url)
    in_url = Settings(database_url=URL.replace("rugnik@", f"rugnik:{'x' * 20}@"))
    shown = [settings, settings.url, database.engine, place_of(settings.url), in_url, in_url.url, settings.model_dump()]
    assert "x" * 20 not in "".join(f"{thing!s} {thing!r}" for thing in shown)
    assert place_of(settings.url) == "rugnik on db.example"
