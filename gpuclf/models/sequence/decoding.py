"""From probabilities of labels to scores whose highest is the decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from gpuclf.faults import UserFault

Decode = Literal["marginal", "mbr", "viterbi"]
_NAMES = ("NONE", "O")  # what a token outside of every span is called


def risk_scores(log_probability: Tensor, none: int, penalty: Tensor) -> Tensor:
    """Minus the expected cost of each label, (…, R, K) like the given log P(label): minimum Bayes risk.

    A wrong label costs 1, but `none` where it is wrong costs penalty (R,): above 1 it is a penalty on lost recall
    (Sauper, Haghighi & Barzilay 2010).
    """
    scores = log_probability.exp() - 1
    scores[..., none] *= penalty
    return scores


def none_class(class_names: Sequence[str], given: str | None) -> int:
    """The number of the label for tokens outside of every span: the given one, else NONE or O, whichever there is."""
    found = [name for name in (_NAMES if given is None else (given,)) if name in class_names]
    if not found:
        wanted = " or ".join(_NAMES) if given is None else repr(given)
        raise UserFault(
            f"no label is {wanted}, and a recall penalty is what calling a token so costs where it is wrong",
            key="model.none_label",
            remedy=f"name it among the labels of the data: {', '.join(class_names[:8])}",
        )
    return class_names.index(found[0])


def ragged(starts: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The items of the chosen groups (n,), of which group g has starts[g] to starts[g+1], and where each group starts
    among them (n+1,)."""
    lengths = starts.diff()[chosen]
    own = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    shift = torch.repeat_interleave(starts[:-1][chosen] - own[:-1], lengths)
    return torch.arange(int(own[-1]), device=starts.device) + shift, own
