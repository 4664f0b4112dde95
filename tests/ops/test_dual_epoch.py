"""Dual coordinate descent: which kernel a device gets, and the duals of logistic documents at extreme numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np
import pytest
import torch

from gpuclf.features.rows import SparseRows, Views
from gpuclf.models.learner import LearnerOptions, Problem, Replicas
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.linear.svm import SvmOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops import dual_epoch as op
from gpuclf.ops.dual_epoch import DualModel, DualRows, cpu, dual_epoch, has_kernel, host, reference
from gpuclf.ops.dual_epoch.logistic_duals import logistic_duals, logistic_scratch
from gpuclf.ops.exponentials import exponentials, near_logarithms
from gpuclf.train.loop import BatchLoop, BatchOutcome

DOCS, FEATURES, CLASSES = 40, 12, 3


def sparse_rows() -> SparseRows:
    dense = torch.poisson(torch.full((DOCS, FEATURES), 0.4), generator=torch.Generator().manual_seed(0))
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)])
    return SparseRows(crow, (dense.nonzero()[:, 1] + 1).to(torch.int32), dense[dense != 0].float(), FEATURES)


def labels() -> torch.Tensor:
    return torch.randint(0, CLASSES, (DOCS,), generator=torch.Generator().manual_seed(1))


def train(options: LearnerOptions) -> BatchOutcome:
    one = torch.zeros(1, dtype=torch.int64)
    views = Views(torch.ones(1, DOCS, dtype=torch.bool), None, None)
    problem = Problem(sparse_rows(), labels(), torch.arange(DOCS), CLASSES, views, Replicas(one, one.clone()))
    given = TrainOptions()
    loop = BatchLoop(options.build(given, ("a", "b", "c")), problem, given, options.max_steps(given))
    return loop.run(lambda report, running: None)


@pytest.fixture
def as_on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's tensors are treated as CUDA's are, and whoever walks documents in Python is caught."""

    def caught(*_: object) -> None:
        raise AssertionError("one document after the other in Python")

    monkeypatch.setitem(op.KERNELS, "cpu", op.KERNELS["cuda"])
    monkeypatch.setattr(reference, "dual_epoch", caught)


def test_only_the_cpu_has_a_kernel_and_cuda_does_not_fall_through_to_the_reference() -> None:
    assert has_kernel(torch.device("cpu"))
    assert not has_kernel(torch.device("cuda"))
    assert op.KERNELS["cuda"] == "host"


