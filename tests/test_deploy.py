"""The files for Kubernetes and Slurm, read against the code; `make release` checks their schema too."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from tests import ending
from tests.commands import assert_exists, assert_is_read
from workers.runtime.stopping import STOP_LIMIT_S

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
DOCUMENTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
PODS = {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in DOCUMENTS if "spec" in each}


@pytest.fixture(params=PODS)
def pod(request):
    return PODS[request.param]


def test_there_are_orchestrator_worker_and_upgrade():
    assert set(PODS) == {"treeproof-upgrade", "treeproof-orchestrator", "treeproof-worker"}


def test_every_command_and_option_exists(pod):
    for container in pod["containers"]:
        assert_exists(container["args"])


def test_every_variable_is_read_by_the_code_and_has_a_value(pod):
    (values,) = [each["data"] for each in DOCUMENTS if each["kind"] == "ConfigMap"]
    mounted = {each["name"] for each in pod["volumes"]}
    for container in pod["containers"]:
        for variable in container["env"]:
            assert_is_read(variable["name"])
            if "valueFrom" in variable:
                assert variable["valueFrom"]["configMapKeyRef"]["key"] in values
            else:
                assert variable["value"].startswith("/run/secrets/treeproof/")
        assert {each["name"] for each in container["volumeMounts"]} == mounted


def test_no_address_has_a_password(pod):
    for each in DOCUMENTS:
        for address in each.get("data", {}).values():
            assert "@" in address
            assert address.split("@")[0].count(":") == 1 or "://:@" in address


def test_each_runs_without_rights_and_has_time_to_end(pod):
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    # Else Kubernetes sets WM_... variables for a service that has such a name.
    assert pod["enableServiceLinks"] is False
    if pod.get("restartPolicy") != "OnFailure":  # a service
        assert pod["terminationGracePeriodSeconds"] >= STOP_LIMIT_S + 10
    for container in pod["containers"]:
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]


def test_the_batch_script_is_shell_and_its_command_exists():
    script = DEPLOY / "workers.sbatch"
    ending.run(["/bin/bash", "-n", str(script)])
    (line,) = [line for line in script.read_text().splitlines() if "srun" in line]
    words = shlex.split(line.replace("$SLURM_CPUS_PER_TASK", "8"))
    assert words[:3] == ["exec", "srun", "wm"]
    assert_exists(words[3:])
