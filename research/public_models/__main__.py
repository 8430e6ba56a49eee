"""Measure the public models in a folder and write docs/public-models.md.

python -m research.public_models FOLDER [-o FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from pathlib import Path

from pydantic import BaseModel

from orchestrator.report.markdown import table
from research.public_models.measuring import EPS, QUESTIONS, ROWS, TIMEOUT_S, agreeing, domain_of, forged
from wm.formats.reading import read_model

HERE = Path(__file__).parent


class PublicModel(BaseModel, frozen=True, extra="forbid"):
    """A model in a public repository."""

    file: str
    repository: str
    commit: str
    path: str
    licence: str
    sha256: str


def public_models() -> list[PublicModel]:
    """Return the models of the manifest."""
    given = tomllib.loads((HERE / "models.toml").read_text(encoding="utf-8"))
    return [PublicModel(**each) for each in given["model"]]


def measured(public: PublicModel, folder: Path) -> list[str]:
    """Return a model's row of the table; raise `SystemExit` if its file is another one."""
    file = folder / public.file
    if hashlib.sha256(file.read_bytes()).hexdigest() != public.sha256:
        raise SystemExit(f"{file}: is not the file of the manifest")
    model = read_model(file)
    domain = domain_of(model)
    same, asked = agreeing(model, domain)
    url = f"https://github.com/{public.repository}/blob/{public.commit}/{public.path}"
    return [
        f"[{public.repository}]({url}), {public.licence}",
        f"{model.framework}, {model.answers}",
        str(model.forest.n_trees),
        f"{int(model.forest.is_leaf.sum()):,}",
        str(model.forest.n_features),
        *(str(forged(model, domain, asked_of)) for asked_of in QUESTIONS),
        f"{same} of {asked}",
    ]


def document(rows: list[list[str]]) -> str:
    """Return the page."""
    titles = ["model", "kind", "trees", "leaves", "features"]
    titles += [asked.title for asked in QUESTIONS]
    return f"""# Forgery on models of others

Models that nobody here made, from public repositories, as they are there. None is a part of this project;
`research/public_models/models.toml` has the commit, path and SHA-256 of each, and `python -m research.public_models FOLDER` writes
this page.

Their data are not at hand, so rows are drawn uniformly, a tenth beyond the range of each feature's thresholds, with the
label that the model gives them (numbers: each tree adds more than its centre). One random signature for each
column: a tenth or half of all trees must be wrong, or half of the first ones, whatever the others do; {ROWS} rows each, at most {EPS:g} of each range away and anywhere (eps 1), {TIMEOUT_S:g} s for each
query. Each forged row was replayed on the model in its own units. *Brute force*: on the first trees, cut at depth 2, all
signatures on three rows are answered by trying every cell, and compared with the engine's answers.

{table([*titles, "brute force agrees"], rows)}

"Impossible" is what the engine proved; a query that reached its limit would be counted as `timeout`.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=HERE.parents[1] / "docs" / "public-models.md")
    given = parser.parse_args()
    given.output.write_text(document([measured(each, given.folder) for each in public_models()]))


if __name__ == "__main__":
    main()
