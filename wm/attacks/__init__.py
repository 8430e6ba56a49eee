"""Attacks on a watermarked forest: each a pure function of a scene, options and random streams.

Each attack is a module or package with `Options`, `Row`, `run` and an `ATTACK`; `wm.attacks.registry` finds
them by name.

Examples
--------
Watermark a forest, and run an attack on it exactly as a campaign does:

>>> from wm.attacks import registry
>>> from wm.attacks.base import LoadedScene, Streams
>>> from wm.datasets import Source, load, split
>>> from wm.embedding.training import Caps, fit_trees
>>> from wm.embedding.watermark import Plan, watermark
>>> from wm.signature import Signature
>>> rows, caps = split(load(Source(name="breast-cancer")), seed=1), Caps(max_depth=6, max_leaf_nodes=None)
>>> plan = Plan(
...     scheme="paper",
...     signature=Signature.of("01" * 6),
...     trigger_share=0.02,
...     caps=caps,
...     seed=1,
...     repeat=0,
...     model_id="example",
... )
>>> standard = fit_trees(rows.X_train, rows.y_train, n_trees=12, caps=caps, seed=2)
>>> scene = LoadedScene.of(rows, watermark(rows, plan), standard, caps)
>>> suppression = registry.attack("suppression")
>>> result = suppression.run(scene, suppression.options(methods="repeats"), Streams(seed=7))
>>> for row in result.rows:
...     print(row.method, row.triggers, row.auc > 0.9, row.log10_p_after > row.log10_p_before)
repeats 7 True True
"""
