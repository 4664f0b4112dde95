"""The laws of networks: finite differences of every layer, XOR, scaled and permuted units, alone and in a batch."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.learner import Problem
from gpuclf.models.neural.learner import NeuralLearner
from gpuclf.models.neural.network import Gradients, Network, Portion
from gpuclf.models.neural.options import FeedforwardOptions, NeuralOptions, TextCnnOptions
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop
from tests.contract.small_problem import CLASSES, all_scores, problem

NAMES = [str(index) for index in range(CLASSES)]
DOCS = 5
FEEDFORWARD: list[dict[str, Any]] = [
    {"hidden": []},
    *({"hidden": [4], "activation": name} for name in ("sigmoid", "tanh", "relu", "leaky_relu", "identity")),
    *({"hidden": [4, 4], "activation": "tanh", "connection": name} for name in ("residual", "highway")),
    *({"hidden": [4, 3], "activation": "tanh", "norm": name} for name in ("batch", "layer")),
    {"hidden": [4], "activation": "tanh", "loss": "margin"},
]
TEXT_CNN: list[dict[str, Any]] = [
    *(
        {"convolution": c, "pooling": p, "k": 2, "layers": n, "dilation": d}
        for c, p, n, d in itertools.product(("wide", "narrow"), ("max", "average", "k_max"), (1, 2), (1, 2))
    ),
    {"hidden": [3], "norm": "layer", "loss": "margin"},
]


def made_network(options: NeuralOptions) -> tuple[Network, Tensor, Tensor, Tensor, Portion]:
    """A network in float64, its parameters (1, P), buffers and sums (1, N, H), and a portion with dropout."""
    draw = torch.Generator().manual_seed(1)
    network = Network(options.shape(), 3)
    parameters = torch.randn(1, network.num_parameters, dtype=torch.float64, generator=draw) * 0.7
    lengths = torch.tensor([3, 1, 0, 6, 2])
    gap = network.shape.gap
    rows = int((lengths + gap).sum()) + gap if gap else DOCS
    sums = torch.randn(1, rows, network.shape.table_width(3), dtype=torch.float64, generator=draw)
    layout = network.layout(lengths)
    branches = layout[0] and [[type(s)(*(t[None] for t in s)) for s in layers] for layers in layout[0]]
    factors = [(torch.rand(1, DOCS, w, generator=draw) < 0.7).double() / 0.7 for w in network.shape.widths()]
    portion = Portion(torch.tensor([[0, 2, 1, 1, 0]]), factors, None, branches, layout[1])
    return network, parameters, network.first_buffers().double()[None], sums, portion


@pytest.mark.parametrize(
    "options",
    [FeedforwardOptions(**more) for more in FEEDFORWARD]
    + [TextCnnOptions(embedding_dim=3, filters=2, widths=(2, 3), activation="tanh", **more) for more in TEXT_CNN],
    ids=lambda options: "-".join(str(v) for v in options.model_dump(exclude_defaults=True).values()),
)
def test_gradients_are_finite_differences(options: NeuralOptions) -> None:
    """Along a direction in the space of all parameters and inputs: (L(θ + hd) - L(θ - hd)) / 2h, an error of h²."""
    network, parameters, buffers, sums, portion = made_network(options)
    assert options.loss != "squared_error"
    kind = options.loss

    def loss(by: float) -> float:
        moved = network.gradients(
            parameters + by * along, buffers.clone(), sums + by * across, portion, kind, True, False
        )
        return float(moved.loss)

    made = network.gradients(parameters, buffers.clone(), sums, portion, kind, True, False)
    assert made.sums is not None
    for seed in range(3):
        draw = torch.Generator().manual_seed(seed)
        along = torch.randn(parameters.shape, dtype=torch.float64, generator=draw)
        across = torch.randn(sums.shape, dtype=torch.float64, generator=draw)
        expected = float((made.parameters * along).sum() + (made.sums * across).sum())
        found = (loss(1e-6) - loss(-1e-6)) / 2e-6
        assert found == pytest.approx(expected, rel=2e-5, abs=1e-7)


def doubled(network_of_one: tuple[Network, Tensor, Tensor, Tensor, Portion]) -> tuple[Network, tuple[Any, ...]]:
    """Two replicas of different parameters and inputs, with the same documents: what `gradients` takes."""
    network, parameters, buffers, sums, portion = network_of_one
    branches = portion.branches and [
        [type(s)(*(t.repeat(2, *[1] * (t.dim() - 1)) for t in s)) for s in layers] for layers in portion.branches
    ]
    factors = [None if f is None else torch.cat([f, f]) for f in portion.dropout]
    both = Portion(portion.labels.repeat(2, 1), factors, None, branches, portion.longest)
    two = torch.cat([parameters, parameters.flip(1)]), buffers.repeat(2, 1), torch.cat([sums, sums.flip(2)])
    return network, (*two, both)


def assert_close_gradients(mine: Gradients, other: Gradients) -> None:
    for found, expected in zip(mine, other, strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("options", [FeedforwardOptions(hidden=(4, 4)), TextCnnOptions(embedding_dim=3, filters=2)])
def test_replicas_mapped_together_have_the_gradients_of_each(options: NeuralOptions) -> None:
    network, two = doubled(made_network(options))
    one = network.gradients_each(*two, "cross_entropy", True, False)
    assert_close_gradients(network.gradients_mapped(*two, "cross_entropy", True, False), one)


@pytest.mark.parametrize("more", FEEDFORWARD, ids=lambda more: "-".join(str(v) for v in more.values()))
def test_stacked_replicas_have_the_gradients_of_each(more: dict[str, Any]) -> None:
    """Of every layer and option, and of batch norm the same running means."""
    options = FeedforwardOptions(**more)
    assert options.loss != "squared_error"
    network, (parameters, buffers, sums, portion) = doubled(made_network(options))
    own, other = buffers.clone(), buffers.clone()
    one = network.gradients_each(parameters, own, sums, portion, options.loss, True, False)
    assert_close_gradients(network.gradients(parameters, other, sums, portion, options.loss, True, False), one)
    torch.testing.assert_close(other, own)
    assert torch.equal(own, buffers) == (options.norm != "batch")


def trained(
    options: NeuralOptions, made: Problem, together: bool | None = None, **train: Any
) -> tuple[NeuralPredictor, NeuralLearner]:
    chosen = TrainOptions(**{"batch": 8, "max_epochs": 3, "learning_rate": 0.01, **train})
    learner = options.build(chosen, NAMES)
    assert isinstance(learner, NeuralLearner)
    learner = replace(learner, together=together)
    outcome = BatchLoop(learner, made, chosen, chosen.max_epochs).run(lambda report, running: None)
    assert isinstance(outcome.predictor, NeuralPredictor)
    return outcome.predictor, learner


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        (FeedforwardOptions(hidden=(6,), dropout=0.3, input_dropout=0.2), False),
        (FeedforwardOptions(hidden=(6, 6), dropout=0.3, norm="batch", connection="highway", average=True), False),
        (FeedforwardOptions(hidden=(6, 6), norm="layer", loss="margin", connection="residual"), False),
        (TextCnnOptions(embedding_dim=4, filters=3, layers=2, dropout=0.3, input_dropout=0.2, average=True), True),
    ],
    ids=["feedforward", "batch-norm", "layer-norm", "text_cnn"],
)
def test_a_batch_that_steps_together_is_its_replicas_alone(options: NeuralOptions, tokens: bool) -> None:
    """Folds of different size, dropout, clipping, batch norm: replicas that step together against one at a time."""
    rates = {"train.learning_rate": [0.01, 0.02, 0.01, 0.02]}
    made = problem([0, 0, 1, 2], [0, 3, 0, 3], rates, reads="tokens" if tokens else "sparse")
    scores = [all_scores(trained(options, made, together, clip_norm=0.5)[0], made) for together in (False, True)]
    close = {"rtol": 1e-4, "atol": 1e-5} if tokens else {"rtol": 0.0, "atol": 0.0}  # stacked: the same bits
    torch.testing.assert_close(scores[0], scores[1], **close)


def test_features_are_dropped_where_that_is_asked_for() -> None:
    made = problem([2], [0], {})
    given = [{}, {"input_dropout": 0.0}, {"input_dropout": 0.4}]
    scores = [all_scores(trained(FeedforwardOptions(dropout=0.4, **more), made)[0], made) for more in given]
    assert torch.equal(scores[0], scores[1])
    assert not torch.equal(scores[0], scores[2])


def test_xor_is_learnt() -> None:
    """Exercise 3.4: no linear model knows it; two of the four documents hold one feature, one both, one none."""
    made = problem([2], [0], {})
    rows = replace(
        made.rows,
        crow=torch.tensor([0, 1, 2, 4, 4]),
        col=torch.tensor([1, 2, 1, 2], dtype=torch.int32),
        val=torch.ones(4),
    )
    views = replace(
        made.views, train=torch.ones(1, 4, dtype=torch.bool), col_scale=torch.ones(1, 26), row_scale=torch.ones(1, 4)
    )
    small = replace(
        made,
        rows=rows,
        labels=torch.tensor([1, 1, 0, 0]),
        keys=torch.arange(4),
        views=views,
        replicas=replace(made.replicas, view=torch.tensor([0])),
    )
    predictor, _ = trained(
        FeedforwardOptions(hidden=(8,), activation="tanh"), small, max_epochs=150, learning_rate=0.05
    )
    assert predictor.scores(rows, torch.arange(4), None, None)[0].argmax(1).tolist() == [1, 1, 0, 0]


def test_scaled_and_permuted_units_give_the_same_scores() -> None:
    """Exercise 3.10: a ReLU unit's input weights by 1/c and its output weights by c; 3.3.3: units in another order."""
    made = problem([2], [0], {})
    predictor, learner = trained(FeedforwardOptions(hidden=(6,)), made)
    network = Network(learner.shape, CLASSES)
    assert list(network.shapes) == ["head.hidden.0.linear.bias", "head.output.weight", "head.output.bias"]
    bias, weight, offset = predictor.parameters[0].split([6, 6 * CLASSES, CLASSES])
    norm = predictor.table[0].norm(dim=0)
    order = torch.tensor([3, 1, 0, 5, 4, 2])
    table = (predictor.table / norm)[:, :, order]
    output = (weight.view(CLASSES, 6) * norm)[:, order].flatten()
    other = replace(predictor, table=table, parameters=torch.cat([(bias / norm)[order], output, offset])[None])
    torch.testing.assert_close(all_scores(other, made), all_scores(predictor, made), rtol=1e-5, atol=1e-6)


