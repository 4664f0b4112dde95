"""Counter-based draws: known values, the same bits everywhere, uniform, and an order that subsets keep."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gpuclf.ops.counter_hash import hash64, hash64_numpy, uniform, visiting_order

# First outputs of splitmix64 (Steele, Lea & Flood 2014) for these seeds, as its reference implementation gives them.
SPLITMIX64 = {0: 0xE220A8397B1DCDAF, 1234567: 6457827717110365317}


@pytest.mark.parametrize(("seed", "output"), SPLITMIX64.items())
def test_one_key_is_splitmix64(device: torch.device, seed: int, output: int):
    assert int(hash64(torch.tensor([seed], device=device))) & (2**64 - 1) == output


@pytest.mark.parametrize("size", [0, 1, 255, 257])
def test_numpy_gives_the_same_bits(device: torch.device, size: int):
    keys = torch.randint(-(2**63), 2**63 - 1, (size,), generator=torch.Generator().manual_seed(size))
    there = hash64(7, -3, keys.to(device)).cpu().numpy()
    np.testing.assert_array_equal(there, hash64_numpy(7, -3, keys.numpy()))


def test_keys_broadcast_and_their_places_matter():
    a, b = torch.arange(3)[:, None], torch.arange(4)
    table = hash64(a, b)
    assert table.shape == (3, 4)
    assert table[1, 2] == hash64(1, 2)
    assert table.unique().numel() == 12


def test_uniform_draws_fill_the_unit_interval_evenly():
    draws = uniform(hash64(1, torch.arange(100_000)))
    assert draws.dtype == torch.float64
    assert 0 <= draws.min() < 1e-3
    assert 1 - 1e-3 < draws.max() < 1
    share = torch.histc(draws, bins=10, min=0, max=1) / draws.numel()
    # Each share has standard deviation sqrt(.1 · .9 / 1e5) ≈ 0.00095; five of them.
    torch.testing.assert_close(share, torch.full((10,), 0.1, dtype=torch.float64), atol=0.005, rtol=0)


def test_extreme_hashes_stay_below_one():
    assert uniform(torch.tensor([-1, 0, 2**63 - 1, -(2**63)])).tolist() == [1 - 2**-53, 0.0, 0.5 - 2**-53, 0.5]


def test_every_epoch_has_an_order_of_its_own_and_subsets_keep_it(device: torch.device):
    keys = hash64(9, torch.arange(257)).to(device)
    first, second = visiting_order(0, 1, keys), visiting_order(0, 2, keys)
    assert sorted(first.tolist()) == list(range(257))
    assert not torch.equal(first, second)
    assert torch.equal(first, visiting_order(0, 1, keys))
    kept = torch.arange(0, 257, 3, device=device)
    among_all = [place for place in first.tolist() if place % 3 == 0]
    assert kept[visiting_order(0, 1, keys[kept])].tolist() == among_all


def test_equal_keys_are_visited_in_the_order_of_the_file():
    assert visiting_order(5, 1, torch.zeros(300, dtype=torch.int64)).tolist() == list(range(300))
