"""Reading one file: places, duplicate keys, syntax errors, encodings."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuclf.config.tree import Item, find, key_text, plain, walk
from gpuclf.config.yaml_file import read_yaml
from gpuclf.faults import UserFault, UserFaults


def read(tmp_path: Path, content: str | bytes) -> Item:
    path = tmp_path / "c.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_yaml(path)


def faults(tmp_path: Path, content: str | bytes) -> list[UserFault]:
    with pytest.raises(UserFault) as caught:
        read(tmp_path, content)
    return list(caught.value.faults) if isinstance(caught.value, UserFaults) else [caught.value]


def test_values_keep_their_types(tmp_path: Path) -> None:
    root = read(tmp_path, "a: 1\nb: 1e-3\nc: no\nd: '1'\ne: [x, 2.0, null]\nf: {g: true}\nh:\n007: x\n")
    assert plain(root) == {
        "a": 1,
        "b": 0.001,
        "c": "no",
        "d": "1",
        "e": ["x", 2.0, None],
        "f": {"g": True},
        "h": None,
        "007": "x",  # keys are never retyped: they may name classes
    }


def test_every_key_and_element_knows_its_place(tmp_path: Path) -> None:
    root = read(tmp_path, "# first\na:\n  b: 1\n  c:\n    - x\n    - y: 2\nd: {e: 3, f: 4}\n")
    places = {key_text(path): (item.source.line, item.source.column) for path, item in walk(root) if path}
    assert places == {
        "a": (2, 1),
        "a.b": (3, 3),
        "a.c": (4, 3),
        "a.c[0]": (5, 7),
        "a.c[1]": (6, 7),
        "a.c[1].y": (6, 7),
        "d": (7, 1),
        "d.e": (7, 5),
        "d.f": (7, 11),
    }


def test_quotes_are_remembered(tmp_path: Path) -> None:
    root = read(tmp_path, "a: '1'\nb: x\nc: |\n  text\n")
    quoted = {path[0]: item.quoted for path, item in walk(root) if path}
    assert quoted == {"a": True, "b": False, "c": True}


def test_all_duplicate_keys_are_named_with_both_lines(tmp_path: Path) -> None:
    found = faults(tmp_path, "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert [(fault.line, "in line" in fault.message) for fault in found] == [(4, True), (5, True)]
    assert "'c'" in found[0].message
    assert "first in line 3" in found[0].message
    assert "first in line 1" in found[1].message


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\ntest: [\n", 3, 1),
        ("a:\n\tb: 1\n", 2, 1),
        ("a: b: c\n", 1, 5),
        ("a: 'x\n", 2, 1),
        ("a: *x\nb: {\n", 3, 1),
    ],
)
def test_syntax_errors_give_line_and_column(tmp_path: Path, text: str, line: int, column: int) -> None:
    *_, fault = faults(tmp_path, text)
    assert fault.line == line
    assert fault.message.startswith(f"column {column}: ")


def test_a_bracket_left_open_says_where_it_was_opened(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "a: 1\ntest: [\n  1,\n  2\nb: 3\n")
    assert "begun in line 2, column 7" in fault.message


def test_a_tab_is_answered_with_blanks(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "a:\n\tb: 1\n")
    assert "blanks" in (fault.remedy or "")


def test_duplicates_before_a_syntax_error_are_reported_with_it(tmp_path: Path) -> None:
    assert [fault.line for fault in faults(tmp_path, "a: 1\na: 2\nb: [\n")] == [2, 4]


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"a: 1\nb: caf\xe9\n", 2, "0xe9"),
        ("a: 1\nb: \x07\n", 2, "U+0007"),
        ("- 1\n- 2\n", 1, "a list"),
        ("just words\n", 1, "single value"),
        ("a: 1\n---\nb: 2\n", 3, "second YAML document"),
        ("a: !!python/object:os.system x\n", 1, "tag"),
        ("a: !!str 1\n", 1, "tag"),
        ("a: *nowhere\n", 1, "anchor that is not there"),
        ("a: &x [1, *x]\n", 1, "refers to itself"),
        ("? [1, 2]\n: 3\n", 1, "plain text"),
    ],
)
def test_what_is_no_config(tmp_path: Path, content: str | bytes, line: int, said: str) -> None:
    (fault,) = faults(tmp_path, content)
    assert fault.line == line
    assert said in fault.message


def test_anchors_and_aliases(tmp_path: Path) -> None:
    root = read(tmp_path, "a: &x {b: [1]}\nc: *x\n")
    assert plain(root) == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_aliases_of_aliases_are_bounded(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    (fault,) = faults(tmp_path, "\n".join(lines))
    assert "aliases" in fault.message


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\ufeff"])
def test_an_empty_file_is_an_empty_mapping(tmp_path: Path, text: str) -> None:
    assert plain(read(tmp_path, text)) == {}


def test_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    """Case o03: a file saved with a byte order mark."""
    root = read(tmp_path, b"\xef\xbb\xbfseed: 1\n")
    assert plain(root) == {"seed": 1}
    item = find(root, ("seed",))
    assert item is not None
    assert (item.source.line, item.source.column) == (1, 1)


def test_windows_line_ends(tmp_path: Path) -> None:
    root = read(tmp_path, "a: 1\r\nb: x\r\n")
    assert plain(root) == {"a": 1, "b": "x"}


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(UserFault, match="no config file here"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(UserFault, match="folder"):
        read_yaml(tmp_path)
