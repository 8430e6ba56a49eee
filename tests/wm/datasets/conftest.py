"""A real web server on loopback, and the real data sets if WM_DATA_DIR has them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.utils import resample

from tests import ending
from wm.datasets.files import parse_svmlight
from wm.datasets.ijcnn1 import PAPER, Recipe, git_blob_sha1
from wm.datasets.mnist import MNIST26_SHA256
from wm.formats.npz import content_hash


def _real_file(name: str) -> Path | None:
    """Return a file of WM_DATA_DIR, as the variable was when the tests were collected."""
    folder = os.environ.get("WM_DATA_DIR")
    path = Path(folder) / name if folder else None
    return path if path is not None and path.is_file() else None


Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class LoopbackServer:
    """Serves what a test puts into `files`; `answers` take over the whole response of a path."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            loopback.asked.append(self.path)
            if self.path in loopback.answers:
                loopback.answers[self.path](self)
            elif self.path in loopback.files:
                content = loopback.files[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            else:
                self.send_error(404)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing: the test looks at `asked`."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    loopback = LoopbackServer(url=f"http://127.0.0.1:{httpd.server_address[1]}")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield loopback
    finally:
        loopback.closing.set()
        httpd.shutdown()
        ending.join(thread)
        httpd.server_close()


@pytest.fixture
def closed_url() -> str:
    """Return an address on loopback where nobody listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as httpd:
        return f"http://127.0.0.1:{httpd.server_address[1]}"


@dataclass(frozen=True)
class MnistCase:
    """A `mnist26.npz` and what must come out of it."""

    folder: Path
    sha256: str
    shape: tuple[int, int]
    sixes: int


@dataclass(frozen=True)
class Ijcnn1Case:
    """An `ijcnn1.npz`, its recipe, and what must come out of it; `texts` are LIBSVM's two files, unpacked."""

    folder: Path
    recipe: Recipe
    positives: tuple[int, int]
    texts: tuple[bytes, bytes]


def _cases(file_name: str) -> list[str]:
    # A small file of the same form is always tested; the real one too where it is at hand.
    return ["small", "real"] if _real_file(file_name) else ["small"]


@pytest.fixture(params=_cases("mnist26.npz"))
def mnist(request: pytest.FixtureRequest, tmp_path: Path) -> MnistCase:
    if request.param == "real" and (path := _real_file("mnist26.npz")):
        return MnistCase(path.parent, MNIST26_SHA256, (13_866, 784), 6_876)
    folder = tmp_path / "small mnist"
    folder.mkdir()
    generator = np.random.default_rng(0)
    X = generator.integers(0, 256, (40, 784), dtype=np.uint8)
    y = np.where(generator.random(40) < 0.5, 2, 6).astype(np.int8)
    np.savez_compressed(folder / "mnist26.npz", X=X, y=y, split=np.zeros(40, dtype=np.int8))
    return MnistCase(folder, content_hash({"X": X, "y": y}), (40, 784), int((y == 6).sum()))


@pytest.fixture(params=_cases("ijcnn1.npz"))
def ijcnn1(request: pytest.FixtureRequest, tmp_path: Path) -> Ijcnn1Case:
    if request.param == "real" and (path := _real_file("ijcnn1.npz")):
        return Ijcnn1Case(path.parent, PAPER, (931, 876), _libsvm_texts(path, PAPER.n_train))
    folder = tmp_path / "small ijcnn1"
    folder.mkdir()
    generator = np.random.default_rng(0)
    arrays: dict[str, NDArray[np.float32]] = {}
    for part, rows in (("train", 90), ("test", 70)):
        one_hot = np.eye(10)[generator.integers(0, 10, rows)]
        real = generator.uniform(-1.3, 1.3, (rows, 12)).round(6)
        real[generator.random(real.shape) < 0.1] = 0
        arrays[f"X_{part}"] = np.hstack([one_hot, real]).astype(np.float32)
        arrays[f"y_{part}"] = np.where(generator.random(rows) < 0.3, 1, -1).astype(np.float32)
    np.savez_compressed(folder / "ijcnn1.npz", allow_pickle=False, **arrays)
    texts = _libsvm_texts(folder / "ijcnn1.npz", 60)
    train, test = (parse_svmlight(text, where="text", n_features=22) for text in texts)
    rows = {
        "X_train": train.X,
        "y_train": train.labels.codes,
        "X_test": test.X,
        "y_test": test.labels.codes,
    }
    recipe = Recipe(
        train_blob=git_blob_sha1(texts[0]),
        test_blob=git_blob_sha1(texts[1]),
        n_train=60,
        n_drawn=20,
        expected_sha256=content_hash(rows),
    )
    drawn = [
        resample(rows[f"y_{part}"], n_samples=20, replace=False, random_state=7) for part in ("train", "test")
    ]
    return Ijcnn1Case(folder, recipe, (int(drawn[0].sum()), int(drawn[1].sum())), texts)


@cache
def _libsvm_texts(path: Path, n_train: int) -> tuple[bytes, bytes]:
    """Return the arrays as LIBSVM's site writes them: the hash of the true text proves the form."""
    with np.load(path, allow_pickle=False) as arrays:
        return (
            _libsvm_text(arrays["X_train"][:n_train], arrays["y_train"][:n_train].astype(np.float64)),
            # In this file labels are written without decimals.
            _libsvm_text(arrays["X_test"], arrays["y_test"].astype(np.int64)),
        )


def _libsvm_text(X: NDArray[np.float32], y: NDArray[np.float64] | NDArray[np.int64]) -> bytes:
    lines = []
    for row, label in zip(np.round(X.astype(np.float64), 6).tolist(), y.tolist(), strict=True):
        hot = [f"{index + 1}:1" for index, value in enumerate(row[:10]) if value]
        lines.append(" ".join([repr(label), *hot, *(f"{i + 11}:{v!r}" for i, v in enumerate(row[10:]))]))
    return ("\n".join(lines) + "\n").encode()
