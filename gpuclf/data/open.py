"""Opens files of documents: one visible table from format to parser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from gpuclf.data.intake import Body, Intake, SentenceBody, TextBody
from gpuclf.data.options import (
    COLUMNS_OF_WORDS,
    CONTEXT_FORMATS,
    FORMATS,
    PROPBANK,
    REVIEWS,
    SENTENCE_FORMATS,
    DataOptions,
)
from gpuclf.data.paths import as_written, require_file
from gpuclf.data.readers.conll import ConllParser
from gpuclf.data.readers.conllu import ConlluParser
from gpuclf.data.readers.context_body import ContextBody
from gpuclf.data.readers.csv import CsvParser
from gpuclf.data.readers.delimited_header import HeaderOrNot
from gpuclf.data.readers.directory import DirectoryReader
from gpuclf.data.readers.fasttext import FasttextParser
from gpuclf.data.readers.jsonl import JsonlParser
from gpuclf.data.readers.line_reader import LineParser, LineReader
from gpuclf.data.readers.lines import LinesParser
from gpuclf.data.readers.parquet import ParquetReader, refuse_compressed
from gpuclf.data.readers.propbank import PropbankReader
from gpuclf.data.readers.reviews import ReviewBody, ReviewsParser
from gpuclf.data.readers.senseval import SensevalParser
from gpuclf.data.readers.sentences import SentencesParser
from gpuclf.data.readers.svmlight import IndexedBody, SvmlightParser
from gpuclf.data.readers.tsv import TsvParser
from gpuclf.data.readers.vw import NamedBody, VwParser
from gpuclf.data.readers.wsd import WsdParser
from gpuclf.data.records import Reader, ReadReport
from gpuclf.data.source import Source
from gpuclf.data.table_rows import TableBody, TableRows, table_body
from gpuclf.faults import UserFault

ENDINGS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "fasttext",
    ".fasttext": "fasttext",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".conll": "conll",
    ".conllu": "conllu",
}
PACKED = (".gz", ".zst")
_TABLES = ("tsv", "csv", "jsonl", "parquet")


def _delimited(parser: Callable[[HeaderOrNot, Intake], LineParser], intake: Intake, body: Any) -> LineParser:
    return parser(HeaderOrNot(TableRows(intake, body), intake), intake)


_PARSERS: dict[str, Callable[[Intake, Any, Source | None], LineParser]] = {
    "tsv": lambda intake, body, _: _delimited(TsvParser, intake, body),
    "csv": lambda intake, body, _: _delimited(CsvParser, intake, body),
    "jsonl": lambda intake, body, _: JsonlParser(TableRows(intake, body), intake),
    "fasttext": lambda intake, body, _: FasttextParser(intake, body),
    "lines": LinesParser,
    "svmlight": lambda intake, body, _: SvmlightParser(intake, body, intake.report.index_base),
    "vw": lambda intake, body, _: VwParser(intake, body),
    "conll": lambda intake, body, _: ConllParser(intake, body),
    "conllu": lambda intake, body, _: ConlluParser(intake, body),
    "sentences": lambda intake, body, _: SentencesParser(intake, body),
    "wsd": lambda intake, body, _: WsdParser(intake, body),
    "senseval": lambda intake, body, _: SensevalParser(intake, body),
    "reviews": lambda intake, body, _: ReviewsParser(intake, body),
}


def open_reader(
    path: Path,
    options: DataOptions,
    *,
    labelled: bool = True,
    chunk_docs: int = 4096,
    index_base: int | None = None,
    labels: Path | None = None,
) -> Reader:
    """A reader of one file (a folder for format directory). Nothing but the first bytes may be read before `chunks`.

    Args: labelled: False for prediction: a label or gold column may be absent, and what it holds is not given out.
        index_base: the base found in the training file (`ReadReport.index_base`), for every later svmlight file.
        labels: for format lines, the parallel label file of `path`; `options.labels` belongs to the training file only.
    Raises: UserFault for a missing file, an unknown format, settings that do not fit the format.
    """
    require_file(path, folder=True)
    format, how = _format_of(path, options)
    if format not in ("directory", PROPBANK):
        require_file(path)
    report = ReadReport(path, format)
    if how:
        report.notes.append(how)
    is_train = path == options.train
    limit = options.limit if is_train else None
    weighted = is_train and labelled and options.weight is not None
    if format == "parquet":
        refuse_compressed(path.name, as_written(path))
        body = _body(format, options, labelled)
        intake = Intake(report, options, body, labelled=labelled, limit=limit, weighted=weighted)
        return ParquetReader(TableRows(intake, body), intake, chunk_docs=chunk_docs)
    if format == PROPBANK:
        table = TableBody(options.categorical, ())
        intake = Intake(report, options, table, labelled=labelled, limit=limit)
        return PropbankReader(intake, table, chunk_docs=chunk_docs)
    if format == "directory":
        body = _body(format, options, labelled)
        intake = Intake(report, options, body, labelled=labelled, limit=limit)
        return DirectoryReader(intake, body, chunk_docs=chunk_docs)
    beside = _label_source(path, options, labels, is_train) if format == "lines" and labelled else None
    intake, parser = _line_parser(report, options, labelled, limit, index_base, beside, weighted)
    return LineReader(Source(path), parser, intake, chunk_docs=chunk_docs, beside=beside)


def open_text_stream(
    stream: BinaryIO,
    options: DataOptions,
    *,
    format: str = "lines",
    labelled: bool = False,
    chunk_docs: int = 4096,
    index_base: int | None = None,
    name: str = "<stdin>",
) -> Reader:
    """A reader of a binary stream such as standard input; a chunk is given for every block that arrives.

    `format`: "lines" (every line is a document, whatever the format of the training file) or any line-based format.
    Raises: UserFault for a format that is not read by lines.
    """
    if format not in FORMATS or format in ("parquet", "directory", PROPBANK):
        raise UserFault(f"format {format!r} cannot be read from a stream", file=name, remedy="give a file instead")
    if format == "lines" and labelled:
        raise UserFault("a stream of lines has no labels", file=name, remedy="give a file with its labels")
    report = ReadReport(Path(name), format)
    intake, parser = _line_parser(report, options, labelled, None, index_base, None)
    return LineReader(Source(Path(name), stream), parser, intake, chunk_docs=chunk_docs, eager=True)


def _format_of(path: Path, options: DataOptions) -> tuple[str, str | None]:
    """The format, and how it was found if the config does not say it."""
    if options.format is not None:
        return options.format, None
    if path.is_dir():
        return "directory", "format directory, as the path is a folder (data.format is not set)"
    if options.labels is not None:
        return "lines", "format lines, as data.labels is set (data.format is not)"
    stem = path.name.lower()
    for packed in PACKED:
        stem = stem.removesuffix(packed)
    ending = Path(stem).suffix
    if ending in ENDINGS:
        return ENDINGS[ending], f"format {ENDINGS[ending]}, by the ending {ending} (data.format is not set)"
    hint = "; JSON must be one object a line (jsonl)" if ending == ".json" else ""
    raise UserFault(
        f"the format cannot be told from the ending {ending!r}{hint}",
        file=as_written(path),
        key="data.format",
        remedy=f"set it (gpuclf predict: --input-format) to one of {', '.join(FORMATS)}",
    )


def _body(format: str, options: DataOptions, labelled: bool) -> Body:
    """What collects the documents of a format. Raises: UserFault where columns are asked for and there are none."""
    if format in _TABLES:
        return table_body(options)
    if options.is_table:
        raise UserFault(
            f"format {format} has no columns of categories or numbers",
            key="data.categorical" if options.categorical else "data.numeric",
            remedy=f"leave it out, or use one of {', '.join(_TABLES)}",
        )
    if format in SENTENCE_FORMATS and (format, options.tokenize) != ("sentences", "words"):
        columns = format in COLUMNS_OF_WORDS
        return SentenceBody(labelled and options.gold is not None and columns, options.inputs if columns else ())
    if format == REVIEWS:
        return ReviewBody(with_spans=labelled)
    bodies: dict[str, Callable[[], Body]] = {"svmlight": IndexedBody, "vw": NamedBody}
    bodies |= dict.fromkeys(CONTEXT_FORMATS, ContextBody)
    return bodies.get(format, TextBody)()


def _label_source(path: Path, options: DataOptions, labels: Path | None, is_train: bool) -> Source:
    found = labels if labels is not None else (options.labels if is_train else None)
    if found is None:
        raise UserFault(
            "the labels of these lines are not given",
            file=as_written(path),
            key="data.labels",
            remedy="name the file that holds them, one a line",
        )
    return Source(require_file(found, key="data.labels"))


def _line_parser(
    report: ReadReport,
    options: DataOptions,
    labelled: bool,
    limit: int | None,
    index_base: int | None,
    beside: Source | None,
    weighted: bool = False,
) -> tuple[Intake, LineParser]:
    body = _body(report.format, options, labelled)
    sentences = report.format in (*SENTENCE_FORMATS, REVIEWS)
    intake = Intake(report, options, body, labelled=labelled, limit=limit, sentences=sentences, weighted=weighted)
    if report.format == "svmlight":
        given = None if options.index_base == "auto" else options.index_base
        report.index_base = given if index_base is None else index_base
    return intake, _PARSERS[report.format](intake, body, beside)
