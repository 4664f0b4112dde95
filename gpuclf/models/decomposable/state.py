"""The state of searches: for every replica its tracks, one search on one set of rows each."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gpuclf.models.replica_axis import merged_parts, parted, replica_field

TOLD = ("gain", "distance", "dof", "log10_p", "edges", "outside_accuracy", "uncovered")  # of a step, in `last`


@dataclass(frozen=True)
class SearchState:
    """R models of J tracks over V variables; S graphs of each sequence so far, the one it began with first. A replica
    is a model; of contexts of several `words` it has a model for each of them, and every tensor an axis of words behind
    that of replicas. What a model has less of than others (variables, documents, classes) stands first, then padding:
    shape (R, 3) int64 is what it has of the three.

    What a track is counted on: codes (R, J, V, docs) int32, num_values, levels, occurring (R, J, V), seen (R, J,
    values), labels (R, J, docs) int64, documents (R, J), prior (R, J, K) float64: log shares of the classes; judged
    (R, J, docs) bool: rows that choose a model. Its search: adjacent, figures, key, spent as in Frontiers; done (R,
    J) bool; begun (R, J, V, V) bool; moves (R, J, S, 2) int32, −1 where none was made. Its models: scores (R, J,
    docs, K) float64: log P(class, inputs) of the last one, loo likewise without a row's own counts; measures (R, J, S
    + 1, 4) float64 of each model on the judged rows (see Measure), rivals (R, J, 2, 4) of naive Bayes and of the
    tree-augmented one; rival_graphs (R, V, V) bool: that one, as the first judged track made it. chosen (R, V, V)
    bool: the graph of the final model; picked (R,) int64: its place in the sequence, −1 naive Bayes, −2
    tree-augmented, −3 the stable part of the search. outside (R, docs) bool: labelled documents that the model does
    not train on; last (R, 7) float64: figures of the last step (Decomposable.progress).
    shares (R, 2 + S + 1, docs) float32, where models are stacked: P(class | inputs) of each row's own class, the row
    itself left out, by naive Bayes, by the tree-augmented one, and by each model of the sequence.
    """

    shape: Tensor = replica_field()
    codes: Tensor = replica_field()
    num_values: Tensor = replica_field()
    levels: Tensor = replica_field()
    occurring: Tensor = replica_field()
    seen: Tensor = replica_field()
    labels: Tensor = replica_field()
    documents: Tensor = replica_field()
    prior: Tensor = replica_field()
    judged: Tensor = replica_field()
    outside: Tensor = replica_field()
    adjacent: Tensor = replica_field()
    begun: Tensor = replica_field()
    figures: Tensor = replica_field()
    key: Tensor = replica_field()
    spent: Tensor = replica_field()
    done: Tensor = replica_field()
    moves: Tensor = replica_field(fill=-1)
    scores: Tensor = replica_field()
    measures: Tensor = replica_field(fill=0)
    rivals: Tensor = replica_field()
    rival_graphs: Tensor = replica_field()
    chosen: Tensor = replica_field()
    picked: Tensor = replica_field()
    last: Tensor = replica_field()
    loo: Tensor | None = replica_field(optional=True)
    shares: Tensor | None = replica_field(optional=True)
    words: int = 0
    step: int = 0

    def merged(self) -> SearchState:
        """The models of all words of all replicas as those of as many replicas; in the same memory."""
        return merged_parts(self) if self.words else self

    def parted(self) -> SearchState:
        """The inverse of `merged`."""
        return parted(self, self.words) if self.words else self
