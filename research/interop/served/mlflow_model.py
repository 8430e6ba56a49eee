"""Make an MLflow model of model.joblib: METHOD FOLDER [unnamed].

Its signature names its columns, unless they are to be a tensor.
"""

import json
import sys
from pathlib import Path

import joblib
import mlflow.sklearn
import pandas as pd
from mlflow.models import infer_signature

method, folder, *unnamed = sys.argv[1:]
model = joblib.load("model.joblib")
names = json.loads(Path("mine/claim.json").read_text())["header"]["feature_names"]
rows = pd.DataFrame([[0.5] * len(names)] * 2, columns=names)
mlflow.sklearn.save_model(
    model,
    folder,
    signature=infer_signature(rows.to_numpy() if unnamed else rows, getattr(model, method)(rows)),
    pyfunc_predict_fn=method,
    pip_requirements=[],
    serialization_format="cloudpickle",
)
