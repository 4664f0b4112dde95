"""Learning rates in the course of training, against torch.optim.lr_scheduler where it has the same."""

from __future__ import annotations

import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR, StepLR

from gpuclf.optim.rate_schedule import RateSchedule

EPOCHS, EACH = 6, 5


def rates(schedule: RateSchedule) -> torch.Tensor:
    return torch.cat([schedule.factors(epoch, EACH) for epoch in range(EPOCHS)])


def peer(make: object, per_epoch: bool = False) -> torch.Tensor:
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = make(optimizer)  # type: ignore[operator]
    found = []
    for step in range(EPOCHS * EACH):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if not per_epoch or (step + 1) % EACH == 0:
            scheduler.step()
    return torch.tensor(found, dtype=torch.float64)


def test_step_and_cosine_are_torchs() -> None:
    stepped = peer(lambda optimizer: StepLR(optimizer, 2, 0.3), per_epoch=True)
    torch.testing.assert_close(rates(RateSchedule("step", EPOCHS, every=2, factor=0.3)), stepped)
    cosine = peer(lambda optimizer: CosineAnnealingLR(optimizer, EPOCHS * EACH))
    torch.testing.assert_close(rates(RateSchedule("cosine", EPOCHS)), cosine)


def test_one_cycle_has_torchs_ends_and_its_height() -> None:
    own = rates(RateSchedule("one_cycle", EPOCHS))
    other = peer(lambda optimizer: OneCycleLR(optimizer, 1.0, EPOCHS * EACH + 1))
    torch.testing.assert_close(own[0], other[0])
    assert float(own.max()) == 1.0
    assert abs(float(own[-1]) - 4e-6) < 1e-9


def test_warm_up_rises_along_a_line_and_then_is_over() -> None:
    warm = rates(RateSchedule("constant", EPOCHS, warmup=2))
    torch.testing.assert_close(warm[:10], torch.arange(1, 11).double() / 10)
    assert bool((warm[10:] == 1).all())


def test_a_plateau_lowers_the_rate_of_the_replica_that_is_on_one() -> None:
    schedule = RateSchedule("plateau", patience=1, factor=0.5)
    best, waited, scale = (
        torch.full((2,), torch.inf).double(),
        torch.zeros(2, dtype=torch.int64),
        torch.ones(2).double(),
    )
    for loss in ([3.0, 3.0], [2.0, 3.0], [1.0, 3.5]):
        best, waited, scale = schedule.lowered(torch.tensor(loss).double(), best, waited, scale)
    assert scale.tolist() == [1.0, 0.5]
    assert best.tolist() == [1.0, 3.0]
    assert waited.tolist() == [0, 0]
