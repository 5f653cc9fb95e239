"""Damaged files of each upload format, sent to one process of `rugnik serve`.

Each reply acknowledges a publication or is a documented refusal with a sentence that quotes nothing. No fault, the same
process from the first file to the last, its memory under a stated cap, and a ledger that holds what was acknowledged
and nothing else. A file that breaks one of these is kept in `torture/out/`, with the command that sends it again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from torture.console import OUT, Result, progressing
from torture.fuzzing.counts_streams import counts
from torture.fuzzing.damage import Chance
from torture.fuzzing.files import COUNTED, FILES, FORMATS, Sent, headers, sent
from torture.fuzzing.upload_target import CONNECTIONS, MEMORY_CAP, Sender, Service, running_service
from torture.model import Broken


@dataclass
class Fired:
    """What came of the files of one format."""

    name: str
    times: int = 0
    broken: dict[int, str] = field(default_factory=dict)


def upload_results(times: int) -> Iterator[Result]:
    """So many damaged files of each format, and at the end the ledger."""
    with running_service() as service:
        warm(service)
        for name in FORMATS:
            replies = dict(service.notes.replies)
            fired = fire(service, name, progressing(name, range(times)))
            new = {status: count - replies.get(status, 0) for status, count in sorted(service.notes.replies.items())}
            seen = ", ".join(f"{count:,} got {status}" for status, count in new.items() if count)
            said = next((f"{number}: {said}" for number, said in fired.broken.items()), seen)
            yield Result(f"damaged {name}", fired.times, len(fired.broken), said)
        yield memory_result(service)
        yield ledger_result(service)


def memory_result(service: Service) -> Result:
    """The peak of the process against the cap."""
    if not service.is_alive():
        return Result("memory of the service", 1, 1, "The process has ended.")
    grown = service.peak - service.peak_at_start
    seen = f"{grown} MB at the peak beyond {service.peak_at_start} MB; the cap is {MEMORY_CAP} MB"
    return Result("memory of the service", 1, int(grown > MEMORY_CAP), seen)


def ledger_result(service: Service) -> Result:
    """The ledger and the budgets against the model and what was acknowledged."""
    try:
        model = service.require_sound()
    except (Broken, httpx.TransportError) as reason:
        return Result("ledger and budgets", 1, 1, str(reason))
    charged, published = len(model.epsilons), len(model.digests)
    return Result("ledger and budgets", 1, 0, f"{charged:,} charges, {published:,} published")


def warm(service: Service) -> None:
    """Sound files of each format through each way of reading, so that what is loaded once is loaded."""
    sender = Sender(service)
    try:
        for name in FORMATS:
            for number in range(10):
                release = sender.order(name, number)
                sender.send(name, release, _trial(name, number, sender, release))
    finally:
        sender.close()
    service.peak_at_start = service.peak


def _trial(name: str, number: int, sender: Sender, release: str) -> Sent:
    if name != COUNTED:
        return sent(name, number)
    chance = Chance(f"{name}/{number}")
    return Sent(counts(chance, release, sender.target(release)), headers(name))


def fire(service: Service, name: str, numbers: Iterable[int]) -> Fired:
    """Send the files of these numbers on several connections."""
    fired, waiting, turn = Fired(name), iter(numbers), threading.Lock()
    highest = service.peak_at_start + MEMORY_CAP

    def work() -> None:
        nonlocal highest
        sender = Sender(service)
        try:
            while service.is_alive():
                with turn:
                    number = next(waiting, None)
                if number is None:
                    return
                trial, said = _tried(sender, name, number)
                with turn:
                    fired.times += 1
                    peak = service.peak
                    if not service.is_alive():
                        said = "The process has ended."
                    elif said is None and peak > highest:
                        highest = peak
                        said = f"The process had {highest} MB in memory."
                    if said is not None:
                        fired.broken[number] = said
                    if said is not None and trial is not None:
                        keep(number, trial)
        finally:
            sender.close()

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for worker in [pool.submit(work) for _ in range(CONNECTIONS)]:
            worker.result()
    return fired


def _tried(sender: Sender, name: str, number: int) -> tuple[Sent | None, str | None]:
    """One file, and what did not hold; no file where not even an order was taken."""
    trial = None
    try:
        release = sender.order(name, number)
        trial = _trial(name, number, sender, release)
        sender.send(name, release, trial)
    except (Broken, httpx.TransportError) as reason:
        return trial, str(reason) or type(reason).__name__
    return trial, None


def keep(number: int, trial: Sent) -> Path:
    """Write a file that broke something; its name says how it is sent."""
    OUT.mkdir(exist_ok=True)
    within = next((each for each, (kind, _) in FILES.items() if kind == trial.headers["Content-Type"]), COUNTED)
    encoding = trial.headers.get("Content-Encoding")
    path = OUT / f"{within}{f'+{encoding}' if encoding else ''}-{number}.body"
    path.write_bytes(trial.content)
    path.with_suffix(".txt").write_text(f"python -m torture.fuzzing.replay torture/out/{path.name}\n")
    return path
