"""Balances, states and keys, as a replay of the ledger gives them, and the rules that every valid ledger keeps.

Everything that a service decides by is in the books, so no table beside the ledger decides anything. A release takes
about 600 bytes; long terms, such as its order, stay in the ledger and are read again by their hash.

`_POSTINGS` lists, for each kind of entry, the rule it must keep and its effect on the books. What needs two persons has
rules of its own: `core.ledger.two_persons`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from core.budget import Epsilon
from core.ledger import two_persons
from core.ledger.accounts import SECRET_HASH, Account, KeyRecord, ReleaseRecord, RequestRecord, Trail
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import KEY_KINDS, LAST_STEP, STEPS, Kind, step_of
from core.log.note import InvalidNote, SignatureType, VerifierKey

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NO_OPEN_ORDER = "The release is not an order of this dataset that is still open."


@dataclass(slots=True)
class Books:
    """The replay itself. `post` refuses every entry that a correct service would not have written."""

    accounts: dict[str, Account] = field(default_factory=dict)
    releases: dict[str, ReleaseRecord] = field(default_factory=dict)
    keys: dict[str, KeyRecord] = field(default_factory=dict)
    requests: dict[str, RequestRecord] = field(default_factory=dict)
    requested_releases: dict[str, RequestRecord] = field(default_factory=dict)
    key_trail: Trail = field(default_factory=Trail)
    draws_recorded: bool = False
    log_keys: list[str] = field(default_factory=list)  # the verifier keys of the log after the first, oldest first

    @property
    def log_key(self) -> str | None:
        """The newest verifier key of the log, where it is not the first."""
        return self.log_keys[-1] if self.log_keys else None

    def post(self, entry: LedgerEntry) -> str | None:
        """Take in one entry. Where it breaks a rule, change nothing and return the rule as a sentence."""
        reason = self.objection(entry)
        if reason is None:
            _POSTINGS[entry.kind].effect(self, entry)
            two_persons.decide(self, entry)
            trail = self.key_trail if entry.dataset is None else self.accounts[entry.dataset].trail
            trail.add(entry.seq, entry.actor)
        return reason

    def objection(self, entry: LedgerEntry) -> str | None:
        """The rule that an entry would break here and now, as a sentence; None if it breaks none."""
        reason = self._about_key(entry) if entry.kind in KEY_KINDS else self._about_dataset(entry)
        return reason or _POSTINGS[entry.kind].rule(self, entry) or two_persons.objection(self, entry)

    def open_order(self, entry: LedgerEntry) -> ReleaseRecord | None:
        """The entry's release, if it belongs to the entry's dataset, is ordered, and nothing is drawn for it."""
        record = self.releases.get(entry.release or "")
        own = record is not None and record.account.name == entry.dataset and record.last is Kind.CHARGE
        return record if own else None

    def _about_key(self, entry: LedgerEntry) -> str | None:
        if entry.dataset is not None or entry.release is not None or entry.epsilon.nano:
            return "An entry about a key has no dataset, release or epsilon."
        return None

    def _about_dataset(self, entry: LedgerEntry) -> str | None:
        if entry.dataset is None:
            return "The entry names no dataset."
        account = self.accounts.get(entry.dataset)
        if account is None:
            return None if entry.kind is Kind.GRANT else "The dataset has no grant before this entry."
        # An order may still be voided once its dataset is closed, and what was drawn before may be published.
        drawn_before = entry.kind in (Kind.PUBLISH, Kind.STEP) and self._last_kind(entry) is Kind.DRAW
        if account.closed and not two_persons.fits_a_closed_dataset(entry) and not drawn_before:
            return "The dataset was closed before."
        return None

    def _last_kind(self, entry: LedgerEntry) -> Kind | None:
        """The kind of the last entry of this entry's release."""
        record = self.releases.get(entry.release or "")
        return record.last if record is not None else None


@dataclass(frozen=True, slots=True)
class Posting:
    """How entries of one kind are taken in: `rule` returns the rule that an entry breaks, `effect` changes the books.

    `rule` runs after the checks that all entries about a dataset, or about a key, share.
    """

    rule: Callable[[Books, LedgerEntry], str | None]
    effect: Callable[[Books, LedgerEntry], None]


def _no_rule(_books: Books, _entry: LedgerEntry) -> None:
    return None


def _no_effect(_books: Books, _entry: LedgerEntry) -> None:
    return None


