"""`wm web` before it serves: what it refuses. What it serves is tested in tests/orchestrator/web."""

from __future__ import annotations

import socket
import sys
from contextlib import closing

import pytest


@pytest.fixture
def stored(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WM_STORE_URL", tiny.url)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "wm.example"])  # noqa: S104 - what is refused
def test_no_token_is_for_this_machine_only(wm, host: str) -> None:
    ran = wm("web", "--no-token", "--host", host)
    assert (ran.code, ran.out) == (2, "")
    assert f"--no-token with --host {host} would show the store to everybody" in ran.err


@pytest.mark.usefixtures("stored")
def test_a_port_in_use_is_named_with_the_option_that_helps(wm) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        line = wm("web", "--port", str(port)).refusal()
    assert line.startswith(f"wm: 127.0.0.1:{port}: cannot listen (")
    assert line.endswith("give another --host or --port")


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("package", ["uvicorn", "starlette.applications"])
def test_a_missing_extra_is_named(wm, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.delitem(sys.modules, "orchestrator.web.app", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    line = wm("web").refusal()
    assert line == f"wm: wm web needs {package}: pip install 'treeproof[web]'"


def test_a_store_that_is_not_there_is_a_mistake(wm, tmp_path) -> None:
    assert "there is no store" in wm("web", "--store", f"sqlite:///{tmp_path}/no.db").refusal()
