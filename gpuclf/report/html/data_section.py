"""What was read: files, records beside lines, empty documents, documents per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuclf.data.records import ReadReport
from gpuclf.report.html.markup import Markup, folded, joined, name_text, table, tag

_CLASSES_OPEN = 25
_CLASSES_SHOWN = 500


def data_section(reads: Sequence[tuple[str, ReadReport]], classes: Sequence[str]) -> Markup:
    """A row a file, then bars of the training documents per class beside those of the other files."""
    if not reads:
        return tag("p", "It is not known what was read.", class_="note")
    head = ["file", "role", "format", "records", "lines", "skipped", "empty documents", "bytes", "sha256"]
    rows = [
        [
            tag("span", name_text(report.path.name, 80), title=str(report.path)),
            role,
            report.format,
            *(f"{value:,}" for value in (report.records, report.lines, report.skipped, report.empty_documents)),
            f"{report.bytes:,}",
            tag("code", report.sha256[:12], title=report.sha256),
        ]
        for role, report in reads
    ]
    notes = [tag("li", f"{role}: {name_text(note, 300)}") for role, report in reads for note in report.notes]
    return joined(
        table(head, rows, numbers=range(3, 8)),
        tag("ul", *notes, class_="note") if notes else None,
        _classes(reads, classes),
    )


def _classes(reads: Sequence[tuple[str, ReadReport]], classes: Sequence[str]) -> Markup | None:
    counted = [(role, report.per_class) for role, report in reads if report.per_class]
    if not counted:
        return None
    known = set(classes)
    extra = sorted({name for _, counts in counted for name in counts if name not in known})
    names = [*classes, *extra]
    shown = names[:_CLASSES_SHOWN]
    most = max(max(counts.values()) for _, counts in counted)
    rows = [
        [
            tag("span", name_text(name), title=name),
            *(_bar(counts.get(name, 0), most) for _, counts in counted),
        ]
        for name in shown
    ]
    listing = table(["class", *(f"{role} documents" for role, _ in counted)], rows, class_="sortable bars")
    more = f"The first {_CLASSES_SHOWN:,} classes of {len(names):,}." if len(shown) < len(names) else None
    return folded(
        f"{len(classes):,} classes{_sizes(counted[0][1])}",
        listing,
        tag("p", more, class_="note") if more else None,
        opened=len(names) <= _CLASSES_OPEN,
    )


def _sizes(counts: Mapping[str, int]) -> str:
    """Smallest and largest class, for the line that is always seen."""
    small = min(counts, key=lambda name: (counts[name], name))
    large = max(counts, key=lambda name: (counts[name], name))
    if small == large:
        return ""
    sizes = f"{name_text(small, 40)} ({counts[small]:,} documents) to {name_text(large, 40)} ({counts[large]:,})"
    return f", from {sizes}"


def _bar(count: int, most: int) -> Markup:
    width = f"width:{100 * count / max(most, 1):.1f}%"
    return tag("div", tag("i", style=width), tag("span", f"{count:,}"), class_="bar")
