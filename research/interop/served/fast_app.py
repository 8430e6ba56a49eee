"""A FastAPI service: objects in a field, and a bare list answered by labels with their scores."""

import joblib
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel, create_model

model = joblib.load("model.joblib")
with open("names.txt", encoding="utf-8") as lines:  # noqa: PTH123 - a service as people write them
    names = lines.read().splitlines()
app = FastAPI()
Row = create_model("Row", **dict.fromkeys(names, (float, ...)))


class Rows(BaseModel):
    """A body."""

    rows: list[Row]


@app.post("/records")
def records(body: Rows) -> dict[str, list[float]]:
    """Return probabilities of class 1."""
    rows = np.array([[getattr(row, name) for name in names] for row in body.rows])
    return {"predictions": model.predict_proba(rows)[:, 1].tolist()}


@app.post("/scores")
def scores(rows: list[list[float]]) -> list[dict[str, float]]:
    """Return each row's label with its probability."""
    shares = model.predict_proba(np.array(rows))
    return [{"label": int(share.argmax()), "score": float(share.max())} for share in shares]
