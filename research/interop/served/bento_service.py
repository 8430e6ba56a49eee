"""A BentoML service: an array under a name, the root of the body, and each tree's vote."""

import bentoml
import joblib
import numpy as np


@bentoml.service
class Service:
    """Answers of model.joblib."""

    def __init__(self) -> None:
        self.model = joblib.load("model.joblib")

    @bentoml.api
    def shares(self, frame: np.ndarray) -> np.ndarray:
        """Return probabilities."""
        return self.model.predict_proba(frame)

    @bentoml.api
    def root(self, rows: list[list[float]], /) -> list[int]:
        """Return labels."""
        return self.model.predict(np.array(rows)).tolist()

    @bentoml.api
    def votes(self, rows: list[list[float]]) -> dict:
        """Return each tree's vote."""
        exact = np.array(rows, dtype=np.float32)
        return {
            "votes": np.array([tree.predict(exact) for tree in self.model.estimators_]).T.astype(int).tolist()
        }