def _grant(books: Books, entry: LedgerEntry) -> None:
    name = str(entry.dataset)
    account = books.accounts.get(name)
    if account is None:
        account = books.accounts[name] = Account(name, registration=entry.detail)
    account.granted += entry.epsilon.nano


def _close(books: Books, entry: LedgerEntry) -> None:
    books.accounts[str(entry.dataset)].closed = True


def _charge_rule(books: Books, entry: LedgerEntry) -> str | None:
    account = books.accounts[str(entry.dataset)]
    if entry.release is None or entry.release in books.releases:
        return "A charge needs a release of its own."
    if entry.epsilon.nano > account.granted - account.spent:
        return "The charge exceeds what the dataset had left."
    order = entry.detail.get("order")
    if order is not None and not (isinstance(order, dict) and order.get("epsilon") == str(entry.epsilon)):
        return "The charge is not the epsilon of its order."
    stated = entry.detail.get("granted"), entry.detail.get("spent")
    balance = str(Epsilon(account.granted)), str(Epsilon(account.spent + entry.epsilon.nano))
    if stated not in ((None, None), balance):  # charges of version 0.1 state neither
        return "The charge states another balance of its dataset than the entries before it give."
    return None


def _charge(books: Books, entry: LedgerEntry) -> None:
    account, release, nano = books.accounts[str(entry.dataset)], str(entry.release), entry.epsilon.nano
    charge_hash = bytes.fromhex(entry.hash)
    books.releases[release] = ReleaseRecord(
        account, nano, entry.seq, charge_hash, Kind.CHARGE, ordered=_at_day(entry), label=_label(entry)
    )
    account.releases.append(release)
    account.open_orders += 1
    account.spent += nano


def _draw_rule(books: Books, entry: LedgerEntry) -> str | None:
    record = books.releases.get(entry.release or "")
    if record is None or record.account.name != entry.dataset or record.last not in (Kind.CHARGE, Kind.STEP):
        return _NO_OPEN_ORDER
    step = step_of(entry.detail)
    if step is None or step <= record.step:
        return "The draw is of a step that was drawn before, or of none."
    return None


def _draw(books: Books, entry: LedgerEntry) -> None:
    record = books.releases[str(entry.release)]
    if not record.step:
        record.account.open_orders -= 1
        record.account.spent_on_drawn += record.nano
    record.last = Kind.DRAW
    record.step = step_of(entry.detail) or LAST_STEP
    books.draws_recorded = True


def _step_rule(books: Books, entry: LedgerEntry) -> str | None:
    record = books.releases.get(entry.release or "")
    if record is None or record.account.name != entry.dataset or record.last is not Kind.DRAW:
        return _NO_OPEN_ORDER
    step = step_of(entry.detail)
    if step != record.step or step == LAST_STEP:
        return "The step is not the one that was drawn."
    size, is_size = entry.detail.get("size"), step == STEPS["size"]
    if is_size and (not isinstance(size, int) or isinstance(size, bool)):
        return "The step holds no noisy size."
    if not is_size and not _DIGEST.fullmatch(str(entry.detail.get("digest"))):
        return "The step names no digest of noisy counts."
    return None


def _step(books: Books, entry: LedgerEntry) -> None:
    record = books.releases[str(entry.release)]
    record.last = Kind.STEP
    if record.step == STEPS["size"]:
        record.size = entry.detail["size"]
    else:
        record.layers += (bytes.fromhex(entry.detail["digest"]),)


def _publish_rule(books: Books, entry: LedgerEntry) -> str | None:
    record = books.releases.get(entry.release or "")
    if record is None or record.account.name != entry.dataset or record.last not in (Kind.CHARGE, Kind.DRAW):
        return _NO_OPEN_ORDER
    if record.last is Kind.CHARGE and books.draws_recorded:  # version 0.1 recorded no draws
        return "The release is published without a draw before."
    if record.last is Kind.DRAW and record.step != LAST_STEP:
        return "The release is published before its last step is drawn."
    if not _DIGEST.fullmatch(str(entry.detail.get("digest"))):
        return "The publish names no digest of a synopsis."
    if "card" in entry.detail and not _DIGEST.fullmatch(str(entry.detail["card"])):  # older ones have none
        return "The publish names a card by something that is no digest."
    return None


