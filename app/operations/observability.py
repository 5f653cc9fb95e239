"""Logs and metrics: identifiers and outcomes, never a data value and never a size.

The times of a curator's requests bracket an upload, and its duration shows how many rows it had.
`app.http.middleware.observe_requests` decides which requests are noted. A line that a curator's request can cause in
another way (a fault, a database that is not available, a witness that cannot be written) carries the day and no time.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, Metric, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from structlog.typing import EventDict

from app.operations.lanes import Lane

# Lines that no curator's request can cause, or that tell nothing of one; all others have the day alone.
_WITH_MOMENT = frozenset({"request", "sign_in_failed", "cannot_start"})


def _add_time(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """structlog processor: the moment, or the day."""
    now = datetime.now(UTC)
    event["timestamp"] = _moment(now) if event["event"] in _WITH_MOMENT else _day(now)
    return event


def _moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d")


class _Discreet(logging.Formatter):
    """Log lines of libraries. Only the server's own words are passed on, and no exception's: these may quote a row."""

    def format(self, record: logging.LogRecord) -> str:
        said = {"message": record.getMessage()} if record.name.startswith("uvicorn") else {}
        error = record.exc_info[1] if record.exc_info else None
        created = datetime.fromtimestamp(record.created, UTC)
        at = _moment(created) if error is None else _day(created)
        level = record.levelname.lower()
        return json.dumps({"logger": record.name, "level": level, **said, **where(error), "timestamp": at})


def configure_logging(level: str) -> None:
    """JSON lines on standard error, ours and those of libraries."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _add_time,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(file=sys.__stderr__),
    )
    handler = logging.StreamHandler(sys.__stderr__)
    handler.setFormatter(_Discreet())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(threshold)


class Metrics:
    """This process's counters of noted requests. No process collector: memory and CPU of an upload tell its size."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # these would tell when a route was first called, the upload's among them
        self.registry = CollectorRegistry()
        labels = ["worker", "method", "route"]
        self._worker = str(os.getpid())
        self._requests = Counter(
            "rugnik_requests", "Requests by route and status.", [*labels, "status"], registry=self.registry
        )
        self._seconds = Histogram("rugnik_request_seconds", "Duration of requests.", labels, registry=self.registry)
        self._refused = Counter(
            "rugnik_keys_refused", "Requests without a valid key (401).", ["worker"], registry=self.registry
        )

    def watch(self, lanes: Sequence[Lane]) -> None:
        """Report the queues and refusals of these lanes, as far as they may be noted."""
        self.registry.register(_Queues(self._worker, lanes))

    def count(self, method: str, route: str, status: int) -> None:
        """One more request."""
        self._requests.labels(self._worker, method, route, str(status)).inc()

    def time(self, method: str, route: str, seconds: float) -> None:
        """The duration of a request that carried no rows."""
        self._seconds.labels(self._worker, method, route).observe(seconds)

    def count_refused_key(self) -> None:
        """One more 401, of whatever route."""
        self._refused.labels(self._worker).inc()


class _Queues(Collector):
    """How many requests wait in each lane, and how many were refused with 429; a curator's are in neither number."""

    def __init__(self, worker: str, lanes: Sequence[Lane]) -> None:
        self._worker, self._lanes = worker, lanes

    def collect(self) -> Iterator[Metric]:
        """The numbers of this moment."""
        labels = ["worker", "lane"]
        waiting = GaugeMetricFamily("rugnik_lane_waiting", "Requests that wait for a slot.", labels=labels)
        refused = CounterMetricFamily("rugnik_lane_refused", "Requests refused with 429.", labels=[*labels, "reason"])
        for lane in self._lanes:
            waiting.add_metric([self._worker, lane.name], lane.noted_waiting)
            for reason, times in lane.noted_refusals.items():
                refused.add_metric([self._worker, lane.name, reason], times)
        yield waiting
        yield refused


def where(error: BaseException | None) -> dict[str, Any]:
    """An exception by its type and place, without its message."""
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{frame.name}:{frame.lineno}" for frame in frames[-8:]]}
