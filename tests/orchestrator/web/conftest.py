"""The live page without a server: requests go straight to the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest
from starlette.applications import Starlette

from orchestrator.store.database import Store
from orchestrator.web.app import make_app
from orchestrator.web.guard import Access
from orchestrator.web.live import Live
from tests.report_page import Page

HOST = "127.0.0.1"
OPEN = Access(frozenset({HOST}), token=None)
ACTIVE = Access(frozenset({HOST}), token=None, allow_actions=True)


@dataclass(frozen=True)
class Site:
    """An application and its look at the store, which is taken when a test wants it."""

    app: Starlette
    access: Access

    @property
    def live(self) -> Live:
        found: Live = self.app.state.live
        return found

    def ask(self, method: str, path: str, *, host: str = HOST, **more) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}:8642") as client:
                return await client.request(method, path, **more)

        return asyncio.run(asked())

    def get(self, path: str, **more) -> httpx.Response:
        return self.ask("GET", path, **more)

    def page(self, path: str) -> Page:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)


MakeSite = Callable[..., Site]


@pytest.fixture
def site_of() -> MakeSite:
    """Return a function that makes the site of a store, after one look at it."""

    def make(store: Store, access: Access = OPEN, *, is_stopping: Callable[[], bool] = lambda: True) -> Site:
        site = Site(make_app(store, access, is_stopping), access)
        site.live.look()
        return site

    return make
