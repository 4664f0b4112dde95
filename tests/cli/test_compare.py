"""`gpuclf compare`: runs and files, every refusal, and figures equal to scipy on the same predictions."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from tests.cli.drive import Gpuclf, metrics_of, strict_json, table_of

MODELS: dict[str, dict[str, Any]] = {
    "nb": {"type": "naive_bayes"},
    "mira": {"type": "mira", "C": 0.01},
    "complement": {"type": "naive_bayes", "variant": "complement"},
}
WORDS = ["ash", "fir", "yew", "oak", "elm", "box"]


def sentences(count: int, seed: int) -> str:
    """Labelled lines of three noisy classes."""
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        label = int(generator.integers(3))
        words = [WORDS[2 * label + int(generator.integers(2))] for _ in range(2)]
        words += [WORDS[int(generator.integers(6))] for _ in range(3)]
        lines.append(f"c{label}\t{' '.join(words)}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def runs(gpuclf: Gpuclf) -> dict[str, Path]:
    """A run of each model on one training file, with five folds and a test file."""
    train, test = gpuclf.text("train.tsv", sentences(90, 1)), gpuclf.text("test.tsv", sentences(150, 2))
    return {name: train_one(gpuclf, name, train, test=test) for name in MODELS}


def train_one(gpuclf: Gpuclf, name: str, train: Path, test: Path | None = None, seed: int = 0, folds: int = 5) -> Path:
    sections: dict[str, Any] = {"folds": {"k": folds}, "seed": seed}
    if test is not None:
        sections["test"] = {"file": test}
    data = {"train": train, "header": False, "columns": ["label", "text"]}
    return gpuclf.trained(MODELS[name], data=data, **sections)


def predictions(run: Path) -> tuple[list[str], list[str]]:
    rows = table_of(run / "predictions.tsv")[1:]
    return [row[1] for row in rows], [row[2] for row in rows]


def test_three_runs_against_scipy(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    said = strict_json(gpuclf.done("compare", *runs.values(), "--json", "--samples", "999").out)
    tests = {(test["first"], test["second"], test["test"]): test for test in said["tests"]}
    assert len(tests) == 12, "three pairs, four tests"
    names = {run.name: run for run in runs.values()}
    for first, second in itertools.combinations(names, 2):
        gold, a = predictions(names[first])
        _, b = predictions(names[second])
        only_a = sum(x == g != y for g, x, y in zip(gold, a, b, strict=True))
        only_b = sum(y == g != x for g, x, y in zip(gold, a, b, strict=True))
        mcnemar = tests[first, second, "McNemar"]
        assert (mcnemar["details"]["only_first"], mcnemar["details"]["only_second"]) == (only_a, only_b)
        assert mcnemar["difference"] == pytest.approx((only_a - only_b) / len(gold))
        if 0 < only_a + only_b < 25:
            assert mcnemar["p"] == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue)
        folds = [fold_accuracies(names[name]) for name in (first, second)]
        plain, corrected = (tests[first, second, name] for name in ("paired t over folds", CORRECTED))
        if folds[0] != folds[1]:
            wanted = stats.ttest_rel(*folds)
            assert plain["p"] == pytest.approx(wanted.pvalue)
            assert plain["details"]["t"] == pytest.approx(wanted.statistic)
            t = wanted.statistic / math.sqrt(1 + 5 * 18 / 72)
            assert corrected["p"] == pytest.approx(2 * stats.t.sf(abs(t), 4))
        bootstrap = tests[first, second, "paired bootstrap"]
        assert bootstrap["interval"][0] <= bootstrap["difference"] <= bootstrap["interval"][1]
    for kind in ("McNemar", CORRECTED):
        p_values = sorted(test["p"] for test in said["tests"] if test["test"] == kind)
        assert min(test["holm_p"] for test in said["tests"] if test["test"] == kind) == min(1.0, 3 * p_values[0])
    assert len(said["verdicts"]) == 3
    accuracies = {name: figures["accuracy"] for name, figures in said["systems"].items()}
    assert accuracies == {name: metrics_of(run)["test"]["accuracy"] for name, run in names.items()}


CORRECTED = "corrected paired t over folds"


def fold_accuracies(run: Path) -> list[float]:
    return [row["accuracy"] for row in metrics_of(run)["cells"][0]["runs"]]


def test_another_metric(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    """Macro-F1 by bootstrap and over folds; McNemar is about accuracy whatever the metric."""
    pair = runs["nb"], runs["mira"]
    said = strict_json(gpuclf.done("compare", *pair, "--metric", "macro_f1", "--samples", "99", "--json").out)
    by_test = {test["test"]: test for test in said["tests"]}
    assert by_test["McNemar"]["metric"] == "accuracy"
    wanted = [f1_score(*predictions(run), average="macro") for run in pair]
    assert by_test["paired bootstrap"]["difference"] == pytest.approx(wanted[0] - wanted[1])
    assert [said["systems"][run.name]["macro_f1"] for run in pair] == pytest.approx(wanted)
    assert said["verdicts"][0]["by"] == "paired bootstrap"
    again = strict_json(gpuclf.done("compare", *pair, "--metric", "macro_f1", "--samples", "99", "--json").out)
    assert again == said, "the draws are those of the seed"


def test_a_person_reads_who_is_better(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    out = gpuclf.done("compare", *runs.values(), "--samples", "99").out
    assert "can the data tell?" in out
    assert "p (Holm)" in out
    assert sum("the data can" in line for line in out.splitlines()) >= 3, out
    for run in runs.values():
        assert run.name in out
    assert "believe the corrected one" in out


def test_predictions_files_in_any_order_of_documents(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    first, second = runs["nb"] / "predictions.tsv", runs["mira"] / "predictions.tsv"
    header, *rows = second.read_text().splitlines()
    shuffled = gpuclf.text("shuffled.tsv", "\n".join([header, *rows[::-1]]) + "\n")
    options = ("--samples", "99", "--json")
    straight = strict_json(gpuclf.done("compare", first, second, *options).out)
    turned = strict_json(gpuclf.done("compare", first, shuffled, *options).out)
    figures = [[(test["p"], test["difference"]) for test in said["tests"]] for said in (straight, turned)]
    assert figures[0] == figures[1]
    assert [test["test"] for test in straight["tests"]] == ["McNemar", "paired bootstrap"], "files have no folds"


def test_a_run_with_itself(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    said = strict_json(gpuclf.done("compare", runs["nb"], runs["nb"], "--samples", "99", "--json").out)
    assert {test["p"] for test in said["tests"]} == {1.0}
    assert len(said["systems"]) == 2, "names are told apart"
    assert said["verdicts"][0]["better"] is None
    assert "never disagree" in gpuclf.done("compare", runs["nb"], runs["nb"], "--samples", "99").out


def test_names_that_are_alike_take_the_folders_that_tell_them_apart(gpuclf: Gpuclf) -> None:
    for place in ("one/more", "two/more"):
        (gpuclf.folder / place).mkdir(parents=True)
    files = [gpuclf.text(f"{place}/answers.tsv", "gold\tA\nx\tx\ny\tx\n") for place in ("one/more", "two/more")]
    said = strict_json(gpuclf.done("compare", *files, "--json", "--samples", "99").out)
    assert list(said["systems"]) == ["one/more/answers.tsv/A", "two/more/answers.tsv/A"]
    files = [gpuclf.text(name, "gold\tA\tB\nx\tx\ty\ny\tx\ty\n") for name in ("one.tsv", "two.tsv")]
    said = strict_json(gpuclf.done("compare", *files, "--json", "--samples", "99").out)
    assert list(said["systems"]) == ["one.tsv/A", "one.tsv/B", "two.tsv/A", "two.tsv/B"]


def test_without_a_test_file_folds_decide(gpuclf: Gpuclf) -> None:
    train = gpuclf.text("train.tsv", sentences(60, 1))
    pair = [train_one(gpuclf, name, train) for name in ("nb", "mira")]
    said = strict_json(gpuclf.done("compare", *pair, "--samples", "99", "--json").out)
    assert said["verdicts"][0]["by"] == CORRECTED
    assert any("out-of-fold" in note for note in said["notes"])
    assert all(figures["documents"] == 60 for figures in said["systems"].values())


def test_leave_one_out_has_folds_by_accuracy_only(gpuclf: Gpuclf) -> None:
    data = {"train": gpuclf.text("train.tsv", sentences(40, 1)), "header": False, "columns": ["label", "text"]}
    pair = [gpuclf.trained(MODELS[name], data=data, folds={"k": "all"}) for name in ("nb", "mira")]
    said = strict_json(gpuclf.done("compare", *pair, "--samples", "99", "--json").out)
    (test,) = [test for test in said["tests"] if test["test"] == CORRECTED]
    assert test["details"]["df"] == 39
    said = strict_json(gpuclf.done("compare", *pair, "--samples", "99", "--json", "--metric", "macro_f1").out)
    assert {test["test"] for test in said["tests"]} == {"McNemar", "paired bootstrap"}
    assert any("folds of one document have no macro_f1" in note for note in said["notes"])


def test_nested_figures_are_compared_where_there_are_some(gpuclf: Gpuclf) -> None:
    data = {"train": gpuclf.text("train.tsv", sentences(60, 1)), "header": False, "columns": ["label", "text"]}
    sections = {"data": data, "grid": {"model.alpha": [0.01, 1.0, 50.0]}}
    nested = gpuclf.trained(MODELS["nb"], folds={"k": 4, "inner": 3}, **sections)
    chosen = gpuclf.trained(MODELS["nb"], folds={"k": 4}, **sections)
    single = gpuclf.trained(MODELS["mira"], data=data, folds={"k": 4})
    said = strict_json(gpuclf.done("compare", nested, single, "--samples", "99", "--json").out)
    (test,) = [test for test in said["tests"] if test["test"] == CORRECTED]
    assert test["details"]["first_folds"] == [row["accuracy"] for row in metrics_of(nested)["nested"]["folds"]]
    assert not any("flatter" in note for note in said["notes"])
    said = strict_json(gpuclf.done("compare", chosen, single, "--samples", "99", "--json").out)
    assert any("flatter" in note for note in said["notes"])


def test_other_folds_give_no_t_test(gpuclf: Gpuclf) -> None:
    train, test = gpuclf.text("train.tsv", sentences(60, 1)), gpuclf.text("test.tsv", sentences(50, 2))
    first = train_one(gpuclf, "nb", train, test)
    for other in (train_one(gpuclf, "mira", train, test, seed=1), train_one(gpuclf, "mira", train, test, folds=4)):
        said = strict_json(gpuclf.done("compare", first, other, "--samples", "99", "--json").out)
        assert {test["test"] for test in said["tests"]} == {"McNemar", "paired bootstrap"}
        assert any("different folds" in note for note in said["notes"])


def test_different_documents_are_refused_with_the_numbers(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    file = runs["nb"] / "predictions.tsv"
    lines = file.read_text().splitlines(keepends=True)
    short = gpuclf.text("short.tsv", "".join(lines[:101]))
    said = gpuclf.refused("compare", file, short).err
    assert "100 documents match by id" in said
    assert "has 150" in said
    assert "has 100" in said
    other = gpuclf.text("other.tsv", "".join(lines[:1]) + lines[1].replace("c", "d", 1) + "".join(lines[2:]))
    assert "not the same documents" in gpuclf.refused("compare", file, other).err


def test_different_test_sets_by_two_proportions(gpuclf: Gpuclf) -> None:
    first = gpuclf.text(
        "a.tsv", "id\tgold\tpredicted\n" + "".join(f"a{i}\tx\t{'x' if i < 86 else 'y'}\n" for i in range(100))
    )
    second = gpuclf.text(
        "b.tsv", "id\tgold\tpredicted\n" + "".join(f"b{i}\tx\t{'x' if i < 35 else 'y'}\n" for i in range(50))
    )
    assert "0 documents match by id" in gpuclf.refused("compare", first, second).err
    said = strict_json(gpuclf.done("compare", first, second, "--different-tests", "--json").out)
    (test,) = said["tests"]
    z = 0.16 / math.sqrt(121 / 150 * 29 / 150 * (1 / 100 + 1 / 50))
    assert test["details"]["z"] == pytest.approx(z)
    assert test["p"] == pytest.approx(2 * stats.norm.sf(z))
    assert said["verdicts"][0]["better"] == "a.tsv"
    assert said["verdicts"][0]["significant"] is True
    assert "the data can tell: two proportions" in gpuclf.done("compare", first, second, "--different-tests").out
    refused = gpuclf.refused("compare", first, second, "--different-tests", "--metric", "macro_f1").err
    assert "not by macro_f1" in refused
    assert "the same documents" in gpuclf.refused("compare", first, first, "--different-tests").err


def test_a_table_with_ids_and_strange_names(gpuclf: Gpuclf) -> None:
    rows = "".join(f"{i}\tno\t{'no' if i % 3 else 'yes'}\tno\tno\n" for i in range(30))
    table = gpuclf.text("t.tsv", "\ufeffid\tgold\tpère\t\x1b[31mred\tc\n" + rows)
    out = gpuclf.done("compare", table, "--samples", "99").out
    assert "\x1b[31mred" not in out
    assert "père" in out
    said = strict_json(gpuclf.done("compare", table, "--samples", "99", "--json").out)
    assert len(said["verdicts"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "none"),
        (["missing"], "no such file or run folder"),
        (["empty.tsv"], "does not begin with the columns"),
        (["one.tsv"], "here there is one"),
        (["no-gold.tsv"], "has no gold label"),
        (["header.tsv"], "holds no document"),
        (["one.tsv", "--counts", "1", "2"], "counts are compared without files"),
        (["--counts", "-1", "2"], "no number of documents"),
    ],
)
def test_refusals(gpuclf: Gpuclf, arguments: list[str], message: str) -> None:
    gpuclf.text("empty.tsv", "")
    gpuclf.text("one.tsv", "gold\tA\nx\tx\n")
    gpuclf.text("no-gold.tsv", "gold\tA\tB\n\tx\tx\n")
    gpuclf.text("header.tsv", "gold\tA\tB\n")
    named = [gpuclf.folder / word if word.endswith((".tsv", "missing")) else word for word in arguments]
    assert message in gpuclf.refused("compare", *named).err


def test_an_unfinished_run_or_one_without_answers(gpuclf: Gpuclf, runs: dict[str, Path]) -> None:
    train = gpuclf.text("few.tsv", sentences(20, 1))
    bare = gpuclf.trained(MODELS["nb"], data={"train": train, "header": False, "columns": ["label", "text"]})
    assert "kept no answers to compare" in gpuclf.refused("compare", bare, bare).err
    (runs["nb"] / "metrics.json").unlink()
    assert "is not finished" in gpuclf.refused("compare", runs["nb"], runs["mira"]).err
