"""The grid search that fits few forests against scikit-learn's, on the paper's grids, paired in one run.

    WM_DATA_DIR=... python -m research.benchmarks.tuning --dataset breast-cancer ijcnn1 -o tuning.json

For each data set: the paper's split, the grid of `campaigns/paper-*.toml` (profile "tune"), one thread. Ours
is timed before and after `GridSearchCV(refit=False)`, and the two averaged, so that a machine whose speed
drifts favours neither. Printed and written, after each data set: seconds of both, their ratio, and whether
every mean and deviation is the same to the last bit and the same point is chosen; exit code 1 if not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from orchestrator.spec import read_spec
from research.benchmarks import common
from research.benchmarks.common import SETTINGS
from research.benchmarks.embedding import Cost, timed
from wm.datasets import Source, load, split
from wm.embedding.tuning import Hyperparameters, choose, fold_accuracies


@dataclass(frozen=True)
class Grid:
    """What is searched: the axes, in order of preference among equals, and the number of folds."""

    n_estimators: tuple[int, ...]
    max_depth: tuple[int, ...]
    folds: int


@dataclass(frozen=True)
class Score:
    """Accuracy of one point of the grid over the folds: mean and (population) standard deviation."""

    point: Hyperparameters
    mean: float
    deviation: float


@dataclass(frozen=True)
class Found:
    """The best point of a grid, and the score of every point in the order of scikit-learn's grid."""

    best: Hyperparameters
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Row:
    """One data set."""

    dataset: str
    rows: int  # size of the training part, which both searches get
    features: int
    seed: int  # of the split and of the forests
    grid: Grid
    points: int
    ours: Cost  # mean of two runs
    scikit_learn: Cost
    wall_ratio: float  # scikit-learn's seconds over ours
    cpu_ratio: float
    equal_points: int  # points of the grid whose mean and deviation are the same to the last bit
    same_choice: bool
    chosen: Hyperparameters  # scikit-learn's choice, and its mean accuracy over the folds
    accuracy: float

    @property
    def agrees(self) -> bool:
        """Whether the two searches gave one answer."""
        return self.same_choice and self.equal_points == self.points


def paper_grid(name: str, folds: int | None = None) -> Grid:
    """Return the grid of a data set's campaign, with other folds if they are given."""
    spec = read_spec(common.ROOT / "campaigns" / f"paper-{name}.toml", profile="tune")
    tune = spec.forest.tune
    if tune is None:
        raise SystemExit(f"campaigns/paper-{name}.toml: its profile tune has no forest.tune")
    return Grid(tune.n_estimators, tune.max_depth, folds or tune.folds)


def search_with_scikit_learn(X: NDArray[Any], y: NDArray[Any], grid: Grid, seed: int) -> Found:
    """Return what `GridSearchCV` finds, one fit for each point and fold and none of the chosen forest."""
    forest = RandomForestClassifier(bootstrap=False, random_state=seed, n_jobs=1)
    axes = {"n_estimators": grid.n_estimators, "max_depth": grid.max_depth}
    found = GridSearchCV(forest, axes, cv=grid.folds, refit=False, n_jobs=1, error_score="raise").fit(X, y)
    results = found.cv_results_
    columns = (results["params"], results["mean_test_score"], results["std_test_score"])
    scores = [
        Score(Hyperparameters(**point), float(mean), float(std))
        for point, mean, std in zip(*columns, strict=True)
    ]
    return Found(Hyperparameters(**found.best_params_), tuple(scores))


def search(X: NDArray[Any], y: NDArray[Any], grid: Grid, seed: int) -> Found:
    """Return what our search finds."""
    axes: dict[str, Any] = {"n_estimators": grid.n_estimators, "max_depth": grid.max_depth}
    folds = range(grid.folds)
    found = [fold_accuracies(X, y, **axes, folds=grid.folds, fold=fold, seed=seed) for fold in folds]
    best, scores = choose(**axes, per_fold=found)
    # The same operations as in GridSearchCV: the results are compared bit for bit.
    errors = np.array(found).T - np.array([[mean] for _, mean in scores])
    deviations = np.sqrt(np.average(errors**2, axis=1))
    both = zip(scores, deviations, strict=True)
    return Found(best, tuple(Score(point, mean, float(deviation)) for (point, mean), deviation in both))


