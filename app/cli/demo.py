"""`rugnik demo`: prepares and runs a local service with a published example dataset."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import socket
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import demo_data
from app.cli.exits import Code, fail
from app.cli.output import note

if TYPE_CHECKING:
    from app.service import Service
    from app.settings.settings import Settings

ROLES = ("admin", "curator", "analyst", "auditor")
_SHOWN = ("analyst", "curator", "auditor", "admin")  # the one with most to see in the demo first
ROWS = 20_000
EPSILON, CLUSTERS = "1", 5
SECOND = "rugnik-data-demo-2"  # folder for a second demo; git ignores it, because it contains keys


def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    data_dir: Annotated[Path, typer.Option(help="The demo's own folder; a second run goes on with it.")] = Path(
        "rugnik-data-demo"
    ),
) -> None:
    """Run a service with synthetic bike trips published in it, and print how to use it. Ctrl-C stops it.

    All data is in one folder: delete it, and the demo starts from the beginning.
    Not for real data: its keys are on your screen. Other commands find its
    database with RUGNIK_DATA_DIR=rugnik-data-demo/data.

    \b
    Example:
      rugnik demo --port 8001
    """
    listener = _listen(port)
    with closing(listener):
        note("Preparing the demo …")
        _run(_settings(data_dir), listener)


def _run(settings: Settings, listener: socket.socket) -> None:
    from app.operations.start_checks import prepare_data_folder, serving_alone
    from app.storage.database import Database

    prepare_data_folder(settings)
    with serving_alone(Database(settings.url)):
        prepared = _prepare(settings, f"http://127.0.0.1:{listener.getsockname()[1]}")
        _serve(settings, listener, prepared)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a person needs to use the demo: address, file with the keys, keys by role, release id."""

    url: str
    env: Path
    keys: dict[str, str]
    release: str


