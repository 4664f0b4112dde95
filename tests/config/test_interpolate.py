"""`${…}`: references to keys and to the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuclf.config.interpolate import escape, interpolate
from gpuclf.config.tree import find, plain
from gpuclf.config.yaml_file import read_yaml
from gpuclf.faults import UserFault, UserFaults


def resolved(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    return plain(interpolate(read_yaml(path)))


def test_a_whole_value_keeps_its_type(tmp_path: Path) -> None:
    data = resolved(tmp_path, "a: {b: 1e-3, c: [1, x], d: {e: true}}\nf: ${a.b}\ng: ${a.c}\nh: ${a.d}\ni: ${a.d.e}\n")
    assert data["f"] == 0.001
    assert data["g"] == [1, "x"]
    assert data["h"] == {"e": True}
    assert data["i"] is True


def test_parts_are_joined_to_a_text(tmp_path: Path) -> None:
    data = resolved(tmp_path, "seed: 7\nflag: true\nname: run-${seed}-${flag}\nagain: ${name}!\n")
    assert data["name"] == "run-7-true"
    assert data["again"] == "run-7-true!"


def test_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCLF_TEST_NUMBER", "1e-3")
    monkeypatch.delenv("GPUCLF_TEST_ABSENT", raising=False)
    text = (
        "a: ${env:GPUCLF_TEST_NUMBER}\nb: '${env:GPUCLF_TEST_NUMBER}'\nc: x${env:GPUCLF_TEST_NUMBER}\n"
        "d: ${env:GPUCLF_TEST_ABSENT,5}\ne: ${env:GPUCLF_TEST_ABSENT,}\n"
    )
    assert resolved(tmp_path, text) == {"a": 0.001, "b": "1e-3", "c": "x1e-3", "d": 5, "e": None}


def test_a_variable_that_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUCLF_TEST_ABSENT", raising=False)
    with pytest.raises(UserFault, match="GPUCLF_TEST_ABSENT is not set") as caught:
        resolved(tmp_path, "a: 1\nb:\n  c: ${env:GPUCLF_TEST_ABSENT}\n")
    assert (caught.value.line, caught.value.key) == (3, "b.c")


@pytest.mark.parametrize(
    "text",
    [
        "a: ${a}\n",
        "a: ${b}\nb: ${a}\n",
        "a: x${b}\nb: ${c.d}\nc: {d: 'y${a}'}\n",
        "a: {b: '${a}'}\n",
        "a: {b: '${c}'}\nc: ['${a}']\n",
    ],
)
def test_circles_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserFault, match="circle"):
        resolved(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: ${nothing.here}\n", "not in the config"),
        ("a: ${b\n", "not closed"),
        ("a: x-${b}\nb: [1]\n", "cannot be part of a text"),
        ("a: ${env:}\n", "no environment variable"),
        ("a: ${}\n", "not in the config"),
    ],
)
def test_faults(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserFault, match=said) as caught:
        resolved(tmp_path, text)
    assert (caught.value.line, caught.value.key) == (1, "a")


def test_all_faults_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserFaults) as caught:
        resolved(tmp_path, "a: ${x}\nb: ${y}\n")
    assert [fault.key for fault in caught.value.faults] == ["a", "b"]


def test_escape(tmp_path: Path) -> None:
    assert resolved(tmp_path, f"a: '{escape('cost ${x}')}'\nb: $5 {{x}} $\n") == {"a": "cost ${x}", "b": "$5 {x} $"}


def test_inside_grid_keys_have_dots(tmp_path: Path) -> None:
    assert resolved(tmp_path, "grid: {model.C: [1, 2]}\na: ${grid.model.C}\n")["a"] == [1, 2]


def test_a_path_keeps_the_folder_that_it_was_written_for(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: data/x.tsv\nb: ${a}\n")
    item = find(interpolate(read_yaml(path)), ("b",))
    assert item is not None
    assert item.source.line == 2
    assert item.source.base == tmp_path.resolve()
