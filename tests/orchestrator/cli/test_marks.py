"""The sign of a verdict in the encodings that terminals have."""

from __future__ import annotations

import io
import sys

import pytest

from orchestrator.cli.marks import mark


@pytest.mark.parametrize(
    ("encoding", "signs"), [("utf-8", "✓✗?"), ("ascii", "+-?"), ("latin-1", "+-?"), ("cp1252", "+-?")]
)
def test_signs_are_those_that_can_be_written(encoding, signs, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert "".join(mark(verdict) for verdict in (True, False, None)) == signs
