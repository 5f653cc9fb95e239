"""What differs between two uploads is noise: everything else that anybody can look at is equal, byte for byte."""

from __future__ import annotations

import json
import re
import secrets
import zlib
from base64 import b64decode
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from httpx import Response
from numpy.typing import NDArray
from pydantic import SecretStr

from app.access.permissions import Role
from app.http.middleware import observe_requests
from app.ledger.entries import entries_until
from app.main import create_app
from app.service import Service
from app.settings.settings import Settings
from core.log.checkpoint import encoded
from core.log.ed25519 import SecretKey
from core.log.nodes import TreeNodes
from tests.support.leaks.dumps import tables
from tests.support.service.api import CSV, ROWS, Api, frozen_clock
from tests.support.service.questions import BELOW, BY_ROUTE
from tests.support.service.routes import api_routes

LOG_KEY = SecretKey.generate().to_pem().decode()  # the same in every life
NOBODY = b"age,income\n"
CROWD = NOBODY + b"".join(b"%d,%d\n" % (i % 100, (7 * i) % 1000) for i in range(100_000))
OTHERS: dict[str, bytes] = {
    "one row more": ROWS + b"50,500\n",
    "one row less, the first": ROWS.replace(b"0,0\n", b"", 1),
    "one row more, out of range": ROWS + b"-1e9,1e300\n",
    "one row more, that is none": ROWS + b'"\x00\xff,NaN,,\r\r\n',
    "one line more, too long": ROWS + b"9" * 100_000 + b"\n",
    "nothing but bad rows": NOBODY + b"x,y\n" * 500,
    "nobody": NOBODY,
    "100,000": CROWD,
}
DECLARED, ESTIMATED = {"size": {"declared": 500}}, {"size": {"estimate": "0.05", "guess": 500}}
ADAPTIVE = {"size": {"declared": 5000}, "rule": "adaptive"}
# Fields of answers that are there, null or left out by noisy numbers alone, like the numbers that they explain.
_OPTIONAL = ("notes", "recommended", "size_weight", "size_weights")
Look = tuple[int, list[tuple[str, str]], str]


@dataclass
class Life:
    """One service from its first key to its last entry, and all that can be seen of it afterwards."""

    folder: Path
    terms: dict[str, Any]
    rows: bytes
    same_noise: bool = False  # whether noisy counts are equal in every life: then answers are compared to the last byte
    seen: dict[str, Look] = field(default_factory=dict)
    stored: dict[str, Any] = field(default_factory=dict)

    def live(self) -> Life:
        """Register, order, upload, and more entries after it; then look at everything."""
        settings = Settings(data_dir=self.folder / "data", log_level="error", log_key=SecretStr(LOG_KEY))
        with Api(create_app(settings, frozen_clock)) as api:
            api.register()
            first, second = (api.order(**self.terms).json()["id"] for _ in range(2))
            reply = api.upload(first, self.rows, CSV)
            assert reply.status_code == 200, reply.text
            told = reply.json()
            del told["ingest"]
            self.seen["what the curator is told"] = 200, [], json.dumps(told)
            assert api.curator("DELETE", f"/v1/releases/{second}").status_code == 200
            assert api.order(**self.terms).status_code == 201
            assert api.curator("POST", "/v1/datasets/city/close").status_code == 200
            assert api.upload(first, self.rows, CSV).status_code == 409
            of_the_log = {"level": "0", "place": "000.p/8"}
            self._look(api, {"name": "city", "release_id": first, "request_id": "none", "rest": "card"} | of_the_log)
            self._read(api, settings)
            self._forget_hashes(names_of_nodes(api.service))
        return self

    def _look(self, api: Api, names: dict[str, str]) -> None:
        """Every GET as everybody; every question once, and of its answer what is not worked out from noisy counts."""
        listed = [route.path for route in api_routes(api.app) if "GET" in route.methods]
        # No answers: what is counted next, the card, the receipt and the bundle, compared as a whole.
        other = tuple(BELOW + name for name in ("counts", "card", "receipt", "bundle"))
        asked = [path for path in listed if path.startswith(BELOW) and path not in other]
        assert sorted(asked) == sorted(path for method, path in BY_ROUTE if method == "GET")
        for (method, _), example in BY_ROUTE.items():
            reply = api.analyst(method, BELOW.format(**names) + example.address, **example.options)
            self.seen[f"answer {example}"] = _look(reply) if self.same_noise else _answer(reply)
        paths = [path.replace(":path", "").format(**names) for path in listed if path not in asked]
        paths += ["/v1/ledger?dataset=city", "/v1/ledger?kind=publish", "/v1/ledger?after=2&limit=2"]
        for role in (*Role, None):
            for path in paths:
                self.seen[f"{role} {path}"] = _look(api.call(role, "GET", path))
            self.seen[f"{role} again"] = _look(api.call(role, "PUT", f"/v1/releases/{names['release_id']}/records"))

    def _read(self, api: Api, settings: Settings) -> None:
        """What an intruder with the database, the witness and the folder finds; of a synopsis, all but its counts."""
        rows_by_table = tables(api.service.database)
        rows_by_table["answers"] = [{"number": row["number"]} for row in rows_by_table["answers"]]
        (synopsis,) = rows_by_table["synopses"]
        magic, header, counts = zlib.decompress(synopsis["body"]).split(b"\n", 2)
        synopsis["body"] = [magic.decode(), json.loads(header), len(counts)]
        files = sorted(path.name for path in self.folder.rglob("*"))
        self.stored = {"tables": rows_by_table, "witness": settings.witness_path.read_text(), "files": files}

    def _forget_hashes(self, names_of_nodes: dict[str, str]) -> None:
        """Put a name in the place of the digest and of each hash that follows from it, and of nothing else."""
        entries = self.stored["tables"]["ledger"]
        (published,) = [entry for entry in entries if entry["kind"] == "publish"]
        detail = json.loads(published["detail"])
        names = {detail["digest"]: "the digest", detail["card"]: "the card"}
        names |= {entry["hash"]: f"hash {entry['seq']}" for entry in entries if entry["seq"] >= published["seq"]}
        assert len(names) == 6
        names |= names_of_nodes

        def forget(text: str) -> str:
            for known, name in names.items():
                text = text.replace(known, name)
            return text

        self.seen = {
            where: (status, [(name, forget(value)) for name, value in headers], forget(text))
            for where, (status, headers, text) in self.seen.items()
        }
        self.stored = json.loads(forget(json.dumps(self.stored, ensure_ascii=False)))


