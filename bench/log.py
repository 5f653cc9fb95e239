"""`python -m bench.log`: what the transparency log costs: an append, a root, proofs, their checks, signatures.

Values in memory alone: no database and no network. The nodes of a tree are in a dict. Times are CPU time, medians over
rounds of many calls.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import cycle

from bench.report import Section, compare, publish
from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey
from core.log.note import Note, SignatureType, SigningKey
from core.log.tree import (
    Frontier,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    nodes_of_append,
    root,
    root_of_inclusion,
)

SIZES = (100_000, 1_000_000)
CALLS = 1_000
REPEATS = 5
ORIGIN = "rugnik.example/log"


class Log:
    """A tree over hashes of numbers, and one call of each operation on it."""

    def __init__(self, size: int) -> None:
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.size = 0
        self.grow(size)
        self.root = root(self.size, self._node)
        step = max(1, size // CALLS)
        self._indices = cycle(range(0, size, step))
        self.inclusions = {index: inclusion_proof(index, size, self._node) for index in range(0, size, step)}
        self._old = size * 2 // 3
        self._old_root = root(self._old, self._node)
        self.consistency = consistency_proof(self._old, size, self._node)

    def _node(self, level: int, index: int) -> bytes:
        return self.nodes[level, index]

    def grow(self, leaves: int) -> None:
        """Append leaves."""
        for index in range(self.size, self.size + leaves):
            for level, place, digest in nodes_of_append(index, sha256(index.to_bytes(8, "big")).digest(), self._node):
                self.nodes[level, place] = digest
        self.size += leaves

    def compute_root(self) -> None:
        """The root from nodes."""
        root(self.size, self._node)

    def prove_inclusion(self) -> None:
        """The proof of the next leaf."""
        inclusion_proof(next(self._indices), self.size, self._node)

    def check_inclusion(self) -> None:
        """The check of the next leaf's proof."""
        index = next(self._indices)
        leaf = sha256(index.to_bytes(8, "big")).digest()
        assert root_of_inclusion(leaf_hash(leaf), index, self.size, self.inclusions[index]) == self.root

    def prove_consistency(self) -> None:
        """The proof from two thirds of the leaves."""
        consistency_proof(self._old, self.size, self._node)

    def check_consistency(self) -> None:
        """The check of that proof."""
        assert is_consistent(
            old=self._old, old_root=self._old_root, new=self.size, new_root=self.root, proof=self.consistency
        )


def microseconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median CPU time of one call of each."""

    def many(call: Callable[[], object]) -> Callable[[], None]:
        def repeated() -> None:
            for _ in range(CALLS):
                call()

        return repeated

    seconds = compare({name: many(call) for name, call in calls.items()}, repeats=REPEATS)
    return {name: value / CALLS * 1e6 for name, value in seconds.items()}


def trees() -> Section:
    """Roots and proofs at each size."""
    rows = []
    for size in SIZES:
        log = Log(size)
        operations = [log.compute_root, log.prove_inclusion, log.check_inclusion]
        operations += [log.prove_consistency, log.check_consistency]
        times = microseconds({operation.__name__: operation for operation in operations})
        hashes = max(map(len, log.inclusions.values())), len(log.consistency)
        rows.append([f"{size:,}", *(f"{value:,.1f}" for value in times.values()), *map(str, hashes)])
    header = [
        "entries",
        "root us",
        "inclusion us",
        "its check us",
        "consistency us",
        "its check us",
        "hashes",
        "hashes",
    ]
    remarks = [
        "A check of an inclusion proof hashes the leaf too. Consistency is from two thirds of the entries.",
        f"Medians of {REPEATS} rounds of {CALLS:,} calls. Nodes are in a dict; the most hashes of an inclusion proof.",
    ]
    return Section("Log: roots and proofs", remarks, header, rows)


def entries() -> Section:
    """Append, signature and check of one entry's checkpoint."""
    log, frontier = Log(SIZES[0]), Frontier()
    before = log.size
    key = SigningKey(ORIGIN, SignatureType.LOG, SecretKey.generate())
    witness = SigningKey("witness.example/w", SignatureType.COSIGNATURE, SecretKey.generate())
    checkpoint = Checkpoint(ORIGIN, log.size, log.root)
    note = checkpoint.signed(key)
    cosigned = Note(note.text, (*note.signatures, witness.sign(note.text, time=1)))
    written, keys = str(cosigned), [key.verifier, witness.verifier]
    times = microseconds(
        {
            "append to nodes": lambda: log.grow(1),
            "append to a frontier": lambda: frontier.append(log.root),
            "root of a frontier": lambda: frontier.root,
            "sign a checkpoint": lambda: checkpoint.signed(key),
            "cosign it": lambda: witness.sign(note.text, time=1),
            "read a note of two signatures": lambda: Note.parse(written),
            "verify both": lambda: cosigned.signed_by(keys),
        }
    )
    rows = [[name, f"{value:,.1f}"] for name, value in times.items()]
    nodes = sum(1 for (level, index) in log.nodes if (index + 1) << level > before) / (log.size - before)
    remarks = [f"An append writes {nodes:.2f} nodes on average. Medians of {REPEATS} rounds of {CALLS:,} calls."]
    return Section("Log: one entry", remarks, ["what", "us"], rows)


def run() -> list[Section]:
    """Trees of 10^5 and 10^6 entries, then what one entry costs."""
    return [trees(), entries()]


if __name__ == "__main__":
    publish(run(), "log")