def _listen(port: int) -> socket.socket:
    """Listen on the port before anything is created, so that a port in use ends the command immediately."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        other = port + 1 if port < 65535 else 8001
        if error.errno == errno.EADDRINUSE:
            fail(
                f"Port {port} is taken, perhaps by a demo that already runs: look at http://127.0.0.1:{port}/. "
                f'For a second one: make demo DEMO="--port {other} --data-dir {SECOND}", or '
                f"rugnik demo --port {other} --data-dir {SECOND}",
                Code.USAGE,
            )
        fail(f"Port {port} cannot be had ({error.strerror}). Try another one: '--port {other}'.", Code.USAGE)
    return listener


def _settings(folder: Path) -> Settings:
    """Settings of the demo, independent of the environment."""
    from app.settings.settings import Settings

    class Alone(Settings):
        """Settings that ignore the environment."""

        @classmethod
        def settings_customise_sources(cls, *_classes: Any, **sources: Any) -> tuple[Any, ...]:
            """The arguments of the constructor are the only source."""
            return (sources["init_settings"],)

    # One folder further in, so that the witness beside it goes with the demo's folder. The rows are made up, so that
    # nobody need hide when they were published: receipts are there at once.
    return Alone(data_dir=folder / "data", log_level="warning", checkpoint_seconds=0, public_docs=True)


def _prepare(settings: Settings, url: str) -> Prepared:
    """Create the keys and the published release, or reuse those of an earlier run."""
    from app.errors import CannotStart
    from app.main import make_service
    from app.operations.observability import configure_logging

    configure_logging(settings.log_level)
    try:
        service = make_service(settings)
    except CannotStart as error:
        fail(f"{error} For the demo, deleting {settings.data_dir.parent} will do.", Code.USAGE)
    try:
        env = settings.data_dir.parent / "keys.env"
        keys = _keys(service, env)
        release = _release(service, keys["curator"])
        prepared = Prepared(url=url, env=env, keys=keys, release=release)
        _write(prepared)
    finally:
        service.database.dispose()
    return prepared


def _keys(service: Service, env: Path) -> dict[str, str]:
    """A key for each role: those of an earlier run if they still work, else new ones."""
    from app.access.keys import authenticate, issue_key
    from app.access.permissions import Role
    from app.errors import NotAuthenticated

    stored: dict[str, str] = {}
    with suppress(OSError, ValueError):
        stored = dict(part.split("=", 1) for part in shlex.split(env.read_text(), comments=True) if "=" in part)
    keys = {}
    for role in ROLES:
        with suppress(KeyError, NotAuthenticated):
            keys[role] = stored[role.upper()]
            if authenticate(service, keys[role]).role == role:
                continue
        keys[role] = issue_key(service, name=f"demo {role}", role=Role(role), datasets=None)[1]
    return keys


def _release(service: Service, curator_key: str) -> str:
    """The id of the published release; registers, orders and publishes what is missing."""
    from pydantic import TypeAdapter

    from app.access.keys import authenticate
    from app.errors import NotFound
    from app.http.conversions.datasets import domain_of
    from app.http.conversions.orders import ordered
    from app.ingest.formats import MediaType
    from app.releases import datasets, ordering, uploading
    from core.budget import Epsilon
    from core.ledger.kinds import State
    from rugnik.wire import DatasetBody, OrderBody

    caller = authenticate(service, curator_key)
    body = TypeAdapter(DatasetBody).validate_python(demo_data.SCHEMA)
    try:
        dataset = datasets.get(service, caller, body.name)
    except NotFound:
        dataset = datasets.register(
            service,
            caller,
            name=body.name,
            description=body.description,
            domain=domain_of(body),
            budget=Epsilon.parse(body.budget),
        )
    by_state = {standing.state: release for release, standing in dataset.releases.items()}
    if State.PUBLISHED in by_state:
        return by_state[State.PUBLISHED]
    if dataset.last_published is not None:
        return dataset.last_published[0]
    order = ordered(OrderBody(epsilon=EPSILON, clusters=CLUSTERS), dataset)
    release = by_state.get(State.ORDERED) or ordering.order(service, caller, body.name, order, idempotency_key=None).id
    uploading.upload(service, caller, release, iter([demo_data.csv(ROWS)]), media_type=MediaType.CSV, gzip=False)
    return release


def _write(prepared: Prepared) -> None:
    """Write address, keys and release id as shell variables to a file that only its owner can read (mode 0600)."""
    values = {"RUGNIK_URL": prepared.url, "RELEASE": prepared.release}
    values |= {role.upper(): key for role, key in prepared.keys.items()}
    lines = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())
    fresh = prepared.env.with_name(prepared.env.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(lines)
    fresh.replace(prepared.env)


def _serve(settings: Settings, listener: socket.socket, prepared: Prepared) -> None:
    import uvicorn

    from app.main import create_app
    from app.operations.server import server_options

    class Announcing(uvicorn.Server):
        """A server that prints how to use the demo as soon as it answers."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Start, then print the banner."""
            await super().startup(sockets)
            typer.echo(_banner(prepared))

    options = server_options(settings)
    server = Announcing(uvicorn.Config(create_app(settings), timeout_graceful_shutdown=5, **options))
    with suppress(KeyboardInterrupt):  # uvicorn shuts down and then raises the signal again
        server.run(sockets=[listener])
    note("The demo has stopped. Run it again to go on with the same data.")


def _banner(demo: Prepared) -> str:
    env = shlex.quote(str(demo.env.resolve()))
    python = Path(sys.executable)
    rugnik = "rugnik" if shutil.which("rugnik") else shlex.quote(str(python.with_name("rugnik")))
    width = max(map(len, ROLES))
    keys = "\n".join(f"  {role:<{width}}  {demo.keys[role]}" for role in _SHOWN)
    return f"""
rugnik is ready, with {demo_data.DATASET} published in it.

  Explore it  {demo.url}/releases/{demo.release}
  Dashboard   {demo.url}/
  HTTP API    {demo.url}/docs

Sign in as the analyst to explore. The keys, also in {demo.env}:

{keys}

In another terminal:

  . {env}

  curl -s "$RUGNIK_URL/v1/releases/$RELEASE/count?where=hour:7..9" -H "Authorization: Bearer $ANALYST"; echo

  RUGNIK_KEY=$ANALYST {rugnik} query clusters {demo_data.DATASET} --k 5

  {shlex.quote(str(python))} -c "import os; from rugnik import Client
rugnik = Client(os.environ['RUGNIK_URL'], os.environ['ANALYST'])
print(rugnik.count(os.environ['RELEASE'], {{'hour': (7, 9)}}))"

Ctrl-C stops it.
"""
