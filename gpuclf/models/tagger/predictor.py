"""The trained tagger: a tag for every known word type, and the counts that tell what a new word is."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.tagger.new_words import decode_runs, runs_of
from gpuclf.ops.type_gibbs import Counts

_CELLS = 1 << 22  # float64 numbers that a portion of new types may hold at once: 32 MiB


@dataclass(frozen=True)
class TypeTagger:
    """R chains with K tags each; a chain's tags have no meaning beyond it.

    tags (R, types) int64; transitions (R, K+1, K+1) int64 (row K: the start of a sentence, column K: its end), types
    (R, K) int64 and features (R, values, K) int32: Counts; alpha, beta (R,) float64, level (R,) int64: see
    gpuclf.ops.type_gibbs; log_joint (R,) float64: of the training words with these tags; num_values (templates,) int64.
    """

    num_values: Tensor
    tags: Tensor = replica_field()
    transitions: Tensor = replica_field()
    types: Tensor = replica_field()
    features: Tensor = replica_field()
    alpha: Tensor = replica_field()
    beta: Tensor = replica_field()
    level: Tensor = replica_field()
    log_joint: Tensor = replica_field()

    @property
    def num_tags(self) -> int:
        return self.types.shape[1]

    @property
    def counts(self) -> Counts:
        """The counts of the training words; every token begins one bigram, so a tag's tokens are its row's total."""
        return Counts(self.transitions, self.types, self.transitions[:, :-1].sum(2), self.features)

    def log_transitions(self) -> Tensor:
        """log P(next tag | tag), (R, K+1, K+1) float64, smoothed by alpha; K: the start and the end of a sentence."""
        cells = self.transitions + self.alpha[:, None, None]
        return (cells / cells.sum(2, keepdim=True)).log()

    def tag(self, corpus: TypeCorpus, num_known: int) -> Tensor:
        """Tags (R, tokens) int64 of sentences; types from num_known on, the number of training types, are new words.

        A known word keeps its tag. New words of a sentence get the likeliest tags together (Viterbi) under the smoothed
        transitions to the words beside them and, each by itself, prior × features × the emission of one token of one
        more type. So a tag depends on nothing outside its sentence, and a new word may have two tags in two sentences.
        Ties go to the lower tag.
        """
        assert num_known == self.tags.shape[1], "the types are not those of the training text"
        ids = corpus.ids.long()
        tagged = self.tags[:, ids.clamp(max=num_known - 1)]
        runs = runs_of(ids >= num_known, corpus.offsets)
        if not len(runs.start):
            return tagged
        heights = self.new_type_scores(corpus.type_codes[num_known:])
        return decode_runs(runs, tagged, ids - num_known, heights, self.log_transitions())

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None = None,
        row_scale: Tensor | None = None,
        replicas: slice | None = None,
    ) -> Tensor:
        """(R, len(docs), K) float32, where documents are word types: 1 at the tag of a known one, elsewhere 0."""
        some = self.tags if replicas is None else self.tags[replicas]
        return torch.nn.functional.one_hot(some[:, docs], self.num_tags).to(torch.float32)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: none; every type has a tag."""
        return torch.zeros((len(self.tags), docs.numel()), dtype=torch.bool, device=docs.device)

    def new_type_scores(self, codes: Tensor) -> Tensor:
        """log P(tag, spelling, one token) up to a constant, (R, new types, K) float64; codes (new types, templates).

        The spelling counts at level feats; a value that training did not see (-1) has count 0.
        """
        rows = max(1, _CELLS // max(1, self.types.numel()))
        return torch.cat([self._new_type_scores(part.long()) for part in codes.split(rows)], 1)

    def _new_type_scores(self, codes: Tensor) -> Tensor:
        alpha, beta, level = (part[:, None, None] for part in (self.alpha, self.beta, self.level))
        size, tokens = self.types[:, None], self.counts.tokens[:, None]
        features = torch.zeros_like((size + beta).expand(-1, len(codes), -1))
        first = self.num_values.cumsum(0) - self.num_values
        for f in range(codes.shape[1]):
            code = codes[:, f]
            seen = self.features[:, first[f] + code.clamp(min=0)] * (code >= 0)[:, None]
            features = features + ((seen + beta) / (size + beta * self.num_values[f])).log()
        score = torch.where(level > 0, (size + beta).log(), 0.0) + torch.where(level == 2, features, 0.0)
        return score - (tokens + (size + 1) * alpha).log()
