from __future__ import annotations

import io

import torch

from gpuclf.report.explain import ModelFacts, confused_pairs, contrast, print_model, sparsity, top_features


def test_top_features_compare_a_weight_with_the_other_classes() -> None:
    """A frequent word with high weights everywhere says nothing; a constant on all classes changes no decision."""
    weights = torch.tensor([[9.0, 0.0], [8.0, 8.0], [1.0, 0.0], [0.0, 3.0], [0.5, 0.0]])
    names = ["the", "ham", "spam", "rare"]
    expected = [[("ham", 0.5), ("rare", 0.25)], [("spam", 1.5)]]
    assert top_features(weights, names, 5) == expected
    assert top_features(weights + torch.arange(5.0)[:, None], names, 5) == expected
    assert top_features(weights, names, 1) == [[("ham", 0.5)], [("spam", 1.5)]]


def test_ties_go_to_the_first_feature_and_infinite_weights_are_never_on_top() -> None:
    weights = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [1.0, 0.0, 0.5], [-torch.inf, 2.0, 4.0]])
    top = top_features(weights, ["b", "a", "c"], 3)
    assert [name for name, _ in top[0]] == ["b", "a"]
    assert top[1] == []
    assert top[2] == [("c", 1.0)]
    assert contrast(weights)[3].tolist() == [-torch.inf, -1.0, 1.0]


def test_one_class_keeps_its_weights() -> None:
    assert top_features(torch.tensor([[0.0], [2.0], [-1.0]]), ["a", "b"], 5) == [[("a", 2.0)]]


def test_confused_pairs_are_ordered_by_documents_then_classes() -> None:
    confusion = torch.tensor([[5, 2, 0], [2, 0, 1], [0, 0, 0]])
    assert confused_pairs(confusion, ["a", "b", "c"], 9) == [
        ("a", "b", 2, 2 / 7),
        ("b", "a", 2, 2 / 3),
        ("b", "c", 1, 1 / 3),
    ]
    assert confused_pairs(confusion, ["a", "b", "c"], 1) == [("a", "b", 2, 2 / 7)]
    assert confusion[0, 0] == 5  # the argument is left alone


def test_the_model_of_77_classes_is_printed_without_markup_or_control_characters() -> None:
    classes = [f"[b]class{index}\n" for index in range(77)]
    weights = torch.randn(101, 77, generator=torch.Generator().manual_seed(0))
    confusion = torch.eye(77, dtype=torch.int64)
    confusion[3, 4] = 7
    stream = io.StringIO()
    facts = ModelFacts(
        "demo",
        classes,
        [f"w{index}\x1b" for index in range(100)],
        weights,
        confusion,
        {"model.type": "mira", "model.C": float("inf")},
        {"features": 1234567},
    )
    print_model(facts, features=3, stream=stream)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "demo: 77 classes"
    assert "1,234,567 features" in lines[1]
    assert any(line.split() == ["model.C", "inf"] for line in lines)
    rows = [line for line in lines if line.startswith("[b]class") and "w" in line]
    assert len(rows) == 77
    assert all(row.count("\\x1b") == 3 for row in rows)
    assert "\x1b" not in stream.getvalue()
    assert lines[-1].split() == ["[b]class3\\n", "[b]class4\\n", "7", "87.5%"]


def test_a_model_without_weights_or_confusions_still_has_its_options() -> None:
    stream = io.StringIO()
    print_model(ModelFacts("x", ["a"], options={"model.type": "tagger"}), stream=stream)
    assert "tagger" in stream.getvalue()
    assert "Confusions" not in stream.getvalue()


def test_what_an_l1_penalty_has_left() -> None:
    weights = torch.zeros(11, 2)
    weights[0] = 1.0  # the offset does not count
    weights[3] = torch.tensor([0.5, -0.5])
    weights[7, 1] = 2.0
    assert sparsity(weights) == {"features with a weight": 2, "weights other than 0 (85 % are 0)": 3}