def _publish(books: Books, entry: LedgerEntry) -> None:
    record = books.releases[str(entry.release)]
    if record.last is Kind.CHARGE:  # of version 0.1: no draw before it
        record.account.open_orders -= 1
        record.account.spent_on_drawn += record.nano
    record.last = Kind.PUBLISH
    record.published = _at_day(entry)
    record.digest = bytes.fromhex(entry.detail["digest"])
    record.card = bytes.fromhex(entry.detail["card"]) if "card" in entry.detail else None
    record.account.published.append(str(entry.release))


def _void_rule(books: Books, entry: LedgerEntry) -> str | None:
    record = books.open_order(entry)
    if record is None:
        return _NO_OPEN_ORDER
    if entry.epsilon.nano != record.nano:
        return "A void gives back exactly what was charged."
    return None


def _void(books: Books, entry: LedgerEntry) -> None:
    record = books.releases[str(entry.release)]
    record.last = Kind.VOID
    record.account.open_orders -= 1
    record.account.spent -= record.nano


def _issue_rule(books: Books, entry: LedgerEntry) -> str | None:
    if str(entry.detail.get("id")) in books.keys:
        return "The key was issued before."
    return None if _key_of(entry) is not None else "The entry does not describe a key."


def _issue(books: Books, entry: LedgerEntry) -> None:
    key = _key_of(entry)
    assert key is not None  # noqa: S101 - the rule saw to it
    books.keys[key.id] = key


def _revoke_rule(books: Books, entry: LedgerEntry) -> str | None:
    key = books.keys.get(str(entry.detail.get("id")))
    gone = key is None or key.revoked is not None
    return "The key was not issued, or was revoked before." if gone else None


def _revoke(books: Books, entry: LedgerEntry) -> None:
    key_id = str(entry.detail["id"])
    books.keys[key_id] = replace(books.keys[key_id], revoked=_day(entry))


def _log_key_rule(_books: Books, entry: LedgerEntry) -> str | None:
    try:
        key = VerifierKey.parse(str(entry.detail.get("verifier")))
    except InvalidNote as error:
        return str(error)
    return None if key.type is SignatureType.LOG else "The entry names no verifier key of a log."


def _log_key(books: Books, entry: LedgerEntry) -> None:
    books.log_keys.append(str(entry.detail["verifier"]))


_POSTINGS: Mapping[Kind, Posting] = {
    Kind.GRANT: Posting(_no_rule, _grant),
    Kind.CHARGE: Posting(_charge_rule, _charge),
    Kind.DRAW: Posting(_draw_rule, _draw),
    Kind.STEP: Posting(_step_rule, _step),
    Kind.PUBLISH: Posting(_publish_rule, _publish),
    Kind.VOID: Posting(_void_rule, _void),
    Kind.CLOSE: Posting(_no_rule, _close),
    Kind.ISSUE: Posting(_issue_rule, _issue),
    Kind.REVOKE: Posting(_revoke_rule, _revoke),
    Kind.KEY: Posting(_log_key_rule, _log_key),
    Kind.RULE: Posting(two_persons.rule_rule, two_persons.rule_effect),
    Kind.REQUEST: Posting(two_persons.request_rule, two_persons.request_effect),
    Kind.REFUSE: Posting(two_persons.refuse_rule, _no_effect),
}


def _key_of(entry: LedgerEntry) -> KeyRecord | None:
    """The key that an `issue` describes; None where it describes none."""
    detail = entry.detail
    texts = [detail.get(name) for name in ("id", "name", "role", SECRET_HASH)]
    names = detail.get("datasets")
    if not all(isinstance(text, str) for text in texts) or not (names is None or isinstance(names, list)):
        return None
    key_id, name, role, secret_hash = map(str, texts)
    if not _DIGEST.fullmatch(secret_hash) or not all(isinstance(name, str) for name in names or ()):
        return None
    datasets = None if names is None else frozenset(names)
    return KeyRecord(key_id, name, role, datasets, secret_hash, issued=_day(entry))


def _label(entry: LedgerEntry) -> str | None:
    """What the order of a charge is called; None where nobody said."""
    order = entry.detail.get("order")
    label = order.get("label") if isinstance(order, dict) else None
    return label if isinstance(label, str) else None


def _at_day(entry: LedgerEntry) -> str:
    """The UTC day of an entry; entries of version 0.1 have the second as well."""
    return str(entry.at)[:10]


def _day(entry: LedgerEntry) -> str:
    """The day on which it happened; keys of version 0.1 were put on record later, and their entries say when."""
    return str(entry.detail.get("on", entry.at[:10]))
