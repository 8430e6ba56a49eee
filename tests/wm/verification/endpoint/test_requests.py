"""What a suspect sees of a request, and replies that are refused for their form."""

from __future__ import annotations

import numpy as np
import pytest

from tests import suspects
from tests.suspects import Handler, Suspect
from wm.errors import EndpointError
from wm.http import read_headers
from wm.verification.endpoint.client import ask
from wm.verification.endpoint.endpoint import Endpoint

X = np.random.default_rng(1).random((3, 2)).astype(np.float32)
WORD = "word-17"


@pytest.fixture
def suspect():
    with Suspect(lambda rows: {"labels": [0] * len(rows)}) as server:
        yield server


def test_no_request_names_this_program_and_headers_can_be_added(suspect, monkeypatch):
    seen = []
    answer = Handler.do_POST
    monkeypatch.setattr(
        Handler, "do_POST", lambda handler: (seen.append(dict(handler.headers)), answer(handler))
    )
    ask(Endpoint(suspect.url), X)
    ask(Endpoint(suspect.url, headers=read_headers(["X-Tenant: 7", "User-Agent: ordinary/1.0"])), X)
    assert "treeproof" not in str(seen).lower()
    assert "X-Tenant" not in seen[0]
    assert (seen[1]["X-Tenant"], seen[1]["User-Agent"]) == ("7", "ordinary/1.0")


@pytest.mark.parametrize("text", ["", "no colon", ": value", "a b: c", "X: two\nlines", "X: \u00e9"])
def test_other_text_is_no_header(text):
    with pytest.raises(EndpointError, match="is not a header"):
        read_headers([text])


def test_a_key_that_is_given_twice_is_refused(suspect):
    suspect.faults = [suspects.body(b'{"labels": [0, 0, 0], "labels": [1, 1, 1]}')]
    with pytest.raises(EndpointError, match="did not answer with JSON"):
        ask(Endpoint(suspect.url), X)


def test_a_reply_may_be_only_as_large_as_its_rows_need(suspect):
    suspect.faults = [suspects.body(b'{"votes": [%s]}' % b",".join([b"[]"] * 2**18))]
    with pytest.raises(EndpointError, match="more than the 262144 bytes"):
        ask(Endpoint(suspect.url), X)


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_proxies_of_the_environment_see_nothing(suspect, monkeypatch, variable):
    with Suspect(lambda rows: {}) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        assert ask(Endpoint(suspect.url), X).kind == "labels"
        assert proxy.tokens == []


def test_a_refusal_is_quoted_without_the_rows_and_the_token(suspect):
    """Servers quote what they did not understand."""
    quoted = [X.tolist(), str(X), dict(zip("ab", X[0].tolist(), strict=True)), "1, 0,-3 [4]"]
    text = f"Failed to predict {quoted} with {WORD}: column 3 is missing"
    suspect.faults = [suspects.status(400, text.encode())]
    with pytest.raises(EndpointError) as refused:
        ask(Endpoint(suspect.url, token=WORD), X)
    line = str(refused.value)
    assert "answered 400 Bad Request: Failed to predict" in line
    assert not any(f"{value:.3}" in line for value in X.ravel())
    assert WORD not in line
    suspect.faults = [suspects.status(400, b"column 3 is missing, 1, 0,-3 [4]")]
    with pytest.raises(EndpointError, match=r"Bad Request: column 3 is missing, \.\.\.\]"):
        ask(Endpoint(suspect.url), X)


@pytest.mark.parametrize("fault", [suspects.dripping, suspects.endless])
def test_a_refusal_without_end_is_still_one(suspect, fault, monkeypatch):
    def refuse(handler):
        monkeypatch.setattr(handler, "send_response", lambda _: Handler.send_response(handler, 400))
        fault(handler)

    suspect.faults = [refuse]
    with pytest.raises(EndpointError, match="answered 400 Bad Request"):
        ask(Endpoint(suspect.url), X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_json_has_no_numbers_for_are_refused(suspect, value):
    with pytest.raises(EndpointError, match="holds NaN or infinity"):
        ask(Endpoint(suspect.url), np.full((2, 2), value, dtype=np.float32))
    assert suspect.asked == []
