"""Faults: what a service stands on fails while a curator works, and comes back. 50 times each.

Full disks (database, witness file, spool), a database that is locked, cut off, killed, or that refuses transactions; a
commit whose reply is lost; a clock that is set back; clients that vanish or trickle; readers that run out of memory.
After each of them the same process has to serve on, nothing that it acknowledged may be missing or doubled, and what it
refuses it refuses with a documented problem. Every 25 times a new, empty place begins. The disks need root, for small
file systems in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from torture.console import Result
from torture.faults import clients, clocks, connections, disks, locks, memory
from torture.faults.trial import tried

FAULTS = (*disks.FAULTS, *locks.FAULTS, *connections.FAULTS, *clocks.FAULTS, *clients.FAULTS, *memory.FAULTS)


def run() -> Iterator[Result]:
    """Each fault, 50 times."""
    for fault in FAULTS:
        if fault.needs_root and os.geteuid() != 0:
            yield Result(fault.name, 0, 0, "not tried: needs root")
        else:
            yield tried(fault)
