"""Valid inputs of every kind, with their readers and checks of accepted damaged ones."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from tests.damage.damaging import Form
from tests.damage.running import Target, unclear
from wm.attacks.leakage import LeakageReport, inspect
from wm.claims.claim import Claim, make_claim, parse_claim
from wm.claims.opening import Opening, open_rows, parse_opening
from wm.claims.publication import parse_moment, parse_publications, publication_of
from wm.errors import WmError
from wm.forest import Forest
from wm.formats import sklearn_metadata
from wm.formats.export import load_metadata, save_model
from wm.signature import random_signature
from wm.verification.answer_files import parse_answers, read_rows
from wm.verification.answers import Answers
from wm.verification.decoys import read_decoys
from wm.verification.endpoint.reply import parse_reply
from wm.verification.questions import Decoys, Order, build_questions, parse_order, plain_order, sort_answers
from wm.verification.verdict import judge

TREES, ROWS, FEATURES = 24, 6, 4


def targets(folder: Path) -> list[Target]:
    """Return every kind of input; those that are read from files only are written to `folder`."""
    rng = np.random.default_rng(5)
    X = rng.random((200, FEATURES)).astype(np.float32)
    y = (X[:, 0] + 0.3 * rng.random(200) > 0.6).astype(np.int64)
    model = RandomForestClassifier(TREES, max_depth=3, random_state=1).fit(X, y)
    forest = Forest.from_sklearn(model)
    signature = random_signature(TREES, 0.5, rng)
    claim = make_claim(
        scheme="paper",
        signature=signature,
        X=X[:ROWS],
        y=y[:ROWS],
        model_hash=forest.content_hash,
        model_id="forest",
        class_names=("no", "yes"),
        nonce=bytes(range(32)),
    )
    opening = open_rows(claim, [0, 2, 5])
    asked = build_questions(claim, Decoys(X[20:], y[20:]), rng, decoys_for_each=3, repeats=2)
    document = publication_of(claim, parse_moment("2025-06-30"))
    votes = forest.votes(claim.trigger_set.X)
    shares, labels = forest.vote_shares(asked.X), forest.predict(asked.X)
    metadata = sklearn_metadata.from_model(model)

    def judged(order: Order) -> Callable[[Answers], str | None]:
        return lambda answers: _wrongly_accepted(claim, order, answers)

    def answers(kind: Any, ending: str) -> Callable[[bytes], Answers]:
        name = f"{kind}.{ending}"
        return lambda content: parse_answers(content, kind, class_names=claim.class_names, what=name)

    def reply(count: int) -> Callable[[bytes], Answers]:
        return lambda body: parse_reply(body, count, class_names=claim.class_names, what="reply")

    def packed(**arrays: NDArray[Any]) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    def lines(values: NDArray[Any]) -> bytes:
        return "\n".join(",".join(map(str, np.atleast_1d(row))) for row in values).encode()

    plain = plain_order(claim)
    found = [
        Target(
            "claim",
            claim.to_json().encode(),
            "json",
            lambda content: parse_claim(content, what="claim"),
            lambda read: _unlike(_committed(read), _committed(claim)),
        ),
        Target(
            "opening",
            opening.to_json().encode(),
            "json",
            lambda content: parse_opening(content, what="opening"),
            lambda read: _not_opened(read, opening),
        ),
        Target(
            "order",
            asked.order.to_line().encode(),
            "json",
            lambda content: parse_order(content, claim, what="order"),
            lambda read: None if sorted(read.triggers) != [] and read.size > 0 else "an empty order",
        ),
        Target(
            "log",
            (document.to_line() * 2).encode(),
            "text",
            lambda content: parse_publications(content, what="log"),
            _bad_publications,
        ),
        Target(
            "document",
            document.to_json().encode(),
            "json",
            lambda content: parse_publications(content, what="document"),
            _bad_publications,
        ),
        Target(
            "forest",
            forest.to_bytes(),
            "npz",
            lambda content: Forest.from_bytes(content, what="forest"),
            lambda read: _unlike(read.content_hash, forest.content_hash),
        ),
        Target("arrays", metadata.to_bytes(), "npz", _report, _bad_report),
        Target("votes.csv", lines(votes), "text", answers("votes", "csv"), judged(plain)),
        Target("votes.npz", packed(votes=votes), "npz", answers("votes", "npz"), judged(plain)),
        Target(
            "probabilities.csv", lines(shares), "text", answers("probabilities", "csv"), judged(asked.order)
        ),
        Target("labels.csv", lines(labels), "text", answers("labels", "csv"), judged(asked.order)),
        Target("reply", json.dumps({"votes": votes.tolist()}).encode(), "json", reply(ROWS), judged(plain)),
        Target(
            "reply",
            json.dumps({"probabilities": shares.tolist()}).encode(),
            "json",
            reply(len(shares)),
            judged(asked.order),
        ),
        Target(
            "reply",
            json.dumps({"labels": labels.tolist()}).encode(),
            "json",
            reply(len(labels)),
            judged(asked.order),
        ),
    ]
    marked = [
        ",".join(map(str, [*row, label])) for row, label in zip(X[20:40].tolist(), y[20:40], strict=True)
    ]
    found += [
        _decoys(folder / "decoys.csv", "\n".join(marked).encode(), "text", claim),
        _decoys(folder / "decoys.npz", packed(X=X[20:], y=y[20:]), "npz", claim),
        _rows(folder / "rows.csv", lines(X[:20]), "text"),
        _rows(folder / "rows.npz", packed(X=X), "npz"),
    ]
    return [*found, _skops(forest, folder)] if importlib.util.find_spec("skops") else found


def _unlike(read: object, original: object) -> str | None:
    return None if read == original else f"accepted, but it means {read!r}"


def _committed(claim: Claim) -> tuple[object, ...]:
    """Return the fields that a claim's commitment covers."""
    trigger_set = claim.trigger_set
    return claim.version, claim.signature, trigger_set.rows, trigger_set.labels, claim.nonce, claim.commitment


