"""Kernels on byte spans against their references, Python's own bytes and dicts, and awkward sizes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpuclf.ops import (
    char_spans,
    copy_spans,
    find_spans,
    intern_spans,
    ngrams,
    row_counts,
    sort_spans,
    span_hash,
    word_spans,
)
from gpuclf.ops.char_spans import cpu as char_cpu
from gpuclf.ops.char_spans import reference as char_reference
from gpuclf.ops.copy_spans import cpu as copy_cpu
from gpuclf.ops.copy_spans import reference as copy_reference
from gpuclf.ops.find_spans import cpu as find_cpu
from gpuclf.ops.find_spans import reference as find_reference
from gpuclf.ops.intern_spans import cpu as intern_cpu
from gpuclf.ops.intern_spans import reference as intern_reference
from gpuclf.ops.ngrams import cpu as ngrams_cpu
from gpuclf.ops.ngrams import reference as ngrams_reference
from gpuclf.ops.row_counts import cpu as counts_cpu
from gpuclf.ops.row_counts import reference as counts_reference
from gpuclf.ops.sort_spans import cpu as sort_cpu
from gpuclf.ops.sort_spans import reference as sort_reference
from gpuclf.ops.span_hash import cpu as hash_cpu
from gpuclf.ops.span_hash import reference as hash_reference
from gpuclf.ops.word_spans import cpu as word_cpu
from gpuclf.ops.word_spans import reference as word_reference

# Letters, digits, blanks, marks, two-, three- and four-byte characters, and bytes that order badly when signed.
TEXT = st.text(alphabet="aab_ 1\n\x00é\u0301हि是𝒳\u200d.~\x7f\U0010ffff", max_size=30)
WORDS = st.lists(TEXT, max_size=40)


def packed(strings: list[str]) -> tuple[Tensor, Tensor]:
    pieces = [s.encode() for s in strings]
    data = torch.tensor(list(b"".join(pieces)), dtype=torch.uint8)
    return data, torch.tensor([0, *map(len, pieces)]).cumsum(0)


def many(count: int) -> list[str]:
    """Strings of 0 to 20 characters with repeats, long common beginnings among them."""
    return [f"{'prefix-of-' * (i % 3)}{(i * i) % max(1, count // 2)}" if i % 7 else "" for i in range(count)]


def word_classes() -> Tensor:
    """BEGIN and CONTINUE for ASCII and a few others: letters begin, U+0301 and joiners go on."""
    table = torch.zeros(0x110000, dtype=torch.uint8)
    for char in "ab_1éह是𝒳":
        table[ord(char)] = word_spans.BEGIN | word_spans.CONTINUE
    for char in "\u0301ि\u200d":
        table[ord(char)] = word_spans.CONTINUE
    return table


@given(st.lists(TEXT, max_size=5), st.integers(1, 3))
def test_word_spans_are_those_of_a_regular_expression(texts: list[str], min_chars: int) -> None:
    data, ptr = packed(texts)
    pattern = re.compile(f"[ab_1éह是𝒳][ab_1éह是𝒳\u0301ि\u200d]{{{min_chars - 1},}}")
    runs = re.compile("[ab_1éह是𝒳][ab_1éह是𝒳\u0301ि\u200d]*")
    expected = [[m.group() for m in runs.finditer(text) if pattern.fullmatch(m.group())] for text in texts]
    raw = bytes(data.tolist())
    for module in (word_spans, word_cpu, word_reference):
        starts, ends, token_ptr = module.word_spans(data, ptr, word_classes(), min_chars)
        tokens = [raw[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        assert [tokens[a:b] for a, b in pairwise(token_ptr.tolist())] == expected


@pytest.mark.parametrize("count", [0, 1, 255, 257, 1000])
def test_word_spans_kernel_equals_reference(count: int) -> None:
    data, ptr = packed([f"ab b{'1' * (i % 5)} .é\u0301" for i in range(count)])
    for kernel, reference in zip(
        word_cpu.word_spans(data, ptr, word_classes(), 1),
        word_reference.word_spans(data, ptr, word_classes(), 1),
        strict=True,
    ):
        assert torch.equal(kernel, reference)


@given(WORDS, st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_char_spans_are_windows(words: list[str], shortest: int, more: int, keep_short: bool) -> None:
    data, ptr = packed(words)
    raw = bytes(data.tolist())
    expected = []
    for word in words:
        grams = []
        for n in range(shortest, shortest + more + 1):
            if keep_short and len(word) <= n:
                grams += [word] if word else []
                break
            grams += [word[i : i + n] for i in range(len(word) - n + 1)]
        expected.append(grams)
    for module in (char_spans, char_cpu, char_reference):
        starts, ends, span_ptr = module.char_spans(data, ptr, shortest, shortest + more, keep_short)
        grams = [raw[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        assert [grams[a:b] for a, b in pairwise(span_ptr.tolist())] == expected


@given(WORDS)
def test_interning_numbers_strings_by_first_appearance(words: list[str]) -> None:
    data, ptr = packed(words)
    first_seen = list(dict.fromkeys(words))
    for module in (intern_spans, intern_cpu, intern_reference):
        ids, first = module.intern_spans(data, ptr[:-1], ptr[1:])
        assert ids.tolist() == [first_seen.index(word) for word in words]
        assert first.tolist() == [words.index(word) for word in first_seen]


@pytest.mark.parametrize("count", [0, 1, 255, 257, 9000])
def test_interning_kernel_grows_and_equals_reference(count: int) -> None:
    data, ptr = packed(many(count))
    for kernel, reference in zip(
        intern_cpu.intern_spans(data, ptr[:-1], ptr[1:]),
        intern_reference.intern_spans(data, ptr[:-1], ptr[1:]),
        strict=True,
    ):
        assert torch.equal(kernel, reference)


def test_nul_bytes_and_lengths_tell_names_apart() -> None:
    words = ["", "\0", "\0\0", "a", "a\0", "a\0\0\0\0\0\0\0", "a\0\0\0\0\0\0\0\0", "abcdefgh", "abcdefg", "abcdefghi"]
    data, ptr = packed(words)
    ids, _ = intern_spans.intern_spans(data, ptr[:-1], ptr[1:])
    assert ids.tolist() == list(range(len(words)))


@given(st.lists(TEXT, unique=True, max_size=30), WORDS)
def test_finding_names(names: list[str], words: list[str]) -> None:
    name_data, name_ptr = packed(names)
    data, ptr = packed(words)
    expected = [names.index(word) if word in names else -1 for word in words]
    for module in (find_spans, find_cpu, find_reference):
        slots = module.name_slots(name_data, name_ptr)
        assert module.find_spans(name_data, name_ptr, slots, data, ptr[:-1], ptr[1:]).tolist() == expected


@pytest.mark.parametrize("count", [0, 1, 255, 257, 1000])
def test_finding_kernel_equals_reference(count: int) -> None:
    name_data, name_ptr = packed([f"name{i}" for i in range(count)])
    data, ptr = packed([f"name{2 * i}" for i in range(count)])
    found = [
        module.find_spans(name_data, name_ptr, module.name_slots(name_data, name_ptr), data, ptr[:-1], ptr[1:])
        for module in (find_cpu, find_reference)
    ]
    assert torch.equal(*found)
    assert int((found[0] >= 0).sum()) == (count + 1) // 2


@given(st.lists(TEXT, unique=True, max_size=40))
def test_sorting_is_by_code_point(words: list[str]) -> None:
    data, ptr = packed(words)
    for module in (sort_spans, sort_cpu, sort_reference):
        order = module.sort_spans(data, ptr).tolist()
        assert [words[i] for i in order] == sorted(words)


@pytest.mark.parametrize("count", [0, 1, 255, 257, 5000])
def test_sorting_long_common_beginnings(count: int) -> None:
    words = sorted({f"{'common beginning ' * (i % 4)}{(7919 * i) % count}" for i in range(count)}, key=hash)
    data, ptr = packed(words)
    assert [words[i] for i in sort_cpu.sort_spans(data, ptr).tolist()] == sorted(words)


@given(WORDS)
def test_hashes_are_fnv_1a_then_splitmix(words: list[str]) -> None:
    data, ptr = packed(words)
    mask = (1 << 64) - 1

    def plain(word: str) -> int:
        h = 0xCBF29CE484222325
        for byte in word.encode():
            h = (h ^ byte) * 0x100000001B3 & mask
        h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 & mask
        h = (h ^ (h >> 27)) * 0x94D049BB133111EB & mask
        return h ^ (h >> 31)

    for module in (span_hash, hash_cpu, hash_reference):
        assert [h & mask for h in module.span_hashes(data, ptr[:-1], ptr[1:]).tolist()] == [plain(w) for w in words]


@given(st.lists(st.lists(st.integers(0, 3), max_size=8), max_size=6), st.integers(1, 4))
def test_ngrams_are_token_sequences(docs: list[list[int]], longest: int) -> None:
    token_ptr = torch.tensor([0, *map(len, docs)]).cumsum(0)
    tokens = torch.tensor([t for doc in docs for t in doc], dtype=torch.int64)
    expected = [[tuple(d[i : i + n]) for n in range(1, longest + 1) for i in range(len(d) - n + 1)] for d in docs]
    for module in (ngrams_cpu, ngrams_reference):
        grams = ngrams.NGrams(*module.ngrams(token_ptr, tokens, 4, longest))
        meaning: list[tuple[int, ...]] = [(token,) for token in range(4)]
        for left, right in zip(grams.left.tolist(), grams.right.tolist(), strict=True):
            meaning.append((*meaning[left], right))
        assert len(set(meaning)) == len(meaning)
        found = [meaning[i] for i in grams.ids.tolist()]
        assert [found[a:b] for a, b in pairwise(grams.ptr.tolist())] == expected
        for n, (start, stop) in enumerate(pairwise(grams.level_start), start=1):
            assert all(len(gram) == n for gram in meaning[start:stop])


@pytest.mark.parametrize("docs", [0, 1, 255, 257, 1000])
def test_ngram_kernel_grows_and_equals_reference(docs: int) -> None:
    sizes = torch.tensor([i % 12 for i in range(docs)], dtype=torch.int64)
    token_ptr = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    tokens = torch.randint(0, 300, (int(token_ptr[-1]),), generator=torch.Generator().manual_seed(docs))
    kernel = ngrams_cpu.ngrams(token_ptr, tokens, 300, 3)
    reference = ngrams_reference.ngrams(token_ptr, tokens, 300, 3)
    for a, b in zip(kernel[:4], reference[:4], strict=True):
        assert torch.equal(a, b)
    assert kernel[4] == reference[4]


@pytest.mark.parametrize("docs", [0, 1, 255, 257, 1000])
@pytest.mark.parametrize("expanded", [False, True])
def test_row_counts_kernel_equals_reference(docs: int, expanded: bool) -> None:
    generator = torch.Generator().manual_seed(docs)
    ptr = torch.cat([torch.zeros(1, dtype=torch.int64), torch.tensor([i % 9 for i in range(docs)]).long().cumsum(0)])
    ids = torch.randint(0, 5, (int(ptr[-1]),), generator=generator)
    expand = (torch.tensor([0, 0, 1, 3, 4, 8]), torch.tensor([6, 2, 2, 5, 0, 1, 5, 6])) if expanded else None
    columns = 7 if expanded else 5
    kernel = counts_cpu.row_counts(ptr, ids, columns, expand)
    for a, b in zip(kernel, counts_reference.row_counts(ptr, ids, columns, expand), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(kernel, row_counts.row_counts(ptr, ids, columns, expand), strict=True):
        assert torch.equal(a, b)


def test_row_counts_many_columns_for_one_id() -> None:
    expand = (torch.tensor([0, 5000]), torch.arange(5000))
    crow, col, count = counts_cpu.row_counts(torch.tensor([0, 2, 3]), torch.tensor([0, 0, 0]), 5000, expand)
    assert crow.tolist() == [0, 5000, 10000]
    assert torch.equal(col, torch.arange(5000).repeat(2))
    assert count.tolist() == [2] * 5000 + [1] * 5000


@pytest.mark.parametrize("count", [0, 1, 255, 257, 1000])
def test_copying_spans(count: int) -> None:
    words = many(count)
    data, ptr = packed(words)
    backwards = torch.arange(count - 1, -1, -1)
    lengths = ptr.diff()[backwards]
    for module in (copy_spans, copy_cpu, copy_reference):
        target = torch.full((data.numel() + 1,), 255, dtype=torch.uint8)
        places = lengths.cumsum(0) - lengths
        module.copy_spans(data, ptr[:-1][backwards], ptr[1:][backwards], target, places)
        assert bytes(target.tolist()) == "".join(reversed(words)).encode() + b"\xff"
