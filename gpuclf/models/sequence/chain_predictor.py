"""A trained linear-chain CRF: labels of tokens by the whole sentence around them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows, SequenceRows
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.sequence.decoding import Decode, ragged, risk_scores
from gpuclf.ops.chain_sums import best_scores, chain_sums
from gpuclf.ops.sparse_scores import sparse_scores


@dataclass(frozen=True)
class ChainPredictor:
    """R chains: weights (V+1, R, K) float32, row 0 the offset's; transition (R, K, K) float32, from the label before.

    decode: marginal: a token's scores are log P(label | sentence), and the highest makes the fewest wrong tokens; mbr:
    they are minus the expected cost of a label, where calling a token `none` wrongly costs recall_penalty (R,) and any
    other error 1; viterbi: they are the scores of the best sequences with each label, and the highest labels are the
    single best sequence.
    """

    weights: Tensor = replica_field(1)
    transition: Tensor = replica_field(0)
    decode: Decode = "marginal"
    none: int = 0
    recall_penalty: Tensor | None = replica_field(optional=True)

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32 of tokens; the rest of their sentences is read as well."""
        assert isinstance(rows, SequenceRows), "a chain scores sentences"
        span = slice(None) if replicas is None else replicas
        tokens, starts, place = _sentences_around(rows.starts, docs)
        weights = self.weights[:, span].to(torch.float64)
        nodes = sparse_scores(rows.crow, rows.col, rows.val, tokens, col_scale, row_scale, weights)
        nodes = nodes.permute(1, 0, 2).contiguous()
        moves = self.transition[span].to(torch.float64).contiguous()
        if self.decode == "viterbi":
            scores = best_scores(nodes, starts, moves)
        else:
            ones = torch.ones((starts.numel() - 1, nodes.shape[1]), dtype=torch.float64, device=nodes.device)
            scores = chain_sums(nodes, starts, moves, ones).probability.log_()
        if self.decode == "mbr":
            assert self.recall_penalty is not None
            scores = risk_scores(scores, self.none, self.recall_penalty[span])
        return scores[place].permute(1, 0, 2).to(torch.float32)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: never."""
        return torch.zeros((self.weights.shape[1], docs.numel()), dtype=torch.bool, device=docs.device)


def _sentences_around(starts: Tensor, docs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All tokens of the sentences that `docs` lie in, where these sentences start among them, and where docs lie."""
    sentence = torch.searchsorted(starts, docs, right=True) - 1
    chosen, which = torch.unique(sentence, return_inverse=True)
    tokens, own = ragged(starts, chosen)
    return tokens, own, docs - (starts[:-1][chosen] - own[:-1])[which]
