"""The Triton walk against the reference: on a GPU, or in a process of its own with TRITON_INTERPRET=1."""

from __future__ import annotations

import pytest
import torch

from gpuclf.ops.type_gibbs import count, reference, visits
from tests.ops.type_gibbs_problem import drawn, hyper, on, started

pytestmark = pytest.mark.triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("types", "sentences", "templates", "k"), [(1, 2, 1, 1), (2, 3, 0, 2), (25, 40, 3, 5), (9, 30, 2, 17)]
)
def test_walk_draws_the_chain_of_the_reference(types: int, sentences: int, templates: int, k: int) -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.type_gibbs.triton_walk")
    text = drawn(types, types, sentences, templates)
    parameters, seeds, ends = hyper([0.1, 0.5, 1.5], [1.0, 0.1, 2.0], [2, 1, 0]), torch.tensor([0, 1, 2]), []
    for kernel in (reference, triton_walk):
        contexts, features, own, seed = on(DEVICE, text.contexts, text.features, parameters, seeds)
        tags, counts = on(DEVICE, *started(text, 3, 3, k))
        changes = [
            kernel.sweep(contexts, features, tags, counts, own, visits(seed, s, types, 0.7 + 0.3 * s)) for s in (0, 1)
        ]
        ends.append([tags, *counts, *changes])
        for kept, recounted in zip(counts, count(contexts, features, tags, k), strict=True):
            assert torch.equal(kept, recounted)
    for expected, actual in zip(*ends, strict=True):
        assert torch.equal(expected, actual)


def test_frequent_words_are_scored_beyond_the_short_product() -> None:
    """Counts of some thousands: Stirling's series decides."""
    triton_walk = pytest.importorskip("gpuclf.ops.type_gibbs.triton_walk")
    text = drawn(1, 6, 400, 2, longest=30)
    assert int(text.contexts.tokens.max()) > 2000
    ends = []
    for kernel in (reference, triton_walk):
        contexts, features, own = on(DEVICE, text.contexts, text.features, hyper([0.1], [1.0], [2]))
        tags, counts = on(DEVICE, *started(text, 3, 1, 4))
        seed = torch.tensor([5], device=DEVICE)
        for s in range(4):
            kernel.sweep(contexts, features, tags, counts, own, visits(seed, s, 6))
        ends.append(tags)
    assert torch.equal(*ends)
