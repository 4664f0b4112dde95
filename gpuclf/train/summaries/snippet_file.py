"""Files of ready snippets: JSON lines, a business a line, in one of two forms.

Plain     {"business": …, "snippets": [{"aspect": …, "text": …, "review"?: …, "sentence"?: …, "polarity"?: …}]}
Condensr  {"restaurant": …, "clusters": [[{"label": …, "phrase": …}]]}: what the demo of Sauper et al. gave out. Its
          polarities are not looked at, and its clusters only to learn from them, since these are what is made anew;
          its texts are HTML.

polarity is 1, 0 or -1, or positive, neutral or negative. gzip and zstd are read as they are. Other fields are ignored.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuclf.data.paths import as_written
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder
from gpuclf.faults import UserFault
from gpuclf.train.summaries.similarity import Taught
from gpuclf.train.summaries.snippets import Snippet

_FORM = '{"business": name, "snippets": [{"aspect": name, "text": snippet}]}'
_CLUSTERED_FORM = '{"business": name, "clusters": [[{"label": aspect, "phrase": snippet}]]}'
_REMEDY = f"write a business a line, as {_FORM}"
_POLARITIES = {"positive": 1, "neutral": 0, "negative": -1, 1: 1, 0: 0, -1: -1}
_BUSINESS_FIELDS = ("business", "restaurant", "product")


def read_snippets(file: Path) -> list[Snippet]:
    """All snippets of a file, in order. Raises UserFault for a line of another form, and for a file without any."""
    found = [snippet for snippet, _ in _read(file)]
    if not found:
        raise UserFault("holds no snippet", file=as_written(file), remedy=_REMEDY)
    return found


def read_clusters(file: Path) -> Taught:
    """The snippets of a file of Condensr's form with their clusters. Raises UserFault for other forms, too."""
    found = list(_read(file))
    if any(cluster is None for _, cluster in found) or not found:
        reason = "holds snippets without clusters" if found else "holds no snippet"
        raise UserFault(reason, file=as_written(file), remedy=f"write a business a line, as {_CLUSTERED_FORM}")
    return Taught([snippet for snippet, _ in found], [cluster or 0 for _, cluster in found])


def _read(file: Path) -> Iterator[tuple[Snippet, int | None]]:
    if not file.is_file():
        raise UserFault("there is no such file", file=as_written(file))
    with Source(file) as source:
        lines = LineDecoder(source.blocks(), "utf-8", as_written(file))
        number = 0
        for batch in lines.batches():
            for line in batch:
                number += 1
                if line.strip():
                    yield from _of_line(line, file, number)


def _of_line(line: str, file: Path, number: int) -> Iterator[tuple[Snippet, int | None]]:
    def bad(reason: str, remedy: str = _REMEDY) -> UserFault:
        return UserFault(reason, file=as_written(file), line=number, remedy=remedy)

    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise bad(f"not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise bad("nested too deeply") from None
    if not isinstance(fields, dict):
        raise bad("not a JSON object")
    business = next((fields[name] for name in _BUSINESS_FIELDS if fields.get(name) not in (None, "")), None)
    if not isinstance(business, str | int) or isinstance(business, bool):
        raise bad("no business is named")
    if "snippets" not in fields and "clusters" not in fields and ("sentences" in fields or "text" in fields):
        raise bad("holds a review, not snippets", "give a run that finds the snippets: gpuclf summarize RUN FILE")
    if isinstance(fields.get("snippets"), list):
        for place, given in enumerate(fields["snippets"], start=1):
            try:
                yield _plain(str(business), given), None
            except ValueError as error:
                raise bad(f"snippet {place}: {error}") from None
    elif isinstance(fields.get("clusters"), list):
        yield from _condensr(str(business), fields["clusters"], bad)
    else:
        raise bad("neither 'snippets' nor 'clusters' is a list here")


def _plain(business: str, given: Any) -> Snippet:
    """Raises ValueError with what is wrong."""
    if not isinstance(given, dict):
        raise ValueError("not an object")
    texts = {}
    for name in ("aspect", "text"):
        value = given.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"no {name}")
        texts[name] = _whole(value.strip())
    review, sentence, polarity = given.get("review"), given.get("sentence", ""), given.get("polarity")
    if review is not None and (not isinstance(review, str | int) or isinstance(review, bool)):
        raise ValueError("review is neither a text nor a whole number")
    if not isinstance(sentence, str):
        raise ValueError("sentence is no text")
    if polarity is not None and (isinstance(polarity, bool | float | list | dict) or polarity not in _POLARITIES):
        raise ValueError(f"polarity is {json.dumps(polarity)[:40]}, not positive, neutral, negative, 1, 0 or -1")
    return Snippet(
        business=business,
        aspect=texts["aspect"],
        text=texts["text"],
        review=None if review is None else str(review),
        sentence=_whole(sentence.strip()),
        polarity=None if polarity is None else _POLARITIES[polarity],
    )


def _condensr(business: str, clusters: list[Any], bad: Any) -> Iterator[tuple[Snippet, int]]:
    for number, cluster in enumerate(clusters):
        for given in cluster if isinstance(cluster, list) else [None]:
            label = given.get("label") if isinstance(given, dict) else None
            phrase = given.get("phrase") if isinstance(given, dict) else None
            if not isinstance(label, str) or not isinstance(phrase, str) or not phrase.strip() or not label.strip():
                raise bad("a cluster is a list of objects with label and phrase")
            yield Snippet(business, label.strip(), _whole(html.unescape(phrase).strip())), number


def _whole(text: str) -> str:
    """A text that UTF-8 can hold: halves of characters, which JSON escapes can smuggle in, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
