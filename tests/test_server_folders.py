from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.server_folders import PREFIX, make_folder, remove_abandoned

ROOT = Path(__file__).resolve().parent.parent
OWNER = """
import subprocess, sys
from pathlib import Path
from tests.server_folders import make_folder

folder = make_folder(Path(sys.argv[1]))
command = [sys.executable, "-c", "print(flush=True); input()"]
server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdout.readline()
print(folder, server.pid, flush=True)
sys.stdin.read()
"""


def test_a_folder_outlives_its_owner_until_the_next_is_made(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    folder, pid = owner.stdout.readline().split()
    remove_abandoned(tmp_path)
    assert Path(folder).is_dir(), "its owner lives"
    os.kill(int(pid), 0)
    owner.kill()
    owner.communicate(timeout=60)
    mine = make_folder(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [mine.name]
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_folders_that_are_not_of_servers_stay(tmp_path):
    (tmp_path / "treeproof-12345").mkdir()
    (tmp_path / f"{PREFIX}being-made").mkdir()
    remove_abandoned(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
