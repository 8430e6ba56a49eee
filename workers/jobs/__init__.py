"""Define jobs: their kinds, parameters, results and outcomes.

All of this crosses process and machine borders as JSON: pydantic models, frozen, without unknown keys.
Handlers (`workers.handlers`) are imported by name, in the process that runs them. A new kind needs a handler,
a pair of models and one line in `KINDS`.

- `base`: common parts, a leased job and its outcome; `owner`, `forging`: models; attacks have their own
  (`wm.attacks`);
- `kinds`: the registry.
"""
