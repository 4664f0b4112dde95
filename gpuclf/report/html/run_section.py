"""How the run was made: seconds by activity as a bar, the resolved config, the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuclf.report.html.markup import Child, Markup, folded, joined, name_text, table, tag


def seconds_text(seconds: float) -> str:
    """`3.4 s`, `12 min 5 s`, `2 h 3 min`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def timings_section(seconds: Mapping[str, float]) -> Markup:
    """One bar, its parts as long as they took."""
    total = sum(seconds.values())
    parts = [
        tag("i", style=f"width:{100 * value / total:.2f}%", class_=f"s{place}", title=f"{name}: {seconds_text(value)}")
        for place, (name, value) in enumerate(seconds.items())
        if total > 0
    ]
    keys = [
        tag("li", tag("i", class_=f"key s{place}"), f"{name} {seconds_text(value)}")
        for place, (name, value) in enumerate(seconds.items())
    ]
    return joined(
        tag("div", *parts, class_="stack"),
        tag("ul", *keys, tag("li", f"together {seconds_text(total)}"), class_="legend"),
    )


def config_section(text: str) -> Markup:
    """The config with every default filled in, folded."""
    return folded("Resolved config, all defaults filled in", tag("pre", text))


def environment_section(environment: Mapping[str, Any]) -> Markup:
    """env.json as a table."""
    if not environment:
        return tag("p", "It is not known where this ran.", class_="note")
    rows: list[list[Child]] = []
    for key, value in environment.items():
        if key == "data":
            continue  # the files are in the section of the data
        rows.append([key, _value(value)])
    return folded("Versions, device, number formats, git state", table(["", ""], rows))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_value(item) for item in value)
    return name_text({True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value), 200)
