"""Signing in with a key and out again. The key is seen once, here, and never by a page or by the browser's storage."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import structlog
from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.access import sessions
from app.access.sign_in_delays import SignInDelays
from app.dashboard.pages import page
from app.errors import NotAuthenticated, RefusedRequest
from app.http.callers import CurrentService
from app.http.cookies import cookie_name, cookie_of, require_own_origin, require_own_page

log = structlog.get_logger(__name__)

router = APIRouter(include_in_schema=False, tags=["dashboard"])

_LONGEST = 2000  # characters of an address to go on to
_OWN_PAGE = re.compile(
    r"/(?:[A-Za-z0-9_?][A-Za-z0-9._~%&=?/+:-]*)?", re.ASCII
)  # not //elsewhere, which is another host


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """Ask for a key."""
    return page(request, "sign_in.html", None, wanted=_own(request.query_params.get("next", "")), wrong=False)


@router.post("/sign-in")
async def sign_in(request: Request, service: CurrentService) -> Response:
    """Take a key and give a session for it."""
    require_own_origin(request)  # nobody is signed in as somebody else by a page elsewhere
    form = await _form(request)
    wanted = _own(form.get("next", ""))
    delays: SignInDelays = request.app.state.sign_in_delays
    address = request.client.host if request.client else ""
    await delays.wait(address)
    try:
        token = await to_thread.run_sync(sessions.sign_in, service, form.get("key", "").strip())
    except NotAuthenticated:
        delays.count_failure(address)
        log.warning("sign_in_failed", next_waits_seconds=delays.seconds(address))
        return page(request, "sign_in.html", None, status=401, wanted=wanted, wrong=True)
    response = RedirectResponse(wanted or "/", status_code=303, headers={"Cache-Control": "no-store"})
    response.set_cookie(
        cookie_name(request),
        token,
        max_age=60 * service.settings.session_minutes,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request, service: CurrentService) -> Response:
    """End the session; without one, there is nothing to end."""
    token = cookie_of(request)
    response = RedirectResponse("/sign-in", status_code=303, headers={"Cache-Control": "no-store"})
    if token is not None:
        require_own_page(request, token, (await _form(request)).get("csrf"))
        await to_thread.run_sync(sessions.end, service, token)
        response.delete_cookie(
            cookie_name(request),
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return response


async def _form(request: Request) -> dict[str, str]:
    """An urlencoded form, read by the standard library: nothing goes to disk. LimitBodies keeps it small."""
    try:
        fields = parse_qs((await request.body()).decode("ascii"), max_num_fields=10)
        return {name: values[-1] for name, values in fields.items()}
    except ValueError:
        raise RefusedRequest("The form cannot be read.") from None


def _own(wanted: str) -> str:
    """A page of ours to go on to, such as a view of the explorer; anything else is forgotten."""
    return wanted if len(wanted) <= _LONGEST and _OWN_PAGE.fullmatch(wanted) else ""