ALONE: list[NeuralOptions] = [
    *(
        TextCnnOptions(embedding_dim=5, filters=3, layers=n, convolution=c, pooling=p, activation=a)
        for c, p, n, a in (
            ("wide", "max", 1, "relu"),
            ("narrow", "k_max", 2, "tanh"),
            ("wide", "average", 2, "sigmoid"),
            ("narrow", "average", 1, "tanh"),
        )
    ),
    FeedforwardOptions(hidden=(9, 9), activation="tanh", norm="batch", connection="highway"),
    FeedforwardOptions(hidden=(7, 7), norm="layer", connection="residual"),
]


@pytest.mark.parametrize("options", ALONE, ids=lambda o: "-".join(map(str, o.model_dump(exclude_defaults=True))))
def test_an_answer_does_not_depend_on_the_other_documents(options: NeuralOptions) -> None:
    """To the last bit: alone, among few and among all, in any place."""
    tokens = isinstance(options, TextCnnOptions)
    made = problem([2], [0], {}, reads="tokens" if tokens else "sparse")
    predictor, _ = trained(options, made, max_epochs=1)
    together = all_scores(predictor, made)[0]
    scale = made.views.col_scale[2]  # type: ignore[index]
    row_scale = None if made.views.row_scale is None else made.views.row_scale[2]
    for doc in range(0, len(together), 5):
        for docs in ([doc], [3, doc, 1], [*range(50), *range(30), doc]):
            alone = predictor.scores(made.rows, torch.tensor(docs), scale, row_scale)[0, docs.index(doc)]
            assert torch.equal(alone, together[doc])


