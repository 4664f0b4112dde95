"""Pages and JSON of summaries: complete, nested well, nothing from outside, whatever the reviews hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpuclf.faults import UserFault
from gpuclf.report.summarize.business_page import business_page
from gpuclf.report.summarize.index_page import index_page
from gpuclf.report.summarize.output_folder import require_free, write_folder
from gpuclf.report.summarize.page_names import page_names
from gpuclf.report.summarize.records import summary_json
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.summary import AspectSummary, BusinessSummary, Cluster
from tests.report.html.building import Page

EVIL = '</style><script>alert("1")</script>\u202e<b onclick=x>'


def snippet(text: str, **more: object) -> Snippet:
    return Snippet("Al's", "food", text, **more)  # type: ignore[arg-type]


def summary(business: str = "Al's", aspect: str = "food") -> BusinessSummary:
    """An aspect with a cluster of two, with one that contradicts them, and a snippet by itself."""
    place = snippet("the soup was hot", review="r1", place=(4, 8), sentence="We sat; the soup was hot.")
    two = Cluster(1, 2, (place, snippet("hot soup", review="r2")), (snippet("cold soup", review="r3"),))
    one = Cluster(-1, 1, (snippet("stale bread", review="r3"),), ())
    return BusinessSummary(business, 3, (AspectSummary(aspect, 2, 0, 2, (two, one)),))


def read(source: str) -> Page:
    page = Page(source)
    assert not page.faults
    for name, attributes in page.tags:
        assert name not in ("link", "img", "iframe", "object")
        assert "src" not in attributes
        assert not any(key.startswith("on") for key in attributes)
        assert not (attributes.get("href") or "").startswith(("http", "//", "javascript"))
    return page


def test_a_page_shows_heads_supporters_and_what_is_not_counted() -> None:
    page = read(business_page(summary()))
    text = " ".join(page.texts.values())
    assert "4 remarks from 3 reviews" in text
    for shown in ("hot soup", "cold soup", "stale bread", "We sat;", "1 more remark", "1 thing said once"):
        assert shown in text
    assert "1 not counted: of the opposite opinion" in text
    assert page.count("article", class_="praise") == 1
    assert page.count("mark") == 2  # in the head, and in its sentence
    assert page.count("a", href="#aspect-0") == page.count("section", id="aspect-0") == 1


def test_a_sentence_that_says_no_more_is_not_shown_again() -> None:
    head = snippet("hot soup", sentence="“hot soup”!")
    page = business_page(BusinessSummary("x", None, (AspectSummary("food", 1, 0, 0, (Cluster(1, 1, (head,), ()),)),)))
    assert page.count("hot soup") == 1


def test_names_and_texts_are_text() -> None:
    given = summary(EVIL, EVIL)
    clusters = (Cluster(-1, 1, (snippet(EVIL, review=EVIL, sentence=f"{EVIL} {EVIL}"),), ()),)
    given = BusinessSummary(EVIL, 1, (*given.aspects, AspectSummary(EVIL, 0, 0, 1, clusters)))
    page = read(business_page(given))
    assert page.count("script") == 0
    index = read(index_page([given], page_names([EVIL]), EVIL))
    assert index.count("script") == 1
    assert 'alert("1")' in " ".join(page.texts.values())
    assert not any("\u202e" in text for text in page.texts.values())


def test_an_aspect_without_agreement_shows_some_of_what_was_said_once() -> None:
    alone = tuple(Cluster(0, 1, (snippet(f"remark {n}"),), ()) for n in range(5))
    page = read(business_page(BusinessSummary("x", None, (AspectSummary("food", 0, 5, 0, alone),))))
    assert page.count("article", class_="neutral") == 3
    assert "2 things said once" in " ".join(page.texts.values())


def test_the_index_leads_to_every_page() -> None:
    summaries = [summary("Al's"), summary("Bo's"), summary("al s")]
    pages = page_names(s.business for s in summaries)
    page = read(index_page(summaries, pages, "reviews.jsonl"))
    links = [attributes["href"] for name, attributes in page.tags if name == "a"]
    assert links == ["al-s.html", "bo-s.html", "al-s-2.html"] == list(pages.values())
    assert page.count("table", class_="sortable") == 1
    assert "the soup was hot" in " ".join(page.texts.values())


@pytest.mark.parametrize(("support", "shown"), [(1, False), (2, True)])
def test_the_index_shows_criticism_that_several_make(support: int, shown: bool) -> None:
    praise = Cluster(1, 3, (snippet("hot soup"),) * 3, ())
    blame = Cluster(-1, support, (snippet("stale bread"),) * support, ())
    given = BusinessSummary("x", None, (AspectSummary("food", 3, 0, support, (praise, blame)),))
    source = index_page([given], page_names(["x"]), "reviews.jsonl")
    assert "hot soup" in source
    assert ("stale bread" in source) == shown


def test_names_of_files() -> None:
    names = page_names(["Café Ünique", "寿司", "../../etc", "index", "INDEX", "x" * 300, "", "summary", "a/b", "A B"])
    found = list(names.values())
    assert found[:4] == ["cafe-unique.html", "business.html", "etc.html", "index-2.html"]
    assert len({name.lower() for name in found}) == len(found)
    assert all(re.fullmatch(r"[a-z0-9-]{1,70}\.html", name) for name in found)


def test_json_says_the_same() -> None:
    record = json.loads(summary_json([summary()], {"Al's": "al-s.html"}, {"file": "f"}))
    [business] = record["businesses"]
    [aspect] = business["aspects"]
    assert (business["business"], business["page"], business["reviews"], business["snippets"]) == (
        "Al's",
        "al-s.html",
        3,
        4,
    )
    assert (aspect["aspect"], aspect["positive"], aspect["neutral"], aspect["negative"]) == ("food", 2, 0, 2)
    first, second = aspect["clusters"]
    assert (first["polarity"], first["support"], first["head"]) == ("positive", 2, "the soup was hot")
    assert first["supporters"][0] == {
        "text": "the soup was hot",
        "review": "r1",
        "start": 4,
        "end": 8,
        "sentence": "We sat; the soup was hot.",
    }
    assert [s["text"] for s in first["dropped"]] == ["cold soup"]
    assert (second["polarity"], second["head"]) == ("negative", "stale bread")


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"

    def failing():  # type: ignore[no-untyped-def]
        yield "a.html", b"a"
        assert not out.exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(out, failing())
    assert list((tmp_path / "new").iterdir()) == []
    out.mkdir()
    write_folder(out, [("a.html", b"a"), ("b.json", b"b")])
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {"a.html": b"a", "b.json": b"b"}
    assert list((tmp_path / "new").iterdir()) == [out]
    with pytest.raises(UserFault, match="already holds files"):
        write_folder(out, [("c.html", b"c")])
    assert not (out / "c.html").exists()
    with pytest.raises(UserFault, match="is not a folder"):
        require_free(out / "a.html")
