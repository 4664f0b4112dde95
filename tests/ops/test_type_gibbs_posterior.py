"""Long-run frequencies against enumeration, the batched sampler, and the published approximation by its own words."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from gpuclf.ops import type_gibbs
from gpuclf.ops.type_gibbs import (
    BatchPlan,
    Counts,
    Hyper,
    Visits,
    batched,
    batched_sweep,
    count,
    cpu_batches,
    log_joint,
    reference,
    visits,
)
from gpuclf.ops.type_gibbs.counting import double_counted
from gpuclf.ops.type_gibbs.randomness import acceptance_draws
from tests.ops.type_gibbs_problem import Text, drawn, hyper, on, started

# three words; one follows itself, one is a sentence by itself
THREE = Text([[0, 1, 1, 2], [2], [1, 0], [0, 2]], torch.tensor([[0, 0], [1, 0], [1, 1]], dtype=torch.int32), (2, 2))


def repeated(parameters: Hyper, chains: int) -> Hyper:
    return Hyper(*(part.expand(chains) for part in (parameters.alpha, parameters.beta, parameters.level)))


def enumerated(text: Text, k: int, parameters: Hyper, temperature: float = 1.0) -> Tensor:
    """P(tags) of every assignment, in the order of itertools.product."""
    every = torch.tensor(list(itertools.product(range(k), repeat=text.num_types)), dtype=torch.int32)
    counts = count(text.contexts, text.features, every, k)
    joints = log_joint(text.contexts, text.features, counts, repeated(parameters, len(every)))
    return (joints / temperature).softmax(0)


def frequencies(tags: Tensor, k: int) -> Tensor:
    """Share of chains with each assignment."""
    place = torch.zeros(len(tags), dtype=torch.int64)
    for column in tags.long().t():
        place = place * k + column
    return torch.bincount(place, minlength=k ** tags.shape[1]) / len(tags)


def assert_same(found: Tensor, expected: Tensor, samples: int) -> None:
    """Every share within 4.5 standard errors: a fixed draw, so this passes always or never."""
    error = (expected * (1 - expected) / samples).sqrt()
    assert float(((found - expected).abs() / error).max()) < 4.5
    assert float(expected.max()) < 0.6


@pytest.mark.parametrize(("level", "temperature"), [(0, 1.0), (1, 1.0), (2, 1.0), (2, 1.7)])
def test_exact_chains_have_the_frequencies_of_enumeration(level: int, temperature: float) -> None:
    parameters, k, chains = hyper([0.6], [0.9], [level]), 2, 1000
    tags, counts = started(THREE, 1, chains, k)
    seeds, own = torch.arange(chains), repeated(parameters, chains)
    for s in range(6):
        type_gibbs.sweep(THREE.contexts, THREE.features, tags, counts, own, visits(seeds, s, 3, temperature))
    assert_same(frequencies(tags, k), enumerated(THREE, k, parameters, temperature), chains)


@pytest.mark.parametrize("plan", [BatchPlan(3, 0, True), BatchPlan(2, 1, True), BatchPlan(1, 0), BatchPlan(5, 3)])
def test_corrected_batches_have_them_too_and_so_have_batches_of_one(plan: BatchPlan) -> None:
    parameters, k, chains = hyper([0.6], [0.9], [2]), 2, 1200
    tags, counts = started(THREE, 2, chains, k)
    seeds, own = torch.arange(chains), repeated(parameters, chains)
    accepted = torch.ones(chains, dtype=torch.float64)
    for s in range(16 if plan.correct else 7):
        given = (THREE.contexts, THREE.features, tags, counts, own, visits(seeds, s, 3))
        _, accepted = batched_sweep(*given, plan, seeds, s)
    assert_same(frequencies(tags, k), enumerated(THREE, k, parameters), chains)
    assert float(accepted.mean()) == 1.0 or plan.correct
    for kept, recounted in zip(counts, count(THREE.contexts, THREE.features, tags, k), strict=True):
        assert torch.equal(kept, recounted)


def test_a_batch_of_everything_is_another_chain() -> None:
    """Without correction all three words at once, each seeing the others' old tags, miss the posterior: the tests above
    can tell."""
    parameters, k, chains = hyper([0.6], [0.9], [2]), 2, 3000
    tags, counts = started(THREE, 2, chains, k)
    seeds, own = torch.arange(chains), repeated(parameters, chains)
    for s in range(12):
        batched_sweep(THREE.contexts, THREE.features, tags, counts, own, visits(seeds, s, 3), BatchPlan(3, 0), seeds, s)
    expected = enumerated(THREE, k, parameters)
    error = (expected * (1 - expected) / chains).sqrt()
    assert float(((frequencies(tags, k) - expected).abs() / error).max()) > 10


@pytest.mark.parametrize("correct", [False, True])
def test_batched_chains_are_the_same_alone_and_in_a_grid(correct: bool, device: torch.device) -> None:
    text, k, plan = drawn(3, 40, 50), 5, BatchPlan(16, 4, correct)
    parameters, seeds, ends = hyper([0.1, 0.5, 0.1], [1.0, 0.3, 1.0], [2, 1, 0]), torch.tensor([4, 4, 7]), []
    for some in (slice(0, 3), slice(0, 1), slice(1, 2), slice(2, 3)):
        contexts, features, own, seed = on(device, text.contexts, text.features, parameters.take(some), seeds[some])
        start = started(text, 0, 3, k)[0][some].clone().to(device)
        counts = count(contexts, features, start, k)
        for s in range(3):
            changes, _ = batched_sweep(contexts, features, start, counts, own, visits(seed, s, 40), plan, seed, s)
        for kept, recounted in zip(counts, count(contexts, features, start, k), strict=True):
            assert torch.equal(kept, recounted)
        ends.append((start.cpu(), changes.cpu()))
    assert torch.equal(ends[0][0], torch.cat([tags for tags, _ in ends[1:]]))
    assert torch.equal(ends[0][1], torch.cat([changes for _, changes in ends[1:]]))


@pytest.mark.parametrize("correct", [False, True])
@pytest.mark.parametrize(
    ("types", "templates", "k", "size"), [(1, 1, 1, 4), (2, 0, 2, 1), (40, 3, 5, 7), (40, 3, 5, 64), (9, 2, 17, 3)]
)
def test_the_kernel_of_batches_does_what_the_tensor_operations_do(
    types: int, templates: int, k: int, size: int, correct: bool
) -> None:
    text = drawn(types + size, types, 60, templates)
    parameters, seeds, ends = hyper([0.1, 0.5, 1.5], [1.0, 0.3, 2.0], [2, 1, 0]), torch.tensor([4, 4, 7]), []
    for walk in (batched.sweep_batches, cpu_batches.sweep_batches):
        tags, counts = started(text, 0, 3, k)
        found = []
        for s, temperature in enumerate((1.0, 2.0, 0.5, 1.0)):
            order = visits(seeds, s, types, temperature)
            draws = acceptance_draws(seeds, s, -(-types // size)) if correct else None
            found += walk(text.contexts, text.features, tags, counts, parameters, order, size, draws)
        ends.append([tags, *counts, *found])
        for kept, recounted in zip(counts, count(text.contexts, text.features, tags, k), strict=True):
            assert torch.equal(kept, recounted)
    for expected, actual in zip(*ends, strict=True):
        assert torch.equal(expected, actual)
    moved, taken = torch.stack(ends[0][5::2]), torch.stack(ends[0][6::2])
    assert k == 1 or correct or moved.sum() > 0
    if correct and 1 < size < types:
        assert 0 < taken.sum() < taken.numel() * -(-types // size)


def naive_tokens(text: Text, tags: list[int], i: int, t: int, table: dict[tuple[int, int], int], alpha: float) -> float:
    """Transition part of one tag's score, token by token, from a table of bigrams that lacks type i."""
    k = max(s for s, _ in table)  # the start's row
    score = 0.0
    for sentence in filter(None, text.sentences):
        path = [k, *(t if j == i else tags[j] for j in sentence), k]
        words = [-1, *sentence, -1]
        for at, word in enumerate(words):
            if word == i:
                for s, u in ((path[at - 1], path[at]), (path[at], path[at + 1])):
                    row = sum(table.get((s, v), 0) for v in range(k + 1))
                    score += math.log((table.get((s, u), 0) + alpha) / (row + (k + 1) * alpha))
    return score


