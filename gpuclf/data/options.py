"""The `data` section of a config: which file, in which format, and where labels and inputs stand in it."""

from __future__ import annotations

import codecs
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gpuclf.data.paths import ConfigPath, resolve_path
from gpuclf.data.roles.argument import BASELINE, FEATURES

Format = Literal[
    "tsv",
    "csv",
    "jsonl",
    "parquet",
    "fasttext",
    "svmlight",
    "vw",
    "directory",
    "lines",
    "conll",
    "conllu",
    "sentences",
    "wsd",
    "senseval",
    "propbank",
    "reviews",
]
FORMATS: tuple[str, ...] = get_args(Format)
COLUMNS_OF_WORDS = ("conll", "conllu")  # formats with one word a line
PROPBANK = "propbank"
REVIEWS = "reviews"
SENTENCE_FORMATS = (*COLUMNS_OF_WORDS, "sentences")
CONTEXT_FORMATS = ("wsd", "senseval")  # contexts of one ambiguous word
ColumnRef = str | int  # a column by its name, or by its place counted from 0


class DataOptions(BaseModel):
    """How training, validation, test and prediction files are read; all of them by the same settings.

    Columns are found by name (header line, `columns`, JSON field, Parquet column) or by place, counted from 0.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    train: ConfigPath = Field(description="the training file (or folder, for format directory)")
    format: Format | None = Field(None, description="file format; by the ending of each file's name where not given")
    label: ColumnRef = Field("label", description="column of the label")
    text: ColumnRef | list[ColumnRef] = Field("text", description="column of the text; several are joined by a blank")
    id: ColumnRef | None = Field(None, description="column of a unique name for each document (vw: `tag`)")
    word: str | None = Field(
        None,
        description="wsd: field of the ambiguous word, such as art.n, which every record then has; by default "
        "`word`, where records have one (senseval: the lexelt)",
    )
    group: ColumnRef | None = Field(None, description="column of the group: a group never straddles folds")
    weight: ColumnRef | None = Field(
        None,
        description="column of how often a training document counts, a number ≥ 0 (vw: `importance`); figures "
        "on held-out and test documents count each of them once",
    )
    columns: list[str] | None = Field(None, description="names of the columns of a file without a header line")
    header: bool = Field(True, description="whether the first line of a tsv or csv file names the columns")
    encoding: str = Field("utf-8", description="encoding of text files, always strict, e.g. cp1252")
    labels: ConfigPath | None = Field(None, description="format lines: file with the label of each line of `train`")
    quoting: bool = Field(True, description='csv: whether " quotes fields (RFC 4180); false: quote marks are text')
    row_like_lines: Literal["refuse", "keep"] = Field(
        "refuse", description="csv: lines inside a quoted field that look like records swallowed by a stray quote mark"
    )
    missing: list[str] = Field([""], description="cells with exactly this content are missing")
    missing_numbers: Literal["refuse", "keep"] = Field(
        "refuse",
        description="numeric columns: a missing number is bad, or missing (keep; features of type categorical do so)",
    )
    on_bad: Literal["refuse", "skip"] = Field("refuse", description="bad records: stop, or leave out and count")
    several_labels: Literal["refuse", "repeat"] = Field(
        "refuse", description="documents with several labels: stop, or give the document once with each of them"
    )
    label_prefix: str = Field("__label__", description="fasttext: what marks a word as a label")
    comma_labels: Literal["refuse", "keep"] = Field(
        "refuse", description="fasttext: labels that hold a comma, most often a comma in place of the blank after it"
    )
    index_base: Literal["auto", 0, 1] = Field("auto", description="svmlight: first index; auto: by the training file")
    named_labels: bool = Field(False, description="vw: labels may be any word, not only numbers")
    escaped: bool = Field(False, description="vw: names were escaped (%3A for : …) and are turned back when read")
    categorical: list[str] = Field([], description="columns that hold categories")
    numeric: list[str] = Field([], description="columns that hold numbers")
    tokens: ColumnRef | None = Field(None, description="column of the words (conll: the first; conllu: form)")
    gold: ColumnRef | None = Field(
        None, description="column of the gold tags, for scoring only (conllu: upos, xpos, …)"
    )
    inputs: list[str] = Field([], description="columns of words whose values are features as well, such as pos")
    tokenize: Literal["blanks", "words"] = Field(
        "blanks", description="sentences: tokens are parted by blanks, or found by features.token_pattern"
    )
    words: ConfigPath | None = Field(
        None, description="propbank: CoNLL-U file or folder with the words of its documents"
    )
    trees: ConfigPath | None = Field(None, description="propbank: bracketed trees that .prop files point into")
    annotations: ConfigPath | None = Field(None, description="propbank: folder that a list of files is relative to")
    aspects: dict[str, str] | None = Field(
        None,
        description="reviews: the aspect of each category, * for any characters, NONE for no aspect; by default "
        "SemEval's ENTITY#ATTRIBUTE of restaurants becomes food, service, ambiance, value, overall",
    )
    unlabelled: list[ConfigPath] = Field(
        [], description="reviews: further files without labels, read beside `train` for a model of their topics"
    )
    limit: int | None = Field(None, ge=1, description="read only so many documents of the training file")

    @field_validator("index_base", mode="before")
    @classmethod
    def _index_base_is_no_truth_value(cls, value: object) -> object:
        if isinstance(value, bool):  # True == 1 would pass for the literal 1
            raise ValueError("index_base is auto, 0 or 1, not a truth value")
        return value

    @field_validator("encoding")
    @classmethod
    def _encoding_is_known(cls, value: str) -> str:
        try:
            known = codecs.lookup(value)
            "".encode(value)  # refuses codecs from bytes to bytes, such as hex
        except LookupError:
            raise ValueError(f"unknown encoding {value!r}; common ones are utf-8, cp1252, latin-1, utf-16") from None
        return value if known.name != "utf-8-sig" else "utf-8"

    @field_validator("label", "id", "group", "weight", "tokens", "gold")
    @classmethod
    def _place_is_not_negative(cls, value: ColumnRef | None) -> ColumnRef | None:
        if isinstance(value, int) and value < 0:
            raise ValueError(f"column {value} does not exist: places count from 0")
        return value

    @field_validator("text")
    @classmethod
    def _some_text(cls, value: ColumnRef | list[ColumnRef]) -> ColumnRef | list[ColumnRef]:
        refs = value if isinstance(value, list) else [value]
        if not refs:
            raise ValueError("name at least one text column")
        for ref in refs:
            cls._place_is_not_negative(ref)
        return value

    @field_validator("aspects")
    @classmethod
    def _some_aspect(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if value is not None and not all(name.strip() for name in (*value, *value.values())):
            raise ValueError("categories and aspects have names; NONE stands for no aspect")
        if value == {}:
            raise ValueError("maps no category; leave it out, or write {category: aspect}")
        return value

    @field_validator("label_prefix")
    @classmethod
    def _prefix_is_a_word(cls, value: str) -> str:
        if not value or any(c.isspace() for c in value):
            raise ValueError("label_prefix is one word, such as __label__")
        return value

    @model_validator(mode="after")
    def _settings_fit(self) -> DataOptions:
        for key in ("columns", "categorical", "numeric", "inputs"):
            names = getattr(self, key) or []
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{key} names {', '.join(map(repr, twice))} more than once")
        both = sorted(set(self.categorical) & set(self.numeric))
        if both:
            raise ValueError(f"{', '.join(map(repr, both))} cannot be categorical and numeric at once")
        odd = [name for name in (*self.categorical, *self.numeric) if "=" in name]
        if odd:  # features are named column=value, which must stay unambiguous
            raise ValueError(f"column {odd[0]!r} holds '=', which separates column and value in names; rename it")
        label = [name for name in (*self.categorical, *self.numeric) if name == self.label]
        if label:
            raise ValueError(f"{self.label!r} is the label and cannot be an input as well")
        if self.weight is not None and self.weight in (self.label, self.id):
            raise ValueError(f"{self.weight!r} cannot be the weight and the label or id at once")
        if self.labels is not None and self.format not in (None, "lines"):
            raise ValueError(f"labels (a parallel file) belongs to format lines, not {self.format}")
        twice = [name for name in self.inputs if name in (self.gold, self.tokens)]
        if twice:
            raise ValueError(f"{twice[0]!r} holds the words or the gold tags and is no further input")
        if self.gold is not None and self.gold == self.tokens:
            raise ValueError(f"{self.gold!r} holds the words and cannot be the gold tags as well")
        of_words = [(key, COLUMNS_OF_WORDS) for key in ("tokens", "gold", "inputs")]
        for key, known in (*of_words, ("tokenize", ("sentences",))):
            if self.format not in (None, *known) and getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{key} belongs to format {' or '.join(known)}, not {self.format}")
        return self

    @model_validator(mode="before")
    @classmethod
    def _arguments_have_features(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("format") == PROPBANK and "categorical" not in given:
            return {**given, "categorical": list(BASELINE)}
        return given

    @model_validator(mode="after")
    def _propbank_fits(self) -> DataOptions:
        if self.format != PROPBANK:
            for key in ("words", "trees", "annotations"):
                if self.format is not None and getattr(self, key) is not None:
                    raise ValueError(f"{key} belongs to format {PROPBANK}, not {self.format}")
            return self
        unknown = [name for name in self.categorical if name not in FEATURES]
        if unknown:
            raise ValueError(f"an argument has no feature {unknown[0]!r}; it has {', '.join(FEATURES)}")
        if self.numeric or self.weight is not None:
            raise ValueError("an argument of a verb has no numbers: leave numeric and weight out")
        if self.group not in (None, "document", "sentence"):
            raise ValueError(f"arguments are grouped by document or sentence, not {self.group!r}")
        return self

    @property
    def is_table(self) -> bool:
        """Whether documents are rows of categories and numbers rather than texts."""
        return bool(self.categorical or self.numeric)


def bundled_data() -> DataOptions:
    """The data that a config without a `data` section trains on: banking77, 77 intents of bank customers."""
    return DataOptions(
        train=resolve_path("bundled:banking77/train.tsv.gz"), format="tsv", header=False, columns=["label", "text"]
    )
