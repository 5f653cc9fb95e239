"""City: a running server with a little of everything, for pages to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

from tests.support.processes.server import Server

ATTRIBUTES = [
    {"name": "age", "lower": 0, "upper": 100},
    {"name": "income", "lower": 0, "upper": 5000},
    {"name": "visits", "lower": 0, "upper": 40},
]
# Four groups of people: middle and share of each.
_GROUPS = np.array([[25, 900, 3], [45, 2600, 8], [68, 1900, 22], [35, 4100, 5]])
_SHARES = [4 / 14, 5 / 14, 3 / 14, 2 / 14]


def people(count: int, seed: int = 7) -> bytes:
    """Rows of four groups of made-up people, as CSV."""
    rng = np.random.default_rng(seed)
    rows = _GROUPS[rng.choice(4, count, p=_SHARES)] + rng.normal(0, [6, 350, 3], (count, 3))
    lines = "\n".join(f"{age:.1f},{income:.0f},{visits:.1f}" for age, income, visits in np.maximum(rows, 0))
    return f"age,income,visits\n{lines}\n".encode()


@dataclass(frozen=True)
class City:
    """The server, a key for each role, and releases by how many attributes they have."""

    server: Server
    keys: dict[str, str]
    releases: dict[int, str]
    ordered: str

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.server.url

    def ask(self, path: str, role: str = "analyst") -> Any:
        """What the API says to a key."""
        headers = {"Authorization": f"Bearer {self.keys[role]}"}
        reply = httpx.get(self.url + path, headers=headers, timeout=60)
        assert reply.status_code == 200, reply.text
        return reply.json()


def curator_call(server: Server, key: str, method: str, path: str, **options: Any) -> Any:
    """One request that must succeed."""
    headers = {"Authorization": f"Bearer {key}", **options.pop("headers", {})}
    reply = httpx.request(method, server.url + path, headers=headers, timeout=60, **options)
    assert reply.is_success, reply.text
    return reply.json()


def built_city(server: Server) -> City:
    """Three datasets: one with releases of each kind, one with an open order, one untouched."""
    keys = {"admin": server.admin_key} | {role: server.issue_key(role) for role in ("curator", "analyst", "auditor")}

    def call(method: str, path: str, **options: Any) -> Any:
        return curator_call(server, keys["curator"], method, path, **options)

    survey = {"name": "survey-2026", "description": "Household survey, wave 2026: age, monthly income, doctor visits."}
    call("POST", "/v1/datasets", json=survey | {"budget": "3", "attributes": ATTRIBUTES})
    trips = [{"name": "km", "lower": 0, "upper": 50}, {"name": "minutes", "lower": 0, "upper": 120}]
    call("POST", "/v1/datasets", json={"name": "mobility", "budget": "1", "attributes": trips})
    call("POST", "/v1/datasets", json={"name": "pilot", "budget": "0.5", "attributes": ATTRIBUTES[:1]})
    releases = {}
    for names, epsilon in ((["age", "income"], "1"), (["age", "income", "visits"], "0.5"), (["age"], "0.25")):
        terms = {"attributes": names, "epsilon": epsilon, "clusters": 4}
        release = call("POST", "/v1/datasets/survey-2026/releases", json=terms)["id"]
        call("PUT", f"/v1/releases/{release}/records", content=people(20_000), headers={"Content-Type": "text/csv"})
        releases[len(names)] = release
    void = call("POST", "/v1/datasets/survey-2026/releases", json={"epsilon": "0.3", "clusters": 4})["id"]
    call("DELETE", f"/v1/releases/{void}")
    ordered = call("POST", "/v1/datasets/mobility/releases", json={"epsilon": "0.4", "clusters": 4})["id"]
    return City(server, keys, releases, ordered)


CLINIC = [
    {"name": "age", "kind": "integer", "lower": 0, "upper": 110, "missing": "keep"},
    {"name": "arrived", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"},
    {"name": "sex", "kind": "category", "values": ["f", "m", "x"], "other": True, "missing": "keep"},
]


def visits(people: int, seed: int = 11) -> bytes:
    """Visits to a clinic by made-up patients, as CSV: two groups by age and season, some values missing or odd."""
    rng = np.random.default_rng(seed)
    lines = []
    for patient in range(people):
        late = rng.random() < 0.4
        sex = rng.choice(["f", "m", "x", "unsure", ""], p=[0.5, 0.35, 0.05, 0.05, 0.05])
        for _ in range(rng.integers(1, 5)):
            age = "" if rng.random() < 0.1 else str(int(np.clip(rng.normal(70 if late else 30, 7), 0, 110)))
            day = int(np.clip(rng.normal(300 if late else 90, 25), 0, 364))
            lines.append(f"p{patient},{age},{np.datetime64('2026-01-01') + day},{sex}")
    return ("patient,age,arrived,sex\n" + "\n".join(lines) + "\n").encode()


def clinic(server: Server, key: str, names: tuple[str, ...] = ("age", "arrived", "sex")) -> str:
    """A published release of a whole number, a date and a category, which protects persons."""
    dataset = f"clinic-{len(names)}-{names[0]}"
    person = {"kind": "person", "column": "patient", "max_rows": 3}
    body = {"name": dataset, "attributes": CLINIC, "unit": person, "budget": "20"}
    curator_call(server, key, "POST", "/v1/datasets", json=body)
    terms = {"attributes": list(names), "epsilon": "8", "clusters": 2, "size": {"declared": 10_000}}
    release = str(curator_call(server, key, "POST", f"/v1/datasets/{dataset}/releases", json=terms)["id"])
    headers = {"Content-Type": "text/csv"}
    curator_call(server, key, "PUT", f"/v1/releases/{release}/records", content=visits(5000), headers=headers)
    return release


def million_cells(server: Server, key: str) -> str:
    """A published release of 1,000 by 1,000 cells: EUGkM's grid for a declared size of 10^7 at epsilon 1."""
    dataset = {"name": "wide", "attributes": ATTRIBUTES[:2], "budget": "2"}
    curator_call(server, key, "POST", "/v1/datasets", json=dataset)
    terms = {"epsilon": "1", "clusters": 5, "rule": "eugkm", "size": {"declared": 10_000_000}}
    release = curator_call(server, key, "POST", "/v1/datasets/wide/releases", json=terms)
    assert release["plan"]["grid"]["cells"] == 1_000_000
    headers = {"Content-Type": "text/csv"}
    curator_call(server, key, "PUT", f"/v1/releases/{release['id']}/records", content=people(20_000), headers=headers)
    return str(release["id"])


