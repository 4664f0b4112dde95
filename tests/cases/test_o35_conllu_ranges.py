"""o35: multiword ranges and empty nodes of CoNLL-U are no words."""

from __future__ import annotations

from pathlib import Path

from gpuclf.features.options import WordTypesOptions
from gpuclf.features.word_types import fit_word_types
from tests.data.reading import read


def test_ranges_and_empty_nodes_are_passed_over_and_counted(case: Path) -> None:
    found = read(case / "train.conllu", format="conllu", gold="upos")
    assert found.sentences == [["Vengo", "de", "el", "puerto", "."], ["Kim", "wants", "soup", "and", "Lee", "rice"]]
    assert {tag for tags in found.gold for tag in tags} == {"ADP", "CCONJ", "DET", "NOUN", "PROPN", "PUNCT", "VERB"}
    assert (found.report.records, found.report.tokens, found.report.lines) == (2, 11, 19)
    assert "2 multiword ranges (such as 2-3) and 1 empty nodes" in found.note("passed over")


def test_the_tagger_sees_the_words_alone(case: Path) -> None:
    found = read(case / "train.conllu", format="conllu", gold="upos")
    types, encoded = fit_word_types(found.chunks, WordTypesOptions())
    assert "del" not in types.names
    assert "_" not in encoded.gold_classes
    assert encoded.gold_classes == ("ADP", "CCONJ", "DET", "NOUN", "PROPN", "PUNCT", "VERB")
    assert encoded.corpus.offsets.tolist() == [0, 5, 11]
    assert encoded.ids == ["1", "2"]
