"""Feature options: strict, with messages that name the value and the remedy."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from gpuclf.features.options import AsGivenOptions, BagOfWordsOptions, FeatureOptions, TableOptions

ANY_OPTIONS: TypeAdapter[Any] = TypeAdapter(FeatureOptions)


def test_type_chooses_the_options() -> None:
    assert isinstance(ANY_OPTIONS.validate_python({"type": "bag_of_words"}), BagOfWordsOptions)
    assert isinstance(ANY_OPTIONS.validate_python({"type": "as_given"}), AsGivenOptions)
    assert isinstance(ANY_OPTIONS.validate_python({"type": "table"}), TableOptions)


@pytest.mark.parametrize("limit", [1, 5, 0.0, 0.5, 1.0])
def test_options_survive_json(limit: float) -> None:
    options = BagOfWordsOptions(ngrams=[1, 2], max_df=max(limit, 1) if isinstance(limit, int) else 1.0, min_df=limit)
    again = ANY_OPTIONS.validate_json(options.model_dump_json())
    assert again == options
    assert type(again.min_df) is type(limit)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ngrams": [2, 1]}, "shortest and longest"),
        ({"ngrams": [0, 1]}, "from 1"),
        ({"ngrams": [1.0, 2]}, "valid integer"),
        ({"ngrams": [True, 2]}, "valid integer"),
        ({"prefixes": [3, 2]}, "shortest and longest"),
        ({"min_df": True}, "valid"),
        ({"min_df": 0}, "less than one"),
        ({"max_df": 1.5}, "not a fraction"),
        ({"min_df": 3, "max_df": 2}, "no feature would be left"),
        ({"max_features": 0}, "greater than or equal to 1"),
        ({"token_pattern": "(a"}, "not a regular expression"),
        ({"token_pattern": "(a)(b)"}, "2 groups"),
        ({"analyzer": "char", "shapes": True}, "shapes would do nothing"),
        ({"analyzer": "char_wb", "stop_words": ["a"]}, "stop_words would do nothing"),
        ({"weighting": "tf", "sublinear": True}, "no meaning"),
        ({"hashing": {"bits": 63}}, "less than or equal to 62"),
        ({"select": {"method": "chi2"}}, "Field required"),
        ({"wieghting": "tf"}, "Extra inputs"),
        ({"lowercase": "no"}, "valid boolean"),
    ],
)
def test_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        BagOfWordsOptions(**given)
