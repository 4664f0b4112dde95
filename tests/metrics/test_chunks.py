"""Chunks as conlleval counts them: tables of tags and the spans that its rules find."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from gpuclf.metrics.chunks import chunk_batch_metrics, chunk_counts, chunk_figures, chunk_tags

# tags of one sentence; (first, last, type) of the chunks in it
SPANS = {
    "B-NP I-NP O": [(0, 1, "NP")],
    "I-NP I-NP O": [(0, 1, "NP")],  # IOB1: an I after the sentence's beginning
    "O I-NP I-NP": [(1, 2, "NP")],  # an I after O
    "I-NP B-NP I-NP": [(0, 0, "NP"), (1, 2, "NP")],  # IOB1: B only between neighbours
    "B-NP B-NP": [(0, 0, "NP"), (1, 1, "NP")],
    "B-NP I-VP": [(0, 0, "NP"), (1, 1, "VP")],  # another type
    "I-NP I-VP I-VP O": [(0, 0, "NP"), (1, 2, "VP")],
    "B-NP O I-NP": [(0, 0, "NP"), (2, 2, "NP")],
    "I-NP E-NP I-NP O": [(0, 1, "NP"), (2, 2, "NP")],  # IOE1: E only between neighbours
    "E-NP E-NP": [(0, 0, "NP"), (1, 1, "NP")],  # IOE2: chunks of one token
    "I-NP E-NP O E-NP": [(0, 1, "NP"), (3, 3, "NP")],
    "B-NP E-NP S-NP B-NP I-NP E-NP": [(0, 1, "NP"), (2, 2, "NP"), (3, 5, "NP")],  # IOBES
    "S-NP I-NP": [(0, 0, "NP"), (1, 1, "NP")],
    "U-NP B-VP L-VP": [(0, 0, "NP"), (1, 2, "VP")],  # BILOU
    "B I I O B": [(0, 2, ""), (4, 4, "")],
    "B-a-b I-a-b I-a": [(0, 1, "a-b"), (2, 2, "a")],  # the first hyphen parts
    "O O": [],
}
CLASSES = ["O", *(f"{letter}-{kind}" for kind in ("NP", "VP", "a-b", "a") for letter in "BIESLU"), *"BIESLU"]


def classes(*tags: str) -> torch.Tensor:
    return torch.tensor([CLASSES.index(tag) for text in tags for tag in text.split()])


@pytest.mark.parametrize("text", SPANS)
def test_the_chunks_of_a_sentence(text: str) -> None:
    """Each found chunk is right beside a labelling in IOBES that holds it alone, and no other is."""
    tags = chunk_tags(CLASSES)
    assert tags is not None
    given = classes(text)
    every = chunk_counts(tags, given, given[None], torch.zeros_like(given))[0]
    spans = SPANS[text]
    for place, kind in enumerate(tags.types):
        assert every[:, place].tolist() == [sum(span[2] == kind for span in spans)] * 3
    for first, last, kind in itertools.product(range(len(given)), range(len(given)), tags.types):
        if first > last:
            continue
        hyphen = f"-{kind}" if kind else ""
        alone = ["O"] * len(given)
        alone[first : last + 1] = [f"I{hyphen}"] * (last - first + 1)
        alone[first], alone[last] = f"B{hyphen}", f"E{hyphen}"
        if first == last:
            alone[first] = f"S{hyphen}"
        right = chunk_counts(tags, given, classes(*alone)[None], torch.zeros_like(given))[0, 0]
        assert int(right.sum()) == ((first, last, kind) in spans)


def test_a_chunk_ends_with_its_sentence() -> None:
    tags = chunk_tags(["B-NP", "I-NP", "O"])
    assert tags is not None
    gold = torch.tensor([0, 1, 1, 1])
    one, two = (chunk_counts(tags, gold, gold[None], torch.tensor(s))[0, 2] for s in ([0, 0, 0, 0], [0, 0, 1, 1]))
    assert (one.tolist(), two.tolist()) == ([1], [2])


def test_figures_by_hand() -> None:
    names = ["B-NP", "B-VP", "I-NP", "I-VP", "O"]
    tags = chunk_tags(names)
    assert tags is not None
    gold = torch.tensor([names.index(t) for t in ["B-NP", "I-NP", "O", "B-VP", "I-VP", "B-NP"]])
    guess = torch.tensor([names.index(t) for t in ["B-NP", "I-NP", "B-NP", "B-VP", "O", "B-NP"]])
    counts = chunk_counts(tags, gold, torch.stack([guess, gold]), torch.zeros(6, dtype=torch.int64))
    found = chunk_batch_metrics(counts)
    assert found["chunk_precision"].tolist() == [2 / 4, 1.0]
    assert found["chunk_recall"].tolist() == [pytest.approx(2 / 3), 1.0]
    assert found["chunk_f1"].tolist() == [pytest.approx(4 / 7), 1.0]
    told = chunk_figures(tags, counts[0])
    assert told["per_chunk"]["VP"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1, "predicted": 1}
    assert told["per_chunk"]["NP"]["precision"] == pytest.approx(2 / 3)


def test_equals_spans_read_one_by_one() -> None:
    """Random tags of several sentences against a loop over tokens."""
    names = ["B-NP", "B-VP", "E-NP", "I-NP", "I-VP", "O", "S-NP"]
    tags = chunk_tags(names)
    assert tags is not None
    draw = random.Random(0)
    sentence = sorted(draw.randrange(12) for _ in range(300))
    rows = [[draw.randrange(len(names)) for _ in sentence] for _ in range(4)]
    counts = chunk_counts(tags, torch.tensor(rows[0]), torch.tensor(rows[1:]), torch.tensor(sentence))
    spans = [_spans([names[k] for k in row], sentence) for row in rows]
    for guess, found in zip(spans[1:], counts, strict=True):
        for place, kind in enumerate(tags.types):
            own = [{span for span in part if span[2] == kind} for part in (guess & spans[0], guess, spans[0])]
            assert found[:, place].tolist() == [len(part) for part in own]


def _spans(labels: list[str], sentence: list[int]) -> set[tuple[int, int, str]]:
    found, begun = set(), -1
    for i, label in enumerate(labels):
        letter, _, kind = label.partition("-")
        fresh = i == 0 or sentence[i] != sentence[i - 1]
        before, _, old = ("O", "", "") if fresh else labels[i - 1].partition("-")
        if letter != "O" and (letter in "BS" or before in "OES" or kind != old):
            begun = i
        last = i + 1 == len(labels) or sentence[i + 1] != sentence[i]
        after, _, new = ("O", "", "") if last else labels[i + 1].partition("-")
        if letter != "O" and (letter in "ES" or after in "BSO" or kind != new):
            found.add((begun, i, kind))
    return found


@pytest.mark.parametrize("names", [["NOUN", "VERB"], ["B-NP", "X"], ["O", "S"], ["S-NP", "O"], ["B", "I"], []])
def test_other_classes_are_no_tags_of_chunks(names: list[str]) -> None:
    assert chunk_tags(names) is None


def test_no_token() -> None:
    tags = chunk_tags(["B-NP", "O"])
    assert tags is not None
    nothing = torch.zeros(0, dtype=torch.int64)
    counts = chunk_counts(tags, nothing, nothing.expand(2, 0), nothing)
    assert counts.tolist() == [[[0], [0], [0]]] * 2
    assert chunk_batch_metrics(counts)["chunk_f1"].tolist() == [0.0, 0.0]
