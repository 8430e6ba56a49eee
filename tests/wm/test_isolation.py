"""Child processes can be killed at any moment, are replaced at once, and never outlive their parent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from wm.isolation import ChildError, ChildKilledError, Sandbox

SERVICE = """
    import ctypes, os, resource, signal, sys, time
    from pathlib import Path
    from wm.fork_server import requests

    def prepare(greeting, then=None):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if then == "fail":
            raise ValueError("cannot prepare: " + greeting)
        if then == "exit":
            os._exit(5)
        if then == "prepare until there is a file":
            while not Path(greeting).exists():
                time.sleep(0.01)
        if then == "prepare for ever":
            Path(greeting).touch()
            time.sleep(1000)
        return greeting

    def serve(connection, greeting):
        for what in requests(connection):
            if what == "block, holding the interpreter's lock":
                ctypes.PyDLL(None).sleep(1000)
            elif what == "compute in C":
                pow(3, 10**9)
            elif what == "ignore signals":
                for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                time.sleep(1000)
            elif what == "allocate without end":
                held = []
                while True:
                    held.append(b"x" * (1 << 23))
                    time.sleep(0.005)
            elif what == "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            elif what == "exit":
                os._exit(3)
            elif what == "raise":
                sys.stderr = open(os.devnull, "w")
                raise RuntimeError("on purpose")
            elif what == "answer late":
                time.sleep(0.5)
                connection.send("late")
            elif isinstance(what, str) and what.startswith("answer when there is "):
                while not Path(what.removeprefix("answer when there is ")).exists():
                    time.sleep(0.01)
                connection.send("worked")
            elif what == "print":
                print("noise on stdout", flush=True)
                connection.send("printed")
            elif what == "where":
                connection.send((os.getpid(), os.getppid(), os.getsid(0)))
            elif what == "large":
                connection.send(b"y" * 10_000_000)
            elif isinstance(what, Path):
                what.touch()
                ctypes.PyDLL(None).sleep(1000)
            else:
                connection.send((greeting, what))
"""


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Name of a module that children can import, with messages that make it misbehave."""
    (tmp_path / "naughty.py").write_text(textwrap.dedent(SERVICE))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return "naughty"


def state_of(pid):
    """Return a process's state letter and parent; None if it does not exist."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1])


def command_of(pid):
    """Return a process's command line; empty if it does not exist."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(pid):
    state = state_of(pid)
    return state is not None and state[0] not in "ZX"


def descendants(pid):
    """Return the ids of all running processes below one."""
    children = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (state_of(entry.name) or ("", 0))[1] == pid
    ]
    return [below for child in children for below in (child, *descendants(child)) if is_running(below)]


