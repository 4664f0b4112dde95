"""Real-world cases: inputs on which text classifiers broke or went wrong silently, through the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf, every_learner

DATA = Path(__file__).parent / "data"
_LEARNERS = every_learner()


@pytest.fixture
def gpuclf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gpuclf:
    """Runs commands in this process; the current directory is an empty folder."""
    standing = tmp_path / "standing"
    standing.mkdir()
    monkeypatch.chdir(standing)
    return Gpuclf(tmp_path, capsys, monkeypatch)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Path:
    """The folder with the inputs of the case that the test module is named after."""
    return DATA / Path(request.node.path).stem.removeprefix("test_").partition("_")[0]


@pytest.fixture(params=_LEARNERS.values(), ids=_LEARNERS)
def learner(request: pytest.FixtureRequest) -> dict[str, object]:
    """The model section of every learner there is, one after the other."""
    return dict(request.param)


@pytest.fixture
def weighing(learner: dict[str, object]) -> dict[str, object]:
    """Every learner that reads features of whatever kind, and not words alone."""
    if "sparse" not in LEARNERS[str(learner["type"])].reads:
        pytest.skip("reads sequences of words, and the case has none")
    return learner


@pytest.fixture
def last_weights(learner: dict[str, object]) -> dict[str, object]:
    """Every learner, without averaging: once its last epoch has no mistake, it is right on the training documents.

    (A document that is right by a tie alone may be wrong under averaged weights.)
    """
    averages = "average" in LEARNERS[str(learner["type"])].model_fields
    return learner | {"average": False} if averages else learner
