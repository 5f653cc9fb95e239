"""Balances, states and keys as a replay of the ledger gives them, and the rules that any honest ledger keeps.

Everything that a service decides by is in here, so that a table beside the ledger decides nothing. A release takes
about 400 bytes; terms that are long, such as its order, stay in the ledger and are read again by their hash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.budget import Budget, Epsilon
from core.ledger.entry import KEY_KINDS, Kind, LedgerEntry

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NO_OPEN_ORDER = "The release is not an order of this dataset that is still open."


@dataclass(slots=True)
class Account:
    """A dataset: what was said at its registration, its billionths of epsilon, and its releases, oldest order first."""

    name: str
    registration: Mapping[str, Any]
    granted: int = 0
    spent: int = 0
    spent_on_drawn: int = 0
    closed: bool = False
    releases: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)

    @property
    def budget(self) -> Budget:
        """Grants minus charges plus voids."""
        return Budget(granted=Epsilon(self.granted), spent=Epsilon(self.spent))


@dataclass(slots=True)
class ReleaseRecord:
    """A release: its account, its charge by number and hash, the kind of its last entry, the digest it published."""

    account: Account
    nano: int
    charge_seq: int
    charge_hash: bytes
    last: Kind
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key: who, what for, a hash of its secret, and the days on which it was issued and revoked."""

    id: str
    name: str
    role: str
    datasets: frozenset[str] | None
    secret_hash: str
    issued: str
    revoked: str | None = None


SECRET_HASH = "sha256_of_secret_sha256"  # noqa: S105 - a field's name: SHA-256 of the hex SHA-256 of the secret


@dataclass(slots=True)
class Books:
    """The replay itself. `post` refuses whatever a correct service would have refused."""

    accounts: dict[str, Account] = field(default_factory=dict)
    releases: dict[str, ReleaseRecord] = field(default_factory=dict)
    keys: dict[str, KeyRecord] = field(default_factory=dict)
    draws_recorded: bool = False

    def post(self, entry: LedgerEntry) -> str | None:
        """Take in one entry; a sentence, and nothing else, where it breaks a rule."""
        reason = self.objection(entry)
        if reason is None:
            self._take_in(entry)
        return reason

    def objection(self, entry: LedgerEntry) -> str | None:
        """The rule that an entry would break here and now, as a sentence."""
        if entry.kind in KEY_KINDS:
            return self._key_rule(entry)
        if entry.dataset is None:
            return "The entry names no dataset."
        account = self.accounts.get(entry.dataset)
        if account is None:
            return None if entry.kind is Kind.GRANT else "The dataset has no grant before this entry."
        # An order may still be voided once its dataset is closed, and what was drawn before may be published.
        if account.closed and entry.kind is not Kind.VOID and self._last(entry) is not Kind.DRAW:
            return "The dataset was closed before."
        return self._release_rule(entry, account)

    def _release_rule(self, entry: LedgerEntry, account: Account) -> str | None:
        match entry.kind:
            case Kind.GRANT | Kind.CLOSE:
                return None
            case Kind.CHARGE:
                return self._charge_rule(entry, account)
            case Kind.PUBLISH:
                return self._publish_rule(entry, account)
            case Kind.VOID:
                return self._void_rule(entry, account)
            case _:
                return None if self._order(entry, account) else _NO_OPEN_ORDER

    def _charge_rule(self, entry: LedgerEntry, account: Account) -> str | None:
        if entry.release is None or entry.release in self.releases:
            return "A charge needs a release of its own."
        if entry.epsilon.nano > account.granted - account.spent:
            return "The charge exceeds what the dataset had left."
        order = entry.detail.get("order")
        if order is not None and not (isinstance(order, dict) and order.get("epsilon") == str(entry.epsilon)):
            return "The charge is not the epsilon of its order."
        return None

    def _publish_rule(self, entry: LedgerEntry, account: Account) -> str | None:
        record = self.releases.get(entry.release or "")
        if record is None or record.account is not account or record.last not in (Kind.CHARGE, Kind.DRAW):
            return _NO_OPEN_ORDER
        if record.last is Kind.CHARGE and self.draws_recorded:  # version 0.1 recorded no draws
            return "The release is published without a draw before."
        if not _DIGEST.fullmatch(str(entry.detail.get("digest"))):
            return "The publish names no digest of a synopsis."
        return None

    def _void_rule(self, entry: LedgerEntry, account: Account) -> str | None:
        record = self._order(entry, account)
        if record is None:
            return _NO_OPEN_ORDER
        if entry.epsilon.nano != record.nano:
            return "A void gives back exactly what was charged."
        return None

    def _key_rule(self, entry: LedgerEntry) -> str | None:
        if entry.dataset is not None or entry.release is not None or entry.epsilon.nano:
            return "An entry about a key has no dataset, release or epsilon."
        known = self.keys.get(str(entry.detail.get("id")))
        if entry.kind is Kind.REVOKE:
            gone = known is None or known.revoked is not None
            return "The key was not issued, or was revoked before." if gone else None
        if known is not None:
            return "The key was issued before."
        return None if _key_of(entry) is not None else "The entry does not describe a key."

    def _last(self, entry: LedgerEntry) -> Kind | None:
        """The kind of the last entry of this entry's release."""
        record = self.releases.get(entry.release or "")
        return record.last if record is not None else None

    def _order(self, entry: LedgerEntry, account: Account) -> ReleaseRecord | None:
        """The entry's release, if it is ordered and nothing more."""
        record = self.releases.get(entry.release or "")
        return record if record is not None and record.account is account and record.last is Kind.CHARGE else None

    def _take_in(self, entry: LedgerEntry) -> None:
        match entry.kind:
            case Kind.GRANT:
                account = self.accounts.get(str(entry.dataset))
                if account is None:
                    account = Account(str(entry.dataset), registration=entry.detail)
                    self.accounts[account.name] = account
                account.granted += entry.epsilon.nano
            case Kind.CLOSE:
                self.accounts[str(entry.dataset)].closed = True
            case Kind.CHARGE:
                self._take_charge(entry)
            case Kind.ISSUE:
                key = _key_of(entry)
                assert key is not None  # noqa: S101 - the rule saw to it
                self.keys[key.id] = key
            case Kind.REVOKE:
                key_id = str(entry.detail["id"])
                self.keys[key_id] = replace(self.keys[key_id], revoked=_day(entry))
            case _:
                self._take_end(entry, self.releases[str(entry.release)])

    def _take_charge(self, entry: LedgerEntry) -> None:
        account, release, nano = self.accounts[str(entry.dataset)], str(entry.release), entry.epsilon.nano
        charge_hash = bytes.fromhex(entry.hash)
        self.releases[release] = ReleaseRecord(account, nano, entry.seq, charge_hash, Kind.CHARGE)
        account.releases.append(release)
        account.spent += nano

    def _take_end(self, entry: LedgerEntry, record: ReleaseRecord) -> None:
        """A draw, a publish or a void."""
        undrawn, record.last = record.last is Kind.CHARGE, entry.kind
        if entry.kind is Kind.VOID:
            record.account.spent -= record.nano
            return
        if undrawn:
            record.account.spent_on_drawn += record.nano
        if entry.kind is Kind.DRAW:
            self.draws_recorded = True
        else:
            record.digest = bytes.fromhex(entry.detail["digest"])
            record.account.published.append(str(entry.release))


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


def _day(entry: LedgerEntry) -> str:
    """The day on which it happened; keys of version 0.1 were put on record later, and their entries say when."""
    return str(entry.detail.get("on", entry.at[:10]))
