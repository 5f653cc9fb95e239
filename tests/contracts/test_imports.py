"""Which way things point: the import arrows of the tree, read from the source and not from a running program.

Every import counts, wherever it stands: inside a function, behind TYPE_CHECKING, relative or absolute. A folder that is
not there yet has no arrows.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The parts of the standard library that reach outside of a computation: files, clock, environment, network, processes,
# threads, global random state, and the ways to import or run what this test could not see.
OUTSIDE = frozenset(
    """
    asyncio builtins code codeop concurrent configparser ctypes curses datetime dbm email ensurepip faulthandler fcntl
    filecmp fileinput ftplib gc getopt getpass gettext glob grp gzip http imaplib importlib inspect io linecache locale
    logging lzma mailbox mmap multiprocessing netrc nntplib optparse os pathlib pdb pickle pkgutil platform poplib posix
    pty pwd queue random readline resource runpy sched secrets select selectors shelve shutil signal site smtplib socket
    socketserver sqlite3 ssl subprocess sys sysconfig syslog tarfile tempfile termios threading time timeit tkinter tty
    turtle urllib uuid venv webbrowser winreg wsgiref xmlrpc zipfile zipimport zoneinfo _thread
    """.split()  # noqa: SIM905 - many short names read best as a text
)
PURE = frozenset(sys.stdlib_module_names) - OUTSIDE
CORE_LIBRARIES = {"numpy", "scipy", "numba"}
# What knows rows, exact counts or fresh noise; a query sees a Synopsis and nothing else.
PRIVATE = (
    "core.records.Records",
    "core.records.Intake",
    "core.records.take_in",
    "core.histogram",
    "core.release",
    "core.mechanisms.discrete_laplace_sampler",
    "core.mechanisms.survivors",
    "core.mechanisms.vector_laplace_sampler",
    "core.randomness.NoiseSource",
)
# What the edge leaves to use cases: tables, and the ways to open a transaction.
STORAGE = (
    "app.storage.tables",
    "app.storage.database",
    "app.ledger.book.read_book",
    "app.ledger.appending.open_book",
)
# The servers of HTTP, and the rooms that know it.
WEB_LIBRARIES = frozenset({"fastapi", "starlette", "uvicorn"})
WEB_ROOMS = ("app.http", "app.dashboard", "app.cli", "app.main")
DATES = "core.domain.dates"  # the kinds date and datetime
# What answers a question without a service: the rooms and modules it is made of, and the libraries it needs.
OFFLINE = (
    "app.questions",
    "app.bundles",
    "app.offline",
    "app.problems",
    "app.faults",
    "app.fields",
    "app.errors",
    "app.ingest.errors",
)
OFFLINE_LIBRARIES = {"numpy", "scipy", "orjson", "httpx"}
FILES = "app.questions.files"  # CSV, Parquet and Arrow, by pyarrow
OPENING = "rugnik.offline"  # `rugnik.open`: it imports a part of the above where it is called
SIGNATURES = "core.log.ed25519"
SERVING = "app.operations.server"  # what `rugnik serve` does: it starts uvicorn on the application


@dataclass(frozen=True)
class Arrow:
    """One import: the module that has it, the full name it imports, its line, and whether it runs on import."""

    module: str
    target: str
    line: int
    lazy: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"

    def reaches(self, name: str) -> bool:
        """Whether what is imported is `name`, lies within it, or is a package or star that brings it along."""
        target = self.target.removesuffix(".*")
        return within(target, name) or within(name, target)


def within(name: str, package: str) -> bool:
    """Whether a dotted name is a package or lies within it."""
    return name == package or name.startswith(package + ".")


@cache  # many tests look at the same files
def arrows_of(source: str, module: str, *, is_package: bool = False) -> tuple[Arrow, ...]:
    """The imports of one file. `from a import b` points at a.b, whether b is a module or a name in a."""
    tree = ast.parse(source)
    lazy = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_type_checking(node)
        for inner in ast.walk(node)
    }
    return tuple(
        Arrow(module, target, node.lineno, node in lazy)  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        for target in targets_of(node, module, is_package=is_package)
    )


def is_type_checking(node: ast.AST) -> bool:
    """Whether a node is `if TYPE_CHECKING:` without an else."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING") and not node.orelse


