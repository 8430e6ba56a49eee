"""What scheme codebook withstands on larger data sets: its attacks on a random part of the rows.

    WM_DATA_DIR=... python -m research.benchmarks.codebook --dataset ijcnn1 --rows 3000 --seeds 2 -o codebook.json

For each seed (own rows, codebook, trigger rows and trees) a forest is watermarked on `rows` training rows,
and attacked by whoever has half of as many test rows, by the code of campaigns. Printed and written: of every
attack what the scoreboard has. The whole data sets are for campaigns/schemes-*.toml.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from research.benchmarks.common import SETTINGS
from wm import streams
from wm.attacks import registry
from wm.attacks.base import LoadedScene, Streams
from wm.datasets import Source, Split, load, split
from wm.embedding import SCHEMES
from wm.embedding.common import single_rows, trigger_size
from wm.embedding.divided import DIVIDED_POOL, divided_rows
from wm.embedding.options import PoolRows
from wm.embedding.training import Caps, adjusted_caps, fit_trees, standard_caps
from wm.embedding.watermark import Plan, watermark
from wm.forest import Forest
from wm.streams import Role

_MODIFICATIONS: dict[tuple[str, ...], tuple[float, ...]] = {
    ("reduced-error", "shuffle", "collapse"): (1.0,),
    ("drop", "replace"): (0.5,),
    ("noise",): (0.1, 0.3),
    ("distil-votes", "distil-labels"): (1.0,),
}
"""Strengths of each group of modifications."""


@dataclass(frozen=True)
class Found:
    """What one attack left, or found."""

    dataset: str
    scheme: str
    seed: int
    attack: str
    strength: float | None = None
    accuracy: float | None = None
    """After the attack, or of the released forest."""
    log10_p: float | None = None
    bits: float | None = None
    null_bits: float | None = None
    auc: float | None = None
    tpr: float | None = None


def part_of(whole: Split, rows: int, seed: int) -> Split:
    """Return a random part of a split: as many training rows, and as many test rows, or all there are."""
    rng = np.random.default_rng(seed)
    train, test = (rng.permutation(len(y))[:rows] for y in (whole.y_train, whole.y_test))
    return replace(
        whole,
        X_train=whole.X_train[train],
        y_train=whole.y_train[train],
        X_test=whole.X_test[test],
        y_test=whole.y_test[test],
    )


def measured(
    dataset: str, scheme: str, share: float, rows: int, seed: int, pool_rows: PoolRows
) -> Iterator[Found]:
    """Yield what each attack leaves of one watermark; the attacker knows how its rows were chosen."""
    data = part_of(split(load(Source(name=dataset)), seed=seed), rows, seed)
    (chosen, _), marker = SETTINGS[dataset], SCHEMES[scheme]
    trees = chosen.n_estimators
    model = fit_trees(data.X_train, data.y_train, n_trees=trees, caps=standard_caps(chosen), seed=seed)
    caps = adjusted_caps(Forest.from_sklearn(model), chosen, "paper")
    size = trigger_size(len(data.y_train), share)
    bits = marker.draw(size, trees, marker.ones_share, streams.generator(seed, Role.OWNER_SIGNATURE, 0))
    chosen_rows = None
    if pool_rows == "divided":
        X, y, rng = data.X_train, data.y_train, np.random.default_rng(seed)
        most = DIVIDED_POOL * size
        pool = divided_rows(X, y, single_rows(X), most, marker.ones_share, caps=Caps(None, None), rng=rng)
        chosen_rows = tuple(np.sort(rng.choice(pool, size, replace=False)).tolist())
    plan = Plan(scheme, bits, share, caps, seed=seed, repeat=0, model_id=dataset, trigger_rows=chosen_rows)
    made = watermark(data, plan)
    scene = LoadedScene.of(data, made, model, caps)
    honest = Forest.from_sklearn(model).accuracy(data.X_test, data.y_test)
    yield Found(dataset, scheme, seed, "honest", accuracy=honest)
    released = scene.forest.accuracy(data.X_test, data.y_test)
    yield Found(dataset, scheme, seed, "none", accuracy=released, log10_p=made.evidence.log10_p)

    def run(kind: str, **options: Any) -> Iterator[Any]:
        attack = registry.attack(kind)
        yield from attack.run(scene, attack.options.model_validate(options), Streams(seed)).rows

    for row in run("detection", methods=("spectrum", "rows")):
        yield _found(dataset, scheme, seed, f"detection: {row.measure}, {row.strategy}", row)
    methods = ("disagreement", "repeats", "shadow")
    for row in run("suppression", methods=methods, shadows=3, orders=1, shadow_rows=pool_rows):
        found = _found(dataset, scheme, seed, f"suppression: {row.method}", row)
        yield replace(found, tpr=row.tpr_at_1pct_fpr, log10_p=row.log10_p_after)
    for names, strengths in _MODIFICATIONS.items():
        for row in run("modification", modifications=names, strengths=strengths):
            yield replace(
                _found(dataset, scheme, seed, f"modification: {row.modification}", row),
                strength=row.strength,
                accuracy=row.accuracy_after,
                log10_p=min(row.log10_p, row.log10_p_shares),
            )


def _found(dataset: str, scheme: str, seed: int, attack: str, row: Any) -> Found:
    values = {name: getattr(row, name, None) for name in ("bits", "null_bits", "auc")}
    return Found(dataset, scheme, seed, attack, **values)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", choices=list(SETTINGS), default="breast-cancer")
    parser.add_argument("--scheme", choices=list(SCHEMES), nargs="+", default=["codebook"])
    parser.add_argument("--trigger-share", type=float, default=0.02)
    parser.add_argument("--pool-rows", choices=get_args(PoolRows), default="any")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    results = []
    for seed in range(given.seeds):
        for scheme in given.scheme:
            for found in measured(
                given.dataset, scheme, given.trigger_share, given.rows, seed, given.pool_rows
            ):
                print(json.dumps(asdict(found)), flush=True)
                results.append(asdict(found))
    if given.output is not None:
        given.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
