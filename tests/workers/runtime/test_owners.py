"""Owners of leases whose processes have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from workers.runtime.owners import machine, owner_is_gone, owner_is_running, owner_name, process_start


def owner_of(pid, start, host=None):
    return f"{host or machine()}:{pid}:{start}:0"


def test_slots_have_different_names_and_are_not_gone():
    names = {owner_name(slot) for slot in range(3)}
    assert len(names) == 3
    assert not any(map(owner_is_gone, names))


def test_another_living_process_is_not_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = owner_of(other.pid, process_start(other.pid))
        assert not owner_is_gone(owner)
        other.stdin.close()
        other.wait(60)
        assert owner_is_gone(owner)


def test_a_zombie_process_is_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = owner_of(other.pid, process_start(other.pid))
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{other.pid}").exists()
        assert owner_is_gone(owner)


def test_a_pid_that_another_process_has_now_does_not_deceive():
    assert not owner_is_gone(owner_of(os.getpid(), process_start(os.getpid())))
    assert owner_is_gone(owner_of(os.getpid(), "12345"))


def test_nothing_is_known_of_other_machines():
    assert not owner_is_gone(owner_of(os.getpid(), "12345", host="elsewhere"))
    assert not owner_is_gone(owner_of(2**22 + 1, "1", host="else:where"))


def test_without_proc_the_pid_alone_must_do(monkeypatch):
    def missing(_path, *_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert process_start(os.getpid()) == "unknown"
    assert process_start(2**22 + 1) is None
    assert not owner_is_gone(owner_name())


def test_without_proc_another_users_process_lives(monkeypatch):
    def forbidden(_pid, _signal):
        raise PermissionError

    def missing(_path, *_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(os, "kill", forbidden)
    assert process_start(1) == "unknown"


def test_only_a_process_that_is_not_stopped_is_running():
    assert owner_is_running(owner_name())
    assert not owner_is_running(owner_of(os.getpid(), "12345"))
    assert not owner_is_running(owner_of(os.getpid(), process_start(os.getpid()), host="elsewhere"))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = owner_of(other.pid, process_start(other.pid))
        assert owner_is_running(owner)
        other.send_signal(signal.SIGSTOP)
        os.waitpid(other.pid, os.WUNTRACED)
        assert not owner_is_running(owner)
        assert not owner_is_gone(owner)
        other.send_signal(signal.SIGCONT)
        other.stdin.close()
        other.wait(60)
        assert not owner_is_running(owner)
