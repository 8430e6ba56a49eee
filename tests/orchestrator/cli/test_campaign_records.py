"""`wm campaign show`, `diff`, `rename`, `delete`, and names that several campaigns have."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tests.sharing import copy_store


@pytest.fixture
def own(tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of this test's own, with the finished campaign tiny; the default one."""
    copy_store(Path(tiny.url.removeprefix("sqlite:///")), tmp_path / "wm.db")
    monkeypatch.setenv("WM_STORE_URL", "sqlite:///wm.db")


@pytest.fixture
def two(wm, own, tiny, tmp_path: Path) -> None:
    """Two versions of tiny: the second has another seed and one eps more, and waits for orchestrators."""
    (tmp_path / "again.toml").write_text(
        tiny.text.replace("seed = 5", "seed = 6").replace("[0.1, 0.5]", "[0.1, 0.5, 0.7]")
    )
    assert wm("campaign", "launch", "again.toml").code == 0
    assert wm("campaign", "cancel", "2").code == 0


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    """Return a function that lets the command believe that a person is there, who answers so."""

    def answer(text: str) -> None:
        for module in ("common", "campaign_records"):
            monkeypatch.setattr(f"orchestrator.cli.{module}.can_ask", lambda: True)
        monkeypatch.setattr(click.termui, "visible_prompt_func", lambda _prompt="": text)

    return answer


def test_show_tells_what_is_not_a_default(wm, own) -> None:
    ran = wm("campaign", "show", "tiny")
    assert (ran.code, ran.err) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in ran.out.splitlines() if len(line.split()) > 1)
    assert (facts["name"], facts["jobs"], facts["dataset.name"]) == ("tiny", "12 done", "breast-cancer")
    assert facts["embedding.trigger_share"] == "[0.01, 0.02]"
    assert "dataset.test_share" not in facts
    assert facts["attack.2.engine"] == '["sat"]'
    assert {"python", "numpy", "processor"} <= set(facts)
    whole = wm("campaign", "show", "1", "--json").json()
    assert whole["spec"]["dataset"]["test_share"] == 0.3
    assert whole["spec_sha256"] == facts["spec_sha256"]
    assert whole["jobs"]["done"] == 12
    assert whole["provenance"]["python"] == facts["python"]


def test_diff_tells_what_differs_only(wm, two) -> None:
    found = wm("campaign", "diff", "1", "2", "--json").json()
    assert (found["first"]["id"], found["second"]["id"]) == (1, 2)
    assert found["file"] == [
        {"place": "seed", "first": "5", "second": "6"},
        {"place": "attack.2.eps", "first": "[0.1, 0.5]", "second": "[0.1, 0.5, 0.7]"},
    ]
    plain = wm("campaign", "diff", "1", "2")
    assert plain.out.splitlines()[0].split() == ["part", "value", "tiny", "(1)", "tiny", "(2)"]
    assert "[0.1, 0.5, 0.7]" in plain.out
    assert wm("campaign", "diff", "1", "1").out == "No difference.\n"


def test_a_name_of_two_campaigns_is_refused_with_their_ids(wm, two) -> None:
    for command in (("campaign", "status"), ("campaign", "show"), ("results", "jobs"), ("report",)):
        line = wm(*command, "tiny").refusal()
        assert line.startswith("wm: 2 campaigns are called tiny: give the id of one, 1 (finished, ")
        assert line.endswith(", or tiny@latest")
    assert wm("campaign", "status", "tiny@latest", "--json").json()["id"] == 2


def test_at_a_terminal_it_is_asked(wm, two, terminal) -> None:
    terminal("1")
    ran = wm("campaign", "show", "tiny", "--json")
    assert ran.json()["id"] == 1
    terminal("")
    assert wm("campaign", "show", "tiny", "--json").json()["id"] == 2, "the newest unless another is chosen"


@pytest.mark.system
def test_rename(wm, two, tiny, tmp_path: Path) -> None:
    ran = wm("campaign", "rename", "2", "larger")
    assert (ran.code, ran.out, ran.err) == (0, "", "tiny (id 2) is now larger\n")
    assert [row["name"] for row in wm("campaign", "list", "--json").json()] == ["tiny", "larger"]
    assert wm("results", "accuracy", "tiny", "--json").json()
    assert "cannot name a campaign" in wm("campaign", "rename", "larger", "a b").refusal()
    wm("campaign", "rename", "tiny", "old")
    (tmp_path / "old.toml").write_text(tiny.text.replace('name = "tiny"', 'name = "old"'))
    again = wm("campaign", "run", "old.toml", "--workers", 1)
    assert again.err == "old: 36 of 36; 12 done\nold: finished\n", "the renamed campaign is that of the file"


def test_delete_asks_first_and_keeps_what_another_campaign_uses(wm, two, terminal) -> None:
    ran = wm("campaign", "delete", "1")
    assert (ran.code, ran.out) == (2, "")
    assert "give --yes" in ran.err
    terminal("n")
    assert wm("campaign", "delete", "1").code == 130
    assert len(wm("campaign", "list", "--json").json()) == 2
    terminal("y")
    ran = wm("campaign", "delete", "1")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines()[-1].startswith("deleted: 12 jobs with their results, 10 artifacts of ")
    assert [row["id"] for row in wm("campaign", "list", "--json").json()] == [2]
    assert wm("campaign", "delete", "tiny", "--yes").code == 0
    assert wm("campaign", "list", "--json").json() == []


def test_a_campaign_that_waits_for_orchestrators_is_not_deleted(wm, own, tiny, tmp_path: Path) -> None:
    (tmp_path / "again.toml").write_text(tiny.text.replace("seed = 5", "seed = 6"))
    wm("campaign", "launch", "again.toml")
    assert "wm campaign cancel 2" in wm("campaign", "delete", "2", "--yes").refusal()


def test_what_commands_do_can_be_had_as_json(wm, two, model, terminal) -> None:
    assert wm("campaign", "cancel", "1", "--json").json() == {"id": 1, "name": "tiny", "cancelled": 0}
    renamed = wm("campaign", "rename", "2", "larger", "--json")
    assert renamed.json() == {"id": 2, "name": "larger", "former": "tiny"}
    deleted = wm("campaign", "delete", "larger", "--yes", "--json").json()
    assert (deleted["id"], deleted["jobs"], deleted["shared"]) == (2, 14, 0)
    assert wm("db", "check", "--json").json()["up_to_date"]
    written = wm("report", "tiny", "-o", "r.md", "--json").json()
    assert written == {"report": "r.md", "figures": []}
    asked = wm("queries", model.claim, "-o", "rows.csv", "--order", "order.json", "--json").json()
    assert asked == {"rows": asked["rows"], "features": 30, "output": "rows.csv", "order": "order.json"}
    assert len(Path("rows.csv").read_text().splitlines()) == asked["rows"] + 1
