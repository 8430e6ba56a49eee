"""What is installed: the wheel has every file of the three packages, and no other. `make wheel` runs it."""

from __future__ import annotations

import configparser
import contextlib
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import wm
from tests import ending

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("wm", "workers", "orchestrator")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory):
    """The wheel as pip builds it, opened."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    ending.run(command, cwd=ROOT)
    (file,) = folder.glob("*.whl")
    with contextlib.closing(zipfile.ZipFile(file)) as archive:
        yield archive


def _own_metadata(wheel: zipfile.ZipFile, name: str) -> str:
    (found,) = (each for each in wheel.namelist() if each.endswith(f".dist-info/{name}"))
    return wheel.read(found).decode()


def test_every_file_of_the_packages_is_in_the_wheel_and_no_other(wheel: zipfile.ZipFile) -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == wanted


def test_the_metadata_name_version_command_and_readme(wheel: zipfile.ZipFile) -> None:
    headers = HeaderParser().parsestr(_own_metadata(wheel, "METADATA"))
    assert (headers["Name"], headers["Version"]) == ("treeproof", wm.__version__)
    assert headers["Description-Content-Type"] == "text/markdown"
    assert headers.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert {"docs", "notebook", "parquet", "skops"} <= set(headers.get_all("Provides-Extra", []))
    commands = configparser.ConfigParser()
    commands.read_string(_own_metadata(wheel, "entry_points.txt"))
    assert dict(commands["console_scripts"]) == {"wm": "orchestrator.cli:main"}
