"""The page /docs has every route of the OpenAPI document, and is open only where a setting says so."""

from __future__ import annotations

import html
import re

import pytest

from app.dashboard.docs_page import inline
from app.main import create_app
from app.settings.settings import Settings
from tests.support.service.api import Api, frozen_clock
from tests.support.service.routes import operations


def test_every_route_and_every_schema_is_on_the_page(sqlite_api: Api) -> None:
    """With an address of its own, and a line that asks it; every link of the page leads somewhere."""
    page = sqlite_api.analyst("GET", "/docs").text
    for (method, path), operation in operations(sqlite_api.app).items():
        assert f'id="{operation["operationId"]}"' in page, (method, path)
        assert f">{path}</code>" in page
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    lines = [html.unescape(line) for line in re.findall(r"<code>(curl .*?)</code>", page)]
    assert len(lines) == len(operations(sqlite_api.app))
    assert "$RUGNIK_KEY" not in next(line for line in lines if line.endswith('/healthz"'))


@pytest.mark.parametrize("is_public", [False, True])
def test_the_page_is_open_where_the_setting_says_so(sqlite_settings: Settings, is_public: bool) -> None:
    """Else a visitor is sent to sign in; no other page opens with it, and there is no /redoc."""
    own = sqlite_settings.model_dump(exclude_unset=True)
    with Api(create_app(Settings(**(own | {"public_docs": is_public})), frozen_clock)) as api:
        assert api.call(None, "GET", "/docs").status_code == (200 if is_public else 303)
        assert api.call(None, "GET", "/").status_code == 303
        assert api.analyst("GET", "/docs").status_code == 200
        assert api.analyst("GET", "/redoc").status_code == 404


def test_texts_of_the_document_cannot_become_markup() -> None:
    """Code and links of the page alone are markup."""
    shown = inline("<b> `<i>` [<u>](#a) [x](https://elsewhere) & more")
    assert shown == ('&lt;b&gt; <code>&lt;i&gt;</code> <a href="#a">&lt;u&gt;</a> [x](https://elsewhere) &amp; more')
