"""The client of an endpoint, with a real server that answers, fails and misbehaves."""

from __future__ import annotations

import asyncio
import email.utils
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests import ending, suspects
from tests.suspects import Suspect
from wm.errors import EndpointError, EndpointUnavailableError
from wm.http import check_address
from wm.verification.endpoint.client import ask
from wm.verification.endpoint.endpoint import Endpoint, Limits

X = np.random.default_rng(1).random((23, 3)).astype(np.float32)
WORD = "secret-word"
QUICK = Limits(batch_size=10, first_wait_s=0.5, request_s=20, total_s=60)


def votes(rows):
    """Return votes of four trees that differ between rows and trees."""
    return (rows[:, [0, 1, 2, 0]] > [0.5, 0.5, 0.5, 0.2]).astype(int)


@pytest.fixture
def suspect() -> Iterator[Suspect]:
    with Suspect(lambda rows: {"votes": votes(rows).tolist()}) as server:
        yield server


class Waits:
    """A `sleep` that records its waits."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def put(suspect, limits=QUICK, **options):
    waits = Waits()
    named = {"class_names": options.pop("class_names")} if "class_names" in options else {}
    return ask(Endpoint(suspect.url, limits=limits, sleep=waits, **options), X, **named), waits.seconds


def refused(suspect, kind=EndpointError, limits=QUICK, **options):
    """Return the one line with which asking fails."""
    with pytest.raises(kind) as failed:
        put(suspect, limits, **options)
    assert isinstance(failed.value, EndpointUnavailableError) == (kind is EndpointUnavailableError)
    line = str(failed.value)
    assert line.isprintable()
    assert line.startswith(f"{suspect.url}: ")
    return line


def test_the_votes_come_back_in_order_and_in_batches(suspect):
    found, waits = put(suspect)
    assert found.kind == "votes"
    np.testing.assert_array_equal(found.values, votes(X))
    assert [len(rows) for rows in suspect.asked] == [10, 10, 3]
    np.testing.assert_array_equal(np.vstack(suspect.asked), X)  # every float32 arrives exactly
    assert waits == []
    assert suspect.tokens == [None] * 3


def test_a_token_is_sent_and_never_shown(suspect):
    put(suspect, token=WORD)
    assert suspect.tokens == [f"Bearer {WORD}"] * 3
    suspect.faults = [suspects.status(403)]
    assert WORD not in refused(suspect, token=WORD)
    for token in ("", "two words", "line\nbreak", "\u00e9"):
        with pytest.raises(EndpointError, match="one word of printable ASCII"):
            Endpoint(suspect.url, token=token)


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (suspects.status(500), "500"),
        (suspects.status(502), "502"),
        (suspects.status(503), "503"),
        (suspects.status(429), "429"),
        (suspects.cut, "received 14 bytes, expected 1000"),
        (suspects.silent, "disconnected"),
        (suspects.garbage, "cannot be reached"),
    ],
)
def test_temporary_failures_are_retried_and_lasting_ones_reported(suspect, fault, word):
    suspect.faults = [fault] * 3
    found, waits = put(suspect)
    np.testing.assert_array_equal(found.values, votes(X))
    assert waits == [0.5, 1.0, 2.0]
    suspect.faults = [fault] * 5
    line = refused(suspect, EndpointUnavailableError)
    assert word in line
    assert line.endswith("tried 5 times")


def test_retry_after_is_followed_within_limits(suspect):
    soon = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    past = email.utils.format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
    wanted = ["7", soon, past, "soon"]
    suspect.faults = [suspects.status(429, Retry_After=value) for value in wanted]
    found, waits = put(suspect)
    np.testing.assert_array_equal(found.values, votes(X))
    assert waits[0] == 7.0
    assert 10 < waits[1] <= 20
    assert waits[2:] == [0.0, 4.0]  # a time in the past, and a header without meaning
    for value in ("3600", "9" * 30):
        suspect.faults = [suspects.status(503, Retry_After=value)]
        assert "more than the 60 s allowed" in refused(suspect, EndpointUnavailableError)
    suspect.faults = [suspects.status(503, Retry_After="30")]
    assert "no time is left" in refused(suspect, EndpointUnavailableError, Limits(total_s=20))


@pytest.mark.parametrize("fault", [suspects.stuck, suspects.dripping, suspects.dripping_headers])
def test_a_slow_suspect_is_given_up_after_its_time(suspect, fault):
    limits = Limits(request_s=0.3, attempts=2)
    suspect.faults = [fault] * 2
    assert "no whole answer within 0.3 s, tried 2 times" in refused(suspect, EndpointUnavailableError, limits)
    suspect.faults = [fault]
    patient = Limits(request_s=0.5, attempts=20)  # a busy machine may need more than one of them
    np.testing.assert_array_equal(put(suspect, patient)[0].values, votes(X))


def test_the_total_time_is_limited(suspect):
    suspect.faults = [suspects.dripping] * 9
    with pytest.raises(EndpointUnavailableError, match=r"no time is left|within 0\.4 s"):
        put(suspect, Limits(request_s=0.3, total_s=0.4, first_wait_s=0.0, attempts=9))


def test_an_endless_body_is_refused(suspect):
    suspect.faults = [suspects.endless]
    assert "more than the 1000000 bytes allowed" in refused(suspect, limits=Limits(max_bytes=10**6))


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(suspect, code):
    with Suspect(suspect.answer) as other:
        suspect.faults = [suspects.status(code, Location=other.url)]
        line = refused(suspect, token=WORD)
        assert f"redirects to {other.url}" in line
        assert (other.asked, other.tokens) == ([], [])
    assert len(suspect.tokens) == 1


@pytest.mark.parametrize(
    ("code", "word"), [(400, "400"), (401, "token"), (404, "404 Not Found"), (413, "413"), (501, "501")]
)
def test_a_refusal_is_reported_without_retries(suspect, code, word):
    suspect.faults = [suspects.status(code)]
    assert word in refused(suspect)
    assert len(suspect.tokens) == 1


def test_no_proxy_of_the_environment_sees_rows_or_token(suspect, monkeypatch):
    with Suspect(suspect.answer) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        np.testing.assert_array_equal(put(suspect, token=WORD)[0].values, votes(X))
        assert (proxy.asked, proxy.tokens) == ([], [])


def test_an_endpoint_can_be_asked_from_within_an_event_loop(suspect):
    async def notebook():
        return put(suspect)[0]

    np.testing.assert_array_equal(asyncio.run(notebook()).values, votes(X))


def test_an_impossible_host_name_is_one_clear_error():
    with pytest.raises(EndpointUnavailableError, match="cannot be reached") as failed:
        ask(Endpoint(f"http://{'a' * 70}.invalid/votes", limits=Limits(attempts=1)), X)
    assert str(failed.value).isprintable()


def test_a_closed_port_is_reported():
    with Suspect(lambda rows: {}) as gone:
        pass
    assert "refused" in refused(gone, EndpointUnavailableError)


OTHER = [
    (b"", "did not answer with JSON"),
    (b"<html>busy</html>", "did not answer with JSON, but '<html>busy</html>'"),
    (b"\xff\xfe", "did not answer with JSON"),
    (b"[" * 200_000, "answered with more arrays than"),
    (b"[" * 4_000, "did not answer with JSON"),
    (b'{"votes": ' + b"9" * 10_000 + b"}", "did not answer with JSON"),
    (b'{"votes": NaN}', "did not answer with JSON"),
    (b"7", "JSON that is neither an object nor a list"),
    (b"[[0, 1]]", "instances 1 to 10 of 23 with 1 answers"),
    (b"{}", "answered with nothing, not with any of votes, probabilities, labels, predictions"),
    (b'{"result": [1]}', "answered with 'result'"),
    (b'{"votes": 1}', "votes that are not a list"),
    (b'{"votes": []}', "instances 1 to 10 of 23 with 0 votes"),
    (json.dumps({"votes": [[0, 1]] * 9}).encode(), "instances 1 to 10 of 23 with 9 votes"),
    (json.dumps({"votes": [0] * 10}).encode(), "must be an (instances, trees) array"),
    (json.dumps({"votes": [[]] * 10}).encode(), "holds no votes"),
    (json.dumps({"votes": [[0, 1]] * 9 + [[0]]}).encode(), "not an array"),
    (json.dumps({"votes": [[0, 2]] * 10}).encode(), "of 0 and 1"),
    (json.dumps({"votes": [[0, 0.5]] * 10}).encode(), "of 0 and 1"),
    (json.dumps({"votes": [["0", "1"]] * 10}).encode(), "of 0 and 1"),
    (json.dumps({"votes": [[None, 1]] * 10}).encode(), "of 0 and 1"),
    (json.dumps({"votes": [[10**30, 1]] * 10}).encode(), "of 0 and 1"),
    (b'{"votes": [' + b",".join([b"[1e999, 1]"] * 10) + b"]}", "of 0 and 1"),
    (json.dumps({"probabilities": [1.5] * 10}).encode(), "outside [0, 1]"),
    (json.dumps({"probabilities": [[0.5, 0.1]] * 10}).encode(), "do not add up to 1"),
    (json.dumps({"probabilities": [[0.5, 0.25, 0.25]] * 10}).encode(), "one number"),
    (json.dumps({"probabilities": ["0.5"] * 10}).encode(), "one number"),
    (json.dumps({"labels": ["cat"] * 10}).encode(), "labels must be 0 and 1, or 'no' and 'yes'"),
    (json.dumps({"labels": [[0, 1]] * 10}).encode(), "labels must be"),
]


@pytest.mark.parametrize(("content", "word"), OTHER, ids=[content[:30] for content, _ in OTHER])
def test_other_answers_are_one_clear_line(suspect, content, word):
    suspect.faults = [suspects.body(content)]
    assert word in refused(suspect, class_names=("no", "yes"))


def test_probabilities_and_labels_are_read(suspect):
    suspect.answer = lambda rows: {"probabilities": rows[:, 0].tolist()}
    found, _ = put(suspect)
    assert found.kind == "probabilities"
    np.testing.assert_allclose(found.values, X[:, 0])
    suspect.answer = lambda rows: {"probabilities": [[1 - float(x), float(x)] for x in rows[:, 0]]}
    np.testing.assert_allclose(put(suspect)[0].values, X[:, 0])
    for names, answer in ((("no", "yes"), ["no", "yes"]), (("2", "6"), [2, 6]), (("a", "b"), [0, 1])):
        suspect.answer = lambda rows, answer=answer: {"labels": [answer[int(x > 0.5)] for x in rows[:, 0]]}
        found, _ = put(suspect, class_names=names)
        assert found.kind == "labels"
        np.testing.assert_array_equal(found.values, X[:, 0] > 0.5)
    suspect.answer = lambda rows: {"labels": [0] * len(rows), "votes": votes(rows).tolist()}
    assert put(suspect)[0].kind == "votes", "the most informative kind"


def test_a_suspect_that_changes_its_kind_of_answers_is_refused(suspect):
    suspect.faults = []
    suspect.answer = lambda rows: (
        {"votes": votes(rows).tolist()} if len(rows) == 10 else {"labels": [0] * len(rows)}
    )
    assert "answered labels for instances from 20 on, votes of 4 trees before" in refused(suspect)
    suspect.answer = lambda rows: {"votes": votes(rows)[:, : 4 if len(rows) == 10 else 3].tolist()}
    assert "votes of 3 trees for instances from 20 on, votes of 4 trees before" in refused(suspect)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "votes",
        "ftp://host/votes",
        "file:///etc/passwd",
        "http://",
        "http:///votes",
        "http://host:port/",
        "http://host:99999/",
        "http://[::1/",
        "http://host/a b",
        "http://host/\nX: y",
        "http://user:password@host/",
        "http://token@host/",
    ],
)
def test_other_addresses_are_refused_before_any_request(url):
    with pytest.raises(EndpointError) as failed:
        Endpoint(url)
    assert str(failed.value).isprintable()
    assert "password@" not in str(failed.value)


def test_a_token_is_not_sent_unencrypted():
    with pytest.raises(EndpointError, match="in the clear: use https"):
        check_address("http://example.org/votes", has_token=True)
    for url in ("https://example.org/votes", "http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost/"):
        assert check_address(url, has_token=True) == url
    assert check_address("https://example.org/votes?key=word", has_token=False) == "https://example.org/votes"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[str, str]:
    """Return a self-signed certificate."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    files = (str(folder / "certificate.pem"), str(folder / "key.pem"))
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    ending.run([program, *request, *names, "-out", files[0], "-keyout", files[1]])
    return files


def test_certificates_are_checked(certificate, monkeypatch):
    with Suspect(lambda rows: {"votes": votes(rows).tolist()}, certificate=certificate) as suspect:
        assert "its certificate is not valid" in refused(suspect)
        assert suspect.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
        np.testing.assert_array_equal(put(suspect, token=WORD)[0].values, votes(X))
        suspect.faults = [suspects.dripping] * 2
        limits = Limits(request_s=0.5, attempts=2)
        assert "no whole answer within 0.5 s" in refused(suspect, EndpointUnavailableError, limits)


def test_a_reply_of_one_row_less_says_in_which_part_it_is_missing():
    def answer(rows):
        found = votes(rows).tolist()
        return {"votes": found[:-1] if np.array_equal(rows[0], X[10]) else found}

    with Suspect(answer) as suspect:
        assert "answered instances 11 to 20 of 23 with 9 votes" in refused(suspect)
