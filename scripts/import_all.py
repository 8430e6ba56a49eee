"""Import every module of the project and what they import late, so that exactly these have compiled code.

All others are compiled when somebody imports them after all: the code of modules that nobody uses is a tenth
of an image.
"""

import importlib.util
import pkgutil
import sys

import orchestrator
import wm
import workers

LATE = ("altair", "celery.concurrency.thread", "kombu.transport.redis", "sklearn.datasets", "vl_convert")
OPTIONAL = ("orchestrator.store.migrations",)  # run by Alembic alone

for package in (wm, workers, orchestrator):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.startswith(OPTIONAL) or module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:  # of an extra, which is not installed
            if importlib.util.find_spec(str(missing.name).partition(".")[0]) is not None:
                raise  # of a package that is installed
            print(f"{module.name}: not without {missing.name}", file=sys.stderr)
for name in LATE:
    importlib.import_module(name)
