"""create_app(settings): the routes, the problem handlers and the middleware around one Service."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.metadata import version

import structlog
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from uvicorn.config import STARTUP_FAILURE

from app.access.service_secret import service_secret
from app.access.sign_in_delays import SignInDelays
from app.answers.answers import Answers
from app.dashboard import assets, docs_page, signing, views
from app.dashboard import errors as error_pages
from app.errors import CannotStart
from app.http import problems
from app.http.access_document import add_to_openapi
from app.http.middleware.body_limit import LimitBodies
from app.http.middleware.hosts import RequireHost, parse_hosts
from app.http.middleware.hot_answers import AnswerFromMemory, HotAnswers
from app.http.middleware.observe_requests import ObserveRequests
from app.http.middleware.safety_headers import AddSafetyHeaders
from app.http.nearest import documented
from app.http.routes import answers, cards, datasets, downloads, health, keys, latest, ledger, releases, requests
from app.http.routes import log as log_routes
from app.http.uploads import UploadSlots
from app.ledger.replay import Replay
from app.ledger.witness import Witness
from app.ledger.witness_check import check_witness
from app.log.cosigning import Cosigner, read_policy
from app.log.signing import open_log
from app.log.ticks import Ticks
from app.operations.lanes import Lanes
from app.operations.observability import Metrics, configure_logging
from app.operations.process_privacy import disable_core_dumps
from app.operations.start_checks import database_errors, prepare_folders
from app.service import Service, utc_now
from app.settings.settings import Settings
from app.storage.database import Database
from core.randomness import NoiseSource

log = structlog.get_logger(__name__)

# How long a thread that counts rows or computes an answer keeps the interpreter while the event loop waits for it: each
# step of each request waits once. Python's own 5 ms made /healthz wait for tens of milliseconds during two uploads.
SWITCH_SECONDS = 0.001

# The API, then the pages.
ROUTERS = tuple(
    module.router
    for module in (
        datasets,
        releases,
        requests,
        answers,
        downloads,
        cards,
        latest,
        ledger,
        log_routes,
        keys,
        health,
        views,
        docs_page,
        signing,
    )
)


def make_service(settings: Settings, clock: Callable[[], datetime] = utc_now, *, lost_key: bool = False) -> Service:
    """A Service on a database that is migrated and agrees with its witness, or CannotStart.

    With `lost_key` it signs with a key of its own, which is nowhere on record: to put a new one there.
    """
    prepare_folders(settings)
    secret = service_secret(settings.secret_path)
    policy = None if lost_key else read_policy(settings.policy)
    database = Database(settings.url)
    try:
        with database_errors(database):
            _check_schema(database)
            service = Service(
                settings=settings,
                database=database,
                witness=Witness(settings.witness_path),
                replay=Replay(database),
                noise=NoiseSource(),
                log=open_log(settings, database, lost_key=lost_key),
                ticks=Ticks(settings.checkpoint_seconds),
                policy=policy,
                cosigner=Cosigner(policy),
                clock=clock,
                secret=secret,
            )
            check_witness(service, lost_key=lost_key)
            if not settings.read_only:
                service.cosigner.check_at_start(service)
    except Exception:
        database.dispose()
        raise
    return service


def _check_schema(database: Database) -> None:
    """SQLite is migrated here and now; anything larger when its administrator says so."""
    if database.is_sqlite:
        database.migrate()
    elif database.pending_migrations():
        raise CannotStart("The database is not migrated to this version of rugnik: run 'rugnik migrate' first.")


def create_app(settings: Settings, clock: Callable[[], datetime] = utc_now) -> FastAPI:
    """The application; refuses to exist on a database it must not use."""
    configure_logging(settings.log_level)
    disable_core_dumps()
    service = make_service(settings, clock)
    collected = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await to_thread.run_sync(app.state.answers.close)
        service.database.dispose()

    app = FastAPI(
        title="rugnik",
        version=version("rugnik"),
        summary="Upload once, ask for ever, audit every billionth of epsilon.",
        lifespan=lifespan,
        docs_url=None,
        redirect_slashes=False,  # it would redirect to whatever Host says
        redoc_url=None,
    )
    app.state.service = service
    app.state.metrics = collected
    app.state.answers = Answers(service)
    app.state.lanes = Lanes(settings.answer_processes, settings.long_answers_per_minute)
    collected.watch(app.state.lanes.watched)
    app.state.hot_answers = HotAnswers(service, app.state.answers)
    app.state.sign_in_delays = SignInDelays()
    app.state.upload_slots = UploadSlots(settings.max_uploads, settings.upload_wait_seconds)
    app.router.routes.extend(_ROUTES.routes)
    app.state.documented_routes = documented(ROUTERS)
    add_to_openapi(app, ROUTERS)
    app.router.routes.append(assets.route)
    problems.install(app)
    error_pages.install(app)
    app.add_middleware(LimitBodies)
    app.add_middleware(AnswerFromMemory, hot=app.state.hot_answers)
    app.add_middleware(ObserveRequests, metrics=collected)
    if settings.allowed_hosts is not None:
        app.add_middleware(RequireHost, allowed=parse_hosts(settings.allowed_hosts))
    app.add_middleware(AddSafetyHeaders)
    return app


def app_from_environment() -> FastAPI:
    """What a worker process runs. Where it cannot start, it says why and the parent stops, instead of trying again."""
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        return create_app(Settings())
    except CannotStart as error:
        log.error("cannot_start", reason=str(error))  # noqa: TRY400 - a sentence for the operator, no traceback
        sys.exit(STARTUP_FAILURE)


def _operation_id(route: APIRoute) -> str:
    """Readable names in the OpenAPI document: releases_upload rather than the path spelt out."""
    return f"{route.tags[0]}_{route.name}"


def _all_routes() -> APIRouter:
    """The routes of all routers. FastAPI prepares each when a request first comes near it, for 0.2 s in all."""
    together = APIRouter(generate_unique_id_function=_operation_id)
    for router in ROUTERS:
        together.include_router(router)
    return together


_ROUTES = _all_routes()  # one for all applications of a process, so that they are prepared once
