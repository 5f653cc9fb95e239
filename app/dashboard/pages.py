"""A page: a template, who looks at it, and the policy that its browser is held to."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from app.access import sessions
from app.access.permissions import Permission
from app.access.principal import Principal
from app.dashboard import assets, words
from app.http.cookies import cookie_of

# An empty <style> is how Plotly reaches the CSSOM; the other three are its own sheet and its own attributes, word for
# word. A browser test fails on any violation, so another Plotly shows up there and not in front of a reader.
_EMPTY = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
_PLOTLY_SHEET = "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"
_PLOTLY_TEXT = "'sha256-AR/cKIZjWPcPmBUPDA6oti9XBiTbJvz0Cro2J1VzzS8='"

_ALWAYS = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; "
)
PLAIN_POLICY = _ALWAYS + "style-src 'self'; img-src 'self'"
PLOT_POLICY = _ALWAYS + (
    f"style-src 'self'; style-src-elem 'self' {_EMPTY} {_PLOTLY_SHEET}; "
    f"style-src-attr 'unsafe-hashes' {_EMPTY} {_PLOTLY_TEXT}; img-src 'self' data: blob:"
)


def _data(value: object) -> Markup:
    """A value for a <script type="application/json">: no text in it can end the element."""
    text = orjson.dumps(value).decode().replace("<", "\\u003c").replace("&", "\\u0026")
    return Markup(text)  # noqa: S704 - nothing is left in it that HTML would read


_templates = Environment(
    loader=PackageLoader("app.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "data": _data,
    "day": words.day,
    "number": words.number,
    "percent": words.percent,
    "sentence": words.sentence,
}
_templates.globals |= {"asset": assets.address, "order_of": words.order_of, "Permission": Permission}


def page(
    request: Request, template: str, caller: Principal | None, *, status: int = 200, plots: bool = False, **values: Any
) -> HTMLResponse:
    """A template as a reply that no cache keeps."""
    token = cookie_of(request)
    body = _templates.get_template(template).render(
        caller=caller,
        csrf=sessions.csrf_token(token) if token and caller else "",
        path=request.url.path,
        plots=plots,
        **values,
    )
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": PLOT_POLICY if plots else PLAIN_POLICY}
    return HTMLResponse(body, status_code=status, headers=headers)
