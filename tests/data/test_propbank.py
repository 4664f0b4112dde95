"""PropBank: rows of arguments from skeletons with words, and from pointers into trees; what does not fit is told."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpuclf.data.options import DataOptions
from gpuclf.data.paths import BUNDLED
from gpuclf.data.roles.argument import BASELINE, FEATURES
from tests.data.reading import Read, read, refusal, write


def cells(text: str) -> list[str]:
    """What blanks part."""
    return text.split()


POS = cells("DT NNS WDT PRP VBD VBD VBN IN DT NN IN DT JJ NN .")
WORDS = cells("The cats that she fed were seen by a neighbour in the unheated kitchen .")
LEMMAS = cells("the cat that she feed be see by a neighbour in the unheated kitchen .")
PIECES = cells("(TOP(S(NP(NP* *) (SBAR(WHNP*) (S(NP*) (VP*)))) (VP* (VP* (PP* (NP* *)) (PP* (NP* * *)))) *))")
FEED = cells("(ARG1* *) (R-ARG1*) (ARG0*) (V*) * * * * * * * * * *")
SEE = cells("(ARG1* * * * *) * (V*) (ARG0* * *) (ARGM-LOC* * * *) *")
TREE = """( (S (NP-SBJ-1 (NP (DT The) (NNS cats))
       (SBAR (WHNP-2 (WDT that)) (S (NP-SBJ (PRP she)) (VP (VBD fed) (NP (-NONE- *T*-2))))))
   (VP (VBD were) (VP (VBN seen) (NP (-NONE- *-1)) (PP (IN by) (NP-LGS (DT a) (NN neighbour)))
       (PP-LOC (IN in) (NP (DT the) (JJ unheated) (NN kitchen))))) (. .)))