def targets_of(node: ast.AST, module: str, *, is_package: bool) -> list[str]:
    """The full names that a statement imports; none for other statements."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        parents = module.split(".")
        up = node.level - is_package
        package = ".".join(parents[: len(parents) - up])
        base = f"{package}.{base}" if base else package
    return [f"{base}.{alias.name}" for alias in node.names]


def arrows(root: Path, package: str) -> list[Arrow]:
    """The imports of all files of a package, or of a single module; none where it does not exist."""
    path = root.joinpath(*package.split("."))
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    imports: list[Arrow] = []
    for file in files:
        if file.exists():
            parts = file.relative_to(root).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            imports += arrows_of(file.read_text(encoding="utf-8"), name, is_package=is_package)
    return imports


def allowed_in_core(arrow: Arrow) -> bool:
    """The pure standard library, numpy, scipy, numba and core itself; three others in one module each."""
    top = arrow.target.partition(".")[0]
    if top == "os":
        return arrow.module == "core.randomness"
    if top == "datetime":
        return arrow.module == DATES  # for dates as values: see test_no_clock_is_read_in_core
    if top == "cryptography":
        return arrow.module == SIGNATURES
    if within(arrow.target, "numpy.random"):
        return False  # generators are made in core.randomness and handed around; np.random itself is not imported
    return top in PURE or top in CORE_LIBRARIES or top == "core"


def allowed_in_queries(arrow: Arrow) -> bool:
    """Whatever core may import, but nothing that knows rows, exact counts or fresh noise."""
    return not any(arrow.reaches(name) for name in PRIVATE)


def allowed_at_the_edge(arrow: Arrow) -> bool:
    """Routers and pages go through use cases, never to the tables, and they open no transaction."""
    return not any(arrow.reaches(name) for name in STORAGE)


def allowed_in_use_cases(arrow: Arrow) -> bool:
    """Use cases and what is below them know no HTTP and none of its users."""
    if arrow.target.partition(".")[0] in WEB_LIBRARIES:
        return False
    return not any(within(arrow.target, room) for room in WEB_ROOMS)


def allowed_in_receipts(arrow: Arrow) -> bool:
    """A file is checked offline: no service, no database, nothing of HTTP."""
    rooms = ("app.questions", "app.receipts", "app.bundles", "core", "rugnik")
    return arrow.target.partition(".")[0] != "app" or any(within(arrow.target, room) for room in rooms)


def allowed_in_operations(arrow: Arrow) -> bool:
    """The same, but for the one module that starts the server."""
    if arrow.module == SERVING:
        return arrow.target.partition(".")[0] not in WEB_LIBRARIES - {"uvicorn"}
    return allowed_in_use_cases(arrow)


def allowed_offline(arrow: Arrow) -> bool:
    """No service: the standard library, four libraries, core, the wire types, and one another; pyarrow for files."""
    top = arrow.target.partition(".")[0]
    if top == "pyarrow":
        return within(arrow.module, FILES)
    if within(arrow.target, FILES):
        return arrow.lazy or within(arrow.module, FILES)
    return (
        top in sys.stdlib_module_names
        or top in OFFLINE_LIBRARIES
        or top in {"core", "rugnik"}
        or any(within(arrow.target, room) for room in OFFLINE)
    )


def allowed_in_client(arrow: Arrow) -> bool:
    """The standard library, httpx and the client itself; pyarrow, pandas and a bundle where they are asked for."""
    top = arrow.target.partition(".")[0]
    if arrow.module == OPENING and any(within(arrow.target, room) for room in ("app.bundles", "app.offline")):
        return arrow.lazy
    if top in {"pyarrow", "pandas", "matplotlib"}:
        return arrow.lazy
    return top in sys.stdlib_module_names or top == "httpx" or within(arrow.target, "rugnik")


def allowed_in_wire(arrow: Arrow) -> bool:
    """The types of requests and answers need the standard library, the errors of the client, and one another."""
    return (
        arrow.lazy
        or arrow.target.partition(".")[0] in sys.stdlib_module_names
        or any(within(arrow.target, name) for name in ("rugnik.wire", "rugnik.errors"))
    )


RULES: dict[str, Callable[[Arrow], bool]] = {
    "core": allowed_in_core,
    "core.domain": allowed_in_queries,
    "core.cells": allowed_in_queries,
    "core.synopsis": allowed_in_queries,
    "core.mechanisms.law": allowed_in_queries,
    "core.mechanisms.discrete_laplace": allowed_in_queries,
    "core.mechanisms.summed_laplace": allowed_in_queries,
    "core.mechanisms.threshold": allowed_in_queries,
    "core.queries": allowed_in_queries,
    "core.intervals": allowed_in_queries,
    "core.clustering": allowed_in_queries,
    "rugnik": allowed_in_client,
    "rugnik.wire": allowed_in_wire,
    "app.settings": allowed_in_use_cases,
    "app.access": allowed_in_use_cases,
    "app.operations": allowed_in_operations,
    "app.storage": allowed_in_use_cases,
    "app.ledger": allowed_in_use_cases,
    "app.ingest": allowed_in_use_cases,
    "app.cards": allowed_in_use_cases,
    "app.releases": allowed_in_use_cases,
    "app.answers": allowed_in_use_cases,
    "app.questions": allowed_offline,
    "app.bundles": allowed_offline,
    "app.offline": allowed_offline,
    "app.problems": allowed_offline,
    "app.errors": allowed_offline,
    "app.receipts": allowed_in_receipts,
    "app.witnessing": allowed_in_use_cases,
    "app.http": allowed_at_the_edge,
    "app.dashboard": allowed_at_the_edge,
}


def violations(root: Path, package: str) -> list[str]:
    """The arrows of a package that point the wrong way."""
    return [str(arrow) for arrow in arrows(root, package) if not RULES[package](arrow)]


def global_state(root: Path) -> list[str]:
    """Uses, in core, of numpy's global generator, of files, and of imports that hide from this test."""
    uses = []
    for file in sorted(root.joinpath("core").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            used = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
            owner, _, name = used.rpartition(".")
            # numpy.random.Generator is the type of a generator that was handed in, PCG64 the algorithm of a seeded one.
            from_numpy = owner in {"np.random", "numpy.random"} and name not in {"Generator", "PCG64"}
            if from_numpy or used in {"open", "input", "print", "exec", "eval", "__import__"}:
                uses.append(f"{file.name}:{node.lineno} uses {used}")  # type: ignore[attr-defined]
    return uses


def transactions_at_the_edge(root: Path) -> list[str]:
    """Uses, in routers and pages, of a service's database: whatever opens a transaction without importing it."""
    uses = []
    for room in ("http", "dashboard"):
        for file in sorted(root.joinpath("app", room).rglob("*.py")):
            uses += [
                f"{file.name}:{node.lineno} uses {ast.unparse(node)}"
                for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
                if isinstance(node, ast.Attribute) and node.attr in {"database", "read_only", "transaction"}
            ]
    return uses


def write(root: Path, path: str, source: str) -> None:
    """A file of a small tree, with its folders."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")


@pytest.mark.parametrize("package", RULES)
def test_every_import_points_the_right_way(package: str) -> None:
    """core knows no app, files, clock or network; the edge knows no tables; the client knows no server."""
    assert violations(ROOT, package) == []


def test_core_uses_no_global_state() -> None:
    """No global generator, no file, nothing printed, and no import by name in core."""
    assert global_state(ROOT) == []


def test_routers_and_pages_open_no_transaction() -> None:
    """Each use case is one transaction, opened and closed in the use case."""
    assert transactions_at_the_edge(ROOT) == []


def test_the_arrows_of_core_are_seen() -> None:
    """The reader finds the imports that are known to be there: an empty answer would allow everything."""
    seen = {(arrow.module, arrow.target) for arrow in arrows(ROOT, "core")}
    assert ("core.randomness", "os") in seen
    assert ("core.release", "core.mechanisms.discrete_laplace_sampler.draw_noise") in seen
    assert ("core.errors", "core.budget.Epsilon") in seen


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/plan.py", "import app"),
        ("core/plan.py", "from app import config"),
        ("core/plan.py", "from app.settings.settings import Settings"),
        ("core/plan.py", "import app.storage.tables as t"),
        ("core/queries/base.py", "from app.http.schemas import Answer"),
        ("core/queries/base.py", "from ...app import schemas"),
        ("core/plan.py", "from ..app.config import Settings"),
        ("core/plan.py", "import os"),
        ("core/plan.py", "from os import environ"),
        ("core/plan.py", "import os.path"),
        ("core/queries/randomness.py", "import os"),
        ("core/plan.py", "import pathlib"),
        ("core/plan.py", "from pathlib import Path"),
        ("core/plan.py", "import time"),
        ("core/plan.py", "from datetime import datetime"),
        ("core/plan.py", "import logging"),
        ("core/plan.py", "import random"),
        ("core/plan.py", "import secrets"),
        ("core/plan.py", "import subprocess"),
        ("core/plan.py", "import socket"),
        ("core/plan.py", "import urllib.request"),
        ("core/plan.py", "from concurrent.futures import ThreadPoolExecutor"),
        ("core/plan.py", "import math, threading"),
        ("core/plan.py", "import importlib"),
        ("core/plan.py", "import cryptography"),
        ("core/plan.py", "import pandas"),
        ("core/plan.py", "import sklearn.cluster"),
        ("core/plan.py", "import opendp.prelude as dp"),
        ("core/plan.py", "import numpy.random"),
        ("core/plan.py", "from numpy import random"),
        ("core/plan.py", "from numpy.random import default_rng"),
        ("core/plan.py", "def late():\n    import time"),
        ("core/plan.py", "class Late:\n    def late(self):\n        from app import main"),
        (
            "core/plan.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.settings.settings import Settings",
        ),
        ("core/plan.py", "try:\n    import orjson\nexcept ImportError:\n    pass"),
        ("core/__init__.py", "from .. import app"),
    ],
)
def test_a_wrong_import_in_core_is_found(path: str, source: str, tmp_path: Path) -> None:
    """Each of these, among honest imports, is reported with its module and line."""
    write(tmp_path, path, f"import math\nfrom core.domain.grid import Grid\n{source}\n")
    reported = violations(tmp_path, "core")
    assert len(reported) == 1
    assert "imports" in reported[0]


def test_no_clock_is_read_in_core() -> None:
    """The one module that knows dates takes them as values and never asks what time it is."""
    tree = ast.parse(ROOT.joinpath(*DATES.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert called.isdisjoint({"now", "utcnow", "today", "localtime"})


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/randomness.py", "import os"),
        ("core/domain/dates.py", "from datetime import date"),
        ("core/plan.py", "from __future__ import annotations"),
        ("core/plan.py", "import json, hashlib, re, decimal, fractions, functools, itertools, collections.abc"),
        ("core/plan.py", "import numpy as np\nfrom numpy.typing import NDArray\nfrom scipy.optimize import brentq"),
        ("core/plan.py", "from numba import njit"),
        ("core/plan.py", "from .grid import Grid\nfrom . import errors"),
        ("core/queries/__init__.py", "from ..synopsis import Synopsis\nfrom .base import Query"),
        ("core/queries/clusters.py", "from core.clustering.kmeans import kmeans\nfrom core.queries.base import Query"),
    ],
)
def test_an_honest_import_in_core_is_left_alone(path: str, source: str, tmp_path: Path) -> None:
    """No false alarm for what the style allows, relative imports included."""
    write(tmp_path, path, source)
    assert violations(tmp_path, "core") == []


@pytest.mark.parametrize(
    "source",
    [
        "from core.records import Records",
        "from core.records import *",
        "import core.records",
        "from core import histogram",
        "from core.histogram import Counts",
        "from ..histogram import Counts",
        "from .. import histogram",
        "from core.release import release",
        "from core.mechanisms.discrete_laplace_sampler import draw_noise",
        "from core.mechanisms.survivors import survivors",
        "from core.mechanisms import discrete_laplace_sampler",
        "from core.randomness import NoiseSource",
        "import core",
    ],
)
def test_a_query_that_could_see_rows_or_draw_noise_is_found(source: str, tmp_path: Path) -> None:
    """Answers are post-processing: a query imports no records, exact counts, release or noise source."""
    write(tmp_path, "core/queries/clusters.py", source)
    assert len(violations(tmp_path, "core.queries")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from core.synopsis import Synopsis",
        "from core.mechanisms.discrete_laplace import DiscreteLaplace",
        "from core.mechanisms.law import NoiseLaw\nfrom core.mechanisms.threshold import least_threshold",
        "from core.randomness import seeded",
        "from core.records import OutOfRange",
    ],
)
def test_a_query_may_use_what_is_public(source: str, tmp_path: Path) -> None:
    """The synopsis, the known law of the noise and public seeds are what answers are made of."""
    write(tmp_path, "core/queries/clusters.py", source)
    assert violations(tmp_path, "core.queries") == []


@pytest.mark.parametrize("package", ["app.http", "app.dashboard"])
@pytest.mark.parametrize(
    "source",
    [
        "import app.storage.tables",
        "from app.storage import tables",
        "from app.storage.tables import datasets",
        "from ..storage import tables",
        "from ..storage.tables import releases",
        "def view():\n    from app.storage.tables import ledger",
        "from app.storage.database import Database",
        "from app.ledger.book import read_book",
        "from app.ledger import book",
        "from app.ledger.appending import open_book",
        "from app import *",
    ],
)
def test_an_edge_that_touches_the_tables_is_found(package: str, source: str, tmp_path: Path) -> None:
    """Routers and pages reach storage through use cases only."""
    write(tmp_path, package.replace(".", "/") + "/views.py", f"from app import releases\n{source}\n")
    assert len(violations(tmp_path, package)) == 1


@pytest.mark.parametrize("room", ["http/routes", "dashboard"])
@pytest.mark.parametrize("use", ["service.database.read_only()", "tx = database.transaction()"])
def test_an_edge_that_opens_a_transaction_is_found(room: str, use: str, tmp_path: Path) -> None:
    """Also where the transaction is opened through an object that was handed in."""
    write(tmp_path, f"app/{room}/views.py", f"def view(service, database):\n    {use}\n")
    assert transactions_at_the_edge(tmp_path) != []


@pytest.mark.parametrize(
    "package",
    ["app.access", "app.operations", "app.releases", "app.answers", "app.questions", "app.ledger", "app.storage"],
)
@pytest.mark.parametrize(
    "source",
    [
        "from fastapi import Request",
        "import starlette.requests",
        "from app.http.problems import install",
        "from ..http import problems",
        "def late():\n    from app.dashboard import views",
    ],
)
def test_a_use_case_that_knows_http_is_found(package: str, source: str, tmp_path: Path) -> None:
    """Routes call use cases, never the other way round."""
    write(tmp_path, package.replace(".", "/") + "/orders.py", f"from app.errors import NotFound\n{source}\n")
    assert len(violations(tmp_path, package)) == 1


@pytest.mark.parametrize("package", ["app.questions", "app.bundles", "app.offline"])
@pytest.mark.parametrize(
    "source",
    [
        "from app.service import Service",
        "from app.answers.answers import Answers",
        "from app.releases import reading",
        "from app.ingest import upload",
        "import pydantic",
        "def late():\n    from sqlalchemy import select",
        "import structlog",
        "import pyarrow as pa",
        "from app.questions.files import writing",
        "from app.cli import main",
    ],
)
def test_an_answer_that_needs_the_service_is_found(package: str, source: str, tmp_path: Path) -> None:
    """A question is answered from a bundle where nothing of the service is installed."""
    write(tmp_path, package.replace(".", "/") + "/count.py", f"from app.errors import NotFound\n{source}\n")
    assert len(violations(tmp_path, package)) == 1


def test_files_may_know_pyarrow_and_others_import_them_late(tmp_path: Path) -> None:
    """JSON needs no pyarrow, so nothing imports it before a file is asked for."""
    write(tmp_path, "app/questions/files/writing.py", "import pyarrow as pa\nfrom app.questions.files import columns")
    write(tmp_path, "app/questions/rows.py", "def in_pieces():\n    from app.questions.files import writing")
    assert violations(tmp_path, "app.questions") == []


def test_only_rugnik_open_may_know_the_answering_code_and_imports_it_late(tmp_path: Path) -> None:
    """The client alone needs httpx."""
    late = "def open_bundle():\n    from app.offline.transport import BundleTransport"
    write(tmp_path, "rugnik/offline.py", late)
    assert violations(tmp_path, "rugnik") == []
    write(tmp_path, "rugnik/client.py", late)
    write(tmp_path, "rugnik/offline.py", "from app.bundles.bundle import Bundle\ndef late():\n    import app.main")
    assert len(violations(tmp_path, "rugnik")) == 3


def test_only_the_module_that_serves_may_know_uvicorn(tmp_path: Path) -> None:
    """`rugnik serve` starts uvicorn on the application; nothing else in app.operations knows either."""
    source = "import uvicorn\nfrom app.main import make_service\n"
    write(tmp_path, "app/operations/server.py", source)
    assert violations(tmp_path, "app.operations") == []
    write(tmp_path, "app/operations/logs.py", source)
    assert len(violations(tmp_path, "app.operations")) == 2


@pytest.mark.parametrize(
    "source",
    [
        "import app",
        "from app.http.routes import datasets",
        "from ..app import config",
        "import orjson",
        "from core.budget import Epsilon",
        "import pydantic",
        "import pyarrow",
        "import pandas as pd",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from core.domain.domain import Domain",
    ],
)
def test_a_client_that_needs_the_server_is_found(source: str, tmp_path: Path) -> None:
    """The client is httpx, the standard library and its own models; data libraries only where they are asked for."""
    write(tmp_path, "rugnik/client.py", f"import httpx\n{source}\n")
    assert len(violations(tmp_path, "rugnik")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import httpx, json, time, pathlib",
        "from rugnik.errors import Problem",
        "from .errors import Problem\nfrom . import errors",
        "def frame():\n    import pandas as pd\n    import pyarrow.parquet",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas as pd",
    ],
)
def test_a_client_by_itself_is_left_alone(source: str, tmp_path: Path) -> None:
    """No false alarm for what the client may import."""
    write(tmp_path, "rugnik/client.py", source)
    assert violations(tmp_path, "rugnik") == []


@pytest.mark.parametrize("package", RULES)
def test_a_folder_that_is_not_there_has_no_arrows(package: str, tmp_path: Path) -> None:
    """The contract holds for a tree that is still growing."""
    assert violations(tmp_path, package) == []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.random.seed(1)",
        "import numpy as np\nrng = np.random.default_rng()",
        "import numpy as np\nnoise = np.random.laplace(size=3)",
        "text = open('rows.csv').read()",
        "app = __import__('app')",
        "print('rows')",
    ],
)
def test_global_state_in_core_is_found(source: str, tmp_path: Path) -> None:
    """Each of these is reported, though none is an import."""
    write(tmp_path, "core/plan.py", source)
    assert len(global_state(tmp_path)) == 1
