# Made from rugnik/auditing.py by `python -m tools.asynchronous`. Do not edit.
"""The auditor's and the admin's part of the client: the ledger, keys, health."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from rugnik.asynchronous.connected import Connected
from rugnik.asynchronous.downloads import download
from rugnik.connected import quoted
from rugnik.downloads import Target
from rugnik.errors import UnexpectedReply
from rugnik.transport import decoded
from rugnik.wire import (
    Consistency,
    Head,
    Health,
    Key,
    KeyBody,
    LedgerEntry,
    LedgerPage,
    NewKey,
    Verification,
    VerificationStep,
)


class Auditing(Connected):
    """Where every billionth of epsilon went."""

    async def ledger(
        self, *, dataset: str | None = None, kind: str | None = None, after: int = 0, limit: int = 100
    ) -> LedgerPage:
        """One page of entries, newest last."""
        params = {"dataset": dataset, "kind": kind, "after": after, "limit": limit}
        return LedgerPage.of(await self._json("GET", "/v1/ledger", params=params))

    async def ledger_entries(
        self, *, dataset: str | None = None, kind: str | None = None
    ) -> AsyncIterator[LedgerEntry]:
        """Every entry, page after page."""
        after: int | None = 0
        while after is not None:
            page = await self.ledger(dataset=dataset, kind=kind, after=after, limit=1000)
            for each in page.entries:
                yield each
            after = page.next

    async def ledger_head(self) -> Head:
        """The last entry's number and hash."""
        return Head.of(await self._json("GET", "/v1/ledger/head"))

    async def log_checkpoint(self) -> str:
        """The newest signed checkpoint of the ledger: number of entries and root of its tree, as a signed note."""
        return (await self._transport.send("GET", "/log/checkpoint", repeatable=True)).text

    async def log_policy(self) -> str:
        """The policy that the service suggests: the key of its log and its witnesses. Compare it with one you trust."""
        return (await self._transport.send("GET", "/log/policy", repeatable=True)).text

    async def log_tile(self, level: str, place: str) -> bytes:
        """A tile of the log (C2SP tlog-tiles): `log_tile("0", "000.p/5")` has the first five hashes."""
        return (await self._transport.send("GET", f"/log/tile/{quoted(level)}/{place}", repeatable=True)).content

    async def ledger_consistency(self, old: int) -> Consistency:
        """The newest signed checkpoint, with the proof that the first `old` entries are unchanged in it."""
        return Consistency.of(await self._json("GET", "/v1/ledger/consistency", params={"old": old}))

    async def verify_ledger(self) -> Verification:
        """Let the service walk its whole chain: hashes, numbers, balances, and the witness."""
        return Verification.of(await self._json("GET", "/v1/ledger/verify"))

    async def verify_ledger_on_record(
        self, progress: Callable[[VerificationStep], object] | None = None
    ) -> Verification:
        """The same, and the service records who verified it with which outcome; `progress` is called for each step."""
        last: VerificationStep | None = None
        async with self._transport.stream("POST", "/v1/ledger/verifications") as response:
            async for line in response.aiter_lines():
                last = VerificationStep.of(decoded(line.encode()))
                if progress is not None:
                    progress(last)
        if last is None:
            raise UnexpectedReply("The verification ended without an outcome.")
        return last

    async def export_ledger(self, to: Target, *, format: str | None = None) -> int:  # noqa: A002 - as in the address
        """The whole ledger as NDJSON, to be verified elsewhere, or as "csv". The number of bytes written."""
        return await download(self._transport, "/v1/ledger/export", to, {"format": format})


class Administering(Connected):
    """Who may do what, and whether the service is well."""

    async def issue_key(self, name: str, role: str, *, datasets: Sequence[str] | None = None) -> NewKey:
        """Issue a key: admin, curator, analyst or auditor. Its secret is in this answer and nowhere else."""
        body = KeyBody(name=name, role=role, datasets=None if datasets is None else list(datasets))
        return NewKey.of(await self._post("/v1/keys", body))

    async def keys(self) -> list[Key]:
        """Every key ever issued, without secrets."""
        return [Key.of(key) for key in await self._listed("/v1/keys", "keys")]

    async def revoke_key(self, key_id: str) -> None:
        """End a key, by its id. A second time changes nothing, so this is repeated safely."""
        await self._json("DELETE", f"/v1/keys/{quoted(key_id)}", repeatable=True)

    async def health(self) -> Health:
        """Whether the process answers; asked once."""
        return Health.of(await self._json("GET", "/healthz", repeatable=False))

    async def ready(self) -> Health:
        """Whether the service can work; asked once, and NotReady says what is wrong."""
        return Health.of(await self._json("GET", "/readyz", repeatable=False))

    async def metrics(self) -> str:
        """Prometheus text, for an admin key or the metrics key."""
        return (await self._transport.send("GET", "/metrics", repeatable=True)).text
