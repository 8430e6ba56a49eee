"""The routes of the live page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import anyio
from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

import wm
from orchestrator.errors import InUseError, NotFoundError, StoreError
from orchestrator.monitoring.watch import duration
from orchestrator.report.page import POLICY as REPORT_POLICY
from orchestrator.report.page import environment
from orchestrator.report.wording import moment, seconds
from orchestrator.store.database import Store
from orchestrator.web.actions import Actions
from orchestrator.web.guard import Access, Guard
from orchestrator.web.live import LOOK_EVERY_S, Live
from orchestrator.web.pages import Page, Pages, place

_KEEP_ALIVE = 15
"""Rounds without a change after which something is sent all the same: proxies end silent connections."""

_MEDIA = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}

_STATIC = {
    "page.css": ("orchestrator.report", "text/css"),
    "marks.css": ("orchestrator.report", "text/css"),
    "tables.js": ("orchestrator.report", "text/javascript"),
    "marks.js": ("orchestrator.report", "text/javascript"),
    "web.css": ("orchestrator.web", "text/css"),
    "live.js": ("orchestrator.web", "text/javascript"),
    "icon.svg": ("orchestrator.web", "image/svg+xml"),
}
"""Files that pages refer to, with their package and media type: those of the report serve here too."""


def make_app(store: Store, access: Access, is_stopping: Callable[[], bool] = lambda: False) -> Starlette:
    """Return the application.

    Parameters
    ----------
    store
        Only read, unless `access` allows actions.
    access
        Who may do what.
    is_stopping
        Whether open connections are to end, as the server does.
    """
    live = Live(store)
    site = _Site(store, live, access, is_stopping)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        live.start()
        yield
        await run_in_threadpool(live.close)

    routes = [
        Route("/", site.home),
        Route("/campaigns/{id:int}", site.campaign),
        Route("/campaigns/{id:int}/report", site.report),
        Route("/campaigns/{id:int}/figures/{name}.{ending}", site.figure),
        Route("/campaigns/{id:int}/retry", site.retry, methods=["POST"]),
        Route("/campaigns/{id:int}/cancel", site.cancel, methods=["POST"]),
        Route("/jobs/{id:int}", site.job),
        Route("/jobs/{id:int}/retry", site.retry_job, methods=["POST"]),
        Route("/jobs/{id:int}/cancel", site.cancel_job, methods=["POST"]),
        Route("/jobs/{id:int}/witnesses/{instance:int}.svg", site.witness),
        Route("/compare", site.compare),
        Route("/events", site.events),
        Route("/static/{name}", site.static),
        Route("/favicon.ico", site.static),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={
            HTTPException: site.refused,
            NotFoundError: partial(site.fault, 404),
            InUseError: partial(site.fault, 409),
            StoreError: partial(site.fault, 503),
        },
        lifespan=lifespan,
    )
    app.state.live = live
    return app


def templates(access: Access) -> Environment:
    """Return the environment of the pages' templates, which include parts of the report's."""
    made = environment()
    made.loader = ChoiceLoader(
        [PackageLoader("orchestrator.web", "templates"), PackageLoader("orchestrator.report", "")]
    )
    made.globals |= {"access": access, "version": wm.__version__, "with_query": _with_query}
    made.filters |= {"place": place, "moment": moment, "seconds": seconds, "duration": duration}
    made.filters["pretty"] = lambda document: json.dumps(document, indent=2, ensure_ascii=False)
    return made


def _with_query(**values: object) -> str:
    """Return a query of the values that are given."""
    return "?" + urlencode([(name, value) for name, value in values.items() if value not in (None, "")])


class _Site:
    """The endpoints; each that reads the store is run in a thread."""

    def __init__(self, store: Store, live: Live, access: Access, is_stopping: Callable[[], bool]) -> None:
        self._access = access
        self._is_stopping = is_stopping
        self._pages = Pages(store, live)
        self._actions = Actions(store, live)
        self._templates = templates(access)

    # Pages

    def home(self, _request: Request) -> Response:
        return self._show(self._pages.home())

    def campaign(self, request: Request) -> Response:
        return self._show(self._page_of(str(request.url.path), request.url.query))

    def job(self, request: Request) -> Response:
        return self._show(self._pages.job(request.path_params["id"]))

    def compare(self, request: Request) -> Response:
        return self._show(self._pages.comparison(request.query_params))

    def report(self, request: Request) -> Response:
        html = self._pages.report(request.path_params["id"])
        return HTMLResponse(html, headers={"content-security-policy": REPORT_POLICY})

    def figure(self, request: Request) -> Response:
        asked = request.path_params
        content = self._pages.figure(asked["id"], asked["name"], asked["ending"])
        return Response(content, media_type=_MEDIA[asked["ending"]])

    def witness(self, request: Request) -> Response:
        svg = self._pages.witness(request.path_params["id"], request.path_params["instance"])
        return Response(svg, media_type="image/svg+xml")

    def static(self, request: Request) -> Response:
        # Browsers ask for /favicon.ico beside a picture or a refusal, which name no icon.
        name = request.path_params.get("name", "icon.svg")
        if name not in _STATIC:
            raise HTTPException(404)
        package, media_type = _STATIC[name]
        return Response(resources.files(package).joinpath(name).read_bytes(), media_type=media_type)

    def _show(self, page: Page, status: int = 200) -> Response:
        template = self._templates.get_template(page.template)
        return HTMLResponse(template.render(page.context, live=bool(page.blocks)), status_code=status)

    def _page_of(self, path: str, query: str) -> Page:
        """Return the page at an address of this server that changes while somebody looks."""
        parts = path.strip("/").split("/")
        match parts:
            case [""]:
                return self._pages.home()
            case ["campaigns", number] if number.isdecimal():
                return self._pages.campaign(int(number), dict(parse_qsl(query)))
            case ["jobs", number] if number.isdecimal():
                return self._pages.job(int(number))
        raise HTTPException(404)

    # Changes, as server-sent events

    async def events(self, request: Request) -> Response:
        address = urlsplit(request.query_params.get("page", "/"))
        sent = await run_in_threadpool(self._blocks, address.path, address.query)
        stream = self._changes(address.path, address.query, sent)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _changes(self, path: str, query: str, sent: dict[str, str]) -> AsyncIterator[str]:
        """Yield the blocks of a page now, and then those that have changed."""
        yield _event(sent)  # the page may have been loaded before the last look
        silent = 0
        while not self._is_stopping():
            await anyio.sleep(LOOK_EVERY_S)
            try:
                blocks = await run_in_threadpool(self._blocks, path, query)
            except StoreError as reason:
                blocks = sent | {"problem": self._problem(str(reason))}
            changed = {name: html for name, html in blocks.items() if sent.get(name) != html}
            silent += 1
            if changed or silent >= _KEEP_ALIVE:
                yield _event(changed)
                silent = 0
            sent = blocks

    def _blocks(self, path: str, query: str) -> dict[str, str]:
        page = self._page_of(path, query)
        template = self._templates.get_template(page.template)
        context = template.new_context(dict(page.context) | {"live": True})
        return {name: "".join(template.blocks[name](context)) for name in page.blocks}

    def _problem(self, text: str) -> str:
        return self._templates.from_string(
            "{% from 'macros.html.j2' import trouble %}{{ trouble(text) }}"
        ).render(text=text)

    # Actions

    async def retry(self, request: Request) -> Response:
        return await self._act(request, self._actions.retry, "campaigns")

    async def cancel(self, request: Request) -> Response:
        return await self._act(request, self._actions.cancel, "campaigns")

    async def retry_job(self, request: Request) -> Response:
        return await self._act(request, self._actions.retry_job, "jobs")

    async def cancel_job(self, request: Request) -> Response:
        return await self._act(request, self._actions.cancel_job, "jobs")

    async def _act(self, request: Request, act: Callable[[int], None], back: str) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", errors="replace"))
        if not self._access.knows(form.get("form_token", [""])[0], self._access.form_token):
            raise HTTPException(403, "the form is old: load the page again")
        one = request.path_params["id"]
        await run_in_threadpool(act, one)
        return RedirectResponse(f"/{back}/{one}", status_code=303)

    # Faults

    def refused(self, _request: Request, reason: Exception) -> Response:
        status = reason.status_code if isinstance(reason, HTTPException) else 500
        detail = reason.detail if isinstance(reason, HTTPException) else ""
        return self._show(Page("fault.html.j2", {"status": status, "text": detail}), status)

    def fault(self, status: int, _request: Request, reason: Exception) -> Response:
        return self._show(Page("fault.html.j2", {"status": status, "text": str(reason)}), status)


def _event(blocks: dict[str, str]) -> str:
    return f"data: {json.dumps(blocks)}\n\n"