def measure(name: str, grid: Grid, seed: int) -> Row:
    """Put one data set's grid to both searches."""
    made = split(load(Source(name=name)), seed=seed, scaling="paper")
    given = (made.X_train, made.y_train, grid, seed)
    first, before = timed(partial(search, *given))
    theirs, reference = timed(partial(search_with_scikit_learn, *given))
    last, after = timed(partial(search, *given))
    ours = Cost((before.wall_s + after.wall_s) / 2, (before.cpu_s + after.cpu_s) / 2)
    rows, features = made.X_train.shape
    ratios = (reference.wall_s / ours.wall_s, reference.cpu_s / ours.cpu_s)
    equal = min(equal_points(first, theirs), equal_points(last, theirs))
    same = first.best == last.best == theirs.best
    accuracy = max(score.mean for score in theirs.scores)
    size = (rows, features, seed, grid, len(theirs.scores))
    return Row(name, *size, ours, reference, *ratios, equal, same, theirs.best, accuracy)


def equal_points(ours: Found, theirs: Found) -> int:
    """Count the places of the grid where both have the same point with the very same mean and deviation."""
    if len(ours.scores) != len(theirs.scores):
        return 0
    return sum(mine == other for mine, other in zip(ours.scores, theirs.scores, strict=True))


def warm_up() -> None:
    """Search a grid of one point in both ways: what is imported on the way is not to be timed."""
    given = (np.eye(8, dtype=np.float32), np.arange(8) % 2, Grid((1,), (1,), 2), 0)
    search(*given)
    search_with_scikit_learn(*given)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; seconds by the clock and, in brackets, of the processor."""
    return common.table(
        "data set | rows x features | points x folds | ours s | scikit-learn s | times faster | equal scores "
        "| trees / depth chosen | accuracy",
        rows,
        lambda row: (
            f"{row.dataset} | {row.rows} x {row.features} | {row.points} x {row.grid.folds} "
            f"| {row.ours.wall_s:.3g} ({row.ours.cpu_s:.3g}) "
            f"| {row.scikit_learn.wall_s:.3g} ({row.scikit_learn.cpu_s:.3g}) "
            f"| {row.wall_ratio:.3g} ({row.cpu_ratio:.3g}) | {row.equal_points} of {row.points} "
            f"| {row.chosen.n_estimators} / {row.chosen.max_depth}{', not the same' * (not row.same_choice)} "
            f"| {row.accuracy:.4f}"
        ),
    )


def options(given: Mapping[str, Any]) -> str:
    """Return the options of the command that gives these results again."""
    text = ""
    for name in ("dataset", "folds", "n_estimators", "max_depth", "seed"):
        if given[name] is not None:
            values = given[name] if isinstance(given[name], list) else [given[name]]
            text += f" --{name.replace('_', '-')} {' '.join(map(str, values))}"
    return text


def grids(rows: Sequence[Row]) -> str:
    """Return the grids that were searched, in words."""
    axes = [(row.grid.n_estimators, row.grid.max_depth) for row in rows]
    texts = ((", ".join(map(str, values)) for values in both) for both in axes)
    return "; ".join(dict.fromkeys(f"trees {trees} by depth {depth}" for trees, depth in texts))


def main(words: Sequence[str] | None = None) -> None:
    """Run the searches, print them and write them."""
    parser = common.parser(__doc__)
    parser.set_defaults(seed=None)  # each data set has the paper's own, unless one is given
    parser.add_argument("--dataset", nargs="+", action="extend", choices=list(SETTINGS), help="default: all")
    parser.add_argument("--folds", type=int, help="instead of the campaign's")
    parser.add_argument("--n-estimators", nargs="+", type=int, help="instead of the campaign's")
    parser.add_argument("--max-depth", nargs="+", type=int, help="instead of the campaign's")
    arguments = parser.parse_args(words)
    rows: list[Row] = []
    with threadpool_limits(1):
        warm_up()
        for name in arguments.dataset or SETTINGS:
            seed = SETTINGS[name][1] if arguments.seed is None else arguments.seed
            paper = paper_grid(name, arguments.folds)
            trees = tuple(arguments.n_estimators or paper.n_estimators)
            depths = tuple(arguments.max_depth or paper.max_depth)
            rows.append(measure(name, Grid(trees, depths, paper.folds), seed))
            print(table(rows[-1:]), flush=True)
            common.save_results(arguments, rows, seeds={row.dataset: row.seed for row in rows})
    if len(rows) > 1:
        print(table(rows))
    different = [row.dataset for row in rows if not row.agrees]
    if different:
        raise SystemExit(f"the searches disagree on {', '.join(different)}")


if __name__ == "__main__":
    main()
