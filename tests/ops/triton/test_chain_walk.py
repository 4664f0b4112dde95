"""The Triton walk over sentences against the reference: on a GPU, or in a process with TRITON_INTERPRET=1."""

from __future__ import annotations

import pytest
import torch

from gpuclf.ops.chain_sums import reference
from tests.ops.test_chain_sums import assert_same, chain

pytestmark = pytest.mark.triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("lengths", [[1], [0, 3, 0, 1, 5, 0], [1, 2, 3] * 6, [40]])
@pytest.mark.parametrize(("replicas", "classes"), [(1, 1), (3, 2), (2, 5)])
def test_walk_equals_reference(lengths: list[int], replicas: int, classes: int) -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.chain_sums.triton_walk")
    given = chain(lengths, replicas, classes, DEVICE)
    assert_same(triton_walk.chain_sums(*given), reference.chain_sums(*given))


def test_what_is_forbidden_and_what_is_impossible() -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.chain_sums.triton_walk")
    nodes, starts, transition, weights = chain([2, 3], 2, 3, DEVICE)
    transition[0, 1] = nodes[3, 0, 2] = -torch.inf
    transition[1] = -torch.inf
    given = nodes.float(), starts, transition, weights
    assert_same(triton_walk.chain_sums(*given), reference.chain_sums(*given), rtol=1e-6)
