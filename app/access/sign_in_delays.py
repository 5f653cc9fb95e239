"""Failed sign-ins delay further tries from the same address. Nobody is locked out, and memory use is fixed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import blake2b
from secrets import token_bytes

import anyio

from app.errors import TooManyRequests

_BUCKETS = 1024  # addresses share a bucket by a keyed hash, so that nobody can choose whom to share one with
_FREE = 3  # failures before the first delay: people mistype
_FIRST, _LONGEST = 0.25, 4.0  # seconds; each failure doubles the delay
_FORGIVEN = 60.0  # seconds after which one failure is forgotten
_MOST_WAITING = 16  # tries that wait at once; each holds a connection, and whoever made no mistake does not wait
_RETRY_SECONDS = 5


@dataclass(slots=True)
class _Bucket:
    failures: float = 0.0
    seen: float = 0.0


class SignInDelays:
    """Failures by address, in memory of fixed size; one for each process, used by its event loop alone.

    The delay comes before the key is looked at, and for right and wrong keys alike: otherwise a guesser would not have
    to wait for a refusal. It is bounded, so that whoever shares an address with a guesser waits a few seconds at most.
    """

    def __init__(self) -> None:
        self._secret = token_bytes(16)
        self._buckets = [_Bucket() for _ in range(_BUCKETS)]
        self._waiting = 0

    def seconds(self, address: str) -> float:
        """How long a try from this address waits now."""
        over = self._faded(address).failures - _FREE
        return 0.0 if over < 0 else min(_LONGEST, _FIRST * 2.0 ** min(over, 10.0))

    async def wait(self, address: str) -> None:
        """Wait as long as a try from this address must; TooManyRequests where too many wait already."""
        delay = self.seconds(address)
        if not delay:
            return
        if self._waiting >= _MOST_WAITING:
            raise TooManyRequests("Too many sign-ins wait after wrong keys.", _RETRY_SECONDS)
        self._waiting += 1
        try:
            await anyio.sleep(delay)
        finally:
            self._waiting -= 1

    def count_failure(self, address: str) -> None:
        """Remember a wrong key."""
        bucket = self._faded(address)
        bucket.failures = min(bucket.failures + 1.0, _FREE + 10.0)

    def _faded(self, address: str) -> _Bucket:
        """The bucket of an address, less what is forgiven by now."""
        digest = blake2b(address.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=8).digest()
        bucket = self._buckets[int.from_bytes(digest) % _BUCKETS]
        now = time.monotonic()
        bucket.failures = max(0.0, bucket.failures - (now - bucket.seen) / _FORGIVEN)
        bucket.seen = now
        return bucket