def wait_until(condition, limit_s=20.0):
    """Wait for a condition and return whether it came true; the limit allows for a loaded machine."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_child_answers_with_the_prepared_value(service):
    with Sandbox(service, "hello") as sandbox:
        assert sandbox.ask(1, timeout_s=60) == ("hello", 1)
        assert sandbox.ask([2], timeout_s=60, memory_bytes=2**40) == ("hello", [2])
        assert len(sandbox.ask("large", timeout_s=60)) == 10_000_000
        assert sandbox.memory() > 1_000_000


def test_a_child_has_its_own_session_and_does_not_write_to_stdout(service, capfd):
    with Sandbox(service, "hello") as sandbox:
        child, template, session = sandbox.ask("where", timeout_s=60)
        assert child == sandbox.child_pid
        assert template not in (child, os.getpid())
        assert session != os.getsid(0)  # the terminal's Ctrl-C does not reach it
        assert sandbox.ask("print", timeout_s=60) == "printed"
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "noise on stdout" in captured.err


@pytest.mark.parametrize("what", ["block, holding the interpreter's lock", "compute in C", "ignore signals"])
def test_the_time_limit_kills_the_child_in_any_state(service, what):
    with Sandbox(service, "hello") as sandbox:
        sandbox.ready()
        first = sandbox.child_pid
        with pytest.raises(TimeoutError):
            sandbox.ask(what, timeout_s=0.3)
        assert sandbox.ask("next", timeout_s=60) == ("hello", "next")
        assert sandbox.child_pid != first
        assert not is_running(first)


def test_the_memory_limit_kills_the_child(service):
    with Sandbox(service, "hello") as sandbox:
        with pytest.raises(MemoryError):
            sandbox.ask("allocate without end", timeout_s=60, memory_bytes=200_000_000)
        assert sandbox.ask("next", timeout_s=60, memory_bytes=200_000_000) == ("hello", "next")


@pytest.mark.parametrize(
    ("what", "error", "how"),
    [
        ("crash", ChildKilledError, "killed by SIGSEGV"),
        ("exit", ChildError, "exit code 3"),
        ("raise", ChildError, "exit code 1"),
    ],
)
def test_a_child_that_dies_is_replaced_and_the_error_says_how_it_ended(service, what, error, how):
    with Sandbox(service, "hello") as sandbox:
        for _ in range(2):
            with pytest.raises(ChildError) as caught:
                sandbox.ask(what, timeout_s=60)
            assert type(caught.value) is error
            assert str(caught.value) == f"the child process ended without an answer ({how})"
            assert sandbox.ask("next", timeout_s=60) == ("hello", "next")


def test_a_child_killed_while_idle_is_replaced(service):
    with Sandbox(service, "hello") as sandbox:
        sandbox.ready()
        os.kill(sandbox.child_pid, signal.SIGKILL)
        assert wait_until(lambda: not is_running(sandbox.child_pid))
        with pytest.raises(ChildKilledError, match="killed by SIGKILL"):
            sandbox.ask("never seen", timeout_s=60)
        assert sandbox.ask("next", timeout_s=60) == ("hello", "next")


class Interruption(BaseException):
    """Represents any exception of a signal handler."""


def test_the_answer_to_an_interrupted_message_is_not_taken_for_the_next_answer(service):
    def interrupt(*_):
        raise Interruption

    with Sandbox(service, "hello") as sandbox:
        sandbox.ready()
        former = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Interruption):
                sandbox.ask("answer late", timeout_s=60)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
        assert sandbox.ask("next", timeout_s=60) == ("hello", "next")


@pytest.mark.parametrize(
    ("module", "then", "reason"),
    [
        ("no_such_module", None, "No module named 'no_such_module'"),
        ("naughty", "fail", "ValueError: cannot prepare: hello"),
        ("naughty", "exit", "it died"),
    ],
)
def test_a_template_that_cannot_start_gives_the_reason(service, module, then, reason):
    with Sandbox(module, "hello", then) as sandbox:
        with pytest.raises(ChildError, match="the child process could not be started") as caught:
            sandbox.ready()
        assert reason in str(caught.value)
        with pytest.raises(ChildError, match="the child process could not be started"):
            sandbox.ask("anything", timeout_s=60)


def test_a_template_that_is_not_ready_in_time_is_an_error_and_can_be_awaited_again(service, tmp_path):
    file = tmp_path / "file"
    with Sandbox(service, str(file), "prepare until there is a file") as sandbox:
        with pytest.raises(ChildError, match=r"was not ready after 0\.05 s"):
            sandbox.ready(timeout_s=0.05)
        file.touch()
        assert sandbox.ask("next", timeout_s=60) == (str(file), "next")


def test_a_killed_template_ends_its_child_and_is_an_error(service):
    with Sandbox(service, "hello") as sandbox:
        child, template, _ = sandbox.ask("where", timeout_s=60)
        os.kill(template, signal.SIGKILL)
        assert wait_until(lambda: not is_running(child))
        with pytest.raises(ChildKilledError, match="ended without an answer"):
            sandbox.ask("anything", timeout_s=60)
        with pytest.raises(ChildError, match="could not be started"):
            sandbox.ask("anything", timeout_s=60)


@pytest.mark.parametrize("asked", ["nothing", "where", "block, holding the interpreter's lock"])
def test_closing_ends_child_and_template_without_output(service, capfd, asked):
    """Also if the last child was never used: forked and announced, but not received."""

    def mine():  # engines of other tests may fork at the same time
        return [pid for pid in descendants(os.getpid()) if service in command_of(pid)]

    with Sandbox(service, "hello") as sandbox:
        if asked == "where":
            sandbox.ask(asked, timeout_s=60)
        elif asked != "nothing":
            with pytest.raises(TimeoutError):
                sandbox.ask(asked, timeout_s=0.1)
        assert wait_until(lambda: len(mine()) == 2)
        both = mine()
    assert wait_until(lambda: not any(map(is_running, both)))
    sandbox.close()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("sent", [b"", b"\0\0"], ids=["nothing", "half a length"])
def test_a_template_whose_parent_ended_before_sending_its_arguments_says_nothing(service, sent):
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", "-m", "wm.fork_server", str(theirs.fileno()), service]
        template = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE)
    with ours:
        ours.sendall(sent)
    _, errors = template.communicate(timeout=60)
    assert (template.returncode, errors) == (0, b"")


FROZEN = """
    import sys
    from wm.isolation import Sandbox
    with Sandbox("naughty", "hello") as sandbox:
        sandbox.ready()
        print(flush=True)
        answer = sandbox.ask("answer when there is " + sys.argv[1], timeout_s=8)
    print(answer, sandbox.suspended_s)
