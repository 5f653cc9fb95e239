"""The receipt of a published release, checked by `docs/verify_receipt.py`, which shares no line with the service."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import zipfile
from io import BytesIO

from tests.support.processes.server import Server
from torture.console import ROOT
from torture.curator import Acknowledged, ordered
from torture.model import Broken
from torture.services import Place


def require_receipt(here: Place, server: Server, acknowledged: Acknowledged) -> None:
    """The newest published release has a receipt that verifies. A later order shows it in the log at once."""
    if not acknowledged.digests:
        return
    release = list(acknowledged.digests)[-1]
    with here.client(server) as curator, tempfile.TemporaryDirectory() as folder:
        ordered(curator, acknowledged, random.Random(release))
        reply = curator.get(f"/v1/releases/{release}/bundle")
        if not reply.is_success:
            raise Broken(f"{release} has no bundle: {reply.text[:150]}")
        with zipfile.ZipFile(BytesIO(reply.content)) as bundle:
            members = [bundle.extract(name, folder) for name in ("receipt.tlog-proof", "synopsis.bin")]
        log_key = curator.get("/log/policy").text.split()[1]
        program = [sys.executable, "-I", str(ROOT / "docs" / "verify_receipt.py"), log_key, *members]
        verified = subprocess.run(program, check=False, capture_output=True, text=True)
    if verified.returncode != 0:
        raise Broken(f"The receipt of {release} does not verify: {verified.stderr[-150:]}")