"""
PROP = """d.mrg 0 7 gold see see.01 ----- 0:2*8:1-ARG1 7:0-rel 9:1-ARG0 12:1-ARGM-LOC
d.mrg 0 4 gold feed feed.01 ----- 0:1*2:1*5:1-ARG1 3:1-ARG0 4:0-rel 0:1*2:1-LINK-SLC
"""
ROWS = {
    "ARG1": "feed NP cats NP^NP!SBAR!S!VP!VBD before active VP>VBD S NNS cats NNS NP^NP - NP - SBAR the cats VBD",
    "ARG0": "feed NP she NP^S!VP!VBD before active VP>VBD S PRP she PRP NP^S - S - VP she she VBD",
    "ARG1 ": "see NP cats NP^S!VP!VP!VBN before passive VP>VBN-PP-PP S NNS cats NNS NP^S - S - VP the fed VBN",
    "ARG0 ": "see PP by PP^VP!VBN after passive VP>VBN-PP-PP - IN neighbour NN PP^VP - VP VBN PP by neighbour VBN",
    "ARGM-LOC": "see PP in PP^VP!VBN after passive VP>VBN-PP-PP - IN kitchen NN PP^VP - VP PP - in kitchen VBN",
}
NAMES = [name for name in FEATURES if name != "cw_base"]


def skeleton(
    pieces: list[str] = PIECES, feed: list[str] = FEED, words: list[str] | None = None, document: str = "x/d.xml"
) -> str:
    """The sentence as a skeleton; words are withheld by default."""
    lemma, frame = {4: "feed", 6: "see"}, {4: "feed.01", 6: "see.01"}
    lines = [
        f"{document}   0  {i:3} {'[WORD]' if words is None else words[i]} {POS[i]}  {pieces[i]}   "
        f"{lemma.get(i, '-')} {frame.get(i, '-')}  {feed[i]} {SEE[i]} "
        for i in range(len(POS))
    ]
    return "\n".join(lines) + "\n\n"


def conllu(sentences: list[tuple[list[str], list[str], list[str]]], document: str = "answers-d") -> str:
    """Sentences of forms, lemmas and parts of speech."""
    text = f"# newdoc id = {document}\n"
    for forms, lemmas, tags in sentences:
        for place, (form, lemma, tag) in enumerate(zip(forms, lemmas, tags, strict=True), 1):
            text += "\t".join([str(place), form, lemma, "X", tag, "_", "0", "root", "_", "_"]) + "\n"
        text += "\n"
    return text


def read_all(path: Path, **options: Any) -> Read:
    return read(path, format="propbank", **{"categorical": list(FEATURES), **options})


def rows(found: Read, names: list[str] = NAMES) -> list[str]:
    columns = [[cell for chunk in found.chunks for cell in (chunk.columns or {})[name]] for name in names]
    return [" ".join(cells) for cells in zip(*columns, strict=True)]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return write(tmp_path / "words.conllu", conllu([(WORDS, LEMMAS, POS)]))


def test_a_skeleton_with_words_gives_a_row_for_each_argument_of_a_verb(tmp_path: Path, words: Path) -> None:
    found = read_all(write(tmp_path / "d.gold_skel", skeleton()), words=words)
    assert found.labels == [role.strip() for role in ROWS]
    assert rows(found) == list(ROWS.values())
    assert rows(found, ["cw_base"]) == ["cat", "she", "cat", "neighbour", "kitchen"]
    assert found.all("ids")[0] == "x/d.xml:0:4:0-2"
    assert found.report.notes == []


def test_pointers_into_bracketed_trees_give_the_same_rows(tmp_path: Path) -> None:
    """Traces are taken out, marks of function as well; of a chain the first mention that is spoken has the role."""
    trees = write(tmp_path / "trees" / "d.mrg", TREE)
    for given in (trees, trees.parent):
        found = read_all(write(tmp_path / "d.prop", PROP), trees=given)
        assert sorted(zip(found.labels, rows(found), strict=True)) == sorted(
            (role.strip(), row) for role, row in ROWS.items()
        )


def test_files_with_words_need_no_others_and_the_baseline_is_what_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "d.gold_conll", skeleton(words=WORDS))
    found = read(path, format="propbank")
    assert list(found.chunks[0].columns or ()) == list(BASELINE)
    assert rows(found, list(BASELINE)) == [" ".join(row.split()[:7]) for row in ROWS.values()]


def test_lists_folders_and_groups(tmp_path: Path, words: Path) -> None:
    for name in ("b", "a"):
        write(tmp_path / "all" / "00" / f"{name}.xml.gold_skel", skeleton(document=f"00/{name}.xml"))
        write(tmp_path / "words" / f"{name}.xml.conllu", conllu([(WORDS, LEMMAS, POS)]))
    chosen = write(tmp_path / "chosen.txt", "00/b.xml\n00/gone.xml.conllu\n00/a.xml.conllu\n")
    both = {"words": tmp_path / "words", "group": "document"}
    listed = read_all(chosen, annotations=tmp_path / "all", **both)
    assert listed.all("groups") == ["00/b.xml"] * 5 + ["00/a.xml"] * 5
    assert "1 of the 3 files named are not there" in listed.note("gone")
    assert read_all(tmp_path / "all", **both).all("groups") == ["00/a.xml"] * 5 + ["00/b.xml"] * 5
    assert refusal(chosen, format="propbank", words=words).key == "data.annotations"


def test_a_span_that_is_no_constituent_is_counted(tmp_path: Path, words: Path) -> None:
    feed = cells("(ARG1* * *) (ARG0*) (V*) * * * * * * * * * *")
    found = read_all(write(tmp_path / "d.gold_skel", skeleton(feed=feed)), words=words)
    assert len(found.labels) == 4
    assert "1 arguments that are no constituent (such as ARG1 of words 0-2" in found.note("constituent")


@pytest.mark.parametrize(("part", "count"), [("train", 3420), ("test", 423)])
def test_the_bundled_trees_give_rows_of_the_bundled_table(part: str, count: int) -> None:
    """The table was made by another program, from the same trees."""
    found = read_all(BUNDLED / "ewt_roles" / f"{part}.gold_skel.gz", words=BUNDLED / "ewt_roles" / "words.conllu.gz")
    with gzip.open(BUNDLED / "ewt_roles" / f"{part}.tsv.gz", "rt", encoding="utf-8") as lines:
        head, *table = [line.rstrip("\n").split("\t") for line in lines]
    order = [head.index(name) for name in FEATURES]
    wanted = Counter(" ".join([row[0], *(row[place] for place in order)]) for row in table)
    given = Counter(" ".join(pair) for pair in zip(found.labels, rows(found, list(FEATURES)), strict=True))
    assert given.total() == count
    assert given <= wanted


def test_words_are_aligned_where_a_sentence_was_cut_and_left_out_where_they_differ(tmp_path: Path) -> None:
    path = write(tmp_path / "d.gold_skel", skeleton() * 3)
    whole = (WORDS, LEMMAS, POS)
    first, last = (WORDS[:5], LEMMAS[:5], POS[:5]), (WORDS[5:], LEMMAS[5:], POS[5:])
    other = (WORDS[:9], LEMMAS[:9], ["UH"] * 9)
    cut = write(tmp_path / "cut.conllu", conllu([whole, first, last, whole]))
    assert rows(read_all(path, words=cut)) == list(ROWS.values()) * 3
    wrong = read_all(path, words=write(tmp_path / "wrong.conllu", conllu([whole, other, whole])))
    assert rows(wrong) == list(ROWS.values()) * 2
    assert "1 sentences whose words do not fit" in wrong.note("do not fit")
    tags = (WORDS, LEMMAS, ["UH"] * 15)  # as many words, but others
    assert len(read_all(path, words=write(tmp_path / "t.conllu", conllu([whole, tags, whole]))).labels) == 10


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        (skeleton([*PIECES[:4], "(VP*)))", *PIECES[5:]]), 15, "not closed"),
        (skeleton([*PIECES[:4], "(VP*))))))))", *PIECES[5:]]), 5, "closes"),
        (skeleton([*PIECES[:4], "VP", *PIECES[5:]]), 5, "no piece"),
        (skeleton(feed=[*FEED[:1], "*", *FEED[2:]]), 1, "(ARG1 is not closed"),
        (skeleton().replace("see.01", "-"), 1, "1 frames, but 2 columns"),
        (skeleton().replace("kitchen", "").replace(" DT  (NP*   -", " DT -", 1), 9, "columns"),
    ],
)
def test_what_does_not_hold_together_is_refused_with_its_line(
    tmp_path: Path, words: Path, text: str, line: int, part: str
) -> None:
    path = write(tmp_path / "d.gold_skel", text)
    fault = refusal(path, format="propbank", words=words)
    assert fault.line == line
    assert part in fault.message
    assert fault.remedy
    assert str(fault.file).endswith("d.gold_skel")
    skipped = read_all(write(path, text + skeleton()), words=words, on_bad="skip")
    assert skipped.report.skipped == 1


def test_words_and_trees_that_are_missing_are_asked_for(tmp_path: Path, words: Path) -> None:
    path = write(tmp_path / "d.gold_skel", skeleton())
    assert refusal(path, format="propbank").key == "data.words"
    elsewhere = write(tmp_path / "e.gold_skel", skeleton(document="x/e.xml"))
    assert "no words of the document 'x/e.xml'" in refusal(elsewhere, format="propbank", words=words).message
    prop = write(tmp_path / "d.prop", PROP)
    assert refusal(prop, format="propbank").key == "data.trees"
    broken = write(tmp_path / "d.mrg", TREE.replace("(VBD fed)", "(VBD fed"))
    assert "in the tree that begins in line 1" in refusal(prop, format="propbank", trees=broken).message
    trees = write(tmp_path / "d.mrg", TREE)
    far = write(tmp_path / "far.prop", PROP.replace("9:1-ARG0", "9:9-ARG0"))
    assert "9:9 points out of its tree" in refusal(far, format="propbank", trees=trees).message
    other = write(tmp_path / "other.prop", PROP.replace("d.mrg 0 7", "d.mrg 3 7"))
    assert "no tree 3" in refusal(other, format="propbank", trees=trees).message


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"format": "propbank", "categorical": ["pt", "colour"]}, "no feature 'colour'"),
        ({"format": "propbank", "numeric": ["x"]}, "no numbers"),
        ({"format": "propbank", "group": "verb"}, "document or sentence"),
        ({"format": "tsv", "words": "w.conllu"}, "belongs to format propbank"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        DataOptions.model_validate({"train": "d.gold_skel", **options})
