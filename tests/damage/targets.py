"""Valid inputs of every kind, with their readers and checks of accepted damaged ones."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from tests import lineups, witness
from tests.damage.damaging import Form
from tests.damage.running import Target, unclear
from tests.pools import owners
from wm.attacks.leakage import LeakageReport, inspect
from wm.claims.beacons.base import Receipt, parse_receipt, read_trust
from wm.claims.claim import Claim, parse_claim
from wm.claims.keys import public_hex
from wm.claims.lineup import LineupClaim, drawn_value, parse_lineup
from wm.claims.lineup_opened import open_lineup, parse_opened_lineup
from wm.claims.opened import OpenedClaim, challenged_rows, open_claim, parse_opened
from wm.claims.pooled import MinMax, PooledClaim, parse_pooled
from wm.embedding.claimed import commit_pool, owner_key
from wm.errors import WmError
from wm.forest import Forest
from wm.formats import sklearn_metadata
from wm.formats.export import load_object, save_model
from wm.verification.answer_files import parse_answers, read_rows
from wm.verification.answers import Answers
from wm.verification.endpoint.meaning import read_meaning
from wm.verification.endpoint.reply import read_reply
from wm.verification.judgement import VerdictKind, judge_sample
from wm.verification.lineup.candidates import Lineup
from wm.verification.lineup.order import Counts, LineupOrder, read_lineup_order
from wm.verification.lineup.proof import LineupProof
from wm.verification.questions import Order, Questions, build_questions, read_order, sort_answers
from wm.verification.samples import Sample, sample_of

TREES, ROWS, FEATURES, POOL = 24, 6, 4, 60
NAMES = ("no", "yes")

_Shown = TypeVar("_Shown", PooledClaim, OpenedClaim)


def targets(folder: Path) -> list[Target]:
    """Return every kind of input; those that are read from files only are written to `folder`."""
    rng = np.random.default_rng(5)
    X = rng.random((200, FEATURES)).astype(np.float32)
    y = (X[:, 0] + 0.3 * rng.random(200) > 0.6).astype(np.int64)
    model = RandomForestClassifier(TREES, max_depth=3, random_state=1).fit(X, y)
    forest = Forest.from_sklearn(model)
    claim = _claim(X[:POOL], y[:POOL])
    asked = build_questions(sample_of(claim), rng, controls=18, repeats=2)
    metadata = sklearn_metadata.from_model(model)
    found = [
        *_claims(claim),
        *_lineups(folder),
        *_judges_files(claim, asked, forest, folder),
        Target(
            "forest",
            forest.to_bytes(),
            "npz",
            lambda content: Forest.from_bytes(content, what="forest"),
            lambda read: _unlike(read.content_hash, forest.content_hash),
        ),
        Target("arrays", metadata.to_bytes(), "npz", _report, _bad_report),
        *_answers(claim, asked, forest),
        _rows(folder / "rows.csv", _lines(X[:20]), "text"),
        _rows(folder / "rows.npz", _packed(X=X), "npz"),
    ]
    return [*found, _skops(forest, folder)] if importlib.util.find_spec("skops") else found


def _claim(X: NDArray[np.float32], y: NDArray[np.int64]) -> PooledClaim:
    scaling = MinMax(low=(0.0,) * FEATURES, span=(2.0,) * FEATURES)
    committed = commit_pool(
        owners(X, y, NAMES, scaling=scaling),
        trees=TREES,
        ones_share=0.5,
        trigger_size=ROWS,
        owner=public_hex(owner_key(5)),
        model_id="forest",
        seed=5,
    )
    return committed.model_copy(update={"receipts": (witness.witness(committed),)})


def _claims(claim: PooledClaim) -> list[Target]:
    """Return claims of every version and an opening."""
    triggers = sample_of(claim).draw.triggers
    shown = challenged_rows(claim.commitment, "case 17", triggers, POOL, shown=3, controls=9)
    opening = open_claim(claim, owner_key(5), "case 17", shown)
    old = witness.old_claim(claim)
    return [
        Target(
            "claim",
            claim.to_json().encode(),
            "json",
            lambda content: _drawn(parse_pooled(content, what="claim"), "claim"),
            lambda read: _unlike(_committed(read), _committed(claim)),
        ),
        Target(
            "opening",
            opening.to_json().encode(),
            "json",
            lambda content: _drawn(parse_opened(content, what="opening"), "opening"),
            lambda read: _unlike(read, opening),
        ),
        Target(
            "old claim",
            old.to_json().encode(),
            "json",
            lambda content: parse_claim(content, what="old claim"),
            lambda read: _unlike(_committed_old(read), _committed_old(old)),
        ),
    ]


def _lineups(folder: Path) -> list[Target]:
    """Return a line-up's claim, the order of its questions, and a proof that a campaign keeps."""
    owner = lineups.owner(key=owner_key(5))
    opening, (value, _) = open_lineup(owner.claim, owner_key(5), "case 17", 4), drawn_value(owner.claim)
    order = LineupOrder(commitment=owner.claim.commitment, units="model", seed="case 17", counts=Counts())
    order = order.asking(20, 3)
    votes = np.random.default_rng(1).integers(2, size=(4, 3, 20)).astype(np.uint8)
    proof = LineupProof(owner.queries.X[:20], Lineup(votes, np.array([0, 2, 1, 1])))

    def drawn(content: bytes) -> LineupClaim:
        claim = parse_lineup(content, what="line-up")
        try:
            drawn_value(claim)
        except WmError as reason:
            raise type(reason)(f"line-up: {reason}") from reason
        return claim

    def shown(claim: LineupClaim) -> tuple[object, ...]:
        return claim.header, claim.salt, claim.secret, claim.commitment, drawn_value(claim)[0]

    def scored(read: LineupProof) -> str | None:
        read.scores(owner.forest)  # a line-up of random votes says nothing, and must not fail
        return None

    return [
        Target(
            "line-up",
            owner.claim.to_json().encode(),
            "json",
            drawn,
            lambda read: _unlike(shown(read), shown(owner.claim)),
        ),
        Target(
            "line-up opening",
            opening.to_json().encode(),
            "json",
            lambda content: parse_opened_lineup(content, what="line-up opening"),
            lambda read: _unlike(read.keys(value), opening.keys(value)),
        ),
        _file(
            folder / "lineup-order.json",
            order.to_line().encode(),
            read_lineup_order,
            lambda read: None if all(number >= 0 for number in read.asked) else "asks what there is not",
        ),
        Target("line-up", proof.to_bytes(), "npz", LineupProof.from_bytes, scored),
    ]


