"""The paper's published numbers beside a store's, and the artifact's errors as experiments.

`published`: the numbers, the only ones typed by hand. `runs`: what campaigns found. `compare`: verdicts;
`compare_models` and `compare_attacks`: each published number beside ours; `details`: ours where the paper has
curves. `experiments`: what goes wrong in the published artifact, on our own models; `artifact`
tells of it. `pictures`: figures. `document`: all of it as Markdown.

`python -m research.reproduction` is its command.
"""

from research.reproduction.document import write_reproduction

__all__ = ["write_reproduction"]
