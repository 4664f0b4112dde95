"""Files of ready snippets in both forms, and what is wrong with others, by line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpuclf.faults import UserFault
from gpuclf.train.summaries.snippet_file import read_clusters, read_snippets

PLAIN = '{"business": "Al\'s", "snippets": [{"aspect": "food", "text": " Good soup. ", "review": 7}]}\n'
CONDENSR = '{"restaurant": "x", "clusters": [[{"label": "food", "phrase": "mac &amp; cheese", "polarity": 1}]]}\n'


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "snippets.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_both_forms(tmp_path: Path) -> None:
    first, second = read_snippets(written(tmp_path, PLAIN + "\n" + CONDENSR))
    assert (first.business, first.aspect, first.text, first.review) == ("Al's", "food", "Good soup.", "7")
    assert (second.business, second.aspect, second.text, second.polarity) == ("x", "food", "mac & cheese", None)


def test_compressed_with_a_polarity_and_a_sentence(tmp_path: Path) -> None:
    line = (
        '{"business": 3, "snippets": [{"aspect": "a", "text": "b\\ud800", "polarity": "negative", "sentence": "b c"}]}'
    )
    [found] = read_snippets(written(tmp_path, gzip.compress(line.encode())))
    assert (found.business, found.text, found.polarity, found.sentence) == ("3", "b�", -1, "b c")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no snippet"),
        ('{"business": "x", "snippets": []}', "holds no snippet"),
        (PLAIN + "[]", ":2: not a JSON object"),
        (PLAIN + "{", ":2: not JSON"),
        ('{"snippets": []}', ":1: no business is named"),
        ('{"business": "", "snippets": []}', ":1: no business is named"),
        ('{"business": "x"}', "neither 'snippets' nor 'clusters'"),
        ('{"business": "x", "text": "The soup was good."}', "holds a review, not snippets"),
        ('{"business": "x", "snippets": [{"text": "y"}]}', "snippet 1: no aspect"),
        ('{"business": "x", "snippets": [{"aspect": "a", "text": " "}]}', "snippet 1: no text"),
        ('{"business": "x", "snippets": [{"aspect": "a", "text": "b", "polarity": 2}]}', "polarity is 2"),
        ('{"business": "x", "snippets": [{"aspect": "a", "text": "b", "polarity": true}]}', "polarity is true"),
        ('{"business": "x", "snippets": [{"aspect": "a", "text": "b", "review": []}]}', "review is neither"),
        ('{"business": "x", "clusters": [["y"]]}', "label and phrase"),
        (b"\xff\xfe", "utf-8"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, content: str | bytes, reason: str) -> None:
    with pytest.raises(UserFault) as fault:
        read_snippets(written(tmp_path, content))
    assert reason in str(fault.value)
    assert "snippets.jsonl" in str(fault.value)


def test_clusters_to_learn_from(tmp_path: Path) -> None:
    line = '{"business": "x", "clusters": [[{"label": "a", "phrase": "b"}, {"label": "a", "phrase": "c"}], []]}\n'
    found = read_clusters(written(tmp_path, line + CONDENSR))
    assert [snippet.text for snippet in found.snippets] == ["b", "c", "mac & cheese"]
    assert list(found.clusters) == [0, 0, 0]
    with pytest.raises(UserFault, match="snippets without clusters"):
        read_clusters(written(tmp_path, PLAIN))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserFault, match="no such file"):
        read_snippets(tmp_path / "none.jsonl")