def _judges_files(claim: PooledClaim, asked: Questions, forest: Forest, folder: Path) -> list[Target]:
    """Return receipts, a notary's log, a list of trusted beacons, and an order of questions."""
    sample, receipt = sample_of(claim), claim.receipts[0]
    return [
        Target(
            "receipt",
            receipt.to_json().encode(),
            "json",
            lambda content: _witnessed(claim, parse_receipt(content, what="receipt"), "receipt"),
            lambda read: _unlike(read.draw, sample.draw),
        ),
        Target(
            "statement",
            receipt.content.encode(),
            "json",
            lambda content: _witnessed(
                claim, Receipt(kind="notary", content=content.decode("latin1")), "statement"
            ),
            lambda read: _unlike(read.draw, sample.draw),
        ),
        Target(
            "log",
            f"{receipt.content}\n{receipt.content}\n".encode(),
            "text",
            lambda content: _sample(claim, "log", content.decode(errors="replace")),
            lambda read: None if all(each.choices >= 1 for each in read.beacons) else "no choices",
        ),
        _file(
            folder / "trust.json",
            witness.TRUST.to_json().encode(),
            read_trust,
            lambda read: _unlike(sample_of(claim, trust=read).draw, sample.draw),
        ),
        _file(
            folder / "order.json",
            asked.order.to_line().encode(),
            read_order,
            lambda read: _misread(sample, read, forest.votes(asked.X)),
        ),
    ]


