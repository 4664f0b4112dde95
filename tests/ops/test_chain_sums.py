"""Sums and maxima over label sequences: against enumeration, against each other, on awkward sizes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.ops.chain_sums import KERNELS, best_scores, chain_sums, reference

LENGTHS = {"none": [], "one": [1], "empty_between": [0, 3, 0, 1, 5, 0], "many": [1, 2, 3] * 90, "long": [257]}


def chain(
    lengths: list[int], replicas: int, classes: int, device: torch.device, scale: float = 1.0, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores of some sentences; the weight of every third sentence is 0."""
    draw = torch.Generator().manual_seed(seed)
    starts = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int64)
    nodes = scale * torch.randn(int(starts[-1]), replicas, classes, generator=draw, dtype=torch.float64)
    transition = scale * torch.randn(replicas, classes, classes, generator=draw, dtype=torch.float64)
    weights = torch.rand(len(lengths), replicas, generator=draw, dtype=torch.float64) + 0.5
    weights[2::3] = 0
    return nodes.to(device), starts.to(device), transition.to(device), weights.to(device)


def assert_same(found: Any, expected: Any, rtol: float = 1e-10) -> None:
    for name in ("log_norm", "probability", "pairs"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=rtol, atol=1e-12)


def enumerated(nodes: Tensor, transition: Tensor) -> tuple[float, Tensor, Tensor, Tensor]:
    """Of one sentence (tokens, K): normaliser, label probabilities, expected transitions, best score by label."""
    length, classes = nodes.shape
    sequences = torch.tensor(list(itertools.product(range(classes), repeat=length)))
    scores = nodes[torch.arange(length), sequences].sum(1)
    for i in range(1, length):
        scores = scores + transition[sequences[:, i - 1], sequences[:, i]]
    norm = torch.logsumexp(scores, 0)
    share = torch.exp(scores - norm) if norm > -torch.inf else torch.zeros_like(scores)
    probability = torch.stack(
        [torch.stack([share[sequences[:, i] == k].sum() for k in range(classes)]) for i in range(length)]
    )
    best = torch.stack(
        [torch.stack([scores[sequences[:, i] == k].max() for k in range(classes)]) for i in range(length)]
    )
    pairs = torch.zeros(classes, classes, dtype=torch.float64)
    for i in range(1, length):
        pairs.index_put_((sequences[:, i - 1], sequences[:, i]), share, accumulate=True)
    return float(norm), probability, pairs, best


@pytest.mark.parametrize("forbidden", [False, True])
def test_equals_enumeration(device: torch.device, forbidden: bool) -> None:
    nodes, starts, transition, weights = chain([1, 4, 0, 3], 2, 3, device, scale=2.0)
    if forbidden:
        transition[1, 0, 2] = nodes[2, 0, 1] = nodes[5, 1, 0] = -torch.inf
    weights[:] = torch.tensor([[1.0, 2.0]]).expand(4, 2)
    sums, best = chain_sums(nodes, starts, transition, weights), best_scores(nodes, starts, transition)
    for replica in range(2):
        pairs = torch.zeros(3, 3, dtype=torch.float64)
        for sentence, (a, b) in enumerate(itertools.pairwise(starts.tolist())):
            if a == b:
                assert sums.log_norm[sentence, replica] == 0
                continue
            norm, probability, own, highest = enumerated(nodes[a:b, replica].cpu(), transition[replica].cpu())
            weight = float(weights[sentence, replica])
            assert float(sums.log_norm[sentence, replica]) == pytest.approx(norm, abs=1e-12)
            torch.testing.assert_close(sums.probability[a:b, replica].cpu(), weight * probability)
            torch.testing.assert_close(best[a:b, replica].cpu(), highest)
            pairs += weight * own
        torch.testing.assert_close(sums.pairs[replica].cpu(), pairs)


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize(("replicas", "classes"), [(1, 1), (3, 2), (2, 17), (1, 28)])
def test_equals_reference(device: torch.device, name: str, replicas: int, classes: int) -> None:
    given = chain(LENGTHS[name], replicas, classes, device)
    assert_same(chain_sums(*given), reference.chain_sums(*given))
    torch.testing.assert_close(best_scores(*given[:3]), reference.best_scores(*given[:3]))


