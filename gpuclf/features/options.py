"""Options of the feature extractors; `type` chooses one in a config."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, field_validator, model_validator

from gpuclf.data.paths import ConfigPath
from gpuclf.features.token_pattern import DEFAULT_TOKEN_PATTERN, WORDS_AND_SIGNS, compile_pattern

# A pair stands as a list in YAML; strict models take only tuples, so the pair alone is lax and its members stay strict.
Span = Annotated[tuple[StrictInt, StrictInt], Field(strict=False)]


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class HashingOptions(_Options):
    """Features are 2^bits numbered buckets instead of names. Only used buckets take memory."""

    bits: int = Field(ge=1, le=62)


class SelectionOptions(_Options):
    """The k features that tell most about the class; ties go to the first name."""

    method: Literal["chi2", "information_gain"]
    k: int = Field(ge=1)


def _document_limit(value: int | float) -> int | float:
    """A number of documents, or a fraction of them."""
    if isinstance(value, float) and not 0.0 <= value <= 1.0:
        raise ValueError(f"{value} is not a fraction of the documents; give 0.0 to 1.0, or a whole number to count")
    if isinstance(value, int) and value < 1:
        raise ValueError(f"{value} documents is less than one; give a whole number from 1, or a fraction")
    return value


class WeightingOptions(_Options):
    """What is learnt from training rows: shared by all sparse features, and all that `fit_views` reads.

    min_df and max_df count training documents (int) or are fractions of them (float), ends included. Order of pruning:
    min_df and max_df, then max_features by total value, then select; idf and norm see the features that are left.
    """

    norm: Literal["none", "l1", "l2"] = "none"
    smooth_idf: bool = True
    min_df: StrictInt | StrictFloat = 1
    max_df: StrictInt | StrictFloat = 1.0
    max_features: int | None = Field(default=None, ge=1)
    select: SelectionOptions | None = None

    _limits = field_validator("min_df", "max_df")(_document_limit)

    @model_validator(mode="after")
    def _limits_agree(self) -> WeightingOptions:
        if type(self.min_df) is type(self.max_df) and self.min_df > self.max_df:
            raise ValueError(f"min_df {self.min_df} is above max_df {self.max_df}, so no feature would be left")
        return self


def _compiling(value: str) -> str:
    """A token pattern that `re` understands, with one group at most."""
    try:
        compiled = compile_pattern(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression of Python: {error}") from error
    if compiled.groups > 1:
        raise ValueError(f"{value!r} has {compiled.groups} groups; write (?:…) for all but the token's")
    return value


class BagOfWordsOptions(WeightingOptions):
    """Texts as counts of words or characters.

    analyzer: word; char: n-grams of characters over the whole text, runs of white space as one blank; char_wb:
    n-grams of characters within words padded with a blank on each side (both as in scikit-learn).
    token_pattern: a regular expression of Python's `re` (one group at most: it is the token); `\\p{M}` stands for
    combining marks. See gpuclf.features.token_pattern for the default.
    lowercase, normalize: done before tokenising, normal form first; with `shapes`, lower-casing comes after it.
    ngrams: shortest and longest; words are joined by one blank, after stop words were taken out.
    prefixes, suffixes: shortest and longest in characters; features prefix=un, suffix=ed of each word.
    shapes: features shape=Xxxx of each word (X upper case, x other letters, d digits, runs cut at 4).
    weighting: count; binary: 1; tf: count / all feature occurrences of the document (unknown ones too);
    tfidf: count · idf; nb_ratio: 1 · how far the classes differ in using the feature, from the training documents'
    labels (gpuclf.features.class_ratio).
    sublinear: 1 + ln(count) in place of count.
    """

    type: Literal["bag_of_words"] = "bag_of_words"
    analyzer: Literal["word", "char", "char_wb"] = "word"
    token_pattern: str = DEFAULT_TOKEN_PATTERN
    lowercase: bool = True
    normalize: Literal["NFC", "NFKC", "none"] = "NFC"
    ngrams: Span = (1, 1)
    prefixes: Span | None = None
    suffixes: Span | None = None
    shapes: bool = False
    weighting: Literal["count", "binary", "tf", "tfidf", "nb_ratio"] = "count"
    sublinear: bool = False
    hashing: HashingOptions | None = None
    stop_words: list[str] = []

    word_only: ClassVar[tuple[str, ...]] = ("token_pattern", "prefixes", "suffixes", "shapes", "stop_words")

    _pattern_compiles = field_validator("token_pattern")(_compiling)

    @field_validator("ngrams", "prefixes", "suffixes")
    @classmethod
    def _rising(cls, value: tuple[int, int] | None) -> tuple[int, int] | None:
        if value is not None and not 1 <= value[0] <= value[1]:
            raise ValueError(f"[{value[0]}, {value[1]}] is no range of lengths; give shortest and longest, from 1")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> BagOfWordsOptions:
        default = type(self).model_fields
        idle = [n for n in self.word_only if getattr(self, n) != default[n].default]
        if self.analyzer != "word" and idle:
            raise ValueError(f"{', '.join(idle)} would do nothing with analyzer {self.analyzer}; drop it or use word")
        if self.sublinear and self.weighting in ("binary", "tf", "nb_ratio"):
            raise ValueError(f"sublinear has no meaning with weighting {self.weighting}; use count or tfidf")
        return self


class AsGivenOptions(WeightingOptions):
    """Features as they stand in the file (svmlight indices, VW names). count: the values as given."""

    type: Literal["as_given"] = "as_given"
    weighting: Literal["count", "binary", "tfidf"] = "count"


class TableOptions(WeightingOptions):
    """Columns of a table: a categorical one gives a feature column=value of value 1 per row, a numeric one its number.

    Which columns are inputs, and of which kind, stands in the data section (data.categorical, data.numeric).
    """

    type: Literal["table"] = "table"
    weighting: Literal["count", "binary", "tfidf"] = "count"


class WordTypesOptions(_Options):
    """Sentences as sequences of word types, and what the spelling of a type says: one value a template.

    token_pattern: for texts (data.tokenize: words); tokens that the data file gives are taken as they are.
    normalize, lowercase: spellings that become alike are one type.
    min_count: types seen less often are folded into one class of rare words, which unseen words then belong to as
    well; 1 keeps every type, and each unseen word is a type of its own.
    suffixes: the last 1, 2, … so many characters, a template each. last3: the last three.
    capital: an upper or title case first character; punctuation, digit, hyphen: whether one stands anywhere. A hyphen
    is punctuation already, so it has no template of its own unless asked for. See gpuclf.features.type_templates.
    """

    type: Literal["word_types"] = "word_types"
    token_pattern: str = WORDS_AND_SIGNS
    normalize: Literal["NFC", "NFKC", "none"] = "NFC"
    lowercase: bool = False
    min_count: int = Field(1, ge=1)
    suffixes: int = Field(2, ge=0, le=20)
    last3: bool = False
    capital: bool = True
    punctuation: bool = True
    digit: bool = True
    hyphen: bool = False

    _pattern_compiles = field_validator("token_pattern")(_compiling)

    @model_validator(mode="after")
    def _no_template_twice(self) -> WordTypesOptions:
        if self.last3 and self.suffixes >= 3:
            raise ValueError(
                f"last3 is the third of the {self.suffixes} suffixes already; drop it, or suffixes below 3"
            )
        return self


class CategoricalOptions(_Options):
    """Columns of a table as they are, for learners that split inputs (forests): a category is a code, one vocabulary an
    input; a number is its rank among the training file's, a missing one (an empty cell, null, NaN) a code of its own.
    Any number of values an input; unseen ones are code 0.
    """

    type: Literal["categorical"] = "categorical"


class WordSenseOptions(_Options):
    """Contexts of ambiguous words (data.format wsd or senseval), after Bruce & Wiebe 1999.

    by_word: a model for each ambiguous word that the file names (data.word), each what the contexts of that word alone
    would give; false: all contexts are taken as those of one word.

    pos_window: an input for the part of speech at each place from the first to the last, 0 being the word itself.
    collocations: per_class_binary, an input for each class that says whether any word of its set stands in the context.
    threshold: a word is in the set of class S if P(S | word) is above it, by the documents of the training set that
    hold the word, at least min_count of them. leave_one_out: a training document is coded without its own counts;
    false is the paper's literal rule, by which rare words of training documents always speak for the right class.
    window: only words so near to the ambiguous one count (all by default). bigrams: pairs of neighbours are words, too.
    top_words: so many words, most frequent in the training set, are binary inputs of their own.
    """

    type: Literal["word_sense"] = "word_sense"
    by_word: bool = False
    pos_window: Span | None = (-2, 2)
    collocations: Literal["per_class_binary", "none"] = "per_class_binary"
    threshold: float = Field(0.5, ge=0.0, lt=1.0)
    leave_one_out: bool = True
    window: int | None = Field(default=None, ge=1)
    min_count: int = Field(1, ge=1)
    bigrams: bool = False
    top_words: int = Field(0, ge=0)
    lowercase: bool = True

    @field_validator("pos_window")
    @classmethod
    def _rising(cls, value: tuple[int, int] | None) -> tuple[int, int] | None:
        if value is not None and value[0] > value[1]:
            raise ValueError(
                f"[{value[0]}, {value[1]}] is no window; give the first and the last place, such as [-2, 2]"
            )
        return value

    @property
    def uses_words(self) -> bool:
        """Whether any input depends on words."""
        return self.collocations != "none" or self.top_words > 0


class TokenIdsOptions(_Options):
    """Texts as sequences of word numbers, for learners that see the order of words.

    token_pattern, lowercase, normalize: as in bag_of_words.
    min_df, max_features: words in fewer training documents (int, or a fraction of them), and all but the most frequent,
    count as unknown; both are learnt per training set, so a fold knows the words of its own training rows only.
    max_len: so many tokens of a document are read, those after them are not.
    vectors: a text file of word vectors (word2vec, GloVe, fastText) to begin with; see gpuclf.data.word_vectors.
    """

    type: Literal["token_ids"] = "token_ids"
    token_pattern: str = DEFAULT_TOKEN_PATTERN
    lowercase: bool = True
    normalize: Literal["NFC", "NFKC", "none"] = "NFC"
    min_df: StrictInt | StrictFloat = 1
    max_features: int | None = Field(default=None, ge=1)
    max_len: int | None = Field(default=None, ge=1)
    vectors: ConfigPath | None = None

    _pattern_compiles = field_validator("token_pattern")(_compiling)
    _limits = field_validator("min_df")(_document_limit)


class SpellingOptions(WeightingOptions):
    """Each token of a sentence by its spelling and its neighbours', for learners of sequences.

    window: words, as they are and in lower case, so many places to each side. shapes: likewise (Xxxx of Unseen).
    prefixes, suffixes: the token's first and last 1, 2, … so many characters. pairs: it with the word before it and
    after it, in lower case. endings: the last three characters, so many places to each side. signs: likewise whether
    all letters are capitals, whether the first is one, whether there is a digit; none: of no place, the token's own
    neither. min_df and the other limits count tokens, not documents.
    input_window: of further columns (data.inputs, such as parts of speech) the values, so many places to each side;
    input_pairs: those of neighbours together, too.
    """

    weighting: Literal["count"] = "count"
    normalize: Literal["NFC", "NFKC", "none"] = "NFC"
    window: int = Field(2, ge=0, le=10)
    shapes: int = Field(1, ge=0, le=10)
    prefixes: int = Field(3, ge=0, le=20)
    suffixes: int = Field(3, ge=0, le=20)
    endings: int | None = Field(None, ge=0, le=10)
    signs: int | None = Field(None, ge=0, le=10)
    pairs: bool = True
    input_window: int = Field(2, ge=0, le=10)
    input_pairs: bool = True


class TokenContextOptions(SpellingOptions):
    """The tokens that the data file gives."""

    type: Literal["token_context"] = "token_context"


class ReviewContextOptions(SpellingOptions):
    """The tokens of reviews (data.format reviews). By default the features of Sauper, Haghighi & Barzilay 2010, and
    beside them the token's own prefixes and suffixes.

    token_pattern: what a token is; a span's aspect is that of every token that shares a character with it.
    word_classes: a file of words and their classes (WORD TAB CLASS, such as tags.tsv of a type_tagger's run), which are
    then features like a further column, class[0]=T7; see gpuclf.data.word_classes.
    stop_words: what a model of topics does not read, in any case: english (the list of gpuclf.features.stop_words), or
    words of your own. It reads no token without a letter either, and no word of one review alone. neighbours: these
    words of so many sentences before a token's own, and after it, are features of the token as well.
    """

    type: Literal["review_context"] = "review_context"
    token_pattern: str = WORDS_AND_SIGNS
    word_classes: ConfigPath | None = None
    stop_words: Literal["english"] | list[str] = "english"
    neighbours: int = Field(0, ge=0, le=5)
    window: int = Field(3, ge=0, le=10)
    shapes: int = Field(3, ge=0, le=10)
    prefixes: int = Field(3, ge=0, le=20)
    suffixes: int = Field(4, ge=0, le=20)
    endings: int | None = Field(3, ge=0, le=10)
    signs: int | None = Field(3, ge=0, le=10)
    pairs: bool = False

    _pattern_compiles = field_validator("token_pattern")(_compiling)


# Those that give sparse rows, those that give rows at all, and all that a config may name.
SparseFeatureOptions = BagOfWordsOptions | AsGivenOptions | TableOptions
TokenFeatureOptions = TokenContextOptions | ReviewContextOptions
WeightedFeatureOptions = SparseFeatureOptions | TokenFeatureOptions
RowFeatureOptions = WeightedFeatureOptions | CategoricalOptions | WordSenseOptions | TokenIdsOptions
FeatureOptions = Annotated[RowFeatureOptions | WordTypesOptions, Field(discriminator="type")]
