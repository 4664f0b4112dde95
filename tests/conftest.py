"""The hostile room of every test: deterministic kernels, poisoned memory, no global seed, every device present."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

# cuBLAS is deterministic only with a fixed workspace, set before the first CUDA call.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import hypothesis
import numpy as np
import pytest
import rich.style  # noqa: F401 (draws from `random` once, when it is first imported: here, not in a test)
import torch

ROOT = Path(__file__).resolve().parent.parent
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]

# A slow machine is no fault of the code, and `make test` draws the same examples every time; `make test-all` draws new
# ones, and more of them.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of Triton kernels run under the interpreter or on a GPU, tests of CUDA on a GPU."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    gpu = torch.cuda.is_available()
    no_triton = pytest.mark.skip(reason="no GPU; under the interpreter: TRITON_INTERPRET=1 pytest -m triton")
    no_gpu = pytest.mark.skip(reason="no NVIDIA GPU")
    for item in items:
        if item.get_closest_marker("triton") and not (interpreted or gpu):
            item.add_marker(no_triton)
        if item.get_closest_marker("cuda") and not gpu:
            item.add_marker(no_gpu)


@pytest.fixture(autouse=True)
def deterministic_kernels() -> None:
    """Refuses nondeterministic kernels, and fills memory from torch.empty with NaN (integers: their maximum)."""
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True


@pytest.fixture(autouse=True)
def global_generators_untouched(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that drew from a process-wide generator: its outcome would depend on the tests before it.

    hypothesis seeds and restores the generators of `random` and NumPy itself, so only torch's is watched there.
    """
    watched = ["torch"] if _is_hypothesis_test(request) else ["torch", "numpy", "random"]
    before = _generator_states()
    yield
    after = _generator_states()
    drawn = [name for name in watched if before[name] != after[name]]
    if drawn:
        pytest.fail(f"the test drew from the process-wide generator of {', '.join(drawn)}; pass a generator in")


def _is_hypothesis_test(request: pytest.FixtureRequest) -> bool:
    return bool(getattr(getattr(request, "function", None), "is_hypothesis_test", False))


def _generator_states() -> dict[str, bytes]:
    name, keys, *rest = np.random.get_state()
    return {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": repr((name, rest)).encode() + np.asarray(keys).tobytes(),
        "random": repr(random.getstate()).encode(),
    }


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    """Every kind of device that this machine has, one after the other."""
    return torch.device(request.param)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository, where configs/ and benchmarks/ lie."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets for measuring, $GPUCLF_DATA or ../shared/data beside the checkout; skips without one."""
    named = os.environ.get("GPUCLF_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no measuring data at {folder} (set GPUCLF_DATA to the folder that holds text/20news and others)")
    return folder
