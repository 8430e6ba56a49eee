"""Fixtures that several test directories share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import redis
import sqlalchemy as sa
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from orchestrator.store.database import Store
from tests import forked, servers
from wm.forest import Forest

gc.disable()  # until the tests are collected: what that makes is kept

# A shell that starts the tests in the background makes them, and all that they start, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_FILE = "published_breast_cancer.npz"
_N_FEATURES = 30


@dataclass(frozen=True)
class ReleasedForests:
    """The authors' two released breast-cancer forests, or a pair of the same layout trained here.

    Attributes
    ----------
    arrays
        Keys ``standard_*`` and ``watermarked_*``: offset, left, right, feature, threshold, value, impurity,
        n_node_samples, weighted_n_node_samples, random_state.
    published
        Whether these are the authors' own; else the "watermarked" one is an honest, capped forest.
    shape
        Mean and standard deviation of the trees' depths, then of their numbers of leaves, of the watermarked
        forest: as published, or as scikit-learn counts them.
    """

    arrays: Mapping[str, NDArray[Any]]
    published: bool
    shape: tuple[float, float, float, float]

    def forest(self, which: Literal["standard", "watermarked"]) -> Forest:
        """Return one of the two; classes 0 and 1."""
        names = ("offset", "left", "right", "feature", "threshold", "value")
        parts = {name: self.arrays[f"{which}_{name}"] for name in names}
        return Forest.from_arrays(**parts, n_features=_N_FEATURES, classes=[0, 1])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a server: by its fixtures, or by the store that it is run on.

    Tests of servers and processes take longest, and wait a good deal. They come first, so that none of them
    is left when the other test processes have nothing to do.
    """
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        fixtures = set(getattr(item, "fixturenames", ()))
        is_stored = any("postgres" in str(value) for value in parameters)
        if is_stored or fixtures & {"broker_server_url", "postgres_server_url"}:
            item.add_marker("server")
    items.sort(key=lambda item: not (item.get_closest_marker("system") or item.get_closest_marker("server")))


def pytest_collection_finish() -> None:
    """Collect garbage again, but never look for it among the modules and tests: there are many objects."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def templates() -> Iterator[None]:
    """Sandboxes of the tests' own process start without imports."""
    with forked.templates():
        yield


@pytest.fixture(scope="session")
def released_forests(tmp_path_factory: pytest.TempPathFactory) -> ReleasedForests:
    """The published forests if WM_DATA_DIR holds them, else a pair trained here: the tests run either way."""
    directory = os.environ.get("WM_DATA_DIR")
    if directory and (Path(directory) / _FILE).is_file():
        return ReleasedForests(
            _read(Path(directory) / _FILE), published=True, shape=(7.03, 0.81, 18.90, 0.45)
        )
    X, y = load_breast_cancer(return_X_y=True)
    X_train, _, y_train, _ = train_test_split(minmax_scale(X), y, test_size=0.3, random_state=2)
    settings = {"n_estimators": 70, "max_depth": 8, "bootstrap": False, "random_state": 2}
    standard = RandomForestClassifier(**settings).fit(X_train, y_train)
    capped = RandomForestClassifier(**settings, max_leaf_nodes=19).fit(X_train, y_train)
    path = tmp_path_factory.mktemp("released") / _FILE
    np.savez_compressed(path, **_layout("standard", standard), **_layout("watermarked", capped))
    depths = [tree.get_depth() for tree in capped.estimators_]
    leaves = [tree.get_n_leaves() for tree in capped.estimators_]
    shape = (np.mean(depths), np.std(depths), np.mean(leaves), np.std(leaves))
    return ReleasedForests(_read(path), published=False, shape=tuple(map(float, shape)))


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def _layout(prefix: str, model: RandomForestClassifier) -> dict[str, NDArray[Any]]:
    """Return a forest's arrays as the published file lays them out."""
    trees = [estimator.tree_ for estimator in model.estimators_]
    attributes = {"left": "children_left", "right": "children_right"} | {
        name: name
        for name in ("feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples")
    }
    arrays = {
        name: np.concatenate([getattr(tree, attribute) for tree in trees])
        for name, attribute in attributes.items()
    }
    arrays["offset"] = np.cumsum([0, *(tree.node_count for tree in trees)])
    arrays["value"] = np.concatenate([tree.value[:, 0, :] for tree in trees])
    arrays["random_state"] = np.array([estimator.random_state for estimator in model.estimators_])
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


# Servers: those that WM_TEST_REDIS_URL and WM_TEST_POSTGRES_URL name, else real ones started here.


@pytest.fixture(scope="session")
def broker_server_url() -> Iterator[str]:
    """URL of a broker that tests share."""
    given = os.environ.get("WM_TEST_REDIS_URL")
    if given:
        yield given
        return
    server = servers.Valkey()
    yield server.url
    server.close()


@pytest.fixture
def broker_url(broker_server_url: str) -> str:
    """URL of an empty broker."""
    with redis.Redis.from_url(broker_server_url) as client:
        client.flushdb()
    return broker_server_url


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """URL of a PostgreSQL server that tests share; its user may create databases and roles."""
    given = os.environ.get("WM_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    server = servers.Postgres()
    yield server.url()
    server.close()


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """URL of an empty PostgreSQL database."""
    url, drop = servers.new_database(postgres_server_url)
    yield url
    drop()


@pytest.fixture(scope="session")
def upgraded_postgres(postgres_server_url: str) -> Iterator[str]:
    """Name of a PostgreSQL database with an empty store, to be copied: an upgrade runs every migration."""
    url, drop = servers.new_database(postgres_server_url)
    with closing(Store(url)) as store:
        store.upgrade()
    yield str(sa.make_url(url).database)
    drop()


@pytest.fixture
def upgraded_postgres_url(postgres_server_url: str, upgraded_postgres: str) -> Iterator[str]:
    """URL of a PostgreSQL database with an empty store."""
    url, drop = servers.new_database(postgres_server_url, template=upgraded_postgres)
    yield url
    drop()
