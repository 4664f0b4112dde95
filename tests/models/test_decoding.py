"""From probabilities to decisions: least expected cost, and the label that a recall penalty is about."""

from __future__ import annotations

import pytest
import torch

from gpuclf.faults import UserFault
from gpuclf.models.sequence.crf import CrfOptions
from gpuclf.models.sequence.decoding import none_class, ragged, risk_scores


def test_the_highest_score_has_the_least_expected_cost() -> None:
    draw = torch.Generator().manual_seed(5)
    probability = torch.softmax(3 * torch.rand(200, 2, 4, generator=draw, dtype=torch.float64), 2)
    penalty, none = torch.tensor([4.0, 1.0], dtype=torch.float64), 2
    cost = torch.ones(2, 4, 4, dtype=torch.float64) - torch.eye(4)  # of saying one label where another is right
    cost[:, none] *= penalty[:, None]
    expected = torch.einsum("nrk,rsk->nrs", probability, cost)
    scores = risk_scores(probability.log(), none, penalty)
    torch.testing.assert_close(scores, -expected)
    assert not torch.equal(scores[:, 0].argmax(1), probability[:, 0].argmax(1))
    assert torch.equal(scores[:, 1].argmax(1), probability[:, 1].argmax(1))


def test_the_label_of_no_span_is_found_or_named() -> None:
    assert none_class(["food", "NONE"], None) == 1
    assert none_class(["B-NP", "O"], None) == 1
    assert none_class(["else", "food"], "else") == 0
    with pytest.raises(UserFault, match="no label is NONE or O") as fault:
        none_class(["NOUN", "VERB"], None)
    assert fault.value.key == "model.none_label"


def test_a_penalty_needs_the_decoding_that_it_belongs_to() -> None:
    with pytest.raises(ValueError, match="recall_penalty means nothing with decode: marginal"):
        CrfOptions(recall_penalty=4.0)
    CrfOptions(recall_penalty=4.0, decode="mbr")


def test_ragged_groups_come_in_the_order_asked_for() -> None:
    items, starts = ragged(torch.tensor([0, 3, 3, 5, 9]), torch.tensor([3, 1, 0]))
    assert items.tolist() == [5, 6, 7, 8, 0, 1, 2]
    assert starts.tolist() == [0, 4, 4, 7]
