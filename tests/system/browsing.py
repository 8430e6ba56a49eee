"""A headless Chromium, the system's own, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]

_QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
]
"""Containers often run as root, which Chromium's sandbox refuses, and have little shared memory."""

_PATIENCE_MS = 30_000
"""A busy machine is no failure."""

expect.set_options(timeout=_PATIENCE_MS)

TEST_S = 400.0
"""Longest time of a test: scripts that a page evaluates have no limit of their own."""

_CLOSING_S = 60.0

_SEVERE = ("serious", "critical")


def chromium() -> str:
    """Return the path of a Chromium; skip without one, but fail where CI must not skip."""
    own = [os.environ.get("WM_TEST_CHROMIUM"), ROOT / ".chromium" / "chromium"]
    found = [str(path) for path in own if path and Path(path).exists()]
    names = ("chromium", "chromium-browser", "google-chrome")
    found += [path for name in names if (path := shutil.which(name))]
    if found:
        return found[0]
    reason = "no Chromium: scripts/chromium.sh .chromium, or name one in WM_TEST_CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` within a block that takes longer, and go on until it has ended.

    Whatever the main thread waits for then, in the browser's event loop or elsewhere.
    """

    def strike(*_: object) -> None:
        raise TimeoutError(f"nothing came of it within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def browser() -> Iterator[Browser]:
    """Run a browser until the block ends."""
    path = chromium()
    with bounded(_CLOSING_S):
        manager = sync_playwright()
        playwright = manager.start()
        opened = playwright.chromium.launch(executable_path=path, args=_QUIET, timeout=_PATIENCE_MS)
    try:
        yield opened
    finally:
        with bounded(_CLOSING_S):
            opened.close()
            playwright.stop()


@dataclass
class Tab:
    """A tab, and everything that its console said but for what a test expects."""

    page: Page
    expected: str = ""
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self._hear(said.text, said.type))
        self.page.on("pageerror", lambda error: self._hear(str(error), "error"))
        self.page.set_default_timeout(_PATIENCE_MS)

    def _hear(self, text: str, kind: str) -> None:
        if kind in ("error", "warning") and not (self.expected and self.expected in text):
            self.faults.append(text)

    def not_accessible(self, *, colours_only: bool = False) -> list[str]:
        """Return what axe-core finds that is serious, by all its rules or by those of colours alone."""
        rules = {"runOnly": ["color-contrast", "link-in-text-block"]} if colours_only else None
        found = Axe().run(self.page, options=rules).response["violations"]
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes']][:3]}"
            for one in found
            if one["impact"] in _SEVERE
        ]

    def width(self) -> int:
        """Return the width of the whole page in pixels."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))

    def height(self) -> int:
        """Return its height."""
        return int(self.page.evaluate("document.documentElement.scrollHeight"))


@contextmanager
def tab(
    browser: Browser, *, width: int = 1280, height: int = 900, dark: bool = False, expected: str = ""
) -> Iterator[Tab]:
    """Open a tab with nothing of another one's; nothing may have gone wrong in it at the end."""
    scheme = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    opened = Tab(context.new_page(), expected)
    with bounded(TEST_S):
        yield opened
    with bounded(_CLOSING_S):
        context.close()
    assert not opened.faults, opened.faults
