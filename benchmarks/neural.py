"""Networks beside a plain PyTorch training loop written the usual way: documents a second, one model and five.

python -m benchmarks.neural [--epochs N] [--repeats N] [--no-tests]

The plain loop has the same documents, portions and optimiser: nn.EmbeddingBag with a dense gradient or nn.Embedding and
nn.Conv1d over padded portions, torch.optim.Adam, and for five models five loops one after the other. Its time is that
of epochs without evaluation; ours likewise (`init` and `step` of the learner).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.green import require_green
from benchmarks.measure import alternate, markdown_table, surroundings
from gpuclf.features.rows import SparseRows, TokenRows, Views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.neural.options import FeedforwardOptions, NeuralOptions, TextCnnOptions
from gpuclf.models.train_options import TrainOptions

TESTS = ["tests/models/test_neural.py", "tests/ops/test_table_epoch.py", "tests/ops/test_pooled_windows.py"]
DOCS, CLASSES, BATCH, VOCABULARY = 4_000, 20, 64, 20_000


def lengths(mean: int, draw: torch.Generator) -> Tensor:
    """(DOCS,) words of each document, from 3, some of them long."""
    return 3 + (torch.empty(DOCS).exponential_(1 / mean, generator=draw)).long()


def words(total: int, draw: torch.Generator) -> Tensor:
    """(total,) numbers of words from 1, frequent ones low, as in texts."""
    return 1 + (torch.rand(total, generator=draw) ** 4 * (VOCABULARY - 1)).long()


def made_problem(tokens: bool, seeds: int) -> Problem:
    """Documents of about 22 features or words, all of one view."""
    draw = torch.Generator().manual_seed(0)
    ptr = torch.cat([torch.zeros(1, dtype=torch.int64), lengths(19, draw).cumsum(0)])
    ids = words(int(ptr[-1]), draw).to(torch.int32)
    labels = torch.randint(0, CLASSES, (DOCS,), generator=draw)
    rows = TokenRows(ids, ptr, VOCABULARY + 1) if tokens else SparseRows(ptr, ids, torch.rand(len(ids)), VOCABULARY)
    scale = torch.ones(1, VOCABULARY + 1)
    views = Views(torch.ones(1, DOCS, dtype=torch.bool), scale, None if tokens else torch.ones(1, DOCS))
    replicas = Replicas(torch.zeros(seeds, dtype=torch.int64), torch.arange(seeds), {})
    return Problem(rows, labels, torch.arange(DOCS), CLASSES, views, replicas)


def ours(options: NeuralOptions, problem: Problem, epochs: int) -> Callable[[], None]:
    """Epochs of the learner, from its first weights on."""
    learner = options.build(TrainOptions(batch=BATCH), [str(k) for k in range(CLASSES)])

    def run() -> None:
        state = learner.init(problem)
        for _ in range(epochs):
            state = learner.step(problem, state)

    return run


class PlainFeedforward(nn.Module):
    def __init__(self, hidden: int, dropout: float):
        super().__init__()
        self.first = nn.EmbeddingBag(VOCABULARY + 1, hidden, mode="sum")
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.rest = nn.Sequential(nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, CLASSES))

    def forward(self, ids: Tensor, offsets: Tensor, values: Tensor) -> Tensor:
        return self.rest(self.first(ids, offsets, per_sample_weights=values) + self.bias)


class PlainCnn(nn.Module):
    def __init__(self, width: int, filters: int, dropout: float):
        super().__init__()
        self.vectors = nn.Embedding(VOCABULARY + 1, width, padding_idx=0)
        self.filters = nn.ModuleList(nn.Conv1d(width, filters, k, padding=k - 1) for k in (3, 4, 5))
        self.rest = nn.Sequential(nn.Dropout(dropout), nn.Linear(3 * filters, CLASSES))

    def forward(self, padded: Tensor) -> Tensor:
        x = self.vectors(padded).transpose(1, 2)
        return self.rest(torch.cat([layer(x).relu().amax(2) for layer in self.filters], dim=1))


def plain(make: Callable[[], nn.Module], problem: Problem, epochs: int, models: int) -> Callable[[], None]:
    """The usual loop, once a model."""
    rows = problem.rows
    ptr, ids = (rows.offsets, rows.ids) if isinstance(rows, TokenRows) else (rows.crow, rows.col)  # type: ignore[union-attr]
    documents = [ids[a:b].long() for a, b in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)]
    values = None if isinstance(rows, TokenRows) else rows.val.split(ptr.diff().tolist())  # type: ignore[union-attr]

    def portion(docs: list[int]) -> tuple[Tensor, ...]:
        chosen = [documents[doc] for doc in docs]
        if values is None:
            return (nn.utils.rnn.pad_sequence(chosen, batch_first=True),)
        counts = torch.tensor([0, *(len(doc) for doc in chosen[:-1])])
        return torch.cat(chosen), counts.cumsum(0), torch.cat([values[doc] for doc in docs])

    def run() -> None:
        for seed in range(models):
            draw = torch.Generator().manual_seed(seed)
            model = make()
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
            for _ in range(epochs):
                for docs in torch.randperm(DOCS, generator=draw).split(BATCH):
                    optimizer.zero_grad()
                    loss = nn.functional.cross_entropy(model(*portion(docs.tolist())), problem.labels[docs])
                    loss.backward()
                    optimizer.step()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-tests", action="store_true", help="do not run the tests first; say so with the figures")
    arguments = parser.parse_args()
    if not arguments.no_tests:
        require_green(TESTS)
    networks: dict[str, tuple[NeuralOptions, Callable[[], nn.Module]]] = {
        "feedforward 256": (FeedforwardOptions(hidden=(256,), dropout=0.3), lambda: PlainFeedforward(256, 0.3)),
        "text_cnn 100 × (3, 4, 5)": (
            TextCnnOptions(embedding_dim=100, filters=100, dropout=0.5),
            lambda: PlainCnn(100, 100, 0.5),
        ),
    }
    print(surroundings(torch.device("cpu")), "" if not arguments.no_tests else "(tests not run here)")
    table = []
    for name, (options, make) in networks.items():
        for models in (1, 5):
            problem = made_problem(name.startswith("text"), models)
            own = ours(options, problem, arguments.epochs)
            peer = plain(make, problem, arguments.epochs, models)
            own()  # compiles kernels
            mine, _, other, _ = alternate(own, peer, arguments.repeats)
            visits = DOCS * arguments.epochs * models
            wall = [visits / statistics.median(times.wall) for times in (mine, other)]
            cpu = [visits / statistics.median(times.cpu) for times in (mine, other)]
            figures = [f"{wall[0]:,.0f}", f"{wall[1]:,.0f}", f"{wall[0] / wall[1]:.1f}"]
            table.append([f"{name}, {models} model(s)", *figures, f"{cpu[0]:,.0f}", f"{cpu[1]:,.0f}"])
            print(table[-1], flush=True)
    head = ["network", "docs/s", "plain", "ratio", "docs/CPU s", "plain"]
    print(markdown_table(head, table))


if __name__ == "__main__":
    main()
