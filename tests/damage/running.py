"""Reads spoilt inputs and tells those that were not handled.

Handled is: one clear line of a `WmError`, or an acceptance that means the same as before. Anything else is a
failure. Used by `tests/test_damaged_inputs.py` and `research/benchmarks/fuzz_inputs.py`.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.damage.spoiling import Form, damaged
from wm.errors import WmError

LONGEST_LINE = 600
"""Most characters of an error's text."""


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Attributes
    ----------
    name
        Its name, which errors must start with.
    content
        A valid one.
    form
        How it can be spoilt.
    read
        Reads the content of one; raises a `WmError`.
    fault
        Says what is wrong with what was read from a spoilt one, None if nothing is.
    """

    name: str
    content: bytes
    form: Form
    read: Callable[[bytes], Any]
    fault: Callable[[Any], str | None]


@dataclass(frozen=True)
class Failure:
    """A spoilt input that was not handled; seed and number give it again."""

    target: str
    seed: int
    number: int
    reason: str
    content: bytes


@dataclass(frozen=True)
class Tally:
    """What became of the spoilt inputs of one kind."""

    refused: int
    accepted: int
    failures: tuple[Failure, ...]


def run(target: Target, count: int, seed: int) -> Tally:
    """Read `count` spoilt inputs; each is made from its seed and number alone."""
    refused, accepted, failures = 0, 0, []
    for number in range(count):
        content = damaged(target.content, target.form, np.random.default_rng([seed, number]))
        reason: str | None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = target.read(content)
        except WmError as error:
            refused += 1
            reason = unclear(str(error), target.name)
        except Exception:  # that is what is looked for
            reason = traceback.format_exc()
        else:
            accepted += 1
            reason = target.fault(found)
        if reason is not None:
            failures.append(Failure(target.name, seed, number, reason, content))
    return Tally(refused, accepted, tuple(failures))


def unclear(line: str, name: str) -> str | None:
    """Say what is wrong with an error's text, None if nothing is."""
    if not line.startswith(f"{name}: ") or not line.isprintable() or len(line) > LONGEST_LINE:
        return f"not one clear line: {line[: 2 * LONGEST_LINE]!r}"
    return None