def names_of_nodes(service: Service) -> dict[str, str]:
    """Names of all hashes over neighbouring entries of the log, and of the log's signatures, as they are written."""
    leaves = [bytes.fromhex(entry.hash) for entry in entries_until(service, service.replay.head)]
    written, shortened = {}, {}
    for start in range(len(leaves)):
        nodes = TreeNodes()
        for stop, leaf in enumerate(leaves[start:], start + 1):
            nodes.append(leaf)
            hashed, name = nodes.root(nodes.size), f"entries {start} to {stop}"
            written |= {hashed.hex(): name, encoded(hashed): name}
            shortened |= {f"{hashed.hex()[:12]}…": name, f"{hashed.hex()[:8]}…": name}
    for size in range(1, len(leaves) + 1):
        (signature,) = service.checkpoint(size).signatures
        written[str(signature)] = f"signature {size}"
    return written | shortened


def _look(reply: Response) -> Look:
    """Status, headers and text. Of a file that is base64 or a ZIP, what is in it; its ETag is its digest."""
    headers, text = sorted(reply.headers.multi_items()), reply.text
    if reply.headers.get("content-type") == "application/octet-stream":
        text = reply.content.hex()
    if reply.status_code == 200 and reply.url.path.endswith(("/receipt", "/bundle")) and "/v1/" in reply.url.path:
        headers = [pair for pair in headers if pair[0] != "etag"]
        text = _unpacked(reply.content) if reply.url.path.endswith("/bundle") else _unfolded(reply.text)
    return reply.status_code, headers, text


def _unpacked(bundle: bytes) -> str:
    with ZipFile(BytesIO(bundle)) as file:
        members = {member.filename: file.read(member) for member in file.infolist()}
    synopsis = members.pop("synopsis.bin").split(b"\n", 2)
    told = [f"{name}\n{_unfolded(body.decode())}\n" for name, body in members.items()]
    return "".join([*told, *(line.decode() for line in synopsis[:2]), f'"counts": {len(synopsis[2])}'])


def _unfolded(receipt: str) -> str:
    text = re.sub(r"^extra (\S+)$", lambda match: b64decode(match[1]).decode(), receipt, flags=re.MULTILINE)
    return text.replace('\\"', '"')


def _answer(reply: Response) -> Look:
    """An answer without its numbers: form, headers by name, and whatever it says of the release and the question."""
    assert reply.status_code == 200, reply.text
    body = reply.json()
    kept = ["release", "dataset", "epsilon_spent", "question", "parameters", "epsilon", "mechanism", "clusters", "rule"]
    for optional in _OPTIONAL:
        body.pop(optional, None)
    told = {name: body[name] if name in kept else type(body[name]).__name__ for name in sorted(body)}
    if reply.url.path.endswith("/synopsis"):
        told |= {"counts": len(body["counts"])} | {name: body[name] for name in ("attributes", "grid", "size", "reach")}
    return reply.status_code, [(name, "") for name in sorted(reply.headers)], json.dumps(told)


