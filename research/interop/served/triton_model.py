"""NVIDIA's Triton with model.joblib, by PyTriton, on the processor: three ports."""

import sys

import joblib
import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

model = joblib.load("model.joblib")
http, grpc, metrics = map(int, sys.argv[1:])


@batch
def answer(float_input):  # noqa: ANN001, ANN201 - as PyTriton has it
    """Return label and probabilities, as a model in ONNX does."""
    shares = model.predict_proba(float_input)
    return {
        "label": shares.argmax(axis=1)[:, None].astype(np.int64),
        "probabilities": shares.astype(np.float32),
    }


with Triton(config=TritonConfig(http_port=http, grpc_port=grpc, metrics_port=metrics)) as triton:
    triton.bind(
        model_name="m",
        infer_func=answer,
        inputs=[Tensor(name="float_input", dtype=np.float32, shape=(model.n_features_in_,))],
        outputs=[
            Tensor(name="label", dtype=np.int64, shape=(1,)),
            Tensor(name="probabilities", dtype=np.float32, shape=(2,)),
        ],
        config=ModelConfig(max_batch_size=256),
    )
    triton.serve()
