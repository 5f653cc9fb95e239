"""The two-person rule: above a dataset's threshold, one key asks for an order, a grant or a void and another approves.

A `rule` entry sets the threshold. A `request` holds the whole content of what is asked for: its kind, its release, its
epsilon and its terms. The entry that approves it is the charge, grant, void or rule itself: its actor is the approver,
and its detail has the hash of the request (`request`) and who made it (`requested_by`). A `refuse` ends a request.

All of this is checked from the ledger alone:

- a charge, a grant or a void above the threshold, and a rule that raises or removes it, names a request;
- the request is of the same dataset, waits, and asks for exactly this;
- requester and approver are two keys, both in use at the approval. Keys are compared by their ids: two keys may have
  one name.

The first grant of a dataset comes before any rule, so registering takes one person.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from core.budget import Epsilon
from core.canonical import canonical_json
from core.errors import InvalidEpsilon
from core.ledger.accounts import RequestRecord, RequestState
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind

if TYPE_CHECKING:
    from core.ledger.books import Books

ENVIRONMENT_KEY = "environment"  # the id of the admin key that settings give; it is in no ledger
REQUESTABLE = (Kind.CHARGE, Kind.GRANT, Kind.VOID, Kind.RULE)
_OF_A_RELEASE = (Kind.CHARGE, Kind.VOID)
# What an effect has beside the terms that were asked for: its request, and what every entry of its kind has.
_BESIDE = frozenset({"request", "requested_by", "salt", "granted", "spent"})


def key_id_of(actor: str) -> str:
    """The id of the key in an actor, which is its name and its id in brackets; "" where there is none.

    A name may have brackets itself, so the last pair counts.
    """
    _, bracket, rest = actor.rpartition(" [")
    return rest[:-1] if bracket and rest.endswith("]") else ""


def is_in_use(books: Books, actor: str) -> bool:
    """Whether an actor's key was issued and not revoked so far."""
    key_id = key_id_of(actor)
    key = books.keys.get(key_id)
    return key_id == ENVIRONMENT_KEY or (key is not None and key.revoked is None)


def needs_two(above: int | None, nano: int) -> bool:
    """Whether so many billionths take a second person under a threshold (None: no rule)."""
    return above is not None and nano > above


def raises(above: int | None, wanted: int | None) -> bool:
    """Whether a threshold would be raised or removed, which weakens the rule."""
    return above is not None and (wanted is None or wanted > above)


def threshold_of(detail: Mapping[str, Any]) -> int | None:
    """The threshold that a rule sets, in billionths; None removes it. InvalidEpsilon or KeyError where it has none."""
    above = detail["above"]
    if above is None:
        return None
    if not isinstance(above, str):
        raise InvalidEpsilon("A threshold is a decimal string.")
    return Epsilon.parse(above).nano


def fits_a_closed_dataset(entry: LedgerEntry) -> bool:
    """Whether an entry is a void, a request for one, or a refusal: these are possible after a close."""
    asks_for_void = entry.kind is Kind.REQUEST and entry.detail.get("kind") == Kind.VOID
    return entry.kind in (Kind.VOID, Kind.REFUSE) or asks_for_void


def objection(books: Books, entry: LedgerEntry) -> str | None:
    """The rule of two persons that an effect breaks, as a sentence; None if it breaks none."""
    if entry.kind not in REQUESTABLE:
        return None
    if "request" in entry.detail:
        return _approval_objection(books, entry)
    account = books.accounts.get(str(entry.dataset))
    if account is None:
        return None
    if entry.kind is Kind.RULE:
        is_one_enough = not raises(account.above, threshold_of(entry.detail))
    else:
        is_one_enough = not needs_two(account.above, entry.epsilon.nano)
    return None if is_one_enough else "The entry needs two persons and names no request."


def _approval_objection(books: Books, entry: LedgerEntry) -> str | None:
    record = _waiting(books, entry)
    if record is None:
        return "The entry names no request of this dataset that waits."
    if record.content != _content_of_effect(entry):
        return "The entry is not what its request asks for."
    if entry.detail.get("requested_by") != record.actor:
        return "The entry names another requester than its request has."
    if key_id_of(record.actor) == key_id_of(entry.actor):
        return "The key that asked for it approved it as well."
    if not is_in_use(books, record.actor):
        return "The key that asked for it is no longer in use."
    return _unknown_key(books, entry)


