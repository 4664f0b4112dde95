"""The type-level tagger: chains as replicas, its three results, annealing, parameters, and tags for new words."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import Views
from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.replica_axis import flatten, restore, take_replicas
from gpuclf.models.tagger.options import Annealing, TypeTaggerOptions
from gpuclf.models.tagger.resampling import slice_sample
from gpuclf.models.tagger.type_tagger import TaggerState, TypeTagger, TypeTaggerLearner, margins
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops import type_gibbs
from tests.ops.type_gibbs_problem import Text, drawn

K = 4


def corpus_of(text: Text) -> TypeCorpus:
    ids = torch.tensor([i for sentence in text.sentences for i in sentence], dtype=torch.int32)
    offsets = torch.tensor([0, *map(len, text.sentences)]).cumsum(0)
    return TypeCorpus(ids, offsets, text.codes, text.num_values)


def problem(seeds: list[int], device: torch.device | None = None, **options: list[float]) -> Problem:
    where = device or torch.device("cpu")
    per_replica = {f"model.{name}": torch.tensor(values, dtype=torch.float64) for name, values in options.items()}
    replicas = Replicas(torch.zeros(len(seeds), dtype=torch.int64), torch.tensor(seeds), per_replica).to(where)
    none = torch.zeros(0, dtype=torch.int64, device=where)
    corpus = corpus_of(drawn(11, 30, 60)).to(where)
    return Problem(corpus, none, none, K, Views(torch.zeros((1, 0), dtype=torch.bool, device=where)), replicas)


def learner(**options: Any) -> TypeTaggerLearner:
    return TypeTaggerOptions.model_validate({"type": "type_tagger", "tags": K, "sweeps": 6, **options}).build(
        TrainOptions(), [f"w{i}" for i in range(30)]
    )


def trained(made: TypeTaggerLearner, given: Problem) -> TaggerState:
    state = made.init(given)
    while not bool(made.finished(given, state).all()):
        state = made.step(given, state)
    return state


CHAINS: list[dict[str, Any]] = [
    {},
    {"result": "best"},
    {"result": "mode", "mode_sweeps": 3},
    {"sampler": "paper"},
    {"sampler": "clojure"},
    {"sampler": "batched", "batch": 5, "head": 20, "mh": True, "mh_after": 1},
    {"resample": {}},
    {"anneal": {"start": 3.0, "sweeps": 2, "quench": 2}},
]


@pytest.mark.parametrize("options", CHAINS, ids=str)
def test_a_grid_gives_each_chain_what_it_gives_alone(options: dict[str, Any], device: torch.device) -> None:
    made, settings = learner(**options), {"alpha_token": [0.1, 0.5, 0.1], "level": [2.0, 1.0, 0.0]}
    given = problem([0, 0, 3], device, **settings)
    together = made.result(given, trained(made, given))
    for r, seed in enumerate((0, 0, 3)):
        one = problem([seed], device, **{name: [values[r]] for name, values in settings.items()})
        alone = made.result(one, trained(made, one))
        kept, expected = flatten(take_replicas(together, torch.tensor([r])))[0], flatten(alone)[0]
        assert kept.keys() == expected.keys()
        for name in kept:
            assert torch.equal(kept[name], expected[name]), name


@pytest.mark.parametrize("options", CHAINS, ids=str)
def test_a_state_that_was_stored_goes_on_alike(options: dict[str, Any]) -> None:
    made, given = learner(**options), problem([0, 5])
    through = trained(made, given)
    state = made.step(given, made.step(given, made.init(given)))
    state = restore(made.init(given), *flatten(state))
    while not bool(made.finished(given, state).all()):
        state = made.step(given, state)
    for name, tensor in flatten(through)[0].items():
        assert torch.equal(flatten(state)[0][name], tensor), name


def test_options_of_one_chain_come_from_the_config() -> None:
    alone = problem([2])
    in_config = learner(alpha_token=0.4, beta_type=0.2, level="prior")
    as_replica = problem([2], alpha_token=[0.4], beta_type=[0.2], level=[1.0])
    first, second = trained(in_config, alone), trained(learner(), as_replica)
    assert torch.equal(first.sample.tags, second.sample.tags)
    assert torch.equal(first.sample.log_joint, second.sample.log_joint)


def test_best_is_the_highest_and_mode_the_commonest() -> None:
    given, best, mode, last = problem([0, 1]), learner(result="best"), learner(result="mode", mode_sweeps=4), learner()
    state, joints, tags = last.init(given), [], []
    joints.append(state.sample.log_joint)
    for _ in range(6):
        state = last.step(given, state)
        joints.append(state.sample.log_joint)
        tags.append(state.sample.tags.clone())
    highest = torch.stack(joints).amax(0)
    torch.testing.assert_close(best.result(given, trained(best, given)).log_joint, highest, rtol=1e-12, atol=0)
    commonest = torch.nn.functional.one_hot(torch.stack(tags[2:]).long(), K).sum(0).argmax(2)
    found = trained(mode, given)
    assert torch.equal(mode.result(given, found).tags, commonest)
    assert torch.equal(mode.alternatives(given, found)["final"].tags, tags[-1].long())
    assert not last.alternatives(given, state)


def test_progress_is_of_the_sample() -> None:
    made, given = learner(sampler="batched", batch=4, head=2, mh=True, mh_after=0, resample={}), problem([0, 1])
    state = made.init(given)
    before = state.sample.tags.clone()
    state = made.step(given, state)
    figures = made.progress(given, state)
    assert torch.equal(figures["tag_changes"], (state.sample.tags != before).sum(1))
    assert figures["tags_used"].tolist() == [len(set(chain)) for chain in state.sample.tags.tolist()]
    assert not torch.equal(figures["alpha_token"], torch.full((2,), 0.1, dtype=torch.float64))
    assert ((figures["accepted"] >= 0) & (figures["accepted"] <= 1)).all()
    counts = type_gibbs.count(given.rows.contexts, given.rows.features, state.sample.tags, K)  # type: ignore[union-attr]
    hyper = type_gibbs.Hyper(state.sample.alpha, state.sample.beta, torch.tensor([2, 2]))
    joint = type_gibbs.log_joint(given.rows.contexts, given.rows.features, counts, hyper)  # type: ignore[union-attr]
    assert torch.equal(figures["log_joint"], joint)


def test_batches_are_corrected_from_a_sweep_on() -> None:
    """Large batches from random tags: accepted all before that sweep, and not all after it."""
    given, tags, accepted = problem([0, 1, 2]), [], []
    for more in ({}, {"mh": True, "mh_after": 2}):
        made = learner(sampler="batched", batch=15, head=0, **more)
        state = made.init(given)
        for _ in range(2):
            state = made.step(given, state)
            assert torch.equal(state.accepted, torch.ones(3, dtype=torch.float64))
        tags.append(state.sample.tags.clone())
        accepted.append(made.step(given, state).accepted)
    assert torch.equal(*tags)
    assert accepted[0].sum() == 3
    assert accepted[1].sum() < 3


def test_temperatures_fall_to_one_and_then_to_the_quench() -> None:
    plan = Annealing(start=4.0, sweeps=2, quench=2, quench_to=0.25)
    assert [plan.temperature(s, 6) for s in range(6)] == pytest.approx([4, 2, 1, 1, 0.5, 0.25])
    assert Annealing().temperature(0, 1) == 1


def test_quenched_chains_end_higher() -> None:
    given = problem(list(range(8)))
    cold = trained(learner(anneal={"quench": 4, "quench_to": 0.01}), given).sample.log_joint
    warm = trained(learner(), given).sample.log_joint
    assert float(cold.mean()) > float(warm.mean())


def test_slices_have_the_distribution_of_the_density() -> None:
    """A gamma density of the logarithm, 4000 chains: mean and variance of Gamma(3, rate 2)."""
    seed = torch.arange(4000)
    x = torch.zeros(4000, dtype=torch.float64)
    for step in range(12):
        x = slice_sample(lambda y: 3 * y - 2 * y.exp(), x, seed, step, 0)
    value = x.exp()
    assert float(value.mean()) == pytest.approx(1.5, abs=0.06)
    assert float(value.var()) == pytest.approx(0.75, abs=0.09)
    alone = torch.zeros(1, dtype=torch.float64)
    for step in range(12):
        alone = slice_sample(lambda y: 3 * y - 2 * y.exp(), alone, seed[7:8], step, 0)
    assert float(alone) == float(x[7])


def test_a_chain_goes_on_from_a_file_of_tags(tmp_path: Path) -> None:
    path = tmp_path / "tags.tsv"
    path.write_text("type\ttag\tcount\tmargin\nw3\tT2\t9\t1.5\nw4\t3\nnew\tT0\n", encoding="utf-8")
    given = problem([0])
    state = learner(init=str(path)).init(given)
    assert state.sample.tags[0, 3:5].tolist() == [2, 3]
    rest = [i for i in range(30) if i not in (3, 4)]
    assert torch.equal(state.sample.tags[0, rest], learner().init(given).sample.tags[0, rest])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w1\tT9\n", "tag T9 is beyond the 4 tags"),
        ("w1\n", "no line of a type and its tag"),
        ("w1\tNN\n", "no line of a type and its tag"),
        ("w1\t1\nw1\t2\n", "'w1' has two lines"),
        ("other\t1\n", "has no word of the text"),
    ],
)
def test_a_bad_file_of_tags_is_a_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tags.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserFault, match=message):
        learner(init=str(path))


def test_words_with_escapes_in_a_file_of_tags(tmp_path: Path) -> None:
    path = tmp_path / "tags.tsv"
    path.write_text("1\\\\/2\tT1\n", encoding="utf-8")
    options = TypeTaggerOptions.model_validate({"tags": 2, "init": str(path)})
    assert options.build(TrainOptions(), ["1\\/2", "a"]).start == (1, -1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 4},
        {"sampler": "batched", "mh_after": 3},
        {"sampler": "batched", "mh": True, "sweeps": 5},
        {"mode_sweeps": 4},
        {"anneal": {"sweeps": 20, "quench": 20}},
        {"anneal": {"start": 2.0}},
        {"alpha_token": 0.0},
        {"tags": 0},
        {"level": "all"},
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TypeTaggerOptions.model_validate(wrong)


def brute_force(tagger: TypeTagger, sentence: list[int], codes: Tensor, known: int) -> list[int]:
    """The best tags of one sentence among all: known words keep theirs."""
    heights = tagger.new_type_scores(codes[known:])[0]
    transitions = tagger.log_transitions()[0]
    choices = [[int(tagger.tags[0, i])] if i < known else list(range(K)) for i in sentence]

    def score(path: tuple[int, ...]) -> float:
        steps = sum(float(transitions[s, t]) for s, t in itertools.pairwise((K, *path, K)))
        return steps + sum(float(heights[i - known, t]) for i, t in zip(sentence, path, strict=True) if i >= known)

    return list(max(itertools.product(*choices), key=score))


def test_new_words_get_the_best_tags_of_their_sentence(device: torch.device) -> None:
    given = problem([0, 1], device)
    made = learner()
    tagger = made.result(given, trained(made, given))
    known, g = 30, torch.Generator().manual_seed(0)
    sentences = [torch.randint(0, 36, (n,), generator=g).tolist() for n in (1, 5, 0, 6, 4, 1, 6)]
    sentences += [[30, 31, 32, 33], [3, 4], [35]]
    codes = torch.cat([given.rows.type_codes.cpu(), torch.tensor([[0, 1], [-1, 2], [1, -1], [-1, -1], [0, 0], [1, 2]])])  # type: ignore[union-attr]
    corpus = corpus_of(Text(sentences, codes.to(torch.int32), (2, 3))).to(device)
    tags = tagger.tag(corpus, known).cpu()
    assert tags.shape == (2, sum(map(len, sentences)))
    for r in range(2):
        one = take_replicas(tagger, torch.tensor([r]))
        cpu = TypeTagger(**flatten(one)[0])
        expected = [t for sentence in sentences for t in brute_force(cpu, sentence, codes.long(), known)]
        assert tags[r].tolist() == expected
    for at, sentence in enumerate(sentences):  # alone as among others
        alone = corpus_of(Text([sentence], codes.to(torch.int32), (2, 3))).to(device)
        start = sum(map(len, sentences[:at]))
        assert torch.equal(tagger.tag(alone, known).cpu(), tags[:, start : start + len(sentence)])


def test_a_new_word_is_scored_as_the_sampler_scores_one_more_type() -> None:
    """Prior × features × emission of a word without neighbours: the log joint with it less the log joint without."""
    given, made = problem([0]), learner()
    tagger = made.result(given, trained(made, given))
    code = torch.tensor([[1, 2]])
    scores = tagger.new_type_scores(code)[0, 0]
    s, n = tagger.types[0], tagger.counts.tokens[0]
    for t in range(K):
        expected = math.log(int(s[t]) + 1.0) - math.log(int(n[t]) + (int(s[t]) + 1) * 0.1)
        for f, v in ((0, 1), (1, 2 + 2)):
            expected += math.log((int(tagger.features[0, v, t]) + 1.0) / (int(s[t]) + (2, 3)[f]))
        assert float(scores[t]) == pytest.approx(expected, abs=1e-12)


def test_margins_are_high_for_sure_types() -> None:
    given, made = problem([0, 1]), learner(anneal={"quench": 5, "quench_to": 0.001})
    state = trained(made, given)
    tagger = made.result(given, state)
    found = margins(given.rows, tagger)  # type: ignore[arg-type]
    assert found.shape == (2, 30)
    assert float((found >= 0).double().mean()) > 0.8  # at the end of a quench nearly all sit where they are best
    single = replace(tagger, num_values=tagger.num_values)
    assert torch.equal(margins(given.rows, single), found)  # type: ignore[arg-type]
