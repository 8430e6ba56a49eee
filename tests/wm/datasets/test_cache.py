import re
import threading
from pathlib import Path

import pytest

from tests import ending
from wm.datasets.cache import default_data_dir, download, make_directory, write_atomically
from wm.errors import DataError


def accept(content):
    """Every content is good."""


def refuse(content):
    raise DataError("not the known file")


def test_the_data_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WM_DATA_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_data_dir() == tmp_path / ".cache" / "treeproof"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/paths/are/ignored")
    assert default_data_dir() == tmp_path / ".cache" / "treeproof"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_data_dir() == tmp_path / "xdg" / "treeproof"
    monkeypatch.setenv("WM_DATA_DIR", "~/data")
    assert default_data_dir() == tmp_path / "data"


def test_a_download_is_checked_and_kept(server, tmp_path):
    server.files["/set.bin"] = bytes(range(256)) * 1000
    target = tmp_path / "new" / "set.bin"
    checked = []
    content = download(f"{server.url}/set.bin", target, check=checked.append)
    assert content == server.files["/set.bin"] == target.read_bytes()
    assert checked == [content]


def test_what_fails_the_check_is_not_kept(server, tmp_path):
    server.files["/set.bin"] = b"tampered"
    with pytest.raises(DataError, match="not the known file"):
        download(f"{server.url}/set.bin", tmp_path / "set.bin", check=refuse)
    assert list(tmp_path.iterdir()) == []


def failure(url, target):
    with pytest.raises(DataError, match=re.escape(f"cannot download {url}")) as caught:
        download(url, target, check=accept)
    assert list(target.parent.iterdir()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_offline_says_where_to_put_the_file(closed_url, tmp_path):
    text = failure(f"{closed_url}/set.bin", tmp_path / "set.bin")
    assert f"put set.bin into {tmp_path} (or set WM_DATA_DIR to the directory that has it)" in text


def test_a_file_that_the_server_lacks(server, tmp_path):
    assert "404" in failure(f"{server.url}/none.bin", tmp_path / "none.bin")


def test_a_file_that_is_cut_short(server, tmp_path):
    def cut(request):
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(bytes(60))

    server.answers["/set.bin"] = cut
    assert "cut short: 60 of 100 bytes" in failure(f"{server.url}/set.bin", tmp_path / "set.bin")


def test_a_file_without_announced_length(server, tmp_path):
    def unannounced(request):
        request.send_response(200)
        request.end_headers()
        request.wfile.write(bytes(60))

    server.answers["/set.bin"] = unannounced
    assert download(f"{server.url}/set.bin", tmp_path / "set.bin", check=accept) == bytes(60)


def test_a_file_that_is_too_large(server, tmp_path, monkeypatch):
    monkeypatch.setattr("wm.datasets.cache.SIZE_LIMIT_BYTES", 1000)
    server.files["/set.bin"] = bytes(1001)
    text = failure(f"{server.url}/set.bin", tmp_path / "set.bin")
    assert "more than 1000 bytes" in text


def test_a_silent_server_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr("wm.datasets.cache.TIME_LIMIT_S", 0.2)
    server.answers["/set.bin"] = lambda request: server.closing.wait()
    assert "timed out" in failure(f"{server.url}/set.bin", tmp_path / "set.bin")


def test_a_server_that_sends_single_bytes_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr("wm.datasets.cache.TIME_LIMIT_S", 0.2)

    def drip(request):
        request.send_response(200)
        request.send_header("Content-Length", "1000000")
        request.end_headers()
        try:
            while not server.closing.wait(0.02):
                request.wfile.write(b".")
        except ConnectionError:
            request.close_connection = True

    server.answers["/set.bin"] = drip
    text = failure(f"{server.url}/set.bin", tmp_path / "set.bin")
    assert "not done after 0.2 s" in text


def test_something_that_does_not_speak_http(server, tmp_path):
    server.answers["/set.bin"] = lambda request: request.wfile.write(b"who is there?\r\n\r\n")
    failure(f"{server.url}/set.bin", tmp_path / "set.bin")


def test_other_schemes_are_refused(tmp_path):
    with pytest.raises(DataError, match="only http and https"):
        download("file:///etc/hostname", tmp_path / "set.bin", check=accept)


def test_two_writers_leave_one_whole_file(tmp_path):
    target = tmp_path / "set.bin"
    contents = [bytes([number]) * 200_000 for number in range(8)]
    threads = [threading.Thread(target=write_atomically, args=(target, content)) for content in contents]
    for thread in threads:
        thread.start()
    ending.join(*threads)
    assert target.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [target]


def test_an_unusable_data_directory_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"cannot make the data directory .*WM_DATA_DIR"):
        make_directory(tmp_path / "file" / "below")


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(DataError, match="taken: cannot be written"):
        write_atomically(tmp_path / "taken", b"content")
    assert list(tmp_path.iterdir()) == [Path(tmp_path / "taken")]


def test_a_user_without_a_home_directory_has_a_temporary_data_directory(monkeypatch, tmp_path):
    def no_entry(_uid):
        raise KeyError

    for name in ("HOME", "WM_DATA_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", no_entry)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert default_data_dir().parent == tmp_path
    monkeypatch.setenv("HOME", "/dev/null")
    assert default_data_dir().parent == tmp_path
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("WM_DATA_DIR", "~/data")
    with pytest.raises(DataError, match="no home directory"):
        default_data_dir()
    monkeypatch.delenv("WM_DATA_DIR")
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    with pytest.raises(DataError, match="set WM_DATA_DIR"):
        default_data_dir()
