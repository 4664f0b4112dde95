"""Settings of the data section that contradict themselves are refused, each with its reason."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gpuclf.data.options import DataOptions


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"encoding": "utf-9"}, "unknown encoding"),
        ({"encoding": "hex"}, "unknown encoding"),
        ({"index_base": True}, "truth value"),
        ({"index_base": 2}, "index_base"),
        ({"label": -1}, "count from 0"),
        ({"text": []}, "at least one"),
        ({"text": ["a", -2]}, "count from 0"),
        ({"label": True}, "label"),
        ({"header": 1}, "header"),
        ({"limit": 0}, "limit"),
        ({"columns": ["a", "a"]}, "more than once"),
        ({"categorical": ["a"], "numeric": ["a"]}, "at once"),
        ({"categorical": ["a=b"]}, "holds '='"),
        ({"categorical": ["label"]}, "cannot be an input"),
        ({"labels": "x.txt", "format": "tsv"}, "format lines"),
        ({"label_prefix": ""}, "one word"),
        ({"label_prefix": "a b"}, "one word"),
        ({"gold": -1}, "count from 0"),
        ({"gold": "tag", "tokens": "tag"}, "cannot be the gold tags"),
        ({"gold": "tag", "format": "tsv"}, "gold belongs to format conll or conllu, not tsv"),
        ({"gold": "tag", "format": "sentences"}, "not sentences"),
        ({"tokens": 0, "format": "lines"}, "tokens belongs to"),
        ({"tokenize": "words", "format": "conll"}, "tokenize belongs to format sentences"),
        ({"tokenize": "letters", "format": "sentences"}, "tokenize"),
        ({"txet": "a"}, "Extra inputs"),
        ({"format": "xml"}, "format"),
    ],
)
def test_refused(settings, reason):
    with pytest.raises(ValidationError, match=reason):
        DataOptions(train="train.tsv", **settings)


def test_a_mark_at_the_start_is_dropped_in_any_utf_8():
    assert DataOptions(train="x", encoding="utf-8-sig").encoding == "utf-8"