def thresholded(server: Server, key: str) -> str:
    """A published release of six attributes and three clusters, of which only cells that stand out are kept."""
    names = [f"x{number}" for number in range(6)]
    dataset = {"name": "many", "attributes": [{"name": name, "lower": 0, "upper": 10} for name in names], "budget": "2"}
    curator_call(server, key, "POST", "/v1/datasets", json=dataset)
    terms = {"epsilon": "2", "clusters": 3, "size": {"declared": 6000}}
    release = curator_call(server, key, "POST", "/v1/datasets/many/releases", json=terms)
    assert release["plan"]["threshold"]
    rng = np.random.default_rng(0)
    values = np.array([[2.0] * 6, [8.0] * 6, [2.0, 8.0] * 3])[rng.integers(0, 3, 6000)] + rng.normal(0, 0.3, (6000, 6))
    lines = "\n".join(",".join(f"{value:.3f}" for value in row) for row in values)
    body = f"{','.join(names)}\n{lines}\n".encode()
    headers = {"Content-Type": "text/csv"}
    curator_call(server, key, "PUT", f"/v1/releases/{release['id']}/records", content=body, headers=headers)
    return str(release["id"])


def harbour(server: Server, key: str) -> dict[str, str]:
    """Published adaptive releases of ships that crowd in a corner: two numbers and a category, and a date alone."""
    attributes: list[dict[str, Any]] = [
        {"name": "east", "lower": 0, "upper": 100},
        {"name": "north", "lower": 0, "upper": 100},
        {"name": "flag", "kind": "category", "values": ["own", "other"]},
        {"name": "day", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31", "missing": "keep"},
    ]
    curator_call(
        server, key, "POST", "/v1/datasets", json={"name": "harbour", "attributes": attributes, "budget": "20"}
    )
    rng = np.random.default_rng(14)
    places, days = rng.exponential([4, 6], (4000, 2)), np.minimum(rng.exponential(40, 4000), 364).astype(int)
    flags = rng.choice(["own", "other"], 4000)
    dates = ["" if i % 20 == 0 else str(np.datetime64("2026-01-01") + day) for i, day in enumerate(days)]
    lines = [
        f"{east:.3f},{north:.3f},{flag},{day}" for (east, north), flag, day in zip(places, flags, dates, strict=True)
    ]
    body = ("east,north,flag,day\n" + "\n".join(lines) + "\n").encode()
    releases = {}
    for name, names in {"places": ["east", "north"], "flags": ["east", "north", "flag"], "days": ["day"]}.items():
        terms = {"attributes": names, "epsilon": "2", "clusters": 3, "rule": "adaptive", "size": {"declared": 4000}}
        release = curator_call(server, key, "POST", "/v1/datasets/harbour/releases", json=terms)["id"]
        headers = {"Content-Type": "text/csv"}
        curator_call(server, key, "PUT", f"/v1/releases/{release}/records", content=body, headers=headers)
        releases[name] = release
    return releases
