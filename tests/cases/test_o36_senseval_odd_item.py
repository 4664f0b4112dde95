"""o36: a bare marker among the words of a sense-tagged context is no word, and never a word with a tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuclf.data.records import Contexts
from tests.data.reading import Read, doubtful_lines, read, refusal


def contexts(found: Read) -> dict[str, tuple[list[str], list[str], int]]:
    """Words, tags and head of every context by id."""
    by_id = {}
    for chunk in found.chunks:
        held = chunk.contexts
        assert isinstance(held, Contexts)
        for place, name in enumerate(chunk.ids):
            span = slice(int(held.offsets[place]), int(held.offsets[place + 1]))
            by_id[name] = (held.tokens[span], held.tags[span], int(held.heads[place]))
    return by_id


@pytest.mark.parametrize("file", ["hard.jsonl", "hard.xml"])
def test_the_marker_is_passed_over_by_one_rule_in_both_files(case: Path, file: str) -> None:
    format = "senseval" if file.endswith("xml") else "wsd"
    found = read(case / file, format=format, label="sense", on_bad="skip")
    words, tags, head = contexts(found)["h2"]
    assert (words, tags) == (["a", "very", "hard", "man"], ["DT", "RB", "JJ", "NN"])
    assert (words[head - 1], words[head], words[head + 1]) == ("very", "hard", "man")
    assert "1 bare markers" in found.note("markers")
    assert found.labels == ["HARD1", "HARD2"]
    words, _, head = contexts(found)["h1"]
    assert words[head] == "hard"
    assert found.report.skipped == (2 if format == "wsd" else 0)


def test_contexts_that_are_none_are_refused_by_id_and_reason(case: Path) -> None:
    fault = refusal(case / "hard.jsonl", format="wsd", label="sense")
    assert doubtful_lines(fault) == [3, 4]
    assert "h3: item 0 of the context" in str(fault)
    assert "of 3 parts" in str(fault)
    assert "h4: the target is item 9 of a context of 1" in str(fault)
