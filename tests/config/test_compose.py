"""`extends`: configs that build on others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuclf.config.compose import read_composed
from gpuclf.config.tree import find, plain
from gpuclf.faults import UserFault


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        target = folder / f"{name.replace('__', '/')}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def test_mappings_merge_deeply_lists_and_values_are_replaced(tmp_path: Path) -> None:
    write(
        tmp_path,
        base="model: {type: mira, C: 1, deep: {x: 1, y: 2}}\nlist: [1, 2, 3]\nfolds: {k: 3}\nseed: 0\n",
        own="extends: base.yaml\nmodel: {C: 2, deep: {y: 3}}\nlist: [9]\nfolds: null\n",
    )
    assert plain(read_composed(tmp_path / "own.yaml")) == {
        "model": {"type": "mira", "C": 2, "deep": {"x": 1, "y": 3}},
        "list": [9],
        "folds": None,
        "seed": 0,
    }


def test_chains_and_places(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="extends: sub/b.yaml\nx: {one: 1}\n",
        sub__b="extends: ../c.yaml\nx: {two: 2}\n",
        c="# c\nx:\n  three: 3\n  two: 0\n",
    )
    root = read_composed(tmp_path / "a.yaml")
    assert plain(root) == {"x": {"one": 1, "two": 2, "three": 3}}
    where = {}
    for key in ("one", "two", "three"):
        item = find(root, ("x", key))
        assert item is not None
        assert item.source.file is not None
        where[key] = (item.source.file.name, item.source.line, item.source.base.name)
    assert where == {
        "one": ("a.yaml", 2, tmp_path.name),
        "two": ("b.yaml", 2, "sub"),  # its paths are relative to its own folder
        "three": ("c.yaml", 3, tmp_path.name),
    }


@pytest.mark.parametrize("texts", [{"a": "extends: a.yaml\n"}, {"a": "extends: b.yaml\n", "b": "extends: ./a.yaml\n"}])
def test_circles_are_refused(tmp_path: Path, texts: dict[str, str]) -> None:
    write(tmp_path, **texts)
    with pytest.raises(UserFault, match="circle"):
        read_composed(tmp_path / "a.yaml")


def test_a_circle_through_a_symbolic_link_is_seen(tmp_path: Path) -> None:
    write(tmp_path, a="extends: link.yaml\n")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    with pytest.raises(UserFault, match="circle"):
        read_composed(tmp_path / "a.yaml")


def test_two_ways_to_one_file_are_no_circle(tmp_path: Path) -> None:
    write(tmp_path, a="extends: b.yaml\n", b="extends: c.yaml\n", c="x: 1\n")
    assert plain(read_composed(tmp_path / "a.yaml")) == {"x": 1}


@pytest.mark.parametrize(
    ("value", "said"),
    [("none.yaml", "there is no file none.yaml"), ("3", "not the name"), ("[b.yaml]", "not the name")],
)
def test_faults_name_the_line(tmp_path: Path, value: str, said: str) -> None:
    write(tmp_path, a=f"x: 1\nextends: {value}\n")
    with pytest.raises(UserFault, match=said) as caught:
        read_composed(tmp_path / "a.yaml")
    assert (caught.value.line, caught.value.key) == (2, "extends")


def test_faults_of_the_file_below_name_that_file(tmp_path: Path) -> None:
    write(tmp_path, a="extends: b.yaml\n", b="x: [\n")
    with pytest.raises(UserFault) as caught:
        read_composed(tmp_path / "a.yaml")
    assert Path(str(caught.value.file)).name == "b.yaml"


def test_environment_in_extends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCLF_TEST_BASE", "b")
    write(tmp_path, a="extends: ${env:GPUCLF_TEST_BASE}.yaml\n", b="x: 1\n")
    assert plain(read_composed(tmp_path / "a.yaml")) == {"x": 1}
