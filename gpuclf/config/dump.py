"""Options → YAML with every default filled in and every path absolute: the record of what a run did."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from gpuclf.config.interpolate import escape
from gpuclf.config.scalars import plain_scalar
from gpuclf.data.paths import portable
from gpuclf.train.grid import written
from gpuclf.train.option_checks import train_keys
from gpuclf.train.options import ExperimentOptions

_JOINTS = str.maketrans("", "", "_-.")  # may stand inside a bare word


def resolved(options: ExperimentOptions) -> str:
    """The YAML text. Keys of the train section that the learner does not know are left out, as in any config.

    Where the grid chooses a section's component (model.type), defaults differ from cell to cell and stay open.
    """
    data = _node(options)
    for name in [key.removesuffix(".type") for key in options.grid if key.endswith(".type")]:
        data[name] = _node(written(getattr(options, name)))
    known = train_keys(options)
    for name in [name for name in data["train"] if name not in known]:
        del data["train"][name]
    stream = io.StringIO()
    writer = YAML(typ="rt", pure=True)
    writer.width = 120
    writer.representer.add_representer(type(None), _null)
    writer.dump(data, stream)
    return stream.getvalue()


def _null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


def _node(value: Any) -> Any:
    if isinstance(value, BaseModel):
        names = sorted(type(value).model_fields, key=lambda name: name != "type")
        return CommentedMap({name: _node(getattr(value, name)) for name in names})
    if isinstance(value, dict):
        return CommentedMap({_text(str(key)): _node(child) for key, child in value.items()})
    if isinstance(value, list | tuple | set | frozenset):
        elements = sorted(value) if isinstance(value, set | frozenset) else value
        node = CommentedSeq([_node(child) for child in elements])
        node.fa.set_flow_style()
        return node
    if isinstance(value, Path):
        return _text(portable(value))
    return _text(value) if isinstance(value, str) else value


def _text(value: str) -> str:
    """In quotes unless it is plainly a word: what is left bare must be read as the same text."""
    text = escape(value)
    word = text.isascii() and text.translate(_JOINTS).isalnum() and text[0].isalpha() and text[-1].isalnum()
    return text if word and isinstance(plain_scalar(text), str) else DoubleQuotedScalarString(text)
