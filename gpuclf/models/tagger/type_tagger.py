"""The type-level tagger's learner: a step is a sweep of every chain over all word types."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.tagger.predictor import TypeTagger
from gpuclf.models.tagger.resampling import resample
from gpuclf.ops import type_gibbs
from gpuclf.ops.type_gibbs import BatchPlan, Counts, Hyper


@dataclass(frozen=True)
class Sample:
    """Tags (R, types) int32 of each chain, its parameters (R,) float64 and its log joint (R,) float64 with them."""

    tags: Tensor = replica_field()
    alpha: Tensor = replica_field()
    beta: Tensor = replica_field()
    log_joint: Tensor = replica_field()


@dataclass(frozen=True)
class TaggerState:
    """After `sweep` sweeps.

    sample: the chains now; best: the sample of the highest log joint so far, None unless it is wanted;
    transitions, types, tokens, features: Counts of the sample (with sampler clojure by that program's bookkeeping);
    tally (R, types, K) int32: how often a type had each tag in the sweeps of the mode, None unless it is wanted;
    changes (R,) int64: types whose tag the last sweep changed; accepted (R,) float64: share of batches it accepted.
    """

    sweep: int
    sample: Sample
    best: Sample | None
    transitions: Tensor = replica_field()
    types: Tensor = replica_field()
    tokens: Tensor = replica_field()
    features: Tensor = replica_field()
    tally: Tensor | None = replica_field()
    changes: Tensor = replica_field()
    accepted: Tensor = replica_field()

    @property
    def counts(self) -> Counts:
        return Counts(self.transitions, self.types, self.tokens, self.features)


@dataclass(frozen=True)
class TypeTaggerLearner:
    """Chains of the collapsed sampler. alpha, beta and level come per replica, or from here where no grid varies them.

    temperatures and resampled: of each sweep; first_of_mode: the sweep from which on tags are tallied; start: each
    type's tag to begin with, -1 for one at random. uncorrected: sweeps before a plan's correction begins.
    """

    sampler: str
    sweeps: int
    wanted: str
    first_of_mode: int
    temperatures: tuple[float, ...]
    resampled: tuple[tuple[str, ...], ...]
    alpha_token: float
    beta_type: float
    level: int
    plan: BatchPlan
    uncorrected: int
    start: tuple[int, ...] | None = field(default=None, repr=False)

    def init(self, problem: Problem) -> TaggerState:
        """Tags as given, the others uniformly at random from the chain's seed."""
        corpus, seed, k = _corpus(problem), problem.replicas.seed, problem.num_classes
        tags = type_gibbs.random_tags(seed, corpus.num_types, k)
        if self.start is not None:
            given = torch.tensor(self.start, dtype=torch.int32, device=tags.device)
            tags = torch.where(given >= 0, given, tags)
        alpha = self._option(problem, "model.alpha_token", self.alpha_token).clone()
        beta = self._option(problem, "model.beta_type", self.beta_type).clone()
        counts = type_gibbs.count(corpus.contexts, corpus.features, tags, k)
        hyper = self._hyper(problem, alpha, beta)
        joint = type_gibbs.log_joint(corpus.contexts, corpus.features, counts, hyper)
        sample = Sample(tags, alpha, beta, joint)
        tally = torch.zeros((*tags.shape, k), dtype=torch.int32, device=tags.device) if self.wanted == "mode" else None
        return TaggerState(
            0,
            sample,
            _copied(sample) if self.wanted == "best" else None,
            *(type_gibbs.double_counted(counts) if self.sampler == "clojure" else counts),
            tally=tally,
            changes=torch.zeros_like(seed),
            accepted=torch.ones_like(alpha),
        )

    def step(self, problem: Problem, state: TaggerState) -> TaggerState:
        """One sweep, then new parameters where they are due. The old state's tags, counts and tally are reused."""
        corpus, counts, sample = _corpus(problem), state.counts, state.sample
        seed, k, now = problem.replicas.seed, problem.num_classes, state.sweep
        hyper = self._hyper(problem, sample.alpha, sample.beta)
        visits = type_gibbs.visits(seed, now, corpus.num_types, self.temperatures[min(now, self.sweeps - 1)])
        work = (corpus.contexts, corpus.features, sample.tags, counts, hyper, visits)
        accepted = state.accepted
        if self.sampler == "batched":
            plan = replace(self.plan, correct=self.plan.correct and now >= self.uncorrected)
            changes, accepted = type_gibbs.batched_sweep(*work, plan, seed, now)
        else:
            changes = type_gibbs.sweep(*work, self.sampler)
        true_counts = counts
        if self.sampler == "clojure":  # its counts are not those of the tags
            true_counts = type_gibbs.count(corpus.contexts, corpus.features, sample.tags, k)
        for name in self.resampled[min(now, self.sweeps - 1)]:
            hyper = resample(name, corpus, true_counts, hyper, seed, now)
        joint = type_gibbs.log_joint(corpus.contexts, corpus.features, true_counts, hyper)
        sample = Sample(sample.tags, hyper.alpha, hyper.beta, joint)
        if state.tally is not None and now >= self.first_of_mode:
            one = torch.ones((), dtype=torch.int32, device=joint.device).expand(*sample.tags.shape, 1)
            state.tally.scatter_add_(2, sample.tags[..., None].long(), one)
        best = None if state.best is None else _better(state.best, sample)
        return replace(state, sweep=now + 1, sample=sample, best=best, changes=changes, accepted=accepted)

    def finished(self, problem: Problem, state: TaggerState) -> Tensor:
        """After the last sweep."""
        return torch.full_like(state.changes, state.sweep >= self.sweeps, dtype=torch.bool)

    def result(self, problem: Problem, state: TaggerState) -> TypeTagger:
        """The sample that is wanted, with the counts that belong to its tags. Before a mode has begun, the last one."""
        corpus, k, sample = _corpus(problem), problem.num_classes, state.best or state.sample
        tags, joint = sample.tags, sample.log_joint.clone()
        hyper = self._hyper(problem, sample.alpha, sample.beta)
        in_mode = state.tally is not None and state.sweep > self.first_of_mode
        if state.best is None and not in_mode and self.sampler != "clojure":
            counts = Counts(*(part.clone() for part in state.counts))  # those of the sample: no need to count again
        else:
            if state.tally is not None and in_mode:
                tags = state.tally.argmax(2).to(torch.int32)  # the lowest of equals
            counts = type_gibbs.count(corpus.contexts, corpus.features, tags, k)
            joint = type_gibbs.log_joint(corpus.contexts, corpus.features, counts, hyper)
        return TypeTagger(
            tags=tags.to(torch.int64),
            transitions=counts.transitions,
            types=counts.types,
            features=counts.features,
            alpha=hyper.alpha.clone(),
            beta=hyper.beta.clone(),
            level=hyper.level.clone(),
            log_joint=joint,
            num_values=torch.tensor(corpus.num_values, dtype=torch.int64, device=tags.device),
        )

    def alternatives(self, problem: Problem, state: TaggerState) -> dict[str, TypeTagger]:
        """The last sample beside a best one or a mode."""
        if self.wanted == "last":
            return {}
        return {"final": replace(self, wanted="last").result(problem, replace(state, best=None, tally=None))}

    def progress(self, problem: Problem, state: TaggerState) -> dict[str, Tensor]:
        """Log joint, tag changes of the last sweep, tags in use, and what varies: parameters, accepted batches."""
        figures = {
            "log_joint": state.sample.log_joint,
            "tag_changes": state.changes,
            "tags_used": (state.types > 0).sum(1),
        }
        if any(self.resampled):
            figures |= {"alpha_token": state.sample.alpha, "beta_type": state.sample.beta}
        return figures | ({"accepted": state.accepted} if self.plan.correct else {})

    def _option(self, problem: Problem, key: str, default: float) -> Tensor:
        seed = problem.replicas.seed
        given = problem.replicas.options.get(key)
        value = torch.full(seed.shape, float(default), dtype=torch.float64) if given is None else given
        return value.to(seed.device)

    def _hyper(self, problem: Problem, alpha: Tensor, beta: Tensor) -> Hyper:
        return Hyper(alpha, beta, self._option(problem, "model.level", self.level).to(torch.int64))


def margins(corpus: TypeCorpus, tagger: TypeTagger) -> Tensor:
    """How sure each chain is of each training type, (R, types) float64: log-odds of its tag against the next best."""
    counts = tagger.counts
    hyper = Hyper(tagger.alpha, tagger.beta, tagger.level)
    types = torch.arange(corpus.num_types, device=tagger.tags.device)
    return type_gibbs.margins(corpus.contexts, corpus.features, tagger.tags.to(torch.int32), counts, hyper, types)


def _corpus(problem: Problem) -> TypeCorpus:
    assert isinstance(problem.rows, TypeCorpus), "a type-level tagger works on word types"
    return problem.rows


def _copied(sample: Sample) -> Sample:
    return Sample(sample.tags.clone(), sample.alpha, sample.beta, sample.log_joint)


def _better(best: Sample, now: Sample) -> Sample:
    """Per chain the sample of the higher log joint, the earlier of equals."""
    higher = now.log_joint > best.log_joint
    pairs = ((best.alpha, now.alpha), (best.beta, now.beta), (best.log_joint, now.log_joint))
    others = (torch.where(higher, new, old) for old, new in pairs)
    return Sample(torch.where(higher[:, None], now.tags, best.tags), *others)
