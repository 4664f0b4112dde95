"""o41: McNemar's test when two systems (almost) never disagree, with large counts, and on a torn table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.drive import Gpuclf, strict_json


def table(gpuclf: Gpuclf, *answers: tuple[str, int]) -> Any:
    """A table of gold, A and B, with so many lines of each pair of answers to gold x."""
    lines = "".join(f"x\t{pair[0]}\t{pair[1]}\n" * count for pair, count in answers)
    return gpuclf.text("table.tsv", f"gold\tA\tB\n{lines}")


def mcnemar(gpuclf: Gpuclf, file: Any) -> dict[str, Any]:
    said = strict_json(gpuclf.done("compare", file, "--json", "--samples", "99").out)
    (test,) = [test for test in said["tests"] if test["test"] == "McNemar"]
    return test["details"] | {"p": test["p"]}


def test_a_system_with_itself(gpuclf: Gpuclf) -> None:
    file = table(gpuclf, ("xx", 5), ("yy", 2))
    test = mcnemar(gpuclf, file)
    assert (test["statistic"], test["p"], test["form"]) == (0.0, 1.0, "no disagreement")
    out = gpuclf.done("compare", file).out
    assert "no disagreement" in out
    assert "nan" not in out


def test_few_disagreements_take_the_exact_form(gpuclf: Gpuclf) -> None:
    test = mcnemar(gpuclf, table(gpuclf, ("xx", 10), ("yx", 5)))
    assert test["form"] == "exact binomial"
    assert test["p"] == pytest.approx(0.0625, rel=1e-12)
    file = table(gpuclf, ("xy", 10), ("yx", 2), ("xx", 50))
    test = mcnemar(gpuclf, file)
    assert test["p"] == pytest.approx(0.0385742, abs=5e-8)
    assert test["chi_squared"] == pytest.approx(5.3333, abs=5e-5)
    assert test["chi_squared_p"] == pytest.approx(0.0209213, abs=5e-8)
    assert test["corrected"] == pytest.approx(4.0833, abs=5e-5)
    assert test["corrected_p"] == pytest.approx(0.0433081, abs=5e-8)
    out = gpuclf.done("compare", file).out
    assert "McNemar, exact binomial" in out, "the report names the form"
    assert "chi-squared 5.3333 (p 0.0209213), with continuity correction 4.0833 (p 0.0433081)" in out


def test_counts_that_overflow_a_factorial(gpuclf: Gpuclf) -> None:
    test = strict_json(gpuclf.done("compare", "--counts", "60000", "59000", "--json").out)
    assert test["chi_squared"] == pytest.approx(8.4034, abs=5e-5)
    assert test["chi_squared_p"] == pytest.approx(0.003745, abs=5e-7)
    assert test["p"] == pytest.approx(test["exact_p"], rel=1e-3)
    assert "8.4034 (p 0.00374528)" in gpuclf.done("compare", "--counts", "60000", "59000").out


def test_a_line_without_one_answer_is_refused_by_number(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("short.tsv", "gold\tA\tB\nx\tx\tx\nx\tx\n")
    assert f"{file}:3: has 2 columns, the header 3" in gpuclf.refused("compare", file).err
