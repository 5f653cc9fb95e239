"""`python -m bench.log_service`: what the log costs a service: orders, receipts and their checks, following a log.

An order is measured without witnesses and with quorums of one to three, which run on this machine. Their signatures
are collected beside the reply, so an order does not wait for them. An upload does: the second column has what passes
until a quorum has signed the charge.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from app.ingest.formats import MediaType
from app.log.receipts import receipt
from app.main import make_service
from app.releases import datasets, ordering, uploading
from app.releases.reading import Release
from app.service import Service
from app.settings.settings import Settings
from app.witnessing.follow_state import FollowState
from app.witnessing.following import follow
from bench.report import Section, chosen, publish
from core.budget import Epsilon
from core.log.checkpoint import Checkpoint, encoded
from core.log.receipt import Receipt
from core.log.tree import Frontier
from rugnik.wire import Consistency, LedgerEntry, LedgerPage
from tests.support.databases.books import CURATOR, DOMAIN, ROWS, an_order, long_ledger
from tests.support.service.cosigned import with_witnesses
from tests.support.signed_log import SignedLog, entries

ORDERS = 30
RECEIPTS_AT = 10_000  # entries
NEW = 100  # entries since the last visit


@contextmanager
def temporary_service(witnesses: int) -> Iterator[tuple[Service, Settings]]:
    """A service on SQLite, with a quorum of all of so many witnesses."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", log_level="error", max_open_orders=10**6)
        if not witnesses:
            service = make_service(settings)
            yield service, settings
            service.database.dispose()
            return
        with with_witnesses(settings, Path(folder), count=witnesses, least=witnesses) as cosigned:
            service = make_service(cosigned.settings)
            yield service, cosigned.settings
            service.database.dispose()


def orders() -> Section:
    """An order, and an order until a quorum has signed it."""
    rows = []
    for witnesses in range(4):
        with temporary_service(witnesses) as (service, _):
            budget = Epsilon.parse("9")
            datasets.register(service, CURATOR, name="a", description="", domain=DOMAIN, budget=budget)
            ordered, signed = [], []
            for _ in range(ORDERS):
                begun = time.perf_counter()
                release = ordering.order(service, CURATOR, "a", an_order("0.001"), idempotency_key=None)
                assert isinstance(release, Release)
                ordered.append(time.perf_counter() - begun)
                service.cosigner.require_signed(service, release.standing.seq)
                signed.append(time.perf_counter() - begun)
            rows.append([str(witnesses), f"{1e3 * median(ordered):.1f}", f"{1e3 * median(signed):.1f}"])
    remarks = [f"Medians of {ORDERS} orders, wall time, SQLite on this machine's disk, all witnesses have to sign."]
    return Section("Log: orders", remarks, ["witnesses", "order ms", "until signed ms"], rows)


def receipts() -> Section:
    """A receipt with two cosignatures in a ledger of 10,000 entries: its size, making it, checking it."""
    with temporary_service(2) as (service, _):
        long_ledger(service, orders=RECEIPTS_AT // 3)
        order = ordering.order(service, CURATOR, "a", an_order("0.001"), idempotency_key=None)
        uploading.upload(service, CURATOR, order.id, iter([ROWS]), media_type=MediaType.CSV, gzip=False)
        ordering.order(service, CURATOR, "a", an_order("0.001"), idempotency_key=None)
        service.cosigner.sign_newest(service)  # a receipt does not wait for the witnesses
        made, checked = [], []
        text = str(receipt(service, CURATOR, order.id).receipt)
        assert service.policy is not None
        for _ in range(ORDERS):
            begun = time.perf_counter()
            assert str(receipt(service, CURATOR, order.id).receipt) == text
            made.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            facts = Receipt.parse(text).require(service.policy)
            checked.append(time.perf_counter() - begun)
        size = f"{facts.size:,}"
    row = [size, f"{len(text.encode()):,}", f"{1e3 * median(made):.1f}", f"{1e3 * median(checked):.2f}"]
    return Section(
        "Log: receipts", ["With two cosignatures."], ["entries", "bytes", "made in ms", "checked in ms"], [row]
    )


class StandIn:
    """A log in memory that is asked as a service is, and counts what it sends."""

    def __init__(self, log: SignedLog) -> None:
        self.log = log
        self.sent = 0

    def log_checkpoint(self) -> str:
        """The newest checkpoint."""
        return self._counted(str(self.log.note()))

    def log_policy(self) -> str:
        """The log's key."""
        return self._counted(f"log {self.log.key.verifier}\nquorum none\n")

    def ledger_consistency(self, old: int) -> Consistency:
        """The proof from an older size."""
        proof = tuple(map(encoded, self.log.proof(old)))
        self.sent += 48 * len(proof)
        return Consistency(checkpoint=self.log_checkpoint(), proof=proof)

    def ledger(self, *, after: int, limit: int) -> LedgerPage:
        """Entries after a number."""
        page = self.log.entries[after : after + limit]
        self.sent += sum(len(str(entry.to_json())) for entry in page)
        more = after + limit < len(self.log.entries)
        shown = tuple(LedgerEntry.of(entry.to_json()) for entry in page)
        return LedgerPage(entries=shown, next=page[-1].seq if more else None)

    def _counted(self, text: str) -> str:
        self.sent += len(text)
        return text


def following() -> Section:
    """A visit of an auditor who saw all but the newest 100 entries."""
    rows = []
    for size in chosen((100_000,), (100_000, 1_000_000)):
        log, frontier = SignedLog(entries(size)), Frontier()
        for entry in log.entries[:-NEW]:
            frontier.append(bytes.fromhex(entry.hash))
        note = log.note(size - NEW)
        head = log.entries[-NEW - 1].hash
        state = FollowState(note, Checkpoint.of(note), frontier.subtrees, head, log.key.verifier)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state"
            state.save(path)
            stand_in = StandIn(log)
            begun = time.perf_counter()
            assert follow(stand_in, path).new == NEW
            seconds = time.perf_counter() - begun
        rows.append([f"{size:,}", f"{1e3 * seconds:.1f}", f"{stand_in.sent / 1e3:.0f}"])
    remarks = [f"{NEW} new entries; without the network. A first visit reads everything."]
    return Section("Log: following it", remarks, ["entries", "ms", "kB"], rows)


def run() -> list[Section]:
    """Orders, receipts, following."""
    return [orders(), receipts(), following()]


if __name__ == "__main__":
    publish(run(), "log-service")