def decide(books: Books, entry: LedgerEntry) -> None:
    """Note that an entry approved or refused the request that it names."""
    record = _waiting(books, entry) if entry.kind in (*REQUESTABLE, Kind.REFUSE) else None
    if record is not None:
        record.state = RequestState.REFUSED if entry.kind is Kind.REFUSE else RequestState.APPROVED
        record.decided_seq, record.decided_hash = entry.seq, entry.hash
        del record.account.waiting[record.hash]


def rule_rule(_books: Books, entry: LedgerEntry) -> str | None:
    """A rule has a threshold, or null, and neither a release nor an epsilon."""
    try:
        threshold_of(entry.detail)
    except (InvalidEpsilon, KeyError):
        return "The rule names no threshold."
    return _spends(entry)


def rule_effect(books: Books, entry: LedgerEntry) -> None:
    """The threshold from here on."""
    books.accounts[str(entry.dataset)].above = threshold_of(entry.detail)


def request_rule(books: Books, entry: LedgerEntry) -> str | None:
    """A request spends nothing and says all of what it asks for; a release is asked for once."""
    detail = entry.detail
    kind, release, terms = detail.get("kind"), detail.get("release"), detail.get("terms")
    is_whole = (
        kind in REQUESTABLE
        and isinstance(release, str) == (kind in _OF_A_RELEASE)
        and isinstance(terms, Mapping)
        and not _BESIDE & terms.keys()
        and _is_epsilon(detail.get("epsilon"))
    )
    if not is_whole:
        return "The request does not say what it asks for."
    if kind == Kind.CHARGE and (release in books.releases or release in books.requested_releases):
        return "The release was ordered, or asked for, before."
    return _spends(entry) or _unknown_key(books, entry)


def request_effect(books: Books, entry: LedgerEntry) -> None:
    """The request waits."""
    account, detail = books.accounts[str(entry.dataset)], entry.detail
    content = _content(Kind(detail["kind"]), detail.get("release"), detail["epsilon"], detail["terms"])
    record = RequestRecord(
        account=account,
        seq=entry.seq,
        hash=entry.hash,
        kind=Kind(detail["kind"]),
        release=detail.get("release"),
        content=content,
        actor=entry.actor,
    )
    books.requests[record.id] = account.waiting[record.hash] = record
    account.requests.append(record)
    if record.kind is Kind.CHARGE:
        books.requested_releases[str(record.release)] = record


def refuse_rule(books: Books, entry: LedgerEntry) -> str | None:
    """A refusal names a request that waits. Its own requester may refuse it, too."""
    if _waiting(books, entry) is None:
        return "The entry names no request of this dataset that waits."
    return _spends(entry) or _unknown_key(books, entry)


def _waiting(books: Books, entry: LedgerEntry) -> RequestRecord | None:
    """The request that an entry names by its hash, if it is of the same dataset and nobody decided it."""
    account = books.accounts.get(str(entry.dataset))
    return None if account is None else account.waiting.get(str(entry.detail.get("request")))


def _content_of_effect(entry: LedgerEntry) -> bytes:
    terms = {name: value for name, value in entry.detail.items() if name not in _BESIDE}
    return _content(entry.kind, entry.release, str(entry.epsilon), terms)


def _content(kind: Kind, release: str | None, epsilon: str, terms: Mapping[str, Any]) -> bytes:
    """What a request and its effect have to agree on, as a SHA-256."""
    return sha256(canonical_json([kind.value, release, epsilon, terms])).digest()


def _is_epsilon(text: object) -> bool:
    try:
        return isinstance(text, str) and str(Epsilon.parse(text)) == text
    except InvalidEpsilon:
        return False


def _spends(entry: LedgerEntry) -> str | None:
    return "The entry has a release or an epsilon of its own." if entry.release or entry.epsilon.nano else None


def _unknown_key(books: Books, entry: LedgerEntry) -> str | None:
    return None if is_in_use(books, entry.actor) else "The actor is no key that is in use."
