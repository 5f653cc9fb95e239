"""The part of the client for rows that are counted where they lie: only exact counts are sent, step by step.

`rugnik release --engine …` does all of it. These methods are what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from itertools import count
from urllib.parse import urlsplit

from rugnik.curating import UPLOAD_TIMEOUT, Curating, ended, may_have_taken
from rugnik.errors import NotReached, Problem, ReleaseEnded, RugnikError, UnexpectedReply, UnfitSource
from rugnik.naming import order_id
from rugnik.transport import decoded, may_pass, never_sent
from rugnik.wire import Awaited, Release, SizeBody

_COUNTS = "application/vnd.rugnik.counts+arrow"


class Counting(Curating):
    """Stage 1 for rows that never leave the curator's machines."""

    def awaited(self, release: str | Release) -> Awaited:
        """What to count next for an order; ReleaseEnded where it waits for nothing."""
        return Awaited.of(self._json("GET", f"/v1/releases/{order_id(release)}/counts"))

    def buy_size(self, release: str | Release, rows: int) -> Release:
        """Have the noisy size of an order drawn from its exact number of rows. Repeated safely: it is drawn once."""
        self._require_private_way()
        return Release.of(self._post(f"/v1/releases/{order_id(release)}/size", SizeBody(rows=rows), repeatable=True))

    def send_counts(self, release: str | Release, step: str, read: Callable[[], Iterable[bytes]]) -> Release:
        """Send the exact counts of one step; `read` gives the bytes of the stream, anew for each try.

        A try that fails on the way is followed by a look at the release: if the step was drawn, so much is returned;
        else it is sent again. If noise was drawn and is not stored, that is waited for; if it does not come,
        ReleaseEnded with `state` "burnt" says that the epsilon is spent.
        """
        self._require_private_way()
        release = order_id(release)
        path = f"/v1/releases/{release}/counts"
        may_be_taken = False
        for tried in count(1):
            try:
                with self._transport.stream(
                    "PUT", path, pieces=read(), headers={"Content-Type": _COUNTS}, timeout=UPLOAD_TIMEOUT
                ) as response:
                    return Release.of(decoded(response.read()))
            except (NotReached, UnexpectedReply, Problem) as error:
                may_be_taken = may_be_taken or may_have_taken(error)
                drawn = self._drawn_after(release, step, error) if may_be_taken else None
                if drawn is not None:
                    return drawn
                if not may_pass(error) or not self._transport.pause(tried, error):
                    raise
        raise AssertionError

    def _drawn_after(self, release: str, step: str, error: RugnikError) -> Release | None:
        """The release, if a failed try that may have been taken was; None if its step is still awaited."""
        if never_sent(error) or not (may_pass(error) or isinstance(error, ReleaseEnded)):
            return None
        standing = self._settled(release)
        if standing.state == "burnt":
            raise ended(standing) from error
        if standing.state == "published" or self.awaited(release).step != step:
            return standing
        return None

    def _require_private_way(self) -> None:
        """Refuse to send exact counts in the clear to another machine."""
        address = urlsplit(self._transport.url)
        if address.scheme != "https" and not is_loopback(address.hostname or ""):
            raise UnfitSource("Exact counts are sent over https only, unless the service is on this machine.")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its address or as localhost."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
