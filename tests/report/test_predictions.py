from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.faults import UserFault
from gpuclf.report.predictions import escape, predictions_file, read_predictions, unescape

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(_TEXT)
def test_escaped_text_fits_one_field_and_comes_back(text: str) -> None:
    field = escape(text)
    assert not set(field) & set("\t\n\r")
    assert unescape(field) == text


def test_the_file_names_the_class_of_each_score_and_keeps_every_bit(tmp_path: Path) -> None:
    path = tmp_path / "predictions.tsv"
    classes = ["id", "a\tb", "文化"]
    scores = torch.tensor([[1 / 3, -float("inf"), 2e-38], [0.1, 7.0, 16777217.0]], dtype=torch.float32)
    with predictions_file(path, classes) as writer:
        writer.add(["doc\t1", "C:\\n\u2028"], ["never seen", "a\tb"], torch.tensor([0, 2]), scores)
        writer.add(["3"], None, torch.tensor([1]), scores[:1])
    assert path.read_text(encoding="utf-8").split("\n")[0] == "id\tgold\tpredicted\tid\ta\\tb\t文化"
    names, rows = read_predictions(path)
    documents = list(rows)
    assert names == classes
    assert [row[:3] for row in documents] == [
        ("doc\t1", "never seen", "id"),
        ("C:\\n\u2028", "a\tb", "文化"),
        ("3", "", "a\tb"),
    ]
    assert torch.equal(torch.tensor([row[3] for row in documents[:2]], dtype=torch.float32), scores)


def test_a_failed_run_leaves_no_half_file(tmp_path: Path) -> None:
    path = tmp_path / "predictions.tsv"

    def interrupted() -> None:
        with predictions_file(path, ["a"]) as writer:
            writer.add(["1"], None, torch.tensor([0]), torch.zeros(1, 1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_edited_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "predictions.tsv"
    path.write_text("id\tgold\tpredicted\ta\n1\ta\ta\t0.5\n2\ta\n")
    with pytest.raises(UserFault, match=r"predictions\.tsv:3"):
        list(read_predictions(path)[1])
    path.write_text("1\ta\ta\t0.5\n")
    with pytest.raises(UserFault, match="does not begin"):
        read_predictions(path)
