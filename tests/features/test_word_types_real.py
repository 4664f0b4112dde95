"""Tagged corpora of three languages: sentences, tokens, types and tags as their makers counted them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.features.options import WordTypesOptions
from gpuclf.features.word_types import fit_word_types


@pytest.mark.parametrize(
    ("name", "sentences", "tokens", "types", "tags"),
    [
        ("conll2000", 10948, 259104, 21589, 44),
        ("treebank_sample", 3914, 94084, 11968, 45),
        ("floresta_pt", 9266, 182695, 29406, 23),
        ("cess_es", 6013, 188679, 25454, 47),
    ],
)
def test_counts(shared_data: Path, name: str, sentences: int, tokens: int, types: int, tags: int) -> None:
    path = shared_data / "pos" / f"{name}.tsv.gz"
    if not path.is_file():
        pytest.skip(f"no {name} among the measuring data at {shared_data}")
    options = DataOptions(train=path, format="conll", columns=["token", "tag"], gold="tag")
    reader = open_reader(options.train, options)
    words, encoded = fit_word_types(reader.chunks(), WordTypesOptions(normalize="none"))
    assert (encoded.corpus.num_sentences, encoded.corpus.num_tokens) == (sentences, tokens)
    assert (len(words), len(encoded.gold_classes)) == (types, tags)
    assert reader.report.skipped == 0