def _not_opened(read: Opening, original: Opening) -> str | None:
    """Refuse other rows; fewer rows are a valid opening, which the rule on the choice of rows judges."""
    same = all(
        getattr(read, name) == getattr(original, name) for name in ("signature", "trigger_size", "commitment")
    )
    return None if same and set(read.opened) <= set(original.opened) else f"accepted, but it means {read!r}"


def _bad_publications(read: tuple[Any, ...]) -> str | None:
    return None if read and all(len(each.commitment) == 64 for each in read) else "nothing was published"


def _report(content: bytes) -> LeakageReport:
    arrays = sklearn_metadata.parse_arrays(content, what="arrays")
    try:
        return inspect(**arrays.arguments())
    except WmError as reason:
        raise type(reason)(f"arrays: {reason}") from reason  # as the command line names its files


def _bad_report(report: LeakageReport) -> str | None:
    bits = report.signature
    if bits is not None and (bits.shape != (report.n_trees,) or not np.isin(bits, (0, 1)).all()):
        return f"an invalid signature: {bits}"
    share = report.membership(np.zeros((1, 64)))
    return None if 0 <= share[0] <= 1 else f"an invalid membership: {share}"


def _wrongly_accepted(claim: Claim, order: Order, answers: Answers) -> str | None:
    """Judge an honest forest's damaged answers, which must not become proof."""
    try:
        verdict = judge(claim, sort_answers(answers, order))
    except WmError as reason:
        return unclear(f"answers: {reason}", "answers")
    return "an honest suspect was accepted" if verdict.accepted else None


def _decoys(file: Path, content: bytes, form: Form, claim: Claim) -> Target:
    """Return a file of labelled rows; changed numbers are other decoys, which are valid too."""

    def read(content: bytes) -> Decoys:
        file.write_bytes(content)
        return read_decoys(file, claim, label=-1 if file.suffix == ".csv" else None)

    def fault(read: Decoys) -> str | None:
        usable = len(read.X) == len(read.y) > 0 and np.isin(read.y, (0, 1)).all()
        return None if usable and np.isfinite(read.X).all() else f"invalid decoys: {read}"

    return Target(str(file), content, form, read, fault)


def _rows(file: Path, content: bytes, form: Form) -> Target:
    """Return a file of rows for the audit of a model."""

    def read(content: bytes) -> NDArray[np.float32]:
        file.write_bytes(content)
        return read_rows(file)

    def fault(read: NDArray[np.float32]) -> str | None:
        usable = read.ndim == 2 and read.size and np.isfinite(read).all()
        return None if usable else f"invalid rows: {read}"

    return Target(str(file), content, form, read, fault)


def _skops(forest: Forest, folder: Path) -> Target:
    """Return scikit-learn's model in a skops file; its types are trusted."""
    file = folder / "model.skops"
    save_model(forest.select([0, 1]), file)

    def read(content: bytes) -> LeakageReport:
        file.write_bytes(content)
        arrays = load_metadata(file, trusted=["sklearn.tree._tree.Tree"])
        return inspect(**arrays.arguments())

    return Target(str(file), file.read_bytes(), "skops", read, _bad_report)
