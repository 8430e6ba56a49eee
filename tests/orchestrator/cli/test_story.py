"""The story of docs/verification.md, command by command, with its output."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from wm.claims.keys import public_hex, read_key

ROOT = Path(__file__).resolve().parents[3]
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _steps(text: str) -> list[tuple[str, int, str]]:
    """Return each command of the console blocks with its exit code and output."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, output = step.partition("\n")
            command, _, code = line.partition(" # exit ")
            found.append((command, int(code or 0), output))
    return found


def test_the_story_of_a_claim_happens_as_it_is_told(wm):
    steps = _steps((ROOT / "docs" / "verification.md").read_text())
    assert len(steps) > 12
    for command, code, output in steps:
        program, *arguments = shlex.split(command)
        if "NOTARY" in arguments:
            arguments[arguments.index("NOTARY")] = public_hex(read_key("notary.key"))
        if program == "python":
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, *arguments], check=True, env=environment)
            continue
        ran = wm(*arguments)
        assert ran.code == code, f"{command}: {ran.err}"
        matches = doctest.OutputChecker().check_output(output, ran.out, _LOOSE)
        assert matches, f"{command} printed:\n{ran.out}"