@pytest.mark.usefixtures("as_on_cuda")
@pytest.mark.parametrize(
    "options",
    [
        LogisticOptions(C=3.0, tol=1e-6),
        LogisticOptions(C=3.0, tol=1e-6, optimizer="newton"),
        LogisticOptions(C=3.0, tol=1e-6, optimizer="dcd"),
        SvmOptions(C=0.3, tol=1e-3),
    ],
    ids=["lbfgs", "newton", "dcd", "svm"],
)
def test_on_cuda_no_learner_walks_documents_in_python(options: LearnerOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    there = train(options)
    monkeypatch.undo()
    here = train(options)
    assert there.status == here.status == ["converged"]
    weights: list[torch.Tensor] = [cast(LinearPredictor, outcome.predictor).weights for outcome in (there, here)]
    torch.testing.assert_close(*weights, rtol=0.02, atol=0.02)
    if getattr(options, "start", "zero") == "dual" and options.optimizer in ("lbfgs", "newton"):  # type: ignore[attr-defined]
        assert not torch.equal(*weights), "the start was to be another one"


@pytest.mark.parametrize("kind", ["margin", "logistic"])
def test_the_copy_on_the_host_gives_the_bits_of_the_cpu(kind: str) -> None:
    rows, found = sparse_rows(), []
    docs = DualRows(rows.crow, rows.col, rows.val, labels(), None, torch.linspace(0.5, 2.0, DOCS)[None])
    bounds = torch.full((DOCS, 2), 2.0, dtype=torch.float64)
    for module in (cpu, host):
        weights = torch.zeros((FEATURES + 1, 4, CLASSES))
        duals = torch.zeros((DOCS, 4, CLASSES))
        if kind == "logistic":
            duals[:] = torch.tensor([1.2, 0.5, 0.3])
        model = DualModel(weights[:, 1:3], duals[:, 1:3])
        module.dual_epoch(kind, docs, torch.arange(DOCS), 0, bounds, None, True, model)
        assert not weights[:, [0, 3]].any(), "neighbours are left alone"
        assert bool(weights[:, 1:3].any())
        found.append((weights, duals))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


@pytest.mark.parametrize("kind", ["margin", "logistic"])
def test_replicas_that_walk_together_get_the_bits_of_each_alone(kind: str) -> None:
    """Seven replicas of 20 classes: rows of weights of 140 numbers, by pieces of 64 and less."""
    given, replicas, classes = sparse_rows(), 7, 20
    gold = torch.arange(DOCS) % classes
    bounds = (10.0 ** torch.arange(-3, 4).double()).expand(DOCS, replicas).contiguous()
    bounds[3, 2] = 0  # one replica leaves a document out
    weights = torch.zeros(FEATURES + 1, replicas, classes)
    duals = torch.zeros(DOCS, replicas, classes)
    if kind == "logistic":
        duals[:] = (1e-3 / (classes - 1) * bounds[..., None]).float()
        duals[torch.arange(DOCS), :, gold] = (0.999 * bounds).float()
    rows = DualRows(given.crow, given.col, given.val, gold, None, None)
    order = torch.randperm(DOCS, generator=torch.Generator().manual_seed(5))
    together = DualModel(weights.clone(), duals.clone())
    for _ in range(2):
        dual_epoch(kind, rows, order, 0, bounds, None, True, together)
    assert bool((together.weights != 0).any(0).any(1).all())
    for r in range(replicas):
        some = slice(r, r + 1)
        alone = DualModel(weights[:, some].clone(), duals[:, some].clone())
        for _ in range(2):
            dual_epoch(kind, rows, order, 0, bounds[:, some], None, True, alone)
        assert torch.equal(together.weights[:, some], alone.weights)
        assert torch.equal(together.duals[:, some], alone.duals)


@pytest.mark.parametrize("classes", [2, 3, 20, 52])
@pytest.mark.parametrize("bound", [1e-3, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("square", [1e-3, 2.0, 300.0])
def test_duals_of_a_logistic_document_solve_its_equations(classes: int, bound: float, square: float) -> None:
    draw = np.random.default_rng(classes)
    for spread in (0.1, 5.0, 40.0):
        scores = draw.normal(size=classes) * spread
        old = np.full(classes, 1e-30)  # all but one have to grow by thirty orders
        old[0] = bound
        linear, p = scores + square * old, np.empty(classes)
        logistic_duals(linear, square, bound, 1e-10, old, p, logistic_scratch(classes))
        assert p.sum() == pytest.approx(bound, rel=1e-12)
        seen = p > 1e-12 * bound
        level = (np.log(p) + square * p - linear)[seen]
        assert np.ptp(level) <= 1e-4 * (1 + 1e-3 * square * bound)


def test_exponentials_and_logarithms() -> None:
    x = np.concatenate([np.linspace(-700, 700, 1001), np.linspace(-1, 1, 999), [0.0, -1e9, 1e9]])
    out, scratch = np.empty_like(x), np.empty_like(x)
    exponentials(x, out, scratch)
    np.testing.assert_allclose(out, np.exp(np.clip(x, -708, 709)), rtol=2e-14)
    positive = np.exp(np.linspace(-600, 600, 1003))
    out, scratch = np.empty_like(positive), np.empty_like(positive)
    near_logarithms(positive, out, scratch)
    np.testing.assert_allclose(out, np.log(positive), rtol=0, atol=2e-6)


def test_an_epoch_of_great_bounds_lowers_the_primal() -> None:
    rows = sparse_rows()
    docs = DualRows(rows.crow, rows.col, rows.val, labels(), None, None)
    bounds = torch.full((DOCS, 1), 1e4, dtype=torch.float64)
    gold = torch.nn.functional.one_hot(labels(), CLASSES).double()[:, None]
    duals = 1e4 * (0.999 * gold + 0.0005 * (1 - gold))
    dense = torch.zeros(DOCS, FEATURES + 1, dtype=torch.float64)
    dense[:, 0] = 1
    for n in range(DOCS):
        inside = slice(int(rows.crow[n]), int(rows.crow[n + 1]))
        dense[n, rows.col[inside].long()] = rows.val[inside].double()
    weights = torch.einsum("nv,nrk->vrk", dense, 1e4 * gold - duals).contiguous()
    values = []
    for _ in range(6):
        dual_epoch("logistic", docs, torch.arange(DOCS), 0, bounds, None, True, DualModel(weights, duals))
        torch.testing.assert_close(weights, torch.einsum("nv,nrk->vrk", dense, 1e4 * gold - duals))
        share = duals / 1e4
        values.append(float(1e4 * torch.special.entr(share).sum() - 0.5 * weights.square().sum()))
    assert all(later >= earlier - 1e-6 * abs(earlier) for earlier, later in pairwise(values))
