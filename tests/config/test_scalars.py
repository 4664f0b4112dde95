"""Unquoted words: the core schema of YAML 1.2, chapter 10.3.2."""

from __future__ import annotations

import math

import pytest

from gpuclf.config.scalars import bare_infinity, plain_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E-4", 0.0001),
        ("1.e-5", 1e-5),
        (".5", 0.5),
        ("+2e0", 2.0),
        ("-0.1", -0.1),
        ("1.", 1.0),
        ("010", 10),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
    ],
)
def test_numbers_truth_values_and_null(text: str, value: object) -> None:
    read = plain_scalar(text)
    assert read == value
    assert type(read) is type(value)


def test_not_a_number() -> None:
    read = plain_scalar(".nan")
    assert isinstance(read, float)
    assert math.isnan(read)


@pytest.mark.parametrize(
    "text",
    ["no", "yes", "on", "off", "y", "n", "tRue", "NULl", "1_000", "1_0.5", "0,1", "inf", "nan", "1:30", "2001-01-01"],
)
def test_everything_else_is_a_text(text: str) -> None:
    assert plain_scalar(text) == text


@pytest.mark.parametrize(
    ("text", "value"), [("inf", math.inf), ("-Inf", -math.inf), ("+inf", math.inf), ("infx", None)]
)
def test_bare_infinity(text: str, value: float | None) -> None:
    assert bare_infinity(text) == value


@pytest.mark.parametrize("text", ["0b11", "0o8", "=", "<<", ".", "-", "+", "e5", "1e", "--1", "1 2", "١"])
def test_what_only_looks_like_a_number_is_a_text(text: str) -> None:
    assert plain_scalar(text) == text
