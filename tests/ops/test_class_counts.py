"""Class counts of many views: every kernel gives the reference's bits, and the reference a recount."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gpuclf.ops.class_counts import ClassCounts, class_counts, counts_of_table, cpu, cuda, reference

Case = dict[str, object]


def drawn(seed: int, docs: int, features: int, classes: int, views: int, whole: bool, scaled: bool) -> Case:
    """Arguments of class_counts: random rows, some empty, some without a label."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.rand((docs, features), generator=generator)
    dense = torch.where(torch.rand((docs, features), generator=generator) < 0.2, dense, 0.0)
    dense = (dense * 9).ceil() if whole else dense
    dense[::7] = 0
    doc, column = torch.nonzero(dense, as_tuple=True)
    crow = torch.zeros(docs + 1, dtype=torch.int64)
    crow[1:] = torch.bincount(doc, minlength=docs).cumsum(0)
    col_scale, row_scale = None, None
    if scaled:
        col_scale = torch.rand((views, features + 1), generator=generator)
        col_scale[:, 1::3] = 0
        row_scale = torch.rand((views, docs), generator=generator) + 0.1
    return {
        "crow": crow,
        "col": (column + 1).to(torch.int32),
        "val": dense[doc, column],
        "labels": torch.randint(-1, classes, (docs,), generator=generator),
        "train": torch.rand((views, docs), generator=generator) < 0.7,
        "col_scale": col_scale,
        "row_scale": row_scale,
        "num_classes": classes,
        "num_features": features,
    }


def on(device: torch.device, case: Case) -> Case:
    return {name: value.to(device) if isinstance(value, Tensor) else value for name, value in case.items()}


SIZES = [(0, 5, 2, 2), (1, 1, 1, 1), (255, 40, 1, 3), (257, 2100, 5, 4), (60, 30, 300, 2), (50, 0, 3, 2), (40, 9, 3, 0)]