@pytest.fixture
def same_chance(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Clocks that stand still; ids and keys that come in the same order in every life."""
    still = SimpleNamespace(time=lambda: 0.0, perf_counter=lambda: 0.0)
    monkeypatch.setattr(observe_requests, "time", still)
    monkeypatch.setattr("prometheus_client.metrics.time", still)
    return monkeypatch


def live(
    chance: pytest.MonkeyPatch, folder: Path, terms: dict[str, Any], rows: bytes, *, same_noise: bool = False
) -> Life:
    """A service of its own, equal to any other in all but the terms of its orders and the rows of its upload."""
    numbers = count()
    chance.setattr(secrets, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    chance.setattr(secrets, "token_urlsafe", lambda size: f"{next(numbers):0{4 * size // 3 + 1}x}")
    folder.mkdir()
    return Life(folder, terms, rows, same_noise).live()


def assert_equal(first: Life, second: Life, difference: str) -> None:
    """Look by look, so that a difference is shown where it is."""
    assert first.seen.keys() == second.seen.keys()
    assert len(first.seen) > 70
    for where, look in first.seen.items():
        assert look == second.seen[where], (where, difference)
    assert first.stored == second.stored, difference


def test_under_one_declared_size_only_the_noisy_cells_differ(same_chance: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever any role can GET, headers and lengths included, every table and file: equal but for the digest."""
    usual = live(same_chance, tmp_path / "usual", DECLARED, ROWS)
    for difference, rows in OTHERS.items():
        assert_equal(usual, live(same_chance, tmp_path / difference, DECLARED, rows), difference)


_NOISY = [
    (re.compile(r'"attributes": ?\[\{"name": "age", "edges": .*?\]\}\]'), '"attributes": "noisy"'),
    (re.compile(r'"reach": ?\{[^}]*\}'), '"reach": "noisy"'),
    (re.compile(r'"counts": ?\d+'), '"counts": "noisy"'),
    (
        re.compile(
            r'"grid": ?\{"cells_per_axis": ?\d+, ?"dimensions": ?2'
            r'(, ?"cells": ?\d+, ?"shape": ?\[\d+, ?\d+\](, ?"layered": ?false, ?"leaves": ?null)?)?\}'
        ),
        '"grid": "noisy"',
    ),
    (re.compile(r'"size": ?\d+'), '"size": "noisy"'),
    (re.compile(r"\d+ cells on each of 2 axes"), "noisy cells"),  # the page of the release
    (re.compile(r'(bought\\?": ?)\d+'), r"\g<1>0"),  # the card, which is also stored
    (re.compile(r'(grid\\?": ?\[)\d+, ?\d+(\],\\?"in_all\\?": ?)\d+'), r"\g<1>0,0\g<2>0"),
    (re.compile(r'(listed\\?": ?)\d+'), r"\g<1>0"),
    (re.compile(r"About [\d,]+, a noisy count"), "a noisy count"),  # its page
    (re.compile(r"<dd>\d+ \S \d+</dd>"), "noisy cells"),
]


def forget_noisy_size(life: Life) -> None:
    """Put a word in the place of the noisy size and of the grid that follows from it."""

    def forget(text: str) -> str:
        for pattern, word in _NOISY:
            text = pattern.sub(word, text)
        return text

    for where, (status, headers, text) in life.seen.items():
        forgotten = forget(text)
        lengths = {"content-length"} if forgotten != text else set()
        life.seen[where] = status, [pair for pair in headers if pair[0] not in lengths], forgotten
    (synopsis,) = life.stored["tables"]["synopses"]
    synopsis["body"].pop()
    life.stored = json.loads(forget(json.dumps(life.stored, sort_keys=True)))


def test_under_an_estimated_size_the_noisy_size_and_its_grid_differ_too(
    same_chance: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And nothing else: the size that shows is the noisy one, bought inside the same charge."""
    usual = live(same_chance, tmp_path / "usual", ESTIMATED, ROWS)
    forget_noisy_size(usual)
    assert "noisy" in json.dumps(usual.stored)
    for difference in ("one row more", "one row more, that is none", "nobody", "100,000"):
        other = live(same_chance, tmp_path / difference, ESTIMATED, OTHERS[difference])
        forget_noisy_size(other)
        assert_equal(usual, other, difference)


def test_of_an_adaptive_release_nothing_but_its_noisy_counts_depends_on_the_rows(
    same_chance: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the same noisy counts in all layers: every cell, every answer and the digest are equal, byte for byte."""
    asked: list[int] = []

    def scripted(counts: NDArray[np.int64], *_: object) -> NDArray[np.int64]:
        asked.append(int(counts.sum()))
        return np.resize([500, 0, 90, -7], len(counts))

    same_chance.setattr("core.adaptive.release._noised", scripted)
    usual = live(same_chance, tmp_path / "usual", ADAPTIVE, ROWS, same_noise=True)
    for difference in ("one row more", "nobody", "100,000"):
        other = live(same_chance, tmp_path / difference, ADAPTIVE, OTHERS[difference], same_noise=True)
        assert_equal(usual, other, difference)
    assert len(asked) == 4 * 4  # base, coarse cells, and leaves on either kind of path
    assert {0, 100_000} <= set(asked)
