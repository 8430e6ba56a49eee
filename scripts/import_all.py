"""Import every module of the project and what they import late, so that exactly these have compiled code.

All others are compiled when somebody imports them after all: the code of modules that nobody uses is a tenth
of an image.
"""

import importlib
import pkgutil

import orchestrator
import wm
import workers

LATE = ("altair", "celery.concurrency.thread", "kombu.transport.redis", "sklearn.datasets", "vl_convert")
OPTIONAL = ("orchestrator.store.migrations",)  # run by Alembic alone

for package in (wm, workers, orchestrator):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(OPTIONAL) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
for name in LATE:
    importlib.import_module(name)