def test_clojure_counts_and_scores_token_by_token() -> None:
    """Every bigram of words from either side; a visit takes out and puts in the visited word's side only."""
    text, k, alpha = Text([[0, 1, 0, 0, 2], [2, 2, 1], [1]], torch.zeros((3, 0), dtype=torch.int32), ()), 3, 0.4
    tags = torch.tensor([[0, 1, 2]], dtype=torch.int32)
    counts = double_counted(count(text.contexts, text.features, tags, k))
    current = tags[0].tolist()
    table = {(s, u): 0 for s in range(k + 1) for u in range(k + 1)}

    def observe(i: int, weight: int) -> None:
        for sentence in text.sentences:
            path = [k, *(current[j] for j in sentence), k]
            for at, word in enumerate([-1, *sentence, -1]):
                if word == i:
                    table[path[at - 1], path[at]] += weight
                    table[path[at], path[at + 1]] += weight

    for i in range(3):
        observe(i, 1)
    parameters = hyper([alpha], [1.0], [0])
    frequency = [sum(sentence.count(i) for sentence in text.sentences) for i in range(3)]
    for step in range(12):
        i, u = step % 3, (step * 0.37) % 1
        observe(i, -1)
        scores = []
        for t in range(k):
            others = [j for j in range(3) if j != i and current[j] == t]
            emitted = sum(frequency[j] for j in others)
            emission = frequency[i] * math.log(alpha / (emitted + (len(others) + 1) * alpha))
            scores.append(emission + naive_tokens(text, current, i, t, table, alpha))
        weights = [math.exp(score - max(scores)) for score in scores]
        running = list(itertools.accumulate(weights))
        current[i] = next(t for t in range(k) if running[t] > u * running[-1])
        observe(i, 1)
        visit = Visits(torch.tensor([[i]]), torch.full((1, 3), u, dtype=torch.float64))
        type_gibbs.sweep(text.contexts, text.features, tags, counts, parameters, visit, "clojure")
        assert tags[0].tolist() == current
        assert counts.transitions[0].flatten().tolist() == [table[s, u] for s in range(k + 1) for u in range(k + 1)]


