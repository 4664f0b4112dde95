"""Overrides: Hydra's grammar, and what they do to a config."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.config.overrides import apply_overrides, parse_override
from gpuclf.config.tree import Item, Source, find, plain
from gpuclf.config.yaml_file import read_yaml
from gpuclf.faults import UserFault, UserFaults

BASE = Path("/base")


def value(text: str) -> Any:
    parsed = parse_override(f"k={text}", BASE)
    assert parsed.value is not None
    return plain(parsed.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word", "word"),
        ("two words", "two words"),
        ("  trimmed  ", "trimmed"),
        ("1", 1),
        ("1e-3", 0.001),
        ("010", 10),
        ("true", True),
        ("null", None),
        ("", ""),
        ("'1'", "1"),
        ('"a, b"', "a, b"),
        (r"'it\'s'", "it's"),
        (r"'back\slash'", r"back\slash"),
        (r"'ends \\'", "ends \\"),
        (r"'\b\w+\b'", r"\b\w+\b"),
        (r"\w+", r"\w+"),
        (r"a\,b", "a,b"),
        (r"\ padded\ ", " padded "),
        ("../data/x.tsv", "../data/x.tsv"),
        ("C:/x", "C:/x"),
        ("[]", []),
        ("[1,2,'x']", [1, 2, "x"]),
        ("[ a b , [1.5, null] ]", ["a b", [1.5, None]]),
        ("{}", {}),
        ("{a: 1, 'b c': {d: [x]}}", {"a": 1, "b c": {"d": ["x"]}}),
        ("{7: x}", {"7": "x"}),
        ("${env:HOME,/x}/y", "${env:HOME,/x}/y"),
        ("[${a.b}, 1]", ["${a.b}", 1]),
    ],
)
def test_values(text: str, expected: object) -> None:
    read = value(text)
    assert read == expected
    assert str(type(read)) == str(type(expected)) or isinstance(read, str)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k", "no '='"),
        ("=1", "no key"),
        ("a..b=1", "not the name of a key"),
        ("a b=1", "not the name of a key"),
        ("k=0,1", "write [0,1] for a list"),
        ("k=range(1,3)", "functions"),
        ("k=[1,2", "']' is missing"),
        ("k=[1,]", "value is missing before ']'"),
        ("k=[,1]", "value is missing before ','"),
        ("k={a: 1", "'}' is missing"),
        ("k={a}", "no ':'"),
        ("k={a: 1, a: 2}", "twice"),
        ("k='x", "not closed"),
        ("k='x' y", "unexpected 'y'"),
        ("k=a=b", "quotes"),
        ("k=it's", "quotes"),
        ("k=[1]]", "unexpected ']'"),
        ("k=${a", "not closed"),
        ("~", "no key"),
        ("+k", "no '='"),
    ],
)
def test_syntax_faults_quote_the_override(text: str, said: str) -> None:
    with pytest.raises(UserFault) as caught:
        parse_override(text, BASE)
    assert f"override '{text}'" in str(caught.value)
    assert said in str(caught.value)


@given(st.text())
def test_any_text_can_be_given_in_quotes(text: str) -> None:
    # A backslash escapes only before a quote, so runs of them there (or at the end) are doubled.
    written, run = "", 0
    for character in text:
        if character == "'":
            written += "\\" * run + "\\"
        run = run + 1 if character == "\\" else 0
        written += character
    assert value(f"'{written}{chr(92) * run}'") == text


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    with contextlib.suppress(UserFault):
        assert parse_override(text, BASE).text == text


def test_inside_grid_the_rest_is_the_key() -> None:
    assert parse_override("grid.model.C=[1,10]", BASE).path == ("grid", "model.C")
    assert parse_override("~grid.model.C", BASE).path == ("grid", "model.C")
    assert parse_override("~grid", BASE).path == ("grid",)
    assert parse_override("model.C=1", BASE).path == ("model", "C")


@pytest.fixture
def config(tmp_path: Path) -> Item:
    path = tmp_path / "c.yaml"
    path.write_text("model: {type: mira, C: 1}\nfolds:\ngrid: {model.C: [1, 2], seed: [0]}\nlist: [1, 2]\n")
    return read_yaml(path)


def applied(config: Item, *overrides: str) -> Any:
    return plain(apply_overrides(config, overrides, BASE))


def test_changing_adding_removing(config: Item) -> None:
    assert applied(config, "model.C=2")["model"] == {"type": "mira", "C": 2}
    assert applied(config, "model.average=false")["model"]["average"] is False
    assert applied(config, "+model.average=false")["model"]["average"] is False
    assert applied(config, "++model.C=3", "++model.x=4")["model"] == {"type": "mira", "C": 3, "x": 4}
    assert applied(config, "~model.C")["model"] == {"type": "mira"}
    assert applied(config, "~model.C=1")["model"] == {"type": "mira"}
    assert "model" not in applied(config, "~model")
    assert applied(config, "folds.k=3")["folds"] == {"k": 3}
    assert applied(config, "test.file=x")["test"] == {"file": "x"}


def test_a_mapping_is_merged_into_the_section(config: Item) -> None:
    assert applied(config, "model={C: 5, average: true}")["model"] == {"type": "mira", "C": 5, "average": True}
    assert applied(config, "+model={average: true}")["model"] == {"type": "mira", "C": 1, "average": True}


def test_grid_overrides(config: Item) -> None:
    assert applied(config, "grid.model.C=[5]")["grid"] == {"model.C": [5], "seed": [0]}
    assert applied(config, "~grid.model.C")["grid"] == {"seed": [0]}
    assert "grid" not in applied(config, "~grid")
    assert applied(config, "~grid", "grid.seed=[1,2]")["grid"] == {"seed": [1, 2]}


def test_overrides_work_from_left_to_right(config: Item) -> None:
    assert applied(config, "model.C=2", "~model.C", "+model.C=3")["model"]["C"] == 3


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("~model.c", "did you mean ~model.C?"),
        ("~test", "test is not in the config"),
        ("~model.C=2", "model.C is 1, so it was not removed"),
        ("+model.C=2", "model.C is there already (1)"),
        ("model.C.x=1", "model.C is 1, not a section"),
        ("list.x=1", "give the whole list: list=[…]"),
    ],
)
def test_overrides_that_cannot_be_done(config: Item, override: str, said: str) -> None:
    with pytest.raises(UserFault) as caught:
        apply_overrides(config, [override], BASE)
    assert f"override '{override}'" in str(caught.value)
    assert said in str(caught.value)


def test_all_override_faults_at_once(config: Item) -> None:
    with pytest.raises(UserFaults) as caught:
        apply_overrides(config, ["x", "model.C=2", "~y"], BASE)
    assert len(caught.value.faults) == 2


def test_the_config_given_is_left_as_it_was(config: Item) -> None:
    before = plain(config)
    apply_overrides(config, ["model.C=7", "~grid.seed", "+new.key=1"], BASE)
    assert plain(config) == before


def test_overrides_carry_their_text_and_folder(config: Item) -> None:
    item = find(apply_overrides(config, ["test.file=x.tsv"], BASE), ("test", "file"))
    assert item is not None
    assert item.source == Source(base=BASE, override="test.file=x.tsv")
    assert getattr(plain(item), "base", None) == BASE
