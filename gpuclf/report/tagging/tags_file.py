"""tags.tsv and tagged.txt: the tag of every word type, and the training text with the tag behind every word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from torch import Tensor

from gpuclf.data.atomic_write import atomic_path
from gpuclf.report.predictions import escape
from gpuclf.train.tagging.experiment import TaggingResult

TAGS = "tags.tsv"
TAGGED = "tagged.txt"
HEADER = ("type", "tag", "count", "margin")


def write_tags(path: Path, result: TaggingResult) -> None:
    """One line a type, the most frequent first. margin: how sure the tag is, the log-odds in nats of this tag against
    the next best, given all other types' tags; inf where there is one tag only."""
    tagger = result.tagger
    names, counts = tagger.tag_names, tagger.counts
    tags, margins = tagger.predictor.tags[0].tolist(), result.margins.tolist()
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(HEADER) + "\n")
        for word in counts.sort(descending=True, stable=True).indices.tolist():
            fields = (escape(tagger.words.names[word]), names[tags[word]], str(int(counts[word])))
            file.write("\t".join((*fields, f"{margins[word]:.6g}")) + "\n")


def write_tagged(path: Path, result: TaggingResult) -> None:
    """One line a sentence, as `gpuclf predict` prints raw text."""
    corpus = result.text.sentences.corpus
    words = result.tagger.words.names
    tokens = [words[word] for word in corpus.ids.tolist()]
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for line in tagged_lines(tokens, result.tags, corpus.offsets, result.tagger.tag_names):
            file.write(line + "\n")


def tagged_lines(tokens: Sequence[str], tags: Tensor, offsets: Tensor, names: Sequence[str]) -> Iterator[str]:
    """word/TAG word/TAG …, a line a sentence. A tag has no slash: what follows the last one is the tag. Blanks inside a
    word are underscores, so that blanks part words."""
    numbers, ends = tags.tolist(), offsets.tolist()
    for start, end in pairwise(ends):
        pairs = zip(tokens[start:end], numbers[start:end], strict=True)
        yield " ".join(f"{'_'.join(word.split()) or '_'}/{names[tag]}" for word, tag in pairs)
