"""A notary's HTTP service and its client: receipts, refusals, limits on what any client can do."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import pytest

from tests import ending
from tests.pools import OWNER
from wm.claims.beacons import notary_service
from wm.claims.beacons.asking import MAX_ANSWER_BYTES, notary_receipt
from wm.claims.beacons.base import Receipt
from wm.claims.beacons.notary import read_statement, sign_receipt
from wm.claims.beacons.notary_log import NotaryLog
from wm.claims.beacons.notary_service import NotaryService
from wm.claims.beacons.request import MAX_REQUEST_BYTES, sign_request
from wm.claims.keys import new_key, public_hex
from wm.errors import ClaimError, EndpointError, EndpointUnavailableError

KEY, TOKEN = new_key(), "secret"
REQUEST = sign_request("c5" * 32, OWNER)
JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        ending.join(thread)
        server.server_close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notary.log"


@pytest.fixture
def lines():
    return []


@pytest.fixture
def service(path, lines):
    with running(
        NotaryService("127.0.0.1", 0, NotaryLog(path, KEY), token=None, report=lines.append)
    ) as server:
        yield server


@pytest.fixture
def guarded(path, lines):
    with running(
        NotaryService("127.0.0.1", 0, NotaryLog(path, KEY), token=TOKEN, report=lines.append)
    ) as server:
        yield server


def ask(service, method, path, body=None, headers=JSON):
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def speak(service, content, *, end=True):
    """Send bytes that no client would, and return the answer until the end."""
    host, port = service.server_address
    with socket.create_connection((host, port), timeout=30) as connection:
        connection.sendall(content)
        if end:
            connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


def test_a_receipt_is_given_and_logged(service, path, lines):
    receipt = notary_receipt(service.url, REQUEST)
    assert path.read_text() == receipt.content + "\n"
    assert read_statement(receipt.content)[0] == public_hex(KEY)
    assert lines == ['127.0.0.1 "POST /receipts HTTP/1.1" 201 -']
    assert notary_receipt(service.url + "/", REQUEST) != receipt


def test_key_and_log_are_shown(service, path):
    assert ask(service, "GET", "/key") == (200, b'{"notary": "%s"}\n' % public_hex(KEY).encode())
    assert ask(service, "GET", "/log") == (200, b"")
    notary_receipt(service.url, REQUEST)
    assert ask(service, "GET", "/log") == (200, path.read_bytes())


def test_a_log_longer_than_one_piece_is_shown_whole(service, path):
    line = sign_receipt(KEY, commitment="c5" * 32, owner="0b" * 32, number=1).content + "\n"
    path.write_text(line * 200)
    assert ask(service, "GET", "/log") == (200, path.read_bytes())


BODY = REQUEST.to_line()


@pytest.mark.parametrize(
    ("method", "address", "body", "headers", "status", "reason"),
    [
        ("POST", "/receipts", BODY, {}, 415, "send application/json"),
        ("POST", "/receipts", BODY, {"Content-Type": "text/plain"}, 415, "send application/json"),
        ("POST", "/receipts", "{}", JSON, 400, "request: not a commitment: commitment: Field required"),
        ("POST", "/receipts", "x", JSON, 400, "request: not JSON: Expecting value: line 1 column 1 (char 0)"),
        (
            "POST",
            "/receipts",
            BODY.replace('"owner"', '"owner": "", "owner"'),
            JSON,
            400,
            "request: a key occurs twice in one JSON object",
        ),
        ("POST", "/receipts", " " * (MAX_REQUEST_BYTES + 1), JSON, 413, "at most 4096 bytes"),
        ("POST", "/receipts", None, JSON | {"Content-Length": "9" * 5000}, 411, "say the length, once"),
        ("POST", "/receipts", None, JSON | {"Content-Length": "-1"}, 411, "say the length, once"),
        ("POST", "/receipts", None, JSON | {"Content-Length": "\u00b2"}, 411, "say the length, once"),
        ("POST", "/receipts", iter([BODY.encode()]), JSON, 411, "say the length, once"),
        ("POST", "/", BODY, JSON, 404, "no such address: POST /receipts"),
        ("GET", "/receipts", None, {}, 404, "no such address: /log, /key or POST /receipts"),
        ("GET", "/../etc/passwd", None, {}, 404, "no such address: /log, /key or POST /receipts"),
        ("PUT", "/receipts", BODY, JSON, 501, "not implemented"),
    ],
)
def test_other_requests_are_refused_in_json(service, path, method, address, body, headers, status, reason):
    found, content = ask(service, method, address, body, headers)
    assert (found, json.loads(content)) == (status, {"error": reason})
    assert not path.exists()


def test_requests_that_are_no_http_are_refused(service):
    assert b'"error": "bad request' in speak(service, b"\x16\x03\x01 hello\r\n\r\n")
    too_long = speak(service, b"GET /" + b"x" * 70_000)
    assert too_long.startswith(b"HTTP/1.0 414 ")
    assert b'uri too long"}' in too_long, "in the words of the Python that runs it"
    head = b"POST /receipts HTTP/1.1\r\nContent-Type: application/json\r\n"
    assert b"say the length, once" in speak(service, head + b"\r\n")
    assert b"say the length, once" in speak(service, head + b"Content-Length: 2\r\n" * 2 + b"\r\n{}")
    assert b"was cut off" in speak(service, head + b"Content-Length: 9\r\n\r\n{}")
    assert speak(service, b"") == b""


def test_a_slow_request_is_cut_off(service, monkeypatch):
    monkeypatch.setattr(notary_service, "READ_LIMIT_S", 0.3)
    # Nothing but a part of the head, and no end.
    answer = speak(service, b"POST /receipts HTTP/1.1\r\nContent-Type: application/json\r\n", end=False)
    assert b"201" not in answer


def test_more_connections_than_allowed_are_turned_away(path, lines, monkeypatch):
    monkeypatch.setattr(notary_service, "MAX_CONNECTIONS", 1)
    made = NotaryService("127.0.0.1", 0, NotaryLog(path, KEY), token=None, report=lines.append)
    with running(made) as service:
        with socket.create_connection(service.server_address) as first:
            first.sendall(b"GET /key HTTP/1.1\r\n")
            ending.until(lambda: not has_room(service))
            first.sendall(b"\r\n")
            assert first.makefile("rb").read().startswith(b"HTTP/1.0 200")
        ending.until(lambda: has_room(service))


def has_room(service):
    try:
        notary_receipt(service.url, REQUEST)
    except EndpointUnavailableError as refusal:
        assert "answered 503" in str(refusal) or "cannot be reached" in str(refusal)  # noqa: PT017 - either
        return False
    return True


def test_a_token_is_asked_for(guarded):
    for token in (None, "another"):
        with pytest.raises(EndpointError, match=r"/receipts: answered 401: the token is missing or wrong"):
            notary_receipt(guarded.url, REQUEST, token=token)
    assert notary_receipt(guarded.url, REQUEST, token=TOKEN).kind == "notary"
    assert ask(guarded, "GET", "/key")[0] == 200


def test_a_log_that_cannot_be_used_is_told_to_the_notary_only(service, path, lines):
    path.write_text("no receipt\n")
    with pytest.raises(EndpointError, match=r"answered 500 .*the notary's log cannot be used"):
        notary_receipt(service.url, REQUEST)
    assert lines[0].startswith(f"the log cannot be used: {path}: line 1: is no receipt")
    path.unlink()
    path.mkdir()
    status, content = ask(service, "GET", "/log")
    assert (status, json.loads(content)) == (500, {"error": "the notary's log cannot be used"})


def test_the_address_may_be_of_ipv6():
    if not socket.has_ipv6:
        return
    try:
        server = NotaryService("::1", 0, NotaryLog("unused", KEY), token=None, report=print)
    except OSError:  # this machine has no such address
        return
    with running(server):
        assert server.url.startswith("http://[::1]:")
        assert ask(server, "GET", "/key")[0] == 200


@contextlib.contextmanager
def answering(status, content, headers=()):
    """A server that gives one answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with running(HTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


OTHERS = (
    sign_receipt(KEY, commitment="c6" * 32, owner=REQUEST.owner, number=1),
    sign_receipt(KEY, commitment=REQUEST.commitment, owner="0b" * 32, number=1),
    Receipt(kind="none", content="00" * 32),
    Receipt(kind="notary", content="{}"),
)


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (201, OTHERS[0].to_json(), "is of another commitment"),
        (201, OTHERS[1].to_json(), "was given to another owner's key"),
        (201, OTHERS[2].to_json(), "gave a receipt of kind 'none'"),
        (201, OTHERS[3].to_json(), "not a DSSE envelope"),
        (201, "<html>", "not a beacon's receipt"),
        (201, "x" * (MAX_ANSWER_BYTES + 1), "answered with more than the 65536 bytes allowed"),
        (302, "", "redirects to http://127.0.0.1:9/: redirects are not followed"),
        (400, "two\nlines \x1b[31m", r"answered 400 Bad Request: two lines \[31m"),
        (400, "[" * 10_000, r"answered 400 Bad Request: \[{120}$"),
    ],
    ids=range(9),  # each process of the tests makes other receipts
)
def test_other_answers_are_refused(status, content, reason):
    headers = [("Location", "http://127.0.0.1:9/")] if status == 302 else []
    with (
        answering(status, content.encode(), headers) as url,
        pytest.raises((ClaimError, EndpointError), match=reason) as raised,
    ):
        notary_receipt(url, REQUEST)
    assert str(raised.value).startswith(f"{url}/receipts: ")
    assert str(raised.value).isprintable()


def test_a_notary_that_is_away_slow_or_busy_may_be_asked_again():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EndpointUnavailableError, match=r"no whole answer within 0.2 s"):
            notary_receipt(url, REQUEST, limit_s=0.2)
    with pytest.raises(EndpointUnavailableError, match="cannot be reached"):
        notary_receipt(url, REQUEST)
    with answering(429, b"") as url, pytest.raises(EndpointUnavailableError, match="answered 429"):
        notary_receipt(url, REQUEST)


@pytest.mark.parametrize(
    "url",
    ["", "notary", "ftp://host", "http://", "http://h:99999", "http://u:p@h", "http://h/?a=1", "http://[::"],
)
def test_addresses_that_cannot_be_used_are_refused(url):
    with pytest.raises(EndpointError, match=r"not an address|a user or password|not the address"):
        notary_receipt(url, REQUEST)


def test_a_token_is_not_sent_in_the_clear():
    with pytest.raises(EndpointError, match="a token would be sent to"):
        notary_receipt("http://notary.example", REQUEST, token=TOKEN)
    with pytest.raises(EndpointError, match=r"is not printable ASCII$"):
        notary_receipt("https://notary.example", REQUEST, token=f"{TOKEN}\n")