def check_equal(counts: ClassCounts, expected: ClassCounts) -> None:
    """The same cells with the same bits; totals, which kernels add in orders of their own, to float64."""
    for name in ("documents", "start", "label", "counts", "vocabulary"):
        torch.testing.assert_close(getattr(counts, name).cpu(), getattr(expected, name), rtol=0, atol=0)
    torch.testing.assert_close(counts.totals.cpu(), expected.totals, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("docs", "features", "classes", "views"), SIZES)
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_give_the_bits_of_the_reference(
    docs: int,
    features: int,
    classes: int,
    views: int,
    scaled: bool,
    binary: bool,
    weighted: bool,
    device: torch.device,
) -> None:
    case = drawn(docs + features, docs, features, classes, views, whole=False, scaled=scaled)
    if weighted:
        case["weights"] = torch.rand(docs, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    expected = reference.class_counts(**case, binary=binary)
    assert expected.counts.shape[0] == views
    assert expected.counts.dtype == torch.float64
    assert expected.num_features == features
    for counts in (
        class_counts(**on(device, case), binary=binary),
        cpu.class_counts(**case, binary=binary),
        cuda.class_counts(**on(device, case), binary=binary),  # plain torch: runs wherever the tensors are
    ):
        check_equal(counts, expected)


def recount(case: Case, binary: bool) -> np.ndarray:
    """Entry by entry, in Python."""
    train, labels = case["train"], case["labels"]
    counts = np.zeros((train.shape[0], case["num_features"] + 1, case["num_classes"]))
    for view in range(train.shape[0]):
        for doc, label in enumerate(labels.tolist()):
            if label < 0 or not train[view, doc]:
                continue
            counts[view, 0, label] += 1
            for entry in range(case["crow"][doc], case["crow"][doc + 1]):
                feature, value = int(case["col"][entry]), float(case["val"][entry])
                if case["col_scale"] is not None:
                    value *= float(case["col_scale"][view, feature]) * float(case["row_scale"][view, doc])
                counts[view, feature, label] += (value != 0) if binary else value
    return counts


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_reference_equals_a_recount(scaled: bool, binary: bool) -> None:
    case = drawn(7, 33, 12, 4, 3, whole=False, scaled=scaled)
    counts, expected = reference.class_counts(**case, binary=binary), recount(case, binary)
    np.testing.assert_allclose(counts.table().permute(1, 0, 2), expected, rtol=1e-12)
    np.testing.assert_allclose(counts.totals, expected[:, 1:].sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(counts.vocabulary, (expected[:, 1:] > 0).any(axis=2).sum(axis=1))


def test_cells_are_the_pairs_of_feature_and_class_that_meet() -> None:
    case = drawn(12, 60, 9, 3, 2, whole=True, scaled=False)
    counts = class_counts(**case)
    doc = torch.repeat_interleave(torch.arange(60), case["crow"].diff())
    pairs = {(int(v), int(case["labels"][n])) for v, n in zip(case["col"], doc, strict=True)}
    listed = list(zip(counts.feature().tolist(), counts.label.tolist(), strict=True))
    assert listed == sorted((v, k) for v, k in pairs if k >= 0)
    assert counts.start[:2].tolist() == [0, 0]  # the offset has no cells


def test_a_table_becomes_the_record_that_lists_it() -> None:
    counts = class_counts(**drawn(13, 80, 20, 3, 1, whole=True, scaled=False))
    check_equal(counts_of_table(counts.table()), counts_of_table(counts.table().clone()))
    assert torch.equal(counts_of_table(counts.table()).table(), counts.table())


def test_whole_counts_are_exact_and_a_fold_is_the_total_less_what_it_holds_out() -> None:
    case = drawn(8, 257, 100, 5, 3, whole=True, scaled=False)
    everyone = {**case, "train": torch.ones((1, 257), dtype=torch.bool)}
    counts = class_counts(**case).table()
    held_out = class_counts(**{**case, "train": ~case["train"]}).table()
    assert torch.equal(counts, counts.round())
    assert torch.equal(counts, class_counts(**everyone).table() - held_out)


def test_bits_depend_neither_on_threads_nor_on_other_views() -> None:
    case = drawn(9, 257, 5000, 6, 4, whole=False, scaled=True)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = class_counts(**case)
        torch.set_num_threads(3)
        shared = class_counts(**case)
    finally:
        torch.set_num_threads(threads)
    for name in ("start", "label", "counts", "totals"):
        assert torch.equal(getattr(shared, name), getattr(alone, name))
    for view in range(4):
        one = {name: case[name][view : view + 1] for name in ("train", "col_scale", "row_scale")}
        single = class_counts(**{**case, **one})
        assert torch.equal(single.counts[0], alone.counts[view])
        assert torch.equal(single.totals[0], alone.totals[view])


def test_arguments_are_left_as_they_are() -> None:
    case = drawn(10, 50, 20, 3, 2, whole=False, scaled=True)
    before = {name: value.clone() for name, value in case.items() if isinstance(value, Tensor)}
    for binary in (False, True):
        class_counts(**case, binary=binary)
    assert all(torch.equal(case[name], value) for name, value in before.items())


def test_every_cell_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn(11, 100, 5000, 3, 2, whole=False, scaled=True)
    expected = reference.class_counts(**case)
    monkeypatch.setattr(
        np, "empty", lambda shape, dtype=np.float64: np.full(shape, np.nan if dtype != np.int64 else -9, dtype)
    )
    check_equal(cpu.class_counts(**case), expected)


@pytest.mark.parametrize("binary", [False, True])
def test_a_weight_of_k_is_the_row_k_times(binary: bool) -> None:
    case = drawn(5, 60, 30, 4, 2, whole=True, scaled=False)
    times = torch.arange(60) % 4
    doc = torch.repeat_interleave(torch.arange(60), times)
    lengths = case["crow"].diff()[doc]
    entries = torch.cat([torch.arange(int(case["crow"][n]), int(case["crow"][n + 1])) for n in doc.tolist()])
    repeated = {
        **case,
        "crow": torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]),
        "col": case["col"][entries],
        "val": case["val"][entries],
        "labels": case["labels"][doc],
        "train": case["train"][:, doc],
    }
    weighted = class_counts(**case, weights=times.double(), binary=binary)
    assert torch.equal(weighted.table(), class_counts(**repeated, binary=binary).table())
