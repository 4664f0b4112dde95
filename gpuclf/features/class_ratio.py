"""Log-count ratios of Naive Bayes as weights of features, for any linear learner (Wang & Manning 2012, "Baselines and
bigrams": NBSVM).

With p_v = 1 + the number of documents of a class that have feature v, and q_v = 1 + that of all other classes, both
over the features that are left, r_v = log((p_v / Σp) / (q_v / Σq)); values are presence times |r_v|. The sign is left
to the weights: x·w of r and w is that of |r| and sign(r)·w, and no penalty and no online rule tells them apart. Of
several classes, a feature counts as much as in the one against the rest where |r_v| is greatest.
"""

from __future__ import annotations

import torch
from torch import Tensor

_PRIOR = 1.0  # added to every count


def class_ratio(having: Tensor, keep: Tensor) -> Tensor:
    """Weights (V+1,) float64 ≥ 0 of features, 0 for those that are not kept and with a single class.

    having (K, V+1) float64: labelled training documents by class that have a feature; keep (V+1,) bool.
    """
    own = torch.where(keep, having + _PRIOR, 0.0)
    rest = torch.where(keep, having.sum(0) - having + _PRIOR, 0.0)
    present = torch.nonzero(having.sum(1) > 0).flatten()
    if present.numel() < 2:
        return torch.zeros_like(having[0])
    own, rest = own[present], rest[present]
    ratio = (own / own.sum(1, keepdim=True)).log() - (rest / rest.sum(1, keepdim=True)).log()
    return torch.where(keep, ratio.abs().amax(0), 0.0)
