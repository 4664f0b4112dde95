from __future__ import annotations

import json
import subprocess
from pathlib import Path

import torch

import gpuclf
from gpuclf.report.environment import environment, git_state
from gpuclf.report.strict_json import dump


def test_environment_names_versions_device_seeds_and_data(tmp_path: Path) -> None:
    data = [{"path": "x.tsv", "size": 3, "sha256": "ab"}]
    found = json.loads(dump(environment(torch.device("cpu"), [0, 1], data, folder=tmp_path)))  # type: ignore[arg-type]
    assert found["gpuclf"] == gpuclf.__version__
    assert found["packages"]["torch"] == torch.__version__
    assert found["device"]["type"] == "cpu"
    assert found["threads"] == torch.get_num_threads()
    assert found["precision"]["tf32"] is False
    assert found["seeds"] == [0, 1]
    assert found["data"] == data


def test_git_state_tells_the_commit_and_counts_changes(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    assert git_state(tmp_path) is None  # no commit yet
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-q", "-m", "a")
    assert git_state(tmp_path) == {"commit": git("rev-parse", "HEAD").strip(), "changed": 0}
    (tmp_path / "a").write_text("2")
    (tmp_path / "untracked").write_text("")
    state = git_state(tmp_path)
    assert state is not None
    assert state["changed"] == 1