def test_paper_scores_the_tokens_of_the_published_equation() -> None:
    """P(w | t) P(t | t_b) P(t_a | t) of every token by counts without the type; the end of a sentence is no outcome."""
    text, k, alpha = Text([[0, 1, 0, 2], [2, 0], [1], [2, 2, 1, 0]], torch.zeros((3, 0), dtype=torch.int32), ()), 3, 0.4
    tags = [0, 1, 1]
    for i in (0, 1):  # neither follows itself
        others = [j for j in range(3) if j != i]
        table = [[0] * k for _ in range(k + 1)]
        for sentence in text.sentences:
            for before, after in itertools.pairwise([-1, *sentence]):
                if i not in (before, after):
                    table[k if before < 0 else tags[before]][tags[after]] += 1
        expected = []
        for t in range(k):
            tokens = sum(sentence.count(j) for sentence in text.sentences for j in others if tags[j] == t)
            word = math.log(alpha / (tokens + (1 + sum(tags[j] == t for j in others)) * alpha))
            score = 0.0
            for sentence in text.sentences:
                for at in (place for place, word_type in enumerate(sentence) if word_type == i):
                    steps = [(tags[sentence[at - 1]] if at else k, t)]
                    steps += [(t, tags[after]) for after in sentence[at + 1 : at + 2]]
                    score += word + sum(math.log((table[s][u] + alpha) / (sum(table[s]) + k * alpha)) for s, u in steps)
            expected.append(score)
        own = torch.tensor([tags], dtype=torch.int32)
        counts = Counts(*(part[0] for part in count(text.contexts, text.features, own, k)))
        near = reference.neighbours(text.contexts, own[0], i, k)
        reference.move(counts, text.features.values[i], near, tags[i], -1, 1)
        found = reference.token_scores(counts, near, torch.tensor(alpha, dtype=torch.float64), 1)
        wanted = torch.tensor(expected, dtype=torch.float64).log_softmax(0)
        torch.testing.assert_close(found.log_softmax(0), wanted, rtol=0, atol=1e-12)
