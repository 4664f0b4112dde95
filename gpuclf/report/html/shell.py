"""The frame of every page: one file with its style and script inside, which loads nothing and runs nothing else."""

from __future__ import annotations

import base64
import hashlib

from gpuclf.report.html.markup import Child, Markup, tag


def shell(title: str, style: str, script: str | None, *body: Child) -> str:
    """The source of a page. `style` and `script` are ours; whatever the data hold, no other script runs."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · gpuclf"),
        tag("style", Markup(style)),
    )
    end = None if script is None else tag("script", Markup(script))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body, end), lang='en')}\n"


def _policy(script: str | None) -> str:
    allowed = "default-src 'none'; style-src 'unsafe-inline'"
    if script is None:
        return allowed
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"{allowed}; script-src 'sha256-{digest}'"
