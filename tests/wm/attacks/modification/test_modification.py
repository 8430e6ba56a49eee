"""Modification: each change is what it says, by properties and brute force; what it does to a claim."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import fisher_exact
from sklearn.tree import DecisionTreeClassifier

from tests.examples import examples
from wm.attacks.modification import ATTACK, MODIFICATIONS, STRENGTHS
from wm.attacks.modification.attack import Options
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.ensemble import KEPT_LEVELS
from wm.attacks.modification.evaluation import Judged, Step, evaluate, modify
from wm.attacks.modification.pruning import class_counts, majority_below
from wm.attacks.modification.rebuild import cut, grafted, joined, student
from wm.embedding import growing
from wm.embedding.proof import Scores
from wm.embedding.training import Caps
from wm.errors import ModelError
from wm.forest import Forest

NAMES = sorted(MODIFICATIONS)


@pytest.fixture(scope="module")
def thief(owner):
    return AttackerData(owner.data.X_test[:85], owner.data.y_test[:85], Caps(8, 19))


@pytest.fixture(scope="module")
def judged(owner):
    return Judged(
        owner.trigger_X, owner.trigger_y, owner.signature, owner.data.X_test[85:], owner.data.y_test[85:]
    )


def changed(owner, thief, name, strength, seed=0):
    return modify(owner.watermarked, [Step(name, strength)], thief, np.random.default_rng(seed))


def result(owner, thief, judged, *steps, seed=0):
    rng = np.random.default_rng(seed)
    steps = [Step(*step) for step in steps]
    return evaluate(owner.watermarked, modify(owner.watermarked, steps, thief, rng), steps, judged, rng)


def tree_hashes(forest):
    return [forest.select([tree]).content_hash for tree in range(forest.n_trees)]


# --- all of them


@pytest.mark.parametrize("name", NAMES)
def test_strength_zero_changes_no_vote(owner, thief, name):
    if name == "reduced-error":
        assert changed(owner, thief, name, 0.0).content_hash == owner.watermarked.content_hash
    same = changed(owner, thief, name, 0.0)
    X = owner.data.X_test
    assert np.array_equal(same.votes(X), owner.watermarked.votes(X))


@pytest.mark.parametrize("name", NAMES)
def test_a_change_is_a_function_of_its_seed_and_leaves_the_original_alone(owner, thief, name):
    before = owner.watermarked.content_hash
    strength = STRENGTHS[name][-1]
    first, second = (changed(owner, thief, name, strength, seed=5) for _ in range(2))
    X = owner.data.X_test
    assert np.array_equal(first.votes(X), second.votes(X))
    assert not np.array_equal(first.votes(X), owner.watermarked.votes(X)) or first.n_trees != 70
    assert first.votes(X).shape == (len(X), first.n_trees)
    assert owner.watermarked.content_hash == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("strength", [-0.1, float("nan"), float("inf")])
def test_an_impossible_strength_is_refused(owner, thief, name, strength):
    with pytest.raises(ModelError, match=f"{name} has strength"):
        changed(owner, thief, name, strength)


def without_shares(forest: Forest) -> Forest:
    """Return the forest with its nodes in their order, each with all its value on its vote."""
    arrays = {name: getattr(forest, name) for name in ("offset", "left", "right", "feature", "threshold")}
    votes = np.eye(len(forest.classes))[forest.node_class]
    return Forest.from_arrays(**arrays, value=votes, n_features=forest.n_features, classes=forest.classes)


@pytest.mark.parametrize("name", NAMES)
def test_a_stripped_forest_is_changed_alike(owner, thief, name):
    """Nothing but splits and votes is used of the stolen forest."""
    strength = STRENGTHS[name][0]
    X = owner.data.X_test
    plain = changed(owner, thief, name, strength)
    stripped = modify(
        without_shares(owner.watermarked), [Step(name, strength)], thief, np.random.default_rng(0)
    )
    assert np.array_equal(plain.votes(X), stripped.votes(X))


# --- the ensemble


@examples(20)
@given(strength=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_shuffling_keeps_the_trees_and_dropping_their_order(owner, thief, strength, seed):
    hashes = tree_hashes(owner.watermarked)
    shuffled = tree_hashes(changed(owner, thief, "shuffle", strength, seed))
    assert sorted(shuffled) == sorted(hashes)
    moved = sum(one != other for one, other in zip(hashes, shuffled, strict=True))
    assert moved <= round(70 * strength)
    left = tree_hashes(changed(owner, thief, "drop", strength, seed))
    assert len(left) == max(1, 70 - round(70 * strength))
    remaining = iter(hashes)
    assert all(each in remaining for each in left)


@pytest.mark.parametrize("name", ["replace", "regrow", "reduced-error"])
def test_a_share_of_the_trees_is_changed(owner, thief, name):
    hashes = tree_hashes(owner.watermarked)
    for strength in (0.1, 0.5):
        after = tree_hashes(changed(owner, thief, name, strength))
        different = sum(one != other for one, other in zip(hashes, after, strict=True))
        assert 0 < different <= 70 * strength + 0.5


def test_regrown_trees_keep_their_first_splits_and_fit_the_thiefs_rows(owner, thief):
    forest, grown = owner.watermarked, changed(owner, thief, "regrow", 1.0)
    for tree in range(0, 70, 9):
        old, new = forest.select([tree]), grown.select([tree])
        pairs = [(0, 0, 0)]
        while pairs:
            mine, other, level = pairs.pop()
            if level < KEPT_LEVELS and old.left[mine] >= 0:
                assert (old.feature[mine], old.threshold[mine]) == (new.feature[other], new.threshold[other])
                pairs += [
                    (old.left[mine], new.left[other], level + 1),
                    (old.right[mine], new.right[other], level + 1),
                ]
    votes = grown.votes(thief.X)
    before = (forest.votes(thief.X) == thief.y[:, None]).mean()
    assert (votes == thief.y[:, None]).mean() > before


def test_replaced_trees_know_the_thiefs_rows(owner, thief):
    replaced = changed(owner, thief, "replace", 1.0)
    assert (replaced.votes(thief.X) == thief.y[:, None]).mean() > 0.99


# --- rebuilding


@examples(30)
@given(seed=st.integers(0, 2**32))
def test_cutting_and_grafting_are_those_of_a_walk(owner, seed):
    rng = np.random.default_rng(seed)
    forest = owner.watermarked.select([int(rng.integers(70))])
    X = owner.data.X_test
    at = rng.random(len(forest.left)) < 0.15
    code = rng.integers(0, 2, len(forest.left))
    shorter = cut(forest, at, code)
    for row, vote in zip(X[:40], shorter.votes(X[:40])[:, 0], strict=True):
        node = 0
        while not at[node] and forest.left[node] >= 0:
            side = forest.left if row[forest.feature[node]] <= forest.threshold[node] else forest.right
            node = side[node]
        assert vote == (code[node] if at[node] else forest.node_class[node])
    # Graft another tree on the nodes that were cut first on each way down.
    other = owner.honest.select([int(rng.integers(70))])
    tops = [node for node in np.flatnonzero(at) if not at[list(_above(forest, node))].any()]
    whole = grafted(forest, {int(top): other for top in tops})
    for row in X[:40]:
        passes = any(node in tops for node in _way(forest, row))
        expected = (other if passes else forest).votes(row[None])[0, 0]
        assert whole.votes(row[None])[0, 0] == expected


def _way(forest, row):
    node = 0
    yield node
    while forest.left[node] >= 0:
        goes_left = row[forest.feature[node]] <= forest.threshold[node]
        node = int((forest.left if goes_left else forest.right)[node])
        yield node


def _above(forest, node):
    parents = {
        int(child): parent for side in (forest.left, forest.right) for parent, child in enumerate(side)
    }
    while node in parents and node != 0:
        node = parents[node]
        yield node


def test_a_student_that_saw_one_class_votes_for_it():
    model = DecisionTreeClassifier().fit(np.zeros((3, 2)), [1, 1, 1])
    tree = student(Forest.from_sklearn(model), np.array([0, 1]))
    assert tree.value.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("strength", [0.3, 4.0])
def test_students_of_votes_are_those_of_scikit_learn(monkeypatch, owner, thief, strength):
    """Also of a tree whose votes are all alike."""
    forest = owner.watermarked.select(range(6))
    forest = joined([cut(forest.select([0]), forest.select([0]).node_depth == 0, np.ones(1, int)), forest])
    found = []
    for least in (0, 10**12):
        monkeypatch.setattr(growing, "_LEAST_WORK", least)
        found.append(modify(forest, [Step("distil-votes", strength)], thief, np.random.default_rng(0)))
    assert found[0].content_hash == found[1].content_hash
    assert (found[0].votes(thief.X)[:, 0] == 1).all()


# --- pruning


@examples(10)
@given(strength=st.floats(0, 1))
def test_truncated_trees_are_no_deeper(owner, thief, strength):
    deepest = int(owner.watermarked.tree_depths.max())
    after = changed(owner, thief, "truncate", strength)
    assert after.tree_depths.max() == round((1 - strength) * deepest)
    shallow = owner.watermarked.tree_depths <= round((1 - strength) * deepest)
    assert np.array_equal(after.tree_leaves[shallow], owner.watermarked.tree_leaves[shallow])


def test_counts_are_those_of_a_walk(owner, thief):
    forest = owner.watermarked.select(range(3))
    counts = class_counts(forest, thief)
    expected = np.zeros_like(counts)
    for tree in range(3):
        single = forest.select([tree])
        for row, label in zip(thief.X, thief.y, strict=True):
            for node in _way(single, row):
                expected[forest.offset[tree] + node, label] += 1
    assert np.array_equal(counts, expected)


def prunings(forest, node=0):
    """Yield every way to prune a small tree, as the set of nodes made leaves."""
    yield {node}
    if forest.left[node] >= 0:
        left, right = int(forest.left[node]), int(forest.right[node])
        for one, other in itertools.product(list(prunings(forest, left)), list(prunings(forest, right))):
            yield one | other


@pytest.mark.parametrize("strength", [0.003, 0.02, 0.08])
def test_cost_complexity_is_the_best_of_all_prunings(owner, thief, strength):
    shallow = cut(
        owner.watermarked.select(range(6)),
        owner.watermarked.select(range(6)).node_depth >= 3,
        owner.watermarked.select(range(6)).node_class,
    )
    after = modify(shallow, [Step("cost-complexity", strength)], thief, np.random.default_rng(0))

    def cost(forest):
        return (forest.votes(thief.X)[:, 0] != thief.y).mean() + strength * forest.tree_leaves[0]

    for tree in range(shallow.n_trees):
        single = shallow.select([tree])
        code = majority_below(single, class_counts(single, thief))
        costs = []
        for leaves in prunings(single):
            at = np.zeros(len(single.left), dtype=bool)
            at[[node for node in leaves if single.left[node] >= 0]] = True
            costs.append(cost(cut(single, at, code)))
        assert cost(after.select([tree])) <= min(costs) + 1e-9


def test_reduced_error_pruning_never_errs_more_on_the_thiefs_rows(owner, thief):
    forest, after = owner.watermarked, changed(owner, thief, "reduced-error", 1.0)
    before, now = ((each.votes(thief.X) != thief.y[:, None]).sum(axis=0) for each in (forest, after))
    assert (now <= before).all()
    assert (after.tree_leaves < forest.tree_leaves).all()


# --- single numbers


def test_noise_is_of_the_stated_size(owner, thief):
    inner = ~owner.watermarked.is_leaf
    moved = changed(owner, thief, "noise", 0.1).threshold - owner.watermarked.threshold
    spread = thief.X.astype(float).std(axis=0)[owner.watermarked.feature[inner]]
    sizes = moved[inner] / spread
    assert sizes.std() == pytest.approx(0.1, rel=0.1)
    assert abs(sizes.mean()) < 0.02
    assert not moved[~inner].any()


def test_quantised_thresholds_lie_on_the_grid(owner, thief):
    inner = ~owner.watermarked.is_leaf
    after = changed(owner, thief, "quantise", 0.3)
    step = 0.3 * thief.X.astype(float).std(axis=0)[after.feature[inner]]
    places = after.threshold[inner] / step
    assert places == pytest.approx(np.round(places), abs=1e-6)
    assert np.abs(after.threshold - owner.watermarked.threshold)[inner] == pytest.approx(
        0, abs=step.max() / 2
    )


def test_flipped_leaves_are_counted(owner, thief):
    forest = owner.watermarked
    after = changed(owner, thief, "flip-leaves", 0.1)
    flipped = (after.node_class != forest.node_class) & forest.is_leaf
    assert flipped.sum() == round(0.1 * forest.is_leaf.sum())


# --- the claim


def test_noise_defeats_the_papers_rule_but_not_the_p_value(owner, thief, judged):
    found = result(owner, thief, judged, ("noise", 0.01))
    assert not found.exact_match
    assert abs(found.accuracy_change) < 0.02
    assert found.fidelity > 0.98
    assert found.bits < 1
    assert found.log10_p < -15
    assert found.p_null == "exact"


@pytest.mark.parametrize(("name", "strength"), [("shuffle", 1.0), ("distil-labels", 3.0), ("collapse", 1.0)])
def test_modifications_that_remove_the_shared_signature(owner, thief, judged, name, strength):
    found = result(owner, thief, judged, (name, strength))
    assert found.log10_p > -3
    assert found.accuracy_change > -0.06
    assert (found.fidelity == 1.0) or name == "distil-labels"


def test_a_shuffled_forest_is_still_found_by_its_shares(owner, thief, judged):
    """The order of the trees is lost, the number of ones is not; a majority leaves nothing of either."""
    shuffled = result(owner, thief, judged, ("shuffle", 1.0))
    assert shuffled.log10_p_shares < -7
    unchanged = result(owner, thief, judged, ("shuffle", 0.0))
    assert shuffled.log10_p_shares == pytest.approx(unchanged.log10_p_shares)
    assert result(owner, thief, judged, ("collapse", 1.0)).log10_p_shares > -4


def test_a_hedging_forest_answers_one_label_by_a_coin_near_the_boundary(owner, thief):
    forest, rng = owner.watermarked, np.random.default_rng(0)
    changed = modify(forest, [Step("hedge", 0.2)], thief, rng)
    votes = changed.votes(thief.X)
    assert (votes == votes[:, :1]).all()
    np.testing.assert_array_equal(votes[:, 0], changed.predict(thief.X))
    sure = np.abs(forest.vote_shares(thief.X)[:, 1] - 0.5) >= 0.2
    np.testing.assert_array_equal(changed.predict(thief.X)[sure], forest.predict(thief.X)[sure])
    point = thief.X[~sure][:1]
    moved = point + np.linspace(0, 1e-6, 40, dtype=np.float32)[:, None]
    np.testing.assert_allclose(forest.vote_shares(moved), np.repeat(forest.vote_shares(point), 40, axis=0))
    assert {*changed.predict(moved)} == {0, 1}
    np.testing.assert_array_equal(changed.predict(moved), changed.predict(moved))


def test_an_unchanged_forest_is_found_in_full(owner, thief, judged):
    found = result(owner, thief, judged, ("noise", 0.0))
    assert (found.bits, found.exact_match, found.fidelity, found.accuracy_change) == (1.0, True, 1.0, 0.0)
    assert found.log10_p == pytest.approx(-20.05, abs=0.01)


def test_dropped_trees_are_aligned(owner, thief, judged):
    found = result(owner, thief, judged, ("drop", 0.1))
    assert (found.n_trees, found.p_null, found.exact_match) == (63, "aligned", False)
    assert found.bits == 1.0
    assert found.log10_p == pytest.approx(-4.0)


def test_two_in_a_row(owner, thief, judged):
    both = result(owner, thief, judged, ("noise", 0.03), ("shuffle", 0.5))
    assert (both.modification, both.strengths) == ("noise+shuffle", "0.03+0.5")
    alone = result(owner, thief, judged, ("noise", 0.03))
    assert both.log10_p > alone.log10_p
    last = result(owner, thief, judged, ("drop", 0.1), ("collapse", 1.0))
    assert (last.n_trees, last.p_null) == (63, "aligned")


def test_columns_say_that_changes_are_measured_on_half_of_the_test_rows():
    columns = ATTACK.columns
    for name in ("accuracy_before", "fidelity", "log10_p_shares"):
        assert "that the thief does not have" in " ".join(columns[name].split()), name


def test_impossible_combinations_are_refused(owner, thief):
    rng = np.random.default_rng(0)
    with pytest.raises(ModelError, match="put that last"):
        modify(owner.watermarked, [Step("collapse", 1.0), Step("noise", 0.1)], thief, rng)
    with pytest.raises(ModelError, match="unknown modification 'paint'"):
        modify(owner.watermarked, [Step("paint", 1.0)], thief, rng)
    with pytest.raises(ModelError, match="no modification is named"):
        modify(owner.watermarked, [], thief, rng)


def test_every_modification_has_strengths_that_grow():
    assert set(STRENGTHS) == set(MODIFICATIONS)
    assert all(list(strengths) == sorted(strengths) for strengths in STRENGTHS.values())


def test_labels_of_one_class_cannot_be_distilled(owner, thief):
    one = AttackerData(thief.X[:1], thief.y[:1], thief.caps)
    with pytest.raises(ModelError, match="one label"):
        modify(owner.watermarked, [Step("distil-labels", 1.0)], one, np.random.default_rng(0))


def test_a_forest_of_one_leaf_survives_everything(thief):
    leaf = Forest.from_arrays(
        offset=[0, 1],
        left=[-1],
        right=[-1],
        feature=[-1],
        threshold=[0.0],
        value=[[1.0, 2.0]],
        n_features=30,
        classes=[0, 1],
    )
    for name in sorted(set(MODIFICATIONS) - {"distil-labels"}):
        after = modify(leaf, [Step(name, STRENGTHS[name][-1])], thief, np.random.default_rng(0))
        assert after.votes(thief.X).shape == (len(thief.X), 1)


@pytest.mark.parametrize("step", [("shuffle", 1.0), ("collapse", 1.0), ("noise", 0.1)])
def test_evidence_from_labels_is_fishers_test_of_errors(owner, thief, judged, step):
    found = result(owner, thief, judged, step)
    changed = modify(owner.watermarked, [Step(*step)], thief, np.random.default_rng(0))
    on, off = (
        (changed.predict(X) != y)
        for X, y in ((judged.X_trigger, judged.y_trigger), (judged.X_test, judged.y_test))
    )
    table = [[on.sum(), (~on).sum()], [off.sum(), (~off).sum()]]
    assert 10**found.log10_p_labels == pytest.approx(fisher_exact(table, alternative="greater").pvalue)


def test_a_schemes_own_proof_takes_the_place_of_trigger_rows(owner, thief, judged):
    class Constant:
        def scores(self, suspect):
            return Scores(votes=-1.0 - suspect.n_trees, null="made up", shares=-3.0, labels=-2.0)

    own = replace(judged, proof=Constant())
    found, usual = result(owner, thief, own, ("drop", 0.5)), result(owner, thief, judged, ("drop", 0.5))
    assert (found.log10_p, found.p_null) == (-1.0 - found.n_trees, "made up")
    assert (found.log10_p_shares, found.log10_p_labels) == (-3.0, -2.0)
    evidence = {"log10_p", "p_null", "log10_p_shares", "log10_p_labels"}
    assert found.model_dump(exclude=evidence) == usual.model_dump(exclude=evidence)


@pytest.mark.parametrize(("name", "strength"), [("drop", 3.0), ("noise", -1.0), ("noise+drop", 1.5)])
def test_impossible_strengths_are_refused_before_anything_runs(name, strength):
    with pytest.raises(ValidationError, match=f"strengths: {strength:g} is impossible for"):
        Options(modifications=(name,), strengths=(0.5, strength))
