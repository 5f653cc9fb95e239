"""Verifying everything that is on record: the whole chain from its first entry, every synopsis and card, the witness.

The walk starts anew each time and trusts nothing that the process remembers. It reads batch by batch, each in a short
transaction, and holds one synopsis at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import func, select

from app.errors import CorruptSynopsis, LedgerBroken, NotReady
from app.ledger.book import Book
from app.ledger.entries import holds
from app.ledger.replay import stored_after
from app.ledger.signed_tree import SignedTree
from app.ledger.witness import Seen
from app.releases import datasets
from app.releases.cards import stored_card
from app.releases.orders import ReleaseOrder
from app.releases.publishing import layer_bytes
from app.releases.reading import stored_synopsis
from app.service import Service
from app.storage.tables import ledger
from core.adaptive.cells import AdaptiveCells
from core.checkpoint import Checkpoint as StillWanted
from core.checkpoint import carry_on
from core.errors import CoreError
from core.ledger.accounts import ReleaseRecord
from core.ledger.chain import Verification, Walk
from core.ledger.entry import LedgerEntry, Stored
from core.ledger.kinds import Kind
from core.plan import planned_size
from core.synopsis import Synopsis

_STEP = 100  # entries between two checkpoints


def verify_all(service: Service, checkpoint: StillWanted = carry_on) -> Verification:
    """Walk the whole chain, check every synopsis, then compare with the witness."""
    outcome = None
    for step in verify_steps(service, every=_STEP):
        outcome = step
        checkpoint()
    assert outcome is not None  # noqa: S101 - a walk ends with its outcome
    return outcome


def verify_steps(service: Service, *, every: int | None) -> Iterator[Verification]:
    """The same in steps: the progress after each `every` entries, and last the outcome."""
    # What is compared with is read first: entries that are committed meanwhile only make the ledger longer.
    seen, tree, walk = service.witness.seen(), SignedTree(service), Walk()
    reason = None
    for stored in _rows(service):
        reason = walk.step(stored)
        if reason is None and stored is not None and stored.entry.kind is Kind.PUBLISH:
            reason = _synopsis_fault(service, walk, stored.entry)
            if reason is not None:
                yield _ended(service, _before(walk, stored.entry, reason))
                return
        if reason is not None:
            break
        fault = tree.append(bytes.fromhex(walk.head.hash))
        if fault is not None:
            yield _ended(service, _after(walk, fault.entries, fault.reason))
            return
        if every is not None and walk.head.seq % every == 0:
            yield walk.standing()
    outcome = walk.standing(reason)
    if outcome.valid:
        outcome = _compared(service, walk, tree, seen)
    yield _ended(service, outcome)


def _compared(service: Service, walk: Walk, tree: SignedTree, seen: Seen) -> Verification:
    """A chain that verifies in itself, compared with the last checkpoints, the witness file, and all rows there are."""
    reason = tree.fault_at_end()
    if reason is not None:
        return _after(walk, tree.size, reason)
    with service.database.read_only() as tx:
        agrees = holds(tx, service.replay, seen)
    if not agrees:
        # Cut short, or from the last checkpoint on another ledger: a root does not tell where.
        good = tree.size if tree.size < seen.size else min(tree.vouched, seen.size - 1)
        return _after(walk, good, _UNSEEN.format(seen=seen.size))
    return _row_beside_entries(service, walk) or walk.standing()


def _ended(service: Service, outcome: Verification) -> Verification:
    service.replay.report(outcome)
    return outcome


def _after(walk: Walk, entries: int, reason: str) -> Verification:
    """An outcome for a chain whose entries hold among themselves, and of which only so many are known to be right."""
    return Verification(entries=entries, head=walk.head, first_bad=entries + 1, reason=reason)


def _row_beside_entries(service: Service, walk: Walk) -> Verification | None:
    """An outcome for a row that the walk did not come by: of a number below 1, or of one that another row has."""
    number = ledger.c.seq
    odd = select(number).where(number <= walk.head.seq).group_by(number).having((number < 1) | (func.count() > 1))
    with service.database.read_only() as tx:
        row = tx.execute(odd.order_by(number).limit(1)).first()
    return None if row is None else _after(walk, max(0, row.seq - 1), f"There is a row too many with number {row.seq}.")


_UNSEEN = "The ledger does not hold the {seen} entries that the witness file saw."


def _before(walk: Walk, entry: LedgerEntry, reason: str) -> Verification:
    """An outcome for a publish whose entry verifies and whose synopsis does not."""
    return Verification(entries=entry.seq - 1, head=walk.head, first_bad=entry.seq, reason=reason)


def _rows(service: Service) -> Iterator[Stored | None]:
    """Every stored row, oldest first."""
    after = 0
    while True:
        with service.database.read_only() as tx:
            batch = stored_after(tx, after)
        yield from (stored for _, stored in batch)
        if not batch:
            return
        after = batch[-1][0]


def _synopsis_fault(service: Service, walk: Walk, publish: LedgerEntry) -> str | None:
    """Why the synopsis of a publish is not the one that was paid for; None where it is."""
    release, record = str(publish.release), walk.books.releases[str(publish.release)]
    with service.database.read_only() as tx:
        book = Book(tx, service)
        try:
            synopsis = stored_synopsis(book, release, str(publish.detail["digest"]))
        except CorruptSynopsis as error:
            return str(error)
        try:
            charge = book.charge(record)
        except LedgerBroken as error:
            return error.outcome.reason
        reason = _card_fault(book, publish, charge)
        if reason is not None:
            return reason
    try:
        if not _as_ordered(synopsis, release, record, charge):
            return _OTHER_TERMS
        return None if _as_drawn(synopsis, record) else _OTHER_STEPS
    except (CoreError, KeyError, NotReady, TypeError, ValueError):
        return "The terms of the release cannot be read from its charge and its dataset's first grant."


def _card_fault(book: Book, publish: LedgerEntry, charge: LedgerEntry) -> str | None:
    """Why the card of a publish is not the one on record; None where it is, or where none is on record."""
    if "card" not in publish.detail:  # published before there were cards
        return None
    try:
        card = stored_card(book, str(publish.release), str(publish.detail["card"]))
        predicate = card.predicate
        said = (
            card.synopsis_digest,
            predicate["dataset"]["name"],
            predicate["release"]["id"],
            predicate["release"]["ledger_entry"],
            predicate["privacy"]["epsilon"],
        )
    except CorruptSynopsis as error:
        return str(error)
    except (IndexError, KeyError, TypeError):
        return _OTHER_CARD
    charged = (publish.detail["digest"], publish.dataset, publish.release, charge.seq, str(charge.epsilon))
    return None if said == charged else _OTHER_CARD


_OTHER_CARD = "The card says another synopsis, dataset, release, charge or epsilon than the ledger."

_OTHER_TERMS = (
    "The synopsis says another release, dataset, epsilon, domain, unit, rule or noise than its charge and grant."
)

_OTHER_STEPS = "The synopsis has another bought size, or other noisy layers, than the steps of its release drew."


def _as_drawn(synopsis: Synopsis, record: ReleaseRecord) -> bool:
    """Whether a synopsis has the size and the layers that were drawn for its release step by step, if any were."""
    if record.size is not None and synopsis.size != planned_size(record.size):
        return False
    if not record.layers:
        return True
    if not isinstance(synopsis.cells, AdaptiveCells):
        return False
    layers = list(synopsis.cells.layers.integers())[: len(record.layers)]
    return tuple(sha256(layer_bytes(counts)).digest() for counts in layers) == record.layers


def _as_ordered(synopsis: Synopsis, release: str, record: ReleaseRecord, charge: LedgerEntry) -> bool:
    schema, order = datasets.schema_of(record.account), ReleaseOrder.from_json(charge.detail["order"])
    domain = schema.domain.select(order.attributes)
    terms = order.order(domain)
    ordered = (
        release,
        record.account.name,
        charge.epsilon,
        domain,
        schema.unit,
        terms.law,
        terms.size_law,
        terms.offset_epsilon,
        order.rule,
    )
    published = (
        synopsis.release,
        synopsis.dataset,
        synopsis.epsilon,
        synopsis.domain,
        synopsis.unit,
        synopsis.law,
        synopsis.size_law,
        synopsis.offset_epsilon,
        synopsis.rule,
    )
    return published == ordered and order.unit == schema.unit
