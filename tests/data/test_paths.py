"""Case o32: a path means the same file wherever one stands, and a missing file is shown as written and as resolved."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from gpuclf.data.options import DataOptions, bundled_data
from gpuclf.data.paths import ConfigPath, LocatedStr, as_written, require_file, resolve_path
from gpuclf.faults import UserFault
from tests.data.reading import write


class Holder(BaseModel):
    path: ConfigPath


def test_relative_to_the_folder_of_the_config_not_to_where_one_stands(tmp_path, monkeypatch):
    data = write(tmp_path / "proj/data/train.txt", "x")
    write(tmp_path / "elsewhere/data/train.txt", "wrong")
    written = LocatedStr("../data/train.txt", tmp_path / "proj/configs")
    (tmp_path / "proj/configs").mkdir()
    for place in (tmp_path / "elsewhere", tmp_path / "proj", Path("/")):
        monkeypatch.chdir(place)
        path = Holder(path=written).path
        assert path == data
        assert path.is_absolute()
        assert as_written(path) == "../data/train.txt"


def test_plain_strings_are_relative_to_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve_path("a/b.tsv") == tmp_path / "a/b.tsv"
    assert resolve_path(Path("b.tsv")) == tmp_path / "b.tsv"
    assert resolve_path("/a/b.tsv") == Path("/a/b.tsv")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_path("~/b.tsv") == tmp_path / "b.tsv"


def test_missing_file_is_shown_as_written_and_as_resolved(tmp_path):
    path = resolve_path(LocatedStr("data/no.tsv", tmp_path))
    with pytest.raises(UserFault) as caught:
        require_file(path, key="data.train")
    assert "no such file: data/no.tsv" in str(caught.value)
    assert str(tmp_path / "data/no.tsv") in str(caught.value)
    assert caught.value.key == "data.train"
    with pytest.raises(UserFault, match="is a folder"):
        require_file(tmp_path)
    assert require_file(tmp_path, folder=True) == tmp_path


def test_bundled_files_are_found_inside_the_package_and_stay_portable():
    options = bundled_data()
    assert options.train.is_file()
    assert options.model_dump(mode="json")["train"] == "bundled:banking77/train.tsv.gz"
    again = DataOptions.model_validate(options.model_dump(mode="json"))
    assert again == options


@pytest.mark.parametrize("name", ["bundled:nothing/here.tsv", "bundled:../options.py", "bundled:banking77"])
def test_what_is_not_bundled_is_refused_with_what_is(name):
    with pytest.raises(UserFault, match=r"bundled are .*bundled:banking77/train\.tsv\.gz"):
        resolve_path(name)


@pytest.mark.parametrize("value", [3, None, "", "a\0b", ["x"]])
def test_what_is_no_path_is_refused(value):
    with pytest.raises(ValidationError):
        Holder(path=value)


def test_the_bundled_data_carry_their_licence():
    folder = bundled_data().train.parent
    licence = (folder / "LICENSE").read_text(encoding="utf-8")
    for word in ("CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", "PolyAI", "Casanueva", "2020", "Changes"):
        assert word in licence
    for name in ("train.tsv.gz", "test.tsv.gz"):
        assert (folder / name).read_bytes()[4:8] == b"\0\0\0\0", "the gzip header holds no time"