@pytest.mark.parametrize("kind", ["xavier_uniform", "he_normal", "orthonormal"])
def test_first_weights_are_spread_as_their_names_say(kind: Any) -> None:
    made = problem([2], [0], {})
    learner = FeedforwardOptions(hidden=(16, 12), init=kind).build(TrainOptions(), NAMES)
    state = learner.init(made)
    network = Network(learner.shape, CLASSES)  # type: ignore[attr-defined]
    parts = dict(
        zip(network.shapes, state.parameters[0].split([s.numel() for s in network.shapes.values()]), strict=True)
    )
    hidden = parts["head.hidden.1.linear.weight"].view(12, 16)
    assert not parts["head.output.bias"].any()
    if kind == "orthonormal":
        torch.testing.assert_close(hidden @ hidden.T, torch.eye(12), rtol=1e-5, atol=1e-5)
    elif kind == "xavier_uniform":
        assert 0.9 < float(hidden.abs().max()) / (6 / 28) ** 0.5 <= 1
    else:
        assert float(hidden.std()) == pytest.approx((2 / 16) ** 0.5, rel=0.2)


def test_what_cannot_learn_or_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="stay copies of one"):
        FeedforwardOptions(init="zeros")
    with pytest.raises(ValueError, match="is a regression, not a classifier"):
        TextCnnOptions(loss="squared_error")
    with pytest.raises(ValueError, match="equal width"):
        FeedforwardOptions(hidden=(4, 5), connection="residual")
    with pytest.raises(ValueError, match="there are not two"):
        FeedforwardOptions(hidden=(4,), connection="highway")
    with pytest.raises(ValueError, match="one twice"):
        TextCnnOptions(widths=(3, 3))
    with pytest.raises(UserFault, match="one document has no variance"):
        FeedforwardOptions(norm="batch").build(TrainOptions(), NAMES)
    with pytest.raises(UserFault, match="has no meaning for optimizer: adam"):
        FeedforwardOptions().build(TrainOptions(rho=0.5), NAMES)


