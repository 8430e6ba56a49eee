"""The command `wm doctor`: what it prints, and its exit code."""

from __future__ import annotations

import platform

import pytest

import wm as treeproof
from orchestrator.store import services
from orchestrator.store.database import Store
from orchestrator.store.services import StoreRegistry
from workers.runtime.registry import WorkerRecord
from workers.runtime.version import protocol_version


@pytest.fixture
def store_url(tmp_path):
    url = f"sqlite:///{tmp_path / 'wm.db'}"
    store = Store(url)
    store.upgrade()
    services.beat_orchestrator(store, "one:1:1", protocol_version())
    StoreRegistry(store).beat(WorkerRecord("two:1:1", protocol_version(), 3))
    store.close()
    return url


def test_all_is_well(wm, store_url, broker_url):
    ran = wm("doctor", "--store", store_url, "--broker", broker_url)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == f"ok     version: {protocol_version()}"
    assert len(lines) == 11
    assert all(line.startswith("ok     ") for line in lines)


def test_each_fault_has_its_fix_on_the_next_line(wm, store_url):
    ran = wm("doctor", "--store", store_url, "--broker", "redis://127.0.0.1:1/0")
    assert (ran.code, ran.err) == (4, "")
    lines = ran.out.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("FAULT"))
    assert lines[at].startswith("FAULT  broker: redis://")
    assert "Connection refused" in lines[at]
    assert lines[at + 1] == "       -> start the broker, or fix WM_BROKER_URL"


def test_a_broker_that_was_not_named_is_no_fault(wm, store_url, monkeypatch):
    from orchestrator.cli.doctor import doctor

    (option,) = (option for option in doctor.params if option.name == "broker_url")
    monkeypatch.setattr(option, "default", "redis://127.0.0.1:1/0")
    monkeypatch.delenv("WM_BROKER_URL", raising=False)
    ran = wm("doctor", "--store", store_url)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-2].startswith("note   broker: redis://")
    assert "one machine needs none" in ran.out.splitlines()[-1]
    monkeypatch.setenv("WM_BROKER_URL", "redis://127.0.0.1:1/0")
    assert wm("doctor", "--store", store_url).code == 4


def test_the_same_as_json_with_the_environment(wm, store_url, broker_url, monkeypatch):
    monkeypatch.setenv("WM_WORKER_PASSWORD", "hidden")
    ran = wm("doctor", "--store", store_url, "--broker", broker_url, "--json")
    assert ran.code == 0
    assert [finding["what"] for finding in ran.json()["findings"]] == [
        *("version", "packages", "data", "store", "database", "clock", "writing"),
        *("orchestrator", "worker", "broker", "eviction"),
    ]
    assert {finding["is_fault"] for finding in ran.json()["findings"]} == {False}
    found = ran.json()["environment"]
    assert found["treeproof"] == treeproof.__version__
    assert found["versions"]["python"] == platform.python_version()
    assert {"numpy", "z3-solver", "system", "processor"} <= set(found["versions"])
    assert "WM_WORKER_PASSWORD" in found["variables"]
    assert "hidden" not in ran.out
