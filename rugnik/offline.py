"""A release in a file: the questions of the client, answered from a bundle, without a service or a network.

The questions are those of `Asking`, sent through the same transport; only what httpx sends them with is another.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from rugnik.asking import Asking
from rugnik.errors import MissingLibrary, NotFound
from rugnik.naming import Released, not_found
from rugnik.transport import Retries, Transport
from rugnik.wire import Answer, Grouped, Release, ReleaseSummary

if TYPE_CHECKING:
    from app.bundles.bundle import Bundle

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Answer = TypeVar("_Answer", bound=Answer)
_OURS = {"app", "core", "rugnik"}
_NOWHERE = "http://bundle"  # requests name a host; these reach no network


def _of_this_release(
    method: Callable[Concatenate[Asking, Released, _Parameters], _Result],
) -> Callable[Concatenate[OfflineRelease, _Parameters], _Result]:
    """A method of `Asking` as one of a release: without the parameter that names the release."""

    @wraps(method)
    def ask(opened: OfflineRelease, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return method(opened.asking, opened.id, *args, **kwargs)

    asked = signature(method)
    itself, _release, *others = asked.parameters.values()
    ask.__signature__ = asked.replace(parameters=[itself, *others])  # type: ignore[attr-defined] # for help()
    return ask


class AskingBundle(Asking):
    """Questions to the one release of a bundle, named by its id or by its dataset."""

    def __init__(self, transport: Transport, bundle: Bundle) -> None:
        super().__init__(transport)
        self._bundle = bundle

    def _released(self, release: Released) -> str:
        named, content = release.id if isinstance(release, Release | ReleaseSummary) else release, self._bundle.content
        if named not in (content.release, content.dataset):
            raise _elsewhere(named, content.release, content.dataset)
        return content.release


class OfflineRelease:
    """A release from a bundle. Questions are those of `Client`, without the release: `opened.clusters(k=5)`.

    Answers are the same as the service's, byte for byte. Nothing is sent anywhere, and nothing here trusts the bundle's
    own word about the ledger: to check that, verify its receipt.
    """

    def __init__(self, bundle: Bundle, asking: Asking) -> None:
        self._bundle = bundle
        self.asking = asking

    @property
    def id(self) -> str:
        """The id of the release."""
        return self._bundle.content.release

    @property
    def dataset(self) -> str:
        """The name of its dataset."""
        return self._bundle.content.dataset

    @property
    def digest(self) -> str:
        """SHA-256 of the synopsis in hexadecimal, as the ledger has it."""
        return self._bundle.digest

    @property
    def receipt(self) -> bytes:
        """The proof that the release stands in the ledger: a C2SP tlog-proof, not checked here."""
        return self._bundle.receipt

    @property
    def card(self) -> bytes:
        """What a reader should know about the release, as JSON."""
        return self._bundle.card

    @property
    def croissant(self) -> bytes:
        """The same for catalogues of data, as Croissant."""
        return self._bundle.croissant

    @property
    def terms(self) -> str:
        """The terms of use."""
        return self._bundle.terms

    @property
    def policy(self) -> str:
        """Which witnesses the publisher suggests to trust: a suggestion, to be read before it is used."""
        return self._bundle.policy

    def ask(self, answer: type[_Answer], **parameters: Any) -> _Answer:
        """Any question that is a GET, by the type of its answer: `ask(Moments, level=0.9)`."""
        return self.asking.ask(self.id, answer, **parameters)

    def ask_by_group(
        self, answer: type[Answer], group_by: str, *, simultaneous: bool = False, **parameters: Any
    ) -> Grouped:
        """The same for each value of a category: `ask_by_group(Moments, "sex")`."""
        return self.asking.ask_by_group(self.id, answer, group_by, simultaneous=simultaneous, **parameters)

    ask_with_body = _of_this_release(Asking.ask_with_body)
    count = _of_this_release(Asking.count)
    counts = _of_this_release(Asking.counts)
    marginal = _of_this_release(Asking.marginal)
    quantiles = _of_this_release(Asking.quantiles)
    moments = _of_this_release(Asking.moments)
    clusters = _of_this_release(Asking.clusters)
    scan_clusters = _of_this_release(Asking.scan_clusters)
    assign = _of_this_release(Asking.assign)
    rows = _of_this_release(Asking.rows)
    download_rows = _of_this_release(Asking.download_rows)
    synopsis = _of_this_release(Asking.synopsis)
    download_synopsis = _of_this_release(Asking.download_synopsis)
    components = _of_this_release(Asking.components)
    conditional = _of_this_release(Asking.conditional)
    hotspots = _of_this_release(Asking.hotspots)
    information = _of_this_release(Asking.information)
    regression = _of_this_release(Asking.regression)

    def __repr__(self) -> str:
        return f"OfflineRelease({self.id!r} of {self.dataset!r}, digest {self.digest[:12]}…)"


def open_bundle(path: str | os.PathLike[str]) -> OfflineRelease:
    """The release in a bundle, ready to be asked. `rugnik.open` is this function.

    Raises UnfitBundle for a file that is no bundle, MissingLibrary where `rugnik[offline]` is not installed, OSError.
    """
    try:
        from app.bundles.bundle import Bundle  # noqa: PLC0415 - the client alone works without these
        from app.offline.transport import BundleTransport  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _OURS:
            raise
        raise MissingLibrary(f"Opening a bundle needs {package}: pip install 'rugnik[offline]'.") from None
    bundle = Bundle.open(path)
    over = BundleTransport(bundle.content)
    transport = Transport(_NOWHERE, None, timeout=60.0, retries=Retries(1), over=over)
    return OfflineRelease(bundle, AskingBundle(transport, bundle))


def _elsewhere(named: object, release: str, dataset: str) -> NotFound:
    return not_found(f"This bundle holds the release {release} of {dataset}, and not {named!r}.", [])
