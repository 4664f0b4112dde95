"""Makes the bundled sample of product reviews from the corpora product_reviews_1 and _2 (Hu & Liu; CC BY 4.0).

    python -m benchmarks.review_sample SOURCE FOLDER

SOURCE holds product_reviews_1.jsonl.gz and product_reviews_2.jsonl.gz, a review a line: {"product", "title",
"sentences": [{"text", "features": [{"feature", "strength"}]}]}. The source marks which features of a product a sentence
speaks of; spans are found here by the rule that the sample's LICENSE states, and features become aspects by the map
that is written beside the reviews.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LABELLED = ("Canon_S100", "MicroMP3", "Nokia_6600")
UNLABELLED = ("Canon_G3", "Nikon_coolpix_4300", "Nokia_6610")
MOST_SENTENCES = 30  # of a review
TEST_SHARE = 3  # one review of so many, by the hash of its id, is for testing
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ies", "ing", "ed", "es", "s", "e", "y")

# The words of each aspect; a feature is of the first aspect of which it has a word, by stems.
ASPECTS: dict[str, str] = {
    "value": "price cost cheap rebate purchase service support warranty carrier customer tech mobile verizon att quest",
    "battery": "battery batterylife charge recharge rechargeable charging rundown power adapter",
    "sound": """
        sound audio bass treble eq volume headphone earbud ear speaker microphone fm radio tuner ringtone ring
        ringer voice tone music hear signal reception coverage transmission band
    """,
    "picture": """
        picture photo image pic shot snapshot screen display lcd tft color video movie movies zoom flash focus
        autofocus exposure macro lens viewfinder light backlight resolution panorama sharp lag print
        visibility dynamic
    """,
    "body": """
        size small smaller smallest smal tiny big large bulky compact heavy weight weigh wide look design
        style stylize appeal case casing hardcase construction construct build built made make feel durable
        durability sturdy solid rugged housing cover covering body shape beltclip belt bag pouch stand
        portability comfort fit metal trim cap jewel back heat hot
    """,
    "use": """
        use usage useable usability ofuse interface menu navigate navigation navigatee button key kay keypad
        joy joystick touch touchpad scroll scrollpad dial control software install installation firmware os
        operate operation operating system transfer trnasfer sync isync speed slow work perform performance
        function functioning functionality setup set start load loading instruction manual guide configuration
        reliability dependability delay organize organization organizer playlist explain upgrade driver
        process processor respond response lock read plug access mode automatic auto explain labling edit wait
        time
    """,
    "functions": """
        feature memory storage srorage bluetooth game application accessory accesory capacity internet modem
        pda mmc gprs web browser sim card room space store napster format wma wmp wav usb compatibility
        compaibility expandability mail outlook infrared recorder recorded record handsfree hand call calling
        multimedia program versatility download theme font rip subscription connectivity messaging itunes
        cable
    """,
    "device": "phone camera player product zen nokia 6600 n6600 s100 elph micro machine creative quality mp3",
}


def stem(word: str) -> str:
    """The word in lower case without an ending of inflection; what is left has three letters at least."""
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def aspect_of(feature: str) -> str | None:
    """The aspect of a feature by ASPECTS; None for a feature of none."""
    stems = {stem(word) for word in _WORD.findall(feature)}
    return next((aspect for aspect, words in ASPECTS.items() if stems & {stem(word) for word in words.split()}), None)


def spans_of(text: str, features: list[str]) -> list[tuple[int, int, str]]:
    """Every place where a feature's words stand one after the other, by stems; long features first, none overlaps."""
    words = [(found.start(), found.end(), stem(found.group())) for found in _WORD.finditer(text)]
    spans: list[tuple[int, int, str]] = []
    wanted = [([stem(word) for word in _WORD.findall(feature)], feature) for feature in features]
    for stems, feature in sorted(wanted, key=lambda pair: -len(pair[0])):
        for place in range(len(words) - len(stems) + 1 if stems else 0):
            run = words[place : place + len(stems)]
            start, end = run[0][0], run[-1][1]
            free = all(end <= other[0] or start >= other[1] for other in spans)
            if free and [found for _, _, found in run] == stems:
                spans.append((start, end, feature))
    return sorted(spans)


def reviews(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(id, review) of both corpora, in their order; a review's id is its product and its number among its reviews."""
    for name in ("product_reviews_1", "product_reviews_2"):
        numbers: dict[str, int] = {}
        with gzip.open(source / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                review = json.loads(line)
                product = review["product"]
                numbers[product] = numbers.get(product, 0) + 1
                yield f"{product}-{numbers[product]}", review


def sample(source: Path) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """The reviews of train, test and unlabelled, and the aspect of each feature that a span has."""
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "test": [], "unlabelled": []}
    used: dict[str, str] = {}
    for id, review in reviews(source):
        texts = [html.unescape(sentence["text"]) for sentence in review["sentences"]]
        record: dict[str, Any] = {"business": review["product"].replace("_", " "), "review": id}
        if not 0 < len(texts) <= MOST_SENTENCES or not any(text.strip() for text in texts):
            continue
        if review["product"] in UNLABELLED:
            parts["unlabelled"].append({**record, "sentences": [{"text": text} for text in texts]})
        if review["product"] not in LABELLED:
            continue
        sentences = []
        for text, sentence in zip(texts, review["sentences"], strict=True):
            aspects = {one["feature"]: aspect_of(one["feature"]) for one in sentence["features"]}
            found = spans_of(text, [feature for feature, aspect in aspects.items() if aspect is not None])
            used |= {feature.lower(): str(aspects[feature]) for _, _, feature in found}
            spans = [{"start": start, "end": end, "aspect": aspects[feature]} for start, end, feature in found]
            sentences.append({"text": text, "spans": spans})
        digest = hashlib.blake2b(id.encode(), digest_size=8).digest()
        part = "test" if int.from_bytes(digest, "little") % TEST_SHARE == 0 else "train"
        parts[part].append({**record, "sentences": sentences})
    return parts, used


def main() -> None:
    """Writes train, test and unlabelled, packed without a time stamp, and the map of features."""
    parser = argparse.ArgumentParser(description="the bundled sample of product reviews")
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    parts, used = sample(arguments.source)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for part, records in parts.items():
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        packed = gzip.compress(lines.encode(), compresslevel=9, mtime=0)
        (arguments.folder / f"{part}.jsonl.gz").write_bytes(packed)
        sentences = [sentence for record in records for sentence in record["sentences"]]
        spans = sum(len(sentence.get("spans", ())) for sentence in sentences)
        print(f"{part}: {len(records)} reviews, {len(sentences)} sentences, {spans} spans, {len(packed)} bytes")
    table = "".join(f"{feature}\t{aspect}\n" for feature, aspect in sorted(used.items()))
    (arguments.folder / "features.tsv").write_text(f"feature\taspect\n{table}", encoding="utf-8")


if __name__ == "__main__":
    main()
