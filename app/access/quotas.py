"""The most datasets, open orders, waiting requests and keys: what one caller could otherwise make without end."""

from __future__ import annotations

from app.errors import QuotaReached
from app.ledger.appending import OpenBook


def require_room_for_dataset(book: OpenBook) -> None:
    """Refuse one dataset more than RUGNIK_MAX_DATASETS."""
    settings, count = book.service.settings, len(book.replay.books.accounts)
    if count >= settings.max_datasets:
        raise QuotaReached(
            f"{count:,} datasets are registered",
            setting="RUGNIK_MAX_DATASETS",
            limit=settings.max_datasets,
            advice="The operator can raise it.",
        )


def require_room_for_order(book: OpenBook, dataset: str) -> None:
    """Refuse one more open order of a dataset than RUGNIK_MAX_OPEN_ORDERS."""
    settings, count = book.service.settings, book.replay.books.accounts[dataset].open_orders
    if count >= settings.max_open_orders:
        raise QuotaReached(
            f"{count:,} orders of this dataset wait for their rows",
            setting="RUGNIK_MAX_OPEN_ORDERS",
            limit=settings.max_open_orders,
            advice="Upload to one of them, or void one.",
        )


def require_room_for_request(book: OpenBook, dataset: str) -> None:
    """Refuse one more request of a dataset than RUGNIK_MAX_OPEN_ORDERS that waits for a second person."""
    settings, count = book.service.settings, len(book.replay.books.accounts[dataset].waiting)
    if count >= settings.max_open_orders:
        raise QuotaReached(
            f"{count:,} requests of this dataset wait for a second person",
            setting="RUGNIK_MAX_OPEN_ORDERS",
            limit=settings.max_open_orders,
            advice="Approve one of them, or refuse one.",
        )


def require_room_for_key(book: OpenBook) -> None:
    """Refuse one key more than RUGNIK_MAX_KEYS; revoked keys do not count."""
    settings = book.service.settings
    count = sum(key.revoked is None for key in book.replay.books.keys.values())
    if count >= settings.max_keys:
        raise QuotaReached(
            f"{count:,} keys are in use", setting="RUGNIK_MAX_KEYS", limit=settings.max_keys, advice="Revoke one."
        )
