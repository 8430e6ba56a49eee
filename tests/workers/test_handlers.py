"""What each kind of job does, on breast-cancer, in the real service process."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.claims.claim import parse_claim
from wm.datasets import Split
from wm.embedding.tuning import choose, fold_accuracies
from wm.engines.isolated import replay_fault
from wm.engines.protocol import GLOBAL_REASON, ForgeryQuery
from wm.forest import Forest
from wm.verification.evidence import verify
from workers.jobs.base import OutcomeStatus
from workers.jobs.forging import ForgeryState, GlobalProof
from workers.jobs.kinds import KINDS, JobKind
from workers.runtime.messages import End
from workers.runtime.sandbox import JobSandbox


@pytest.fixture
def split(bench):
    return Split.from_bytes(bench.artifacts[bench.results[JobKind.SPLIT]["split"]])


@pytest.fixture
def forest(bench):
    return Forest.from_bytes(bench.artifacts[bench.results[JobKind.EMBED]["forest"]])


@pytest.fixture
def claim(bench):
    return parse_claim(bench.artifacts[bench.results[JobKind.EMBED]["claim"]])


def error_of(bench, kind, **changes):
    run = bench.run(bench.job(kind, **changes))
    assert run.end is End.FINISHED
    assert run.outcome.status is OutcomeStatus.ERROR
    assert len(run.outcome.error.splitlines()) == 1
    return run.outcome.error


@pytest.mark.parametrize("kind", list(JobKind))
def test_equal_jobs_give_equal_results_that_fit_their_model(bench, kind):
    first, second = bench.result(kind), bench.result(kind)
    assert first == second
    assert KINDS[kind].result.model_validate(first).model_dump(mode="json") == first


def test_a_split_describes_its_rows(bench, split):
    result = bench.results[JobKind.SPLIT]
    assert (result["rows_train"], result["rows_test"], result["features"]) == (398, 171, 30)
    assert result["positive_train"] == split.y_train.sum()
    assert result["positive_test"] == split.y_test.sum()
    assert result["dataset_sha256"] == split.dataset_sha256
    assert tuple(result["class_names"]) == split.class_names


def test_a_file_that_was_changed_after_planning_is_refused(bench, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{row / 10},{row % 2}\n" for row in range(20)))
    changes = {"name": None, "path": str(path), "label": "y"}
    planned = hashlib.sha256(path.read_bytes()).hexdigest()
    assert bench.result(JobKind.SPLIT, **changes, file_sha256=planned)["rows_train"] == 14
    path.write_text(path.read_text() + "3,1\n")
    error = error_of(bench, JobKind.SPLIT, **changes, file_sha256=planned)
    assert error == f"{path}: the file was changed after the campaign was planned: plan it again"


def test_tuning_fold_by_fold_is_the_grid_search_as_a_whole(bench, split):
    result = bench.result(JobKind.TUNE)
    grid = {"n_estimators": (6, 12), "max_depth": (2, 4)}
    per_fold = [
        fold_accuracies(split.X_train, split.y_train, **grid, folds=3, fold=fold, seed=4) for fold in range(3)
    ]
    best, scores = choose(**grid, per_fold=per_fold)
    assert (result["n_estimators"], result["max_depth"]) == (best.n_estimators, best.max_depth)
    assert [accuracy for _, _, accuracy in result["grid"]] == [mean for _, mean in scores]


def test_tuning_chooses_the_best_point_of_its_grid(bench):
    result = bench.result(JobKind.TUNE)
    points = {(trees, depth): accuracy for trees, depth, accuracy in result["grid"]}
    assert set(points) == {(6, 2), (6, 4), (12, 2), (12, 4)}
    assert result["mean_accuracy"] == max(points.values())
    assert points[result["n_estimators"], result["max_depth"]] == result["mean_accuracy"]


def test_a_baseline_follows_tuning_where_there_is_one(bench):
    job = bench.job(JobKind.BASELINE, n_estimators=None, max_depth=None)
    tuned = {"n_estimators": 6, "max_depth": 2, "mean_accuracy": 0.5, "grid": []}
    job.inputs[JobKind.TUNE] = (tuned,)
    result = bench.run(job).outcome.result
    assert (result["n_estimators"], result["max_depth"]) == (6, 2)
    assert result["cap_depth"] <= 2


def test_baselines_are_honest_forests_with_their_accuracies(bench, split):
    result = bench.results[JobKind.BASELINE]
    standard, capped = (Forest.from_bytes(bench.artifacts[result[name]]) for name in ("standard", "capped"))
    assert standard.n_trees == capped.n_trees == 12
    assert result["accuracy_standard"] == np.mean(standard.predict(split.X_test) == split.y_test)
    assert result["accuracy_capped"] == np.mean(capped.predict(split.X_test) == split.y_test)
    assert standard.content_hash != capped.content_hash


def test_an_embedded_watermark_verifies_and_an_honest_forest_does_not(bench, split, forest, claim):
    result = bench.results[JobKind.EMBED]
    assert result["trigger_size"] == len(claim.trigger_set.y) == 7
    assert result["signature"] == str(claim.bits)
    assert claim.bits.ones == 6
    evidence = verify(forest.votes(claim.trigger_set.X), claim.trigger_set.y, claim.bits)
    assert (evidence.matched_bits, evidence.exact_match) == (7 * 12, True)
    assert (result["matched_bits"], result["total_bits"], result["exact_match"]) == (84, 84, True)
    assert result["log10_p"] == evidence.log10_p < result["log10_p_standard"]
    assert result["accuracy_watermarked"] == np.mean(forest.predict(split.X_test) == split.y_test)
    rows = {row.tobytes() for row in split.X_train}
    assert all(row.tobytes() in rows for row in claim.trigger_set.X.astype(np.float32))


@pytest.mark.parametrize("change", [{"repeat": 1}, {"seed": 2}])
def test_other_repeats_and_seeds_give_other_watermarks(bench, change):
    other, first = bench.result(JobKind.EMBED, **change), bench.results[JobKind.EMBED]
    assert other["signature"] != first["signature"]
    assert other["claim"] != first["claim"]
    assert other["forest"] != first["forest"]


def test_an_unknown_scheme_is_an_error(bench):
    assert "unknown scheme 'magic'" in error_of(bench, JobKind.EMBED, scheme="magic")


def test_detection_guesses_every_bit_or_is_uncertain(bench):
    rows = bench.result("detection", methods=["strategies"])["rows"]
    assert {row["measure"] for row in rows} == {"depth", "leaves"}
    assert len(rows) == 4
    assert all(row["correct"] + row["wrong"] + row["uncertain"] == 12 for row in rows)


def test_suppression_is_measured_on_trigger_and_test_rows(bench):
    rows = bench.result("suppression")["rows"]
    assert len({row["method"] for row in rows}) == len(rows) >= 2
    for row in rows:
        # The shadow models' rows are the attacker's: its curve is drawn over the others.
        assert (row["triggers"], row["ordinary"]) == (7, 86 if row["method"] == "shadow" else 171)
        assert row["false_positive_rate"][0] == row["true_positive_rate"][0] == 0
        assert row["false_positive_rate"][-1] == row["true_positive_rate"][-1] == 1
        assert 0 <= row["auc"] <= 1


@pytest.mark.parametrize("engine", ["sat", "z3"])
def test_forgery_answers_replay_on_the_attackers_rows(bench, split, forest, engine):
    bench.result(JobKind.FORGERY, engine=engine, signature=1, count=20)
    answers = bench.take_answers()
    signature = attacker_signature(1, number=1, length=12, ones_share=0.5, repeat=0)
    rows = attacker_instances(1, rows=171, count=20, repeat=0)
    assert [answer.row for answer in answers] == rows.tolist()
    forged = [answer for answer in answers if answer.status == "forged"]
    assert forged
    for answer in forged:
        witness = np.frombuffer(answer.witness, dtype="<f4").astype(np.float32)
        centre = split.X_test[answer.row]
        query = ForgeryQuery(signature=signature, label=split.y_test[answer.row], centre=centre, eps=0.5)
        assert replay_fault(forest, query, witness) is None
        assert answer.distance == np.abs(witness.astype(np.float64) - centre).max() <= 0.5


def test_both_engines_count_the_same(bench):
    counts = []
    for engine in ("sat", "z3"):
        bench.result(JobKind.FORGERY, engine=engine, eps=0.2, count=40, signature=2)
        counts.append([answer.status for answer in bench.take_answers()])
    assert counts[0] == counts[1]


def test_the_attacker_tries_no_more_rows_than_there_are(bench):
    assert bench.result(JobKind.FORGERY, first=165, count=6)["instances"] == 6
    assert [answer.instance for answer in bench.take_answers()] == list(range(165, 171))
    error = error_of(bench, JobKind.FORGERY, first=165, count=7)
    assert error == "172 instances are wanted, but there are only 171 test rows"


def test_minimal_distances_agree_with_the_answers_at_every_distance(bench):
    bench.result(JobKind.FORGERY, eps="minimal", cap=0.2, signature=2, count=40)
    least = bench.take_answers()
    assert {answer.status for answer in least} == {"forged", "impossible"}
    for eps in (0.05, 0.1, 0.2):
        bench.result(JobKind.FORGERY, eps=eps, signature=2, count=40)
        asked = [answer.status == "forged" for answer in bench.take_answers()]
        assert asked == [answer.status == "forged" and answer.distance <= eps for answer in least]


def test_a_cap_bounds_minimal_distances(bench):
    bench.result(JobKind.FORGERY, eps="minimal", cap=0.3, count=15)
    distances = [answer.distance for answer in bench.take_answers() if answer.status == "forged"]
    assert distances
    assert max(distances) <= 0.3


@pytest.mark.parametrize("engine", ["sat", "portfolio"])
def test_certified_impossibilities_are_marked(bench, engine):
    bench.result(JobKind.FORGERY, engine=engine, eps=0.2, certify=True, count=10)
    answers = {(answer.status, answer.certified) for answer in bench.take_answers()}
    assert ("impossible", True) in answers
    assert answers <= {("impossible", True), ("forged", None)}


def test_leaks_are_found_in_the_trained_forest_and_not_in_the_released_one(bench):
    rows = bench.result("leakage")["rows"]
    trained = [row for row in rows if row["form"] == "as trained"]
    assert {row["severity"] for row in trained} >= {"critical"}
    assert {(row["bits"], row["trigger_size"], row["triggers_found"]) for row in trained} == {(1.0, 7, 7)}
    released = [row for row in rows if row["form"] == "released"]
    assert [(row["finding"], row["bits"], row["triggers_found"]) for row in released] == [("none", None, 0)]
    assert all(row["bits"] is None and row["severity"] == "info" for row in rows if row["form"] == "standard")


def test_detection_beyond_the_paper_stays_within_chance_and_certainty(bench):
    result = bench.result("detection")
    modes = [spectrum["mode"] for spectrum in result["spectra"]]
    assert modes == ["sample", "leaf-probe", "blind leaf-probe"]
    for spectrum in result["spectra"]:
        assert len(spectrum["scores"]) == len(spectrum["bits"]) == 12
        assert sum(spectrum["bits"]) == 6
    named = {row["measure"]: row for row in result["rows"]}
    assert named["presence"]["points"] == 3
    assert named["presence"]["p_value"] >= 1 / 4  # a rank among four
    assert all(0 < row["p_value"] <= 1 for row in result["rows"])
    assert all(row["bits"] is None or 0.5 <= row["bits"] <= 1 for row in result["rows"])


def test_repeats_find_all_triggers_and_with_them_the_signature(bench):
    rows = {row["method"]: row for row in bench.result("suppression")["rows"]}
    found = rows["repeats"]
    assert found["auc"] > 0.99
    assert (found["triggers_spotted"], found["bits"]) == (1.0, 1.0)
    assert found["log10_p_before"] < -2 < found["log10_p_after"]
    assert [point["trigger_queries"] for point in found["budget"]] == [1, 2, 3, 4, 5, 6, 7]
    assert found["budget"][-1]["bits"] > found["budget"][0]["bits"] == 0.5


def test_no_freely_forged_set_passes_the_judge(bench, split):
    rows = {row["method"]: row for row in bench.result("free-forgery")["rows"]}
    assert rows["all zeros"]["size"] > 7
    assert "quota of ones" in rows["all zeros"]["stopped_but_for_commitment"]
    assert rows["clones"]["distinct_cells"] == 1
    assert "distinct cells" in rows["clones"]["stopped_but_for_commitment"]
    for row in rows.values():
        assert row["size_over_k"] == row["size"] / 7
        assert row["max_distance"] <= (0.5 if row["method"] != "clones" else 1.0) + 1e-6
        assert "commitment" in row["stopped_by"] or not row["size"]


def test_a_modification_of_no_strength_changes_nothing(bench):
    rows = bench.result("modification")["rows"]
    assert [(row["strengths"], row["attempt"]) for row in rows] == [
        ("0+0", 0),
        ("0.25+0.1", 0),
        ("0+0", 1),
        ("0.25+0.1", 1),
    ]
    for row in rows[::2]:
        assert (row["bits"], row["exact_match"], row["fidelity"]) == (1.0, True, 1.0)
        assert row["log10_p"] == bench.results[JobKind.EMBED]["log10_p"]
    assert all(row["n_trees"] == 9 and row["p_null"] == "aligned" for row in rows[1::2])


@pytest.mark.parametrize("population", ["honest", "other owners"])
def test_a_population_is_the_same_in_one_batch_or_in_two(bench, population):
    whole, first, second = (
        bench.result("calibration", population=population, first=first, count=count)["rows"]
        for first, count in ((0, 3), (0, 1), (1, 2))
    )
    assert len(whole) > 10
    for together, one, others in zip(whole, first, second, strict=True):
        assert together["values"] == one["values"] + others["values"]
        assert together["name"] == one["name"] == others["name"]


def test_presence_p_values_are_ranks_among_the_reference(bench):
    rows = bench.result("calibration", population="presence", reference=4)["rows"]
    maximum = next(row["values"] for row in rows if row["name"] == "presence: maximum")
    assert all(abs(value * 5 - round(value * 5)) < 1e-9 for value in maximum)


def test_an_unknown_engine_is_an_error(bench):
    assert "unknown engine 'magic'" in error_of(bench, JobKind.FORGERY, engine="magic")


def test_a_global_proof_of_one_process_saves_queries_of_another(bench, split):
    """Of 70 trees, no instance at all has the votes of most signatures."""
    model = RandomForestClassifier(70, max_depth=8, bootstrap=False, random_state=1)
    data = Forest.from_sklearn(model.fit(split.X_train, split.y_train)).to_bytes()
    other = {"forest": hashlib.sha256(data).hexdigest()}

    def answers(bench, proved, **changes):
        job = bench.job(JobKind.FORGERY, engine="portfolio", eps=0.9, count=40, **changes)
        inputs = job.inputs | {JobKind.EMBED: (bench.results[JobKind.EMBED] | other,)}
        run = bench.run(replace(job, inputs=inputs, state=ForgeryState(proved=frozenset(proved))))
        assert run.end is End.FINISHED
        labels = [row.label for row in bench.rows if isinstance(row, GlobalProof)]
        return Counter((answer.status, answer.reason) for answer in bench.take_answers()), sorted(labels)

    in_no_time = {"first": 40, "timeout_s": 1e-6}
    with closing(JobSandbox()) as process:
        first = replace(bench, artifacts=bench.artifacts | {other["forest"]: data}, rows=[])
        second = replace(first, sandbox=process, rows=[])
        unaided, _ = answers(
            second, (), **in_no_time
        )  # on a busy machine some answers precede the clock's reading
        assert unaided["timeout", "time limit of 1e-06 s"] > 0
        assert answers(first, ()) == ({("impossible", GLOBAL_REASON): 40}, [0, 1])
        known = answers(second, (0, 1), **in_no_time)
        assert known == ({("impossible", GLOBAL_REASON): 40}, []), "nothing new"