def test_a_batch_size_is_found() -> None:
    plan = FeedforwardOptions().build(TrainOptions(batch="auto"), NAMES).plan  # type: ignore[attr-defined]
    assert [plan.batch_of(n) for n in (10, 6_400, 6_401, 12_801, 10**6)] == [32, 32, 64, 128, 512]


SMALL_CNN = {"embedding_dim": 4, "filters": 3}


@pytest.mark.parametrize("options", [FeedforwardOptions(hidden=(6, 6)), TextCnnOptions(**SMALL_CNN, layers=2)])
def test_products_in_bfloat16_are_near_those_in_float32(options: NeuralOptions) -> None:
    made = problem([2], [0], {}, reads="tokens" if isinstance(options, TextCnnOptions) else "sparse")
    scores = [
        all_scores(trained(options, made, precision=precision, max_epochs=1)[0], made)
        for precision in ("float32", "bfloat16")
    ]
    assert not torch.equal(scores[0], scores[1])
    torch.testing.assert_close(scores[0], scores[1], rtol=0.05, atol=0.05)


@pytest.mark.slow
def test_a_compiled_network_learns_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of torch.compile the part that reads our code; its own compilers would take a minute."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    made = problem([2], [0], {}, reads="tokens")
    options = TextCnnOptions(**SMALL_CNN, hidden=(3,), dropout=0.3)
    scores = [all_scores(trained(options, made, compile=compiled)[0], made) for compiled in (False, True)]
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # of torch about itself, where its compiler is loaded
def test_a_network_made_by_a_c_compiler_learns_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """torch.compile as a user has it, with its own compiler (in this process)."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("torch._inductor.config.compile_threads", 1)
    made, options = problem([2], [0], {}), FeedforwardOptions(hidden=(5,), dropout=0.3)
    scores = [all_scores(trained(options, made, compile=compiled)[0], made) for compiled in (False, True)]
    assert list(tmp_path.rglob("*.so"))
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("clip", [0.01, 1e6])
def test_a_gradient_is_clipped_to_its_norm(clip: float) -> None:
    """3.43: one step of rate 1 over all documents moves the weights by the gradient, of the norm reported or `clip`."""
    made, options = problem([2], [0], {}), FeedforwardOptions(hidden=(6,))
    learner = options.build(
        TrainOptions(optimizer="sgd", learning_rate=1.0, batch=1000, max_epochs=1, clip_norm=clip), NAMES
    )
    begin, end = learner.init(made), learner.step(made, learner.init(made))
    moved = [(getattr(end, name) - getattr(begin, name)).square().sum() for name in ("table", "parameters")]
    norm = float(learner.progress(made, end)["gradient_norm"])
    assert norm > 0.02
    assert float(torch.stack(moved).sum().sqrt()) == pytest.approx(min(norm, clip), rel=1e-4)


def test_weights_decay_and_offsets_do_not() -> None:
    options = FeedforwardOptions(hidden=(4, 4), norm="layer", connection="highway")
    network = Network(options.shape(), 3)
    sizes = [shape.numel() for shape in network.shapes.values()]
    marks = network.decayed(torch.float32, torch.device("cpu")).split(sizes)
    decayed = {name for name, mark in zip(network.shapes, marks, strict=True) if bool(mark.all())}
    assert decayed == {"head.hidden.1.linear.weight", "head.hidden.1.gate.weight", "head.output.weight"}
    assert all(name in decayed or not mark.any() for name, mark in zip(network.shapes, marks, strict=True))


def test_word_vectors_are_tuned_or_stay_as_they_were_given() -> None:
    made = problem([2], [0], {}, reads="tokens")
    draw = torch.Generator().manual_seed(0)
    vectors = torch.randn(made.rows.num_features, 4, generator=draw)
    vectors[0] = torch.nan  # the unknown word has none
    made = replace(made, feature_vectors=vectors)
    tables = [trained(TextCnnOptions(**SMALL_CNN, embeddings=how), made)[0].table[0] for how in ("frozen", "tuned")]  # type: ignore[arg-type]
    used = made.views.col_scale[2] != 0  # type: ignore[index]
    used[0] = False
    assert torch.equal(tables[0][used], vectors[used])
    assert not torch.isclose(tables[1][used], vectors[used]).any(1).all()
