"""A KServe server of model.joblib, by both versions of its protocol: PORT."""

import sys

import joblib
import numpy as np
from kserve import InferOutput, InferResponse, Model, ModelServer

model = joblib.load("model.joblib")


class Forest(Model):
    """Probabilities of both classes."""

    def __init__(self) -> None:
        super().__init__("m")
        self.ready = True

    def predict(self, payload, headers=None, response_headers=None):  # noqa: ANN001, ANN201 - as KServe has it
        """Answer a request of either version."""
        if isinstance(payload, dict):
            return {"predictions": model.predict_proba(np.array(payload["instances"])).tolist()}
        shares = model.predict_proba(payload.inputs[0].as_numpy())
        output = InferOutput("probabilities", list(shares.shape), "FP64")
        output.set_data_from_numpy(shares, binary_data=False)
        return InferResponse("1", "m", [output])


ModelServer(http_port=int(sys.argv[1]), enable_grpc=False).start([Forest()])
