"""The laws of the type-level sampler: conditional, log joint, counts, kernels that draw the same chain."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from gpuclf.ops import type_gibbs
from gpuclf.ops.type_gibbs import Counts, Hyper, Visits, batch_scores, cpu, log_joint, log_rise, reference, visits
from gpuclf.ops.type_gibbs.counting import count, double_counted
from gpuclf.ops.type_gibbs.cpu_tables import rise
from tests.ops.type_gibbs_problem import Text, drawn, hyper, on, random_tags, started, urn_log_joint


def test_log_rise_is_the_difference_of_log_gammas() -> None:
    x = torch.tensor([1e-3, 0.1, 0.7, 1.0, 3.5, 7.9, 8.0, 40.0, 1e3], dtype=torch.float64)[:, None]
    k = torch.tensor([0, 1, 2, 7, 8, 9, 10, 15, 16, 17, 100, 1000])
    torch.testing.assert_close(log_rise(x, k), torch.lgamma(x + k) - torch.lgamma(x), rtol=1e-11, atol=1e-11)
    for base, steps in ((1e6, 8), (1e6, 12), (2.5e8, 40)):  # where a difference of log-gammas has lost its digits
        exact = sum(torch.log(torch.tensor(base + j, dtype=torch.float64)) for j in range(steps))
        got = log_rise(torch.tensor(base), torch.tensor(steps))
        torch.testing.assert_close(got, exact, rtol=1e-14, atol=0)
        assert rise(base, steps) == pytest.approx(float(got), rel=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_the_sentences(seed: int) -> None:
    text, k = drawn(seed), 3
    tags, counts = started(text, seed, 2, k)
    for r, chain in enumerate(tags.tolist()):
        transitions = torch.zeros(k + 1, k + 1, dtype=torch.int64)
        for sentence in filter(None, text.sentences):
            path = [k, *(chain[i] for i in sentence), k]
            for s, t in itertools.pairwise(path):
                transitions[s, t] += 1
        assert torch.equal(counts.transitions[r], transitions)
        words = torch.tensor([i for sentence in text.sentences for i in sentence])
        assert counts.tokens[r].tolist() == torch.bincount(tags[r, words].long(), minlength=k).tolist()
        assert counts.types[r].tolist() == [chain.count(t) for t in range(k)]
        for i, f in itertools.product(range(text.num_types), range(2)):
            value = int(text.codes[i, f]) + sum(text.num_values[:f])
            alike = [j for j in range(text.num_types) if text.codes[j, f] == text.codes[i, f] and chain[j] == chain[i]]
            assert counts.features[r, value, chain[i]] == len(alike)
        assert counts.features[r].sum() == 2 * text.num_types


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_log_joint_is_that_of_the_urns(seed: int, level: int) -> None:
    text, k = drawn(seed), 4
    tags, counts = started(text, seed, 3, k)
    parameters = hyper([0.1, 0.7, 2.0], [1.0, 0.2, 3.0], [level] * 3)
    joint = log_joint(text.contexts, text.features, counts, parameters)
    for r in range(3):
        urns = urn_log_joint(text, tags[r].tolist(), k, float(parameters.alpha[r]), float(parameters.beta[r]), level)
        assert float(joint[r]) == pytest.approx(urns, rel=1e-12)


def all_tags_of(text: Text, tags: Tensor, i: int, k: int, parameters: Hyper) -> Tensor:
    """log joint (K,) with type i given each tag in turn."""
    changed = tags.repeat(k, 1)
    changed[:, i] = torch.arange(k)
    parts = (part.expand(k) for part in (parameters.alpha, parameters.beta, parameters.level))
    return log_joint(text.contexts, text.features, count(text.contexts, text.features, changed, k), Hyper(*parts))


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_conditional_is_the_softmax_of_log_joints(seed: int, level: int) -> None:
    """With bigrams of a type with itself, empty tags, sentences of one word, and a type without tokens."""
    text, k = drawn(seed), 4
    tags, counts = started(text, 10 + seed, 1, k)
    parameters = hyper([0.3], [0.8], [level])
    assert text.contexts.own.sum() >= 2
    assert (counts.types == 0).any() or seed != 0
    every = batch_scores(text.contexts, text.features, tags, counts, parameters, torch.arange(text.num_types)[None])
    margin = cpu.margins(text.contexts, text.features, tags, counts, parameters, torch.arange(text.num_types))
    for i in range(text.num_types):
        expected = all_tags_of(text, tags[0], i, k, parameters).log_softmax(0)
        near = reference.neighbours(text.contexts, tags[0], i, k)
        chain = Counts(*(part[0].clone() for part in counts))
        reference.move(chain, text.features.values[i], near, int(tags[0, i]), -1, 1)
        score = reference.exact_scores(chain, near, parameters.alpha[0]) + reference.type_scores(
            chain, text.features.values[i], text.features.num_values, parameters.beta[0], level
        )
        torch.testing.assert_close(score.log_softmax(0), expected, rtol=0, atol=1e-9)
        torch.testing.assert_close(every[0, i].log_softmax(0), expected, rtol=0, atol=1e-9)
        own = int(tags[0, i])
        rival = max(float(expected[t]) for t in range(k) if t != own)
        assert float(margin[0, i]) == pytest.approx(float(expected[own]) - rival, abs=1e-9)


SAMPLERS = ["exact", "paper", "clojure"]


def begin(text: Text, seed: int, chains: int, k: int, sampler: str) -> tuple[Tensor, Counts]:
    tags, counts = started(text, seed, chains, k)
    return tags, double_counted(counts) if sampler == "clojure" else counts


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("types", "sentences", "templates", "k"), [(1, 2, 1, 1), (2, 3, 0, 2), (40, 60, 3, 5), (9, 30, 2, 17)]
)
def test_every_kernel_draws_the_chain_of_the_reference(
    types: int, sentences: int, templates: int, k: int, sampler: str, device: torch.device
) -> None:
    text = drawn(types, types, sentences, templates)
    parameters = hyper([0.1, 0.5, 1.5, 0.1], [1.0, 0.1, 2.0, 1.0], [2, 2, 1, 0])
    seeds, ends = torch.tensor([0, 1, 2, 0]), []
    for where, kernel in ((torch.device("cpu"), reference), (device, type_gibbs)):
        contexts, features, own, seed = on(where, text.contexts, text.features, parameters, seeds)
        tags, counts = (on(where, part)[0] for part in begin(text, 3, 4, k, sampler))
        changes = [kernel.sweep(contexts, features, tags, counts, own, visits(seed, s, types), sampler) for s in (0, 1)]
        ends.append([tags.cpu(), *(part.cpu() for part in counts), *(part.cpu() for part in changes)])
        if sampler != "clojure":
            for kept, recounted in zip(counts, count(contexts, features, tags, k), strict=True):
                assert torch.equal(kept, recounted)
    for expected, actual in zip(*ends, strict=True):
        assert torch.equal(expected, actual)
    assert k == 1 or types < 9 or ends[0][5].sum() > 0


def test_large_counts_are_worked_out_where_the_tables_end() -> None:
    """Two words that take turns 20,000 times: their cells are beyond the look-ups, their scores those of the joint."""
    text = Text([[0, 1] * 20_000, [2, 0, 0]], torch.zeros((3, 1), dtype=torch.int32), (1,))
    parameters, k = hyper([0.2], [1.0], [2]), 2
    for chain in ([0, 1, 0], [0, 0, 1], [1, 1, 1]):
        tags = torch.tensor([chain], dtype=torch.int32)
        counts = count(text.contexts, text.features, tags, k)
        margin = cpu.margins(text.contexts, text.features, tags, counts, parameters, torch.arange(3))[0]
        for i in range(3):
            joint = all_tags_of(text, tags[0], i, k, parameters)
            assert float(margin[i]) == pytest.approx(float(joint[chain[i]] - joint[1 - chain[i]]), abs=1e-6, rel=1e-9)


def test_one_thread_or_many_alone_or_in_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    text, k = drawn(5, 30, 40), 4
    parameters = hyper([0.1, 0.5, 0.1], [1.0, 0.3, 1.0], [2, 1, 2])
    seeds, results = torch.tensor([4, 4, 7]), []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda n=threads: n)
        tags, counts = started(text, 0, 3, k)
        for s in range(3):
            type_gibbs.sweep(text.contexts, text.features, tags, counts, parameters, visits(seeds, s, 30))
        results.append(tags)
    assert torch.equal(*results)
    for r in range(3):
        one = slice(r, r + 1)
        tags = started(text, 0, 3, k)[0][one].clone()
        counts = count(text.contexts, text.features, tags, k)
        for s in range(3):
            type_gibbs.sweep(
                text.contexts, text.features, tags, counts, parameters.take(one), visits(seeds[one], s, 30)
            )
        assert torch.equal(tags[0], results[0][r])


def test_order_and_draws_depend_on_seed_and_sweep() -> None:
    first, again, later, other = (visits(torch.tensor([s]), step, 50) for s, step in ((1, 0), (1, 0), (1, 1), (2, 0)))
    assert torch.equal(first.order, again.order)
    assert torch.equal(first.draws, again.draws)
    for changed in (later, other):
        assert not torch.equal(first.order, changed.order)
        assert not torch.equal(first.draws, changed.draws)
    assert first.order.sort(1).values.tolist() == [list(range(50))]


@pytest.mark.parametrize("kernel", [reference, cpu])
def test_a_cold_chain_takes_the_best_tag(kernel: object) -> None:
    text, k = drawn(8), 3
    tags, counts = started(text, 8, 1, k)
    parameters = hyper([0.3], [1.0], [2])
    cold = Visits(torch.tensor([[2]]), torch.full((1, text.num_types), 0.999, dtype=torch.float64), 1e-4)
    best = int(all_tags_of(text, tags[0], 2, k, parameters).argmax())
    kernel.sweep(text.contexts, text.features, tags, counts, parameters, cold)  # type: ignore[attr-defined]
    assert int(tags[0, 2]) == best


def test_random_tags_are_uniform_and_the_seeds_own() -> None:
    tags = type_gibbs.random_tags(torch.tensor([0, 1]), 20_000, 5)
    assert tags.dtype == torch.int32
    shares = torch.bincount(tags[0], minlength=5) / 20_000
    assert shares.numel() == 5
    assert float((shares - 0.2).abs().max()) < 0.02
    assert torch.equal(tags[1:], type_gibbs.random_tags(torch.tensor([1]), 20_000, 5))
    assert not torch.equal(tags[0], tags[1])
    assert random_tags(0, 1, 3, 2).shape == (1, 3)