def _answers(claim: PooledClaim, asked: Questions, forest: Forest) -> list[Target]:
    """Return files of an honest forest's answers, and an endpoint's replies."""
    sample = sample_of(claim)
    votes, shares, labels = forest.votes(asked.X), forest.vote_shares(asked.X), forest.predict(asked.X)

    def judged(answers: Answers) -> str | None:
        return _wrongly_accepted(sample, asked.order, answers)

    def answers(kind: Any, ending: str) -> Callable[[bytes], Answers]:
        name = f"{kind}.{ending}"
        return lambda content: parse_answers(content, kind, class_names=NAMES, what=name)

    def reply(body: bytes) -> Answers:
        columns = read_reply(body, len(votes), class_names=NAMES, what="reply")
        return read_meaning(columns, class_names=NAMES, what="reply")

    tensor = {"name": "p", "shape": list(shares.shape), "datatype": "FP64", "data": shares.tolist()}
    scored = [
        {"label": NAMES[label], "score": max(share)}
        for label, share in zip(shares.argmax(axis=1), shares.tolist(), strict=True)
    ]

    return [
        Target("votes.csv", _lines(votes), "text", answers("votes", "csv"), judged),
        Target("votes.npz", _packed(votes=votes), "npz", answers("votes", "npz"), judged),
        Target("probabilities.csv", _lines(shares), "text", answers("probabilities", "csv"), judged),
        Target("labels.csv", _lines(labels), "text", answers("labels", "csv"), judged),
        *(
            Target("reply", json.dumps(document).encode(), "json", reply, judged)
            for document in (
                {"votes": votes.tolist()},
                {"probabilities": shares.tolist()},
                {"labels": labels.tolist()},
                {"outputs": [tensor]},
                scored,
            )
        ),
    ]


def _packed(**arrays: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _lines(values: NDArray[Any]) -> bytes:
    return "\n".join(",".join(map(str, np.atleast_1d(row))) for row in values).encode()


def _unlike(read: object, original: object) -> str | None:
    return None if read == original else f"accepted, but it means {read!r}"


def _sample(claim: PooledClaim | OpenedClaim, what: str, log: str = "") -> Sample:
    """Recompute a claim's draw, as every command that reads it does."""
    lines = tuple(line for line in log.splitlines() if line.strip())
    try:
        return sample_of(claim, trust=witness.TRUST, log=lines)
    except WmError as reason:
        raise type(reason)(f"{what}: {reason}") from reason


def _drawn(claim: _Shown, what: str) -> _Shown:
    _sample(claim, what)
    return claim


def _witnessed(claim: PooledClaim, receipt: Receipt, what: str) -> Sample:
    return _sample(claim.model_copy(update={"receipts": (receipt,)}), what)


def _committed(claim: PooledClaim) -> tuple[object, ...]:
    """Return what a verdict reads of a claim: its commitment covers the fields, a beacon the draw."""
    draw = sample_of(claim).draw
    return claim.header, claim.rows, claim.labels, claim.salt, claim.secret, claim.commitment, draw


def _committed_old(claim: Claim) -> tuple[object, ...]:
    """Return the fields that an old claim's commitment covers."""
    trigger_set = claim.trigger_set
    return claim.version, claim.signature, trigger_set.rows, trigger_set.labels, claim.nonce, claim.commitment


def _misread(sample: Sample, order: Order, votes: NDArray[np.int64]) -> str | None:
    """Sort answers by a damaged order, which they may not fit."""
    try:
        found = sort_answers({"votes": Answers("votes", votes)}, order, sample)
    except WmError as reason:
        return unclear(f"order: {reason}", "order")
    return None if len(found.asked) <= len(votes) else "more answers than were given"


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


def _wrongly_accepted(sample: Sample, order: Order, answers: Answers) -> str | None:
    """Judge an honest forest's damaged answers, which must not become proof."""
    try:
        judgement = judge_sample(sample, sort_answers({answers.kind: answers}, order, sample))
    except WmError as reason:
        return unclear(f"answers: {reason}", "answers")
    accepted = judgement.verdict in (VerdictKind.VERIFIED, VerdictKind.INDICATION)
    return "an honest suspect was accepted" if accepted else None


def _file(
    file: Path, content: bytes, read: Callable[[Path], Any], fault: Callable[[Any], str | None]
) -> Target:
    """Return a JSON file that is read by its name."""

    def written(content: bytes) -> Any:
        file.write_bytes(content)
        return read(file)

    return Target(str(file), content, "json", written, fault)


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
        trusted = ["sklearn.tree._tree.Tree"]
        return inspect(**load_object(file, sklearn_metadata.from_model, trusted=trusted).arguments())

    return Target(str(file), file.read_bytes(), "skops", read, _bad_report)