def test_float32_scores_keep_their_type(device: torch.device) -> None:
    nodes, starts, transition, weights = chain([4, 6], 2, 5, device)
    single = chain_sums(nodes.float(), starts, transition, weights)
    assert single.probability.dtype == torch.float32
    assert_same(single, reference.chain_sums(nodes.float(), starts, transition, weights), rtol=1e-6)


@pytest.mark.parametrize("scale", [200.0, 1e5])
def test_scores_far_apart(device: torch.device, scale: float) -> None:
    """No probability underflows on the way: the labels of a sentence still sum to its weight."""
    given = chain([2, 30, 7], 2, 4, device, scale=scale)
    sums = chain_sums(*given)
    assert_same(sums, reference.chain_sums(*given), rtol=1e-6)
    _, starts, _, weights = given
    expected = torch.repeat_interleave(weights, starts.diff(), dim=0)
    torch.testing.assert_close(sums.probability.sum(2), expected)


def test_a_sentence_without_a_possible_sequence(device: torch.device) -> None:
    nodes, starts, transition, weights = chain([2, 2], 1, 2, device)
    transition[:] = -torch.inf
    sums = chain_sums(nodes, starts, transition, weights)
    assert torch.isneginf(sums.log_norm).all()
    assert not sums.probability.any()
    assert not sums.pairs.any()


def test_weight_zero_passes_a_sentence_over(device: torch.device) -> None:
    nodes, starts, transition, weights = chain([3, 2, 4], 2, 3, device)
    nodes[starts[2] :] = torch.nan
    sums = chain_sums(nodes, starts, transition, weights)
    without = chain_sums(nodes[: starts[2]].contiguous(), starts[:3], transition, weights[:2].contiguous())
    assert not sums.probability[starts[2] :].any()
    assert not sums.log_norm[2].any()
    torch.testing.assert_close(sums.pairs, without.pairs, rtol=0, atol=0)
    assert_same(sums, reference.chain_sums(nodes, starts, transition, weights))


def test_probabilities_are_the_gradient_of_the_normaliser() -> None:
    nodes, starts, transition, weights = chain([3, 1, 5], 2, 3, torch.device("cpu"))
    nodes.requires_grad_()
    transition.requires_grad_()
    alpha, _ = reference._walks(nodes, starts, transition, torch.logsumexp)
    total = (weights * torch.logsumexp(alpha[starts[1:] - 1], dim=2)).sum()
    by_node, by_transition = torch.autograd.grad(total, (nodes, transition))
    sums = chain_sums(nodes.detach(), starts, transition.detach(), weights)
    torch.testing.assert_close(sums.probability, by_node)
    torch.testing.assert_close(sums.pairs, by_transition)


def test_replicas_and_threads_change_no_bit() -> None:
    given = chain([5, 9, 1, 30] * 200, 3, 6, torch.device("cpu"))
    nodes, starts, transition, weights = given
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = chain_sums(nodes[:, 1:2].contiguous(), starts, transition[1:2], weights[:, 1:2].contiguous())
        torch.set_num_threads(4)
        together = chain_sums(*given)
    finally:
        torch.set_num_threads(before)
    for name, axis in (("log_norm", 1), ("probability", 1), ("pairs", 0)):
        own = getattr(together, name).narrow(axis, 1, 1)
        torch.testing.assert_close(getattr(alone, name), own, rtol=0, atol=0)


def test_kernels_are_for_known_devices() -> None:
    assert set(KERNELS) <= {"cpu", "cuda"}
