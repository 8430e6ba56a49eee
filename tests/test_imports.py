"""Imports run downwards only, orchestrator -> workers -> wm, and never in a circle; light ones stay light."""

from __future__ import annotations

import ast
import graphlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ending

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("wm", "workers", "orchestrator")
"""From the lowest to the highest."""
OUTSIDE = {"research", "tests"}
"""Not in the wheel: no layer may import them."""
TESTS_FOR_RESEARCH = (
    "tests.documents",
    "tests.servers",
    "tests.system.faults",
    "tests.system.fleet",
    "tests.system.line_faults",
    "tests.damage",
)
QUEUE = {"celery", "kombu", "redis"}
ONLY_ORCHESTRATOR = {
    "sqlalchemy",
    "alembic",
    "psycopg",
    "click",
    "rich",
    "jinja2",
    "altair",
    "vl_convert",
} | {"starlette", "uvicorn"}


@dataclass(frozen=True)
class Import:
    """One import statement's target, as a dotted name that may end in a name inside a module."""

    name: str
    line: int
    typing_only: bool
    deferred: bool


def imports_in(tree: ast.AST, package: str, *, typing_only: bool = False, deferred: bool = False) -> Iterator:
    """Yield every import below a node, those inside functions and type-checking blocks marked so."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, typing_only, deferred)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                yield Import(f"{module}.{alias.name}", node.lineno, typing_only, deferred)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports_in(node, package, typing_only=True, deferred=deferred)
        else:
            is_script = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
            inside = is_script or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports_in(node, package, typing_only=typing_only, deferred=deferred or inside)


def read_modules(root: Path, packages: tuple[str, ...] = LAYERS) -> dict[str, list[Import]]:
    """Return the imports of every module of some packages under a directory."""
    modules = {}
    for layer in packages:
        for path in sorted((root / layer).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            package = name if is_package else name.rpartition(".")[0]
            tree = ast.parse(path.read_text(encoding="utf-8"))
            modules[name] = list(imports_in(tree, package))
    return modules


def forbidden(modules: dict[str, list[Import]]) -> list[str]:
    """Return a line for each import that goes upwards or outside or brings store or command line below."""
    faults = []
    for name, imports in modules.items():
        layer = name.partition(".")[0]
        above = OUTSIDE.union(LAYERS[LAYERS.index(layer) + 1 :])
        foreign = set() if layer == "orchestrator" else ONLY_ORCHESTRATOR
        foreign = foreign | QUEUE if layer == "wm" else foreign
        faults += [
            f"{name}:{found.line}: imports {found.name}"
            for found in imports
            if found.name.partition(".")[0] in above | foreign
        ]
    return faults


def circle(modules: dict[str, list[Import]]) -> list[str] | None:
    """Return the modules of a circle of imports, None without one.

    Deferred imports count too, or else moving an import into a function would hide a circle; save for one of
    a package by its own part: a part that runs as a service asks the package for what it registers.
    """
    graph = {}
    for name, imports in modules.items():
        graph[name] = set()
        for found in imports:
            target = found.name if found.name in modules else found.name.rpartition(".")[0]
            own_package = found.deferred and f"{name}.".startswith(f"{target}.")
            if target in modules and not found.typing_only and not own_package:
                graph[name].add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as reason:
        return list(reason.args[1])
    return None


@pytest.fixture(scope="module")
def modules():
    return read_modules(ROOT)


def test_all_packages_are_read(modules):
    assert {"wm.forest", "wm.engines", "workers.handlers.forgery", "orchestrator.store.queue"} <= set(modules)
    training = modules["wm.embedding.training"]
    assert any(found.name == "sklearn.ensemble.RandomForestClassifier" for found in training)


def test_imports_run_downwards(modules):
    assert forbidden(modules) == []


def test_research_takes_only_servers_and_faults_from_the_tests():
    """Its own tests also take what shares a finished campaign between test processes."""
    modules = read_modules(ROOT, ("research",))
    assert "research.benchmarks.growth" in modules
    assert [
        f"{name}:{found.line}: imports {found.name}"
        for name, imports in modules.items()
        for found in imports
        if found.name.partition(".")[0] == "tests"
        and not found.name.startswith(TESTS_FOR_RESEARCH)
        and not (name.startswith("research.tests.") and found.name.startswith("tests.sharing"))
    ] == []


def test_no_circle(modules):
    assert circle(modules) is None


def made_up(root: Path, texts: dict[str, str]) -> dict[str, list[Import]]:
    """Return the modules of a small tree with these files."""
    for layer in LAYERS:
        (root / layer).mkdir()
        (root / layer / "__init__.py").touch()
    for name, text in texts.items():
        (root / name).write_text(text)
    return read_modules(root)


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        ("wm/a.py", "import workers.jobs", "wm.a:1: imports workers.jobs"),
        ("wm/a.py", "from orchestrator import plan", "wm.a:1: imports orchestrator.plan"),
        ("wm/a.py", "def f():\n    import workers", "wm.a:2: imports workers"),
        (
            "wm/a.py",
            "class A:\n    async def f(self):\n        from workers import b",
            "wm.a:3: imports workers.b",
        ),
        ("wm/a.py", "if TYPE_CHECKING:\n    import workers", "wm.a:2: imports workers"),
        (
            "wm/a.py",
            "try:\n    import sqlalchemy as sa\nexcept ImportError:\n    pass",
            "wm.a:2: imports sqlalchemy",
        ),
        (
            "workers/a.py",
            "from orchestrator.store import database",
            "workers.a:1: imports orchestrator.store.database",
        ),
        ("workers/a.py", "import click.testing", "workers.a:1: imports click.testing"),
        ("wm/a.py", "from celery import Celery", "wm.a:1: imports celery.Celery"),
        ("orchestrator/a.py", "import tests.servers", "orchestrator.a:1: imports tests.servers"),
        (
            "orchestrator/a.py",
            "def f():\n    from research.reproduction import x",
            "orchestrator.a:2: imports research.reproduction.x",
        ),
    ],
)
def test_the_check_finds_an_upward_import(tmp_path, module, text, fault):
    assert forbidden(made_up(tmp_path, {module: text})) == [fault]


def test_the_check_lets_downward_imports_pass(tmp_path):
    found = made_up(
        tmp_path,
        {
            "orchestrator/a.py": "import click, sqlalchemy, workers.b\nfrom wm import c",
            "workers/b.py": "from wm.c import d",
            "wm/c.py": "import numpy\nfrom workersandmore import clicks",
        },
    )
    assert forbidden(found) == []
    assert circle(found) is None


@pytest.mark.parametrize(
    "texts",
    [
        {"wm/a.py": "import wm.b", "wm/b.py": "from wm.a import x"},
        {"wm/a.py": "from wm import b", "wm/b.py": "from . import a"},
        {
            "wm/a.py": "from .b import x",
            "wm/b.py": "def f():\n    from wm.c import x",
            "wm/c.py": "import wm.a",
        },
        {"wm/a.py": "import wm", "wm/__init__.py": "from wm import a"},
    ],
)
def test_the_check_finds_a_circle(tmp_path, texts):
    assert "wm.a" in circle(made_up(tmp_path, texts))


def test_types_and_a_part_that_asks_its_package_later_are_no_circle(tmp_path):
    found = made_up(
        tmp_path,
        {
            "wm/a.py": "if typing.TYPE_CHECKING:\n    from wm.b import X",
            "wm/b.py": "from wm.a import y",
            "wm/__init__.py": "from wm import c",
            "wm/c.py": "def f():\n    import wm",
        },
    )
    assert circle(found) is None


HEAVY = ("sklearn", "pandas", "altair", "sqlalchemy", "scipy.stats", "z3", "pysat", "httpx")


@pytest.mark.parametrize(
    "module", ["wm", "wm.engines", "wm.isolation", "workers.runtime.sandbox", "orchestrator.cli"]
)
def test_what_starts_often_is_light(module):
    """Solver children import the first two; the command line must answer at once."""
    code = f"import sys, {module}; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = ending.run([sys.executable, "-c", code], cwd=ROOT)
    assert done.stdout.split() == []