"""


def test_a_limit_does_not_count_time_for_which_all_processes_were_suspended(service, tmp_path):
    """As by `docker pause`, Slurm's suspend, or a hypervisor: for longer than the limit."""
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ["PYTHONPATH"]])}
    file = tmp_path / "file"
    command = [sys.executable, "-c", textwrap.dedent(FROZEN), str(file)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout.readline() == "\n"
            time.sleep(1)  # until it has asked: a clock that starts after the suspension knows nothing of it
            everyone = [parent.pid, *descendants(parent.pid)]
            for number in (signal.SIGSTOP, signal.SIGCONT):
                for pid in everyone:
                    os.kill(pid, number)
                if number == signal.SIGSTOP:
                    time.sleep(9)
                    file.touch()
            answer, suspended_s = parent.communicate(timeout=60)[0].split()
        finally:
            parent.kill()
    assert answer == "worked"
    assert float(suspended_s) > 8


PARENTS = {
    "a child that blocks in C": """
        import sys
        from pathlib import Path
        from wm.isolation import Sandbox
        Sandbox("naughty", "hello").ask(Path(sys.argv[1]), timeout_s=1000)
        """,
    "a solver": """
        import sys
        from pathlib import Path
        from tests.pigeonholes import hopelessly_slow
        from wm import engines
        forest = hopelessly_slow()
        engine = engines.create("sat", forest)
        def solve(centre, eps):
            bits = [0] * forest.n_trees if eps else forest.votes([centre])[0] != 1
            query = engines.ForgeryQuery(signature=bits, label=1, centre=centre, eps=eps)
            return engine.solve(query, timeout_s=1000)
        assert solve([0.0] * 240, 0.0).status == "forged"
        Path(sys.argv[1]).touch()
        solve([0.5] * 240, 0.5)
        """,
    "a template that is still preparing": """
        import sys, time
        from wm.isolation import Sandbox
        kept = Sandbox("naughty", sys.argv[1], "prepare for ever")  # its end would be the template's
        time.sleep(1000)
        """,
}


@pytest.mark.parametrize("has", PARENTS)
def test_no_process_outlives_a_killed_parent(service, tmp_path, has):
    busy = tmp_path / "busy"
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ["PYTHONPATH"]])}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENTS[has]), str(busy)], env=environment
    ) as parent:
        try:
            assert wait_until(busy.exists, limit_s=60)
            count = 1 if has == "a template that is still preparing" else 2
            assert wait_until(lambda: len(descendants(parent.pid)) == count, limit_s=60)
            below = descendants(parent.pid)
            assert parent.poll() is None
        finally:
            parent.kill()
    assert wait_until(lambda: not any(map(is_running, below)))
