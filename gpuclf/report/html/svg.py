"""Small charts as SVG: axes, lines, points with error bars. Colours come from the page's style sheet by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpuclf.report.html.markup import Child, Markup, tag

Tick = tuple[float, str]  # a place on the axis, and what is written there


@dataclass(frozen=True)
class Axis:
    """Values low to high on the pixels start to end."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[Tick]
    label: str = ""

    def at(self, value: float) -> float:
        """The pixel of a value, rounded to a tenth."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True)
class Frame:
    """A chart's size and axes. Margins are left, top, right, bottom."""

    width: float
    height: float
    x: Axis
    y: Axis

    def point(self, x: float, y: float) -> tuple[float, float]:
        return self.x.at(x), self.y.at(y)


def frame(
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    size: tuple[float, float] = (460.0, 300.0),
    labels: tuple[str, str] = ("", ""),
    x_ticks: Sequence[Tick] | None = None,
    y_ticks: Sequence[Tick] | None = None,
    margins: tuple[float, float, float, float] = (58.0, 16.0, 14.0, 42.0),
) -> Frame:
    """A frame for the ranges x and y; ticks at round numbers where none are given."""
    width, height = size
    left, top, right, bottom = margins
    across = round_ticks(*x, 6) if x_ticks is None else x_ticks
    upwards = round_ticks(*y, 5) if y_ticks is None else y_ticks
    return Frame(
        width,
        height,
        Axis(*x, left, width - right, across, labels[0]),
        Axis(*y, height - bottom, top, upwards, labels[1]),
    )


def chart(drawn: Frame, *content: Child, title: str) -> Markup:
    """The frame with its grid lines, ticks and labels, and the content above them. `title` is for screen readers."""
    x, y = drawn.x, drawn.y
    lines = [
        *(_line(x.at(at), y.start, x.at(at), y.end, "grid") for at, _ in x.ticks),
        *(_line(x.start, y.at(at), x.end, y.at(at), "grid") for at, _ in y.ticks),
        _line(x.start, y.start, x.end, y.start, "axis"),
    ]
    crowded = sum(len(text) for _, text in x.ticks) * 7 > x.end - x.start
    texts = [
        *(_tick(x.at(at), y.start + 15, text, tilted=crowded) for at, text in x.ticks),
        *(tag("text", text, x=x.start - 6, y=y.at(at) + 3.5, text_anchor="end") for at, text in y.ticks),
        tag("text", x.label, x=(x.start + x.end) / 2, y=drawn.height - 5, class_="label", text_anchor="middle"),
    ]
    if y.label:
        turned = f"translate(12 {(y.start + y.end) / 2:.0f}) rotate(-90)"
        texts.append(tag("text", y.label, transform=turned, class_="label", text_anchor="middle"))
    return picture(drawn.width, drawn.height, *lines, *texts, *content, title=title)


def picture(width: float, height: float, *content: Child, title: str, class_: str = "chart") -> Markup:
    """An SVG element that shrinks with the page and never grows beyond its own size."""
    box = f"0 0 {width:.0f} {height:.0f}"
    style = f"max-width:{width:.0f}px"
    return tag("svg", *content, viewBox=box, role="img", aria_label=title, class_=class_, style=style)


def polyline(points: Sequence[tuple[float, float]], class_: str, title: str, **more: str) -> Markup:
    """A line through pixels; `title` is shown on hovering."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return tag("polyline", tag("title", title), points=path, class_=class_, **more)


def error_bar(drawn: Frame, x: float, mean: float, sd: float) -> Markup:
    """From mean − sd to mean + sd."""
    across, low, high = drawn.x.at(x), drawn.y.at(mean - sd), drawn.y.at(mean + sd)
    path = f"M{across} {low}V{high}M{across - 3:g} {low}h6M{across - 3:g} {high}h6"
    return tag("path", d=path, class_="error")


def round_ticks(low: float, high: float, about: int) -> list[Tick]:
    """Multiples of 1, 2 or 5 · 10^n within the range, so many or a few more or fewer."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [(low, _round_text(low, 1.0))]
    power = 10.0 ** math.floor(math.log10(span / about))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(span / s - about))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(n * step, _round_text(n * step, step)) for n in range(first, last + 1)]


def whole_ticks(low: float, high: float, about: int) -> list[Tick]:
    """The same for counts: whole numbers only."""
    return [(at, f"{at:,.0f}") for at, _ in round_ticks(low, high, about) if at == round(at)]


def power_ticks(low: float, high: float, about: int) -> list[Tick]:
    """Powers of ten within a range of their exponents."""
    return [(at, f"{10.0**at:g}" if -4 < at < 5 else f"1e{at:.0f}") for at, _ in whole_ticks(low, high, about)]


def padded(
    values: Sequence[float], *, least: float = 0.0, bounds: tuple[float, float] | None = None
) -> Sequence[float]:
    """(low, high) around the values with a little air, at least so far apart, within the bounds."""
    low, high = min(values), max(values)
    air = max((high - low) * 0.08, (least - (high - low)) / 2, abs(high) * 1e-6, 1e-9)
    low, high = low - air, high + air
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def _round_text(value: float, step: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or step < 1e-5:
        return f"{value:.3g}"
    return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _tick(x: float, y: float, text: str, *, tilted: bool) -> Markup:
    if tilted:
        return tag("text", text, transform=f"translate({x + 3:g} {y - 4:g}) rotate(-40)", text_anchor="end")
    return tag("text", text, x=x, y=y, text_anchor="middle")


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)
