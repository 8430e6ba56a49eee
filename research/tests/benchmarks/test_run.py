"""Two commits are compared in turn, and what an old one lacks has no ratio."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from research.benchmarks import common, document, run, short_list


def git(folder, *words):
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid"]
    return subprocess.run([shutil.which("git"), *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository with a first commit, whose file says 1, and a second one, where it says 2."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for text in ("1", "2"):
        (folder / "file").write_text(text)
        git(folder, "add", "file")
        git(folder, "commit", "-qm", text)
    monkeypatch.setattr(common, "ROOT", folder)
    return folder


def test_commits_take_turns_and_the_page_says_what_was_found(repository, monkeypatch, tmp_path):
    asked = []

    def spent(name, tree):
        asked.append((tree / "file").read_text())
        if name == "audit" and asked[-1] == "1":
            return None
        return {"1": 3.0, "2": 1.5}[asked[-1]]

    monkeypatch.setattr(run, "seconds_of", spent)
    output = tmp_path / "history" / "2026-01-02.json"
    run.main(["--since", "HEAD~1", "--only", "load", "audit", "--repeats", "3", "-o", str(output)])
    assert "".join(asked) == "122112" * 2
    load, audit = json.loads(output.read_text())["rows"]
    assert (load["ratio"], load["low"], load["high"]) == pytest.approx((2, 2, 2))
    assert (audit["old_s"], audit["ratio"]) == ([], None)
    text = document.write(tmp_path)
    assert "## History" in text
    assert "| load | 3 | 3 | 1.5 | 2.00 (2.00 to 2.00) |" in text
    assert "| audit | 3 | - | 1.5 | - |" in text
    kept = git(repository, "worktree", "list")
    assert len(kept.stdout.splitlines()) == 1


def test_an_interval_holds_the_mean_of_the_ratios_and_narrows_with_agreement():
    mean, low, high = run.ratio([2.0, 4.0, 3.0, 5.0], [1.0, 1.0, 1.0, 1.0])
    assert mean == pytest.approx((2 * 4 * 3 * 5) ** 0.25)
    assert 2 <= low < mean < high <= 5


def test_seconds_are_those_of_the_given_packages(tmp_path, capsys):
    assert run.seconds_of("votes", common.ROOT) > 0
    (tmp_path / "wm").mkdir()
    (tmp_path / "wm" / "__init__.py").touch()
    assert run.seconds_of("votes", tmp_path) is None
    assert "votes: ModuleNotFoundError: No module named 'wm.forest'" in capsys.readouterr().err


def test_a_commit_that_is_not_there_is_one_line(repository):
    with pytest.raises(SystemExit, match="git rev-parse"):
        run.main(["--since", "nowhere"])


def test_the_list_says_what_each_entry_is():
    assert all(entry.__doc__.startswith("Return ") for entry in short_list.LIST.values())
