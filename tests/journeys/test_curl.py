"""The curator's journey with curl alone, against a real server on each kind of database."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.settings.settings import Settings
from tests.support.processes.server import Server


def curl(server: Server, key: str, path: str, *options: str) -> tuple[int, Any]:
    """One curl call: the status and the JSON body."""
    done = subprocess.run(
        ["curl", "-sS", "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {key}", *options, server.url + path],
        check=True,
        capture_output=True,
        text=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(body)


def post(body: Any) -> list[str]:
    """The curl options of a JSON body."""
    return ["-H", "Content-Type: application/json", "-d", json.dumps(body)]


def test_a_curator_publishes_with_curl_alone(settings: Settings, serve: Callable[..., Server], tmp_path: Path) -> None:
    """Register, plan, order, upload, published: nothing but curl, and the ledger verifies at the end."""
    server = serve(settings)
    curator, auditor, analyst = (server.issue_key(role) for role in ("curator", "auditor", "analyst"))
    file = tmp_path / "rows.csv"
    file.write_text("age,income,name\n" + "".join(f"{i % 90},{i % 1000},row {i}\n" for i in range(2000)))
    attributes = [{"name": "age", "lower": 0, "upper": 120}, {"name": "income", "lower": 0, "upper": 1000}]
    terms = {"epsilon": "0.5", "clusters": 4, "size": {"estimate": "0.05", "guess": 2000}}

    dataset = {"name": "city", "attributes": attributes, "budget": "1.0"}
    status, registered = curl(server, curator, "/v1/datasets", *post(dataset))
    assert (status, registered["budget"]["remaining"]) == (201, "1")

    status, planned = curl(server, curator, "/v1/datasets/city/plans", *post(terms))
    assert (status, planned["grid"]["dimensions"]) == (200, 2)

    status, order = curl(server, curator, "/v1/datasets/city/releases", *post(terms))
    assert (status, order["state"]) == (201, "ordered")
    assert curl(server, analyst, f"/v1/releases/{order['id']}")[0] == 404

    upload = ["-T", str(file), "-H", "Content-Type: text/csv"]
    status, published = curl(server, curator, f"/v1/releases/{order['id']}/records", *upload)
    assert (status, published["state"], published["ingest"]["rows_read"]) == (200, "published", 2000)
    assert curl(server, curator, f"/v1/releases/{order['id']}/records", *upload)[0] == 409

    status, seen = curl(server, analyst, f"/v1/releases/{order['id']}")
    assert (status, seen["synopsis"]) == (200, published["synopsis"])
    status, verified = curl(server, auditor, "/v1/ledger/verify")
    keys, dataset = 4, 4  # the first admin's and one for each role; grant, charge, draw and publish
    assert (status, verified["valid"], verified["entries"]) == (200, True, keys + dataset)
    assert curl(server, curator, "/v1/datasets/city")[1]["budget"]["spent"] == "0.5"
