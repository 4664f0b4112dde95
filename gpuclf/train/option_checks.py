"""What the keys of an experiment demand of each other. All faults are found; each names the key to change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gpuclf.data.open import ENDINGS
from gpuclf.data.options import COLUMNS_OF_WORDS, CONTEXT_FORMATS, REVIEWS, SENTENCE_FORMATS, DataOptions
from gpuclf.faults import UserFault
from gpuclf.models.registry import learner_options
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.grid import Cell, number_of_cells
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.task_checks import task_faults, tasks_of

# Keys of the `train` section that the loop itself reads, whatever the learner.
LOOP_KEYS = frozenset(
    {"evaluate_every", "checkpoint_every", "checkpoint_seconds", "time_budget", "memory_budget", "threads"}
)
_TABLES = frozenset({"tsv", "csv", "jsonl", "parquet"})
# Keys of the `data` section that mean something to some formats only.
FORMATS_OF_KEY = {
    "label": _TABLES | {"wsd"},
    "text": _TABLES,
    "word": frozenset({"wsd"}),
    "id": _TABLES | {"vw", "wsd", REVIEWS},
    "group": _TABLES | {REVIEWS},
    "weight": _TABLES | {"vw"},
    "columns": frozenset({"tsv", "csv", "conll"}),
    "header": frozenset({"tsv", "csv"}),
    "quoting": frozenset({"csv"}),
    "row_like_lines": frozenset({"csv"}),
    "label_prefix": frozenset({"fasttext"}),
    "comma_labels": frozenset({"fasttext"}),
    "index_base": frozenset({"svmlight"}),
    "named_labels": frozenset({"vw"}),
    "escaped": frozenset({"vw"}),
    "tokens": frozenset(COLUMNS_OF_WORDS),
    "gold": frozenset(COLUMNS_OF_WORDS),
    "inputs": frozenset(COLUMNS_OF_WORDS),
    "tokenize": frozenset({"sentences"}),
    "aspects": frozenset({REVIEWS}),
    "unlabelled": frozenset({REVIEWS}),
}
NUMBERED_FORMATS = ("svmlight", "vw")  # files that hold features, not texts


def faults_of(
    options: ExperimentOptions, cells: Sequence[Cell], unsure: Collection[str] = frozenset()
) -> list[UserFault]:
    """Every fault that concerns several keys at once. `cells` are those of the options' grid.

    unsure: sections that are known to be faulty, so that nothing can be said from what is left of them.
    """
    faults: list[UserFault] = []
    if not {"model", "features", "select"} & set(unsure):
        faults += task_faults(options)
    classifies = "tag" not in tasks_of(options)
    if classifies and not {"folds", "validation"} & set(unsure):
        faults += _held_out_faults(options)
        faults += [fault for cell in cells for fault in _stopping_faults(cell.options)]
    if "model" not in unsure:
        faults += _train_key_faults(options)
    if classifies and not {"folds", "select"} & set(unsure):
        faults += _fold_faults(options)
    if classifies and not {"folds", "validation", "model", "select"} & set(unsure):
        faults += _one_standard_error_faults(options)
    if not {"data", "select", "train"} & set(unsure):
        faults += _aspect_faults(options)
    if not {"data", "features"} & set(unsure):
        faults += [fault for cell in cells for fault in _feature_faults(cell.options, options.data)]
        faults += _idle_data_keys(options)
    if not {"features", "model"} & set(unsure):
        faults += [fault for cell in cells for fault in _row_faults(cell.options)]
    if not {"data", "model"} & set(unsure):
        faults += [fault for cell in cells for fault in _weight_faults(cell.options)]
        if options.data.unlabelled and not any(cell.options.model.reads_unlabelled for cell in cells):
            faults.append(_unlabelled_fault(options))
    return list({str(fault): fault for fault in faults}.values())


def train_keys(options: ExperimentOptions) -> frozenset[str]:
    """The keys of the `train` section that mean something to at least one of the learners, or to the loop."""
    return LOOP_KEYS.union(*(learner_options(name).train_keys for name in _learners(options)))


def _learners(options: ExperimentOptions) -> list[str]:
    """The types of learner that the experiment trains: those of the grid, or the one of the model section."""
    return [str(name) for name in options.grid.get("model.type", [options.model.type])]


def _held_out_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    if options.folds is not None and options.validation is not None:
        yield UserFault(
            "folds and validation are both given, but held-out documents come from one of them",
            key="validation",
            remedy="remove validation or folds (on the command line: ~validation or ~folds)",
        )
    if number_of_cells(options) > 1 and options.folds is None and options.validation is None:
        yield UserFault(
            f"{number_of_cells(options)} cells are compared, but there is nothing to choose the best by",
            key="grid",
            remedy="add folds: {k: 10} or validation: {fraction: 0.1}; a grid of seeds alone needs neither",
        )
    if options.calibrate is not None and options.folds is None and options.validation is None:
        yield UserFault(
            f"{options.calibrate} learns from documents that the model was not trained on, and none are held out",
            key="calibrate",
            remedy="add folds: {k: 10} or validation: {fraction: 0.1}, or remove calibrate",
        )
    if options.calibrate not in (None, "temperature") and getattr(options.features, "by_word", False):
        yield UserFault(
            f"{options.calibrate} gives every class a chance, also the senses of other words",
            key="calibrate",
            remedy="use calibrate: temperature, which keeps to the senses of a document's word",
        )
    if options.folds is not None and options.folds.grouped and options.data.group is None:
        yield UserFault(
            "groups are to stay in one fold, but no column names the groups",
            key="folds.grouped",
            remedy="name the column in data.group",
        )


def _fold_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    folds, select = options.folds, options.select
    if folds is None:
        return
    if folds.k == "all" and not folds.grouped and select.metric not in ("accuracy", "micro_f1"):
        yield UserFault(
            f"one document has no {select.metric}: with folds.k: all nothing could be chosen by it",
            key="select.metric",
            remedy="take accuracy (metrics.json gives every figure of all out-of-fold documents together)",
        )
    if folds.inner is not None and number_of_cells(options) == 1:
        yield UserFault(
            "there is one cell, and nothing to choose", key="folds.inner", remedy="remove it, or add a grid"
        )
    if select.refit is False and folds.index is None:
        yield UserFault(
            "every fold has a model of its own, and none of them is the final one",
            key="select.refit",
            remedy="remove it, so that the chosen cell is trained on all rows",
        )


def _one_standard_error_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    if not options.select.one_standard_error:
        return
    key, remedy = "select.one_standard_error", "remove it"
    if options.folds is None or options.folds.index is not None:
        yield UserFault("a standard error is one over folds, and there are none", key=key, remedy="add folds: {k: 10}")
    if "model.type" in options.grid:
        yield UserFault("learners of several types have no order of simplicity", key=key, remedy=remedy)
    elif not set(options.model.simplest) & set(options.grid):
        known = " or ".join(sorted(options.model.simplest))
        ordered = f"only {known} says which cell is simpler" if known else "none says which model is simpler"
        yield UserFault(
            f"of the options of {options.model.type} {ordered}; the grid has no such", key=key, remedy=remedy
        )


def _train_key_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    known, learners = train_keys(options), " or ".join(_learners(options))
    set_here = [name for name in TrainOptions.model_fields if name in options.train.model_fields_set]
    in_grid = [key.split(".")[1] for key in options.grid if key.startswith("train.")]
    for name in dict.fromkeys([*set_here, *in_grid]):
        if name not in known:
            key = f"train.{name}" if name in set_here else f"grid.train.{name}"
            yield UserFault(f"has no meaning for model.type {learners}", key=key, remedy="remove it")


def _stopping_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    stops = options.train.early_stopping is not None and "early_stopping" in options.model.train_keys
    if stops and options.folds is None and options.validation is None:
        yield UserFault(
            "there are no held-out documents to stop by",
            key="train.early_stopping",
            remedy="add validation: {fraction: 0.1} or folds: {k: 10}, or remove early_stopping",
        )
    if stops and options.folds is not None and options.folds.inner is not None:
        yield UserFault(
            "each outer fold would stop the very models that it judges",
            key="train.early_stopping",
            remedy="remove it, or folds.inner",
        )


def _aspect_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    """Figures of aspects where documents are no tokens of reviews."""
    if _format(options.data) == REVIEWS:
        return
    stopping = options.train.early_stopping
    for key, metric in (
        ("select.metric", options.select.metric),
        ("train.early_stopping.metric", "" if stopping is None else stopping.metric),
    ):
        if metric == "aspect_f1":
            yield UserFault(
                "only tokens of reviews have aspects, and the data are none",
                key=key,
                remedy="take macro_f1, or data.format: reviews",
            )


def _feature_faults(cell: ExperimentOptions, data: DataOptions) -> Iterator[UserFault]:
    features, holds = cell.features.type, _contents(data)
    of_sentences = "token_context" if cell.model.task == "classify" else "word_types"
    types = {"features": "as_given", "table": "table", "sentences": of_sentences, "contexts": "word_sense"}
    types[REVIEWS] = "review_context"
    wanted = types.get(holds, "bag_of_words")
    others = (
        ("word_types", "texts"),
        ("word_types", "sentences"),
        ("categorical", "table"),
        ("token_context", "sentences"),
        ("token_ids", "texts"),
    )
    if features == wanted or (features, holds) in others:
        return
    reasons = {
        "features": f"files of format {_format(data)} hold features, not texts",
        "table": "data.categorical and data.numeric name columns of a table",
        "texts": "the data are texts",
        "sentences": f"files of format {_format(data)} hold sentences of tokens",
        "contexts": f"files of format {_format(data)} hold contexts of an ambiguous word",
        REVIEWS: "the data are reviews with marked spans",
    }
    needs = {
        "bag_of_words": "texts (data.text)",
        "token_ids": "texts (data.text)",
        "as_given": f"a format that holds features ({', '.join(NUMBERED_FORMATS)})",
        "table": "columns (data.categorical, data.numeric)",
        "categorical": "columns (data.categorical, data.numeric)",
        "word_sense": f"contexts of an ambiguous word (format {', '.join(CONTEXT_FORMATS)})",
        "word_types": f"sentences (format {', '.join(SENTENCE_FORMATS)}) or texts",
        "token_context": f"sentences (format {', '.join(SENTENCE_FORMATS)})",
        "review_context": f"reviews (format {REVIEWS})",
    }
    yield UserFault(
        f"{features} needs {needs[features]}; {reasons[holds]}",
        key="features.type",
        remedy=f"write features: {{type: {wanted}}}, or change the data section",
    )


def _row_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    """Features that give rows which the learner does not read."""
    if options.features.type == "word_sense" and "contexts" not in options.model.reads:
        yield UserFault(
            f"{options.model.type} does not read contexts, whose word sets differ between training and held-out rows",
            key="model.type",
            remedy="train a decomposable model, or write the words as texts and use bag_of_words",
        )
    if options.features.type == "categorical" and "codes" not in options.model.reads:
        yield UserFault(
            f"{options.model.type} weighs features, and categorical gives codes of values",
            key="features.type",
            remedy="write features: {type: table}: a feature for each value of a column",
        )
    if options.features.type != "categorical" and options.data.missing_numbers == "keep":
        yield UserFault(
            f"{options.features.type} features have no place for a missing number",
            key="data.missing_numbers",
            remedy="remove it, or write features: {type: categorical}",
        )
    tokens = options.features.type == "token_ids"
    if options.model.task == "classify" and tokens and "tokens" not in options.model.reads:
        yield UserFault(
            f"{options.model.type} weighs features, and token_ids gives sequences of words",
            key="features.type",
            remedy="write features: {type: bag_of_words}, or train a text_cnn",
        )
    if not tokens and options.model.reads == {"tokens"}:
        yield UserFault(
            f"{options.model.type} reads sequences of words, and {options.features.type} gives none",
            key="features.type",
            remedy="write features: {type: token_ids}",
        )
    if options.model.reads == {"sentences"} and options.features.type not in ("token_context", "review_context"):
        yield UserFault(
            f"{options.model.type} labels the tokens of sentences, and {options.features.type} gives none",
            key="features.type",
            remedy="write features: {type: token_context}, or leave features out",
        )
    if options.model.reads == {"reviews"} and options.features.type != "review_context":
        yield UserFault(
            f"{options.model.type} learns from reviews, and {options.features.type} makes none",
            key="features.type",
            remedy="set data.format: reviews, and leave features out or write features: {type: review_context}",
        )
    if options.data.inputs and options.features.type != "token_context":
        yield UserFault(
            f"{options.features.type} does not read further columns of words",
            key="data.inputs",
            remedy="remove it, or write features: {type: token_context}",
        )
    if options.features.type == "token_context" and options.data.gold is None:
        yield UserFault(
            "no column of labels is named",
            key="data.gold",
            remedy="name it, e.g. gold: upos (conll: its place, from 0)",
        )


def _unlabelled_fault(options: ExperimentOptions) -> UserFault:
    return UserFault(
        f"nothing is learnt from reviews without labels by model.type {options.model.type}",
        key="data.unlabelled",
        remedy="remove it (~data.unlabelled), or take type: content with content: joint or independent",
    )


def _weight_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    """Weights of documents for a learner that knows none."""
    if options.data.weight is None:
        return
    if options.model.no_weights is not None:
        yield UserFault(
            f"{options.model.type} has no place for weights of documents: {options.model.no_weights}",
            key="data.weight",
            remedy="remove it, or set model.type: naive_bayes, logistic or svm",
        )
    if _format(options.data) == "vw" and options.data.weight != "importance":
        yield UserFault(
            "a vw line has no columns; its weight is the number after the label",
            key="data.weight",
            remedy="write weight: importance",
        )


def _idle_data_keys(options: ExperimentOptions) -> Iterator[UserFault]:
    """Keys that differ from their default and that no format of the files reads."""
    data = options.data
    files = [data.train, options.validation and options.validation.file, options.test and options.test.file]
    formats = {_format(data.model_copy(update={"train": file})) for file in files if file is not None}
    if "" in formats:
        return  # a folder, or an ending that says nothing
    for name, known in FORMATS_OF_KEY.items():
        if not formats & known and getattr(data, name) != DataOptions.model_fields[name].default:
            yield UserFault(
                f"has no meaning for format {' or '.join(sorted(formats))}; it belongs to {', '.join(sorted(known))}",
                key=f"data.{name}",
                remedy="remove it, or set data.format",
            )


def _contents(data: DataOptions) -> str:
    if _format(data) in NUMBERED_FORMATS:
        return "features"
    if _format(data) in SENTENCE_FORMATS:
        return "sentences"
    if _format(data) in CONTEXT_FORMATS:
        return "contexts"
    if _format(data) == REVIEWS:
        return REVIEWS
    return "table" if data.is_table else "texts"


def _format(data: DataOptions) -> str:
    """The format by the config, or by the ending of the file's name; "" where only the file itself can tell."""
    if data.format is not None or data.labels is not None:
        return data.format or "lines"
    name = data.train.name.lower().removesuffix(".gz").removesuffix(".zst")
    return ENDINGS.get(Path(name).suffix, "")
