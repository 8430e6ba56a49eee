"""`wm completion`: the scripts are those that each shell can read, and they complete."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from orchestrator.cli import cli
from tests import ending

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_names_the_shell_and_the_command(wm, shell: str) -> None:
    ran = wm("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_WM_COMPLETE={shell}_complete" in ran.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands(wm, tmp_path: Path) -> None:
    program = tmp_path / "wm"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m orchestrator.cli "$@"\n')
    program.chmod(0o755)
    (tmp_path / "script").write_text(wm("completion", "bash").out)
    asked = f". ./script; COMP_WORDS=({program} campaign res); COMP_CWORD=2; _wm_completion {program}"
    ran = ending.run(["bash", "-c", asked + '; echo "${COMPREPLY[@]}"'], cwd=tmp_path)
    assert ran.stdout == "resume\n"


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", ".local/share/bash-completion/completions/wm"),
        ("fish", ".config/fish/completions/wm.fish"),
        ("zsh", ".local/share/zsh/site-functions/_wm"),
    ],
)
def test_install_writes_the_printed_script_where_the_shell_looks(
    wm, shell: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    ran = wm("completion", shell, "--install")
    assert (ran.code, ran.out) == (0, f"{tmp_path / place}\n")
    assert (tmp_path / place).read_text() == wm("completion", shell).out.removesuffix("\n")
    assert ("fpath" in ran.err) == (shell == "zsh")


def test_another_shell_is_refused(wm) -> None:
    ran = wm("completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in ran.err


@pytest.mark.parametrize(
    ("store", "words", "found"),
    [
        ("{url}", ["campaign", "status", "t"], ["tiny"]),
        ("{url}", ["results", "accuracy", ""], ["tiny"]),
        ("{url}", ["campaign", "status", "x"], []),
        ("sqlite:///nothing.db", ["campaign", "status", "t"], []),
        ("postgresql://nowhere.invalid/x", ["campaign", "status", "t"], []),
    ],
)
def test_names_of_campaigns_are_completed(
    tiny, store: str, words: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WM_STORE_URL", store.format(url=tiny.url))
    shell = BashComplete(cli, {}, "wm", "_WM_COMPLETE")
    assert [item.value for item in shell.get_completions(words[:-1], words[-1])] == found
    assert not Path("nothing.db").exists()
