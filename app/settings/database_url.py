"""Parses RUGNIK_DATABASE_URL. No error message quotes a part of it, because that part may be a password."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def parse_database_url(text: str) -> URL:
    """The URL with the driver that rugnik installs; raises ValueError with a sentence to act on."""
    if text.count("@") > 1:
        # A parser that splits at the first @ takes the rest of the password for the host, which messages do print.
        raise ValueError("an @ in a password is written %40, or the password given as RUGNIK_DATABASE_PASSWORD")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError("not a database URL such as postgresql+psycopg://user@host/rugnik") from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise ValueError("rugnik runs on postgresql+psycopg:// and sqlite:///, on nothing else")
    if driver == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("a SQLite URL needs the path of a file: sqlite:////folder/rugnik.db")
    return url.set(drivername=driver)


def place_of(url: URL) -> str:
    """The database name and host of a URL, for messages: without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    host = url.host or url.query.get("host") or "the local socket"
    return f"{url.database or 'the default database'} on {host}" + (f", port {url.port}" if url.port else "")
