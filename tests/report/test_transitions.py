"""Transitions of a chain for a person: what each label favours after it, tables of few and of many labels."""

from __future__ import annotations

import io

import torch

from gpuclf.report.html.transition_section import transition_section
from gpuclf.report.plots import png
from gpuclf.report.transitions import print_transitions, strongest, transition_figure
from gpuclf.report.visible_text import open_console


def printed(transitions: torch.Tensor, classes: list[str]) -> str:
    stream = io.StringIO()
    print_transitions(open_console(stream), transitions, classes)
    return stream.getvalue()


def test_what_is_favoured_and_avoided_in_order() -> None:
    transitions = torch.tensor([[1.0, -2.0, 3.0], [0.0, 0.0, 0.0], [-1.0, -1.0, 0.5]])
    favoured, avoided = zip(*strongest(transitions, 2), strict=True)
    assert favoured == ([(2, 3.0), (0, 1.0)], [], [(2, 0.5)])
    assert avoided == ([(1, -2.0)], [], [(0, -1.0), (1, -1.0)])


def test_few_labels_have_the_whole_table() -> None:
    rows = printed(torch.tensor([[0.5, -1.25], [-0.001, 2.0]]), ["N", "V"]).splitlines()
    assert [row.split() for row in rows if row.startswith(("N", "V"))] == [
        ["N", "0.50", "-1.25"],
        ["V", "0.00", "2.00"],
    ]


def test_many_labels_have_the_strongest() -> None:
    transitions = torch.zeros(40, 40)
    transitions[3, 7], transitions[3, 9] = 2.0, -1.5
    row = next(line for line in printed(transitions, [f"t{k}" for k in range(40)]).splitlines() if line[:3] == "t3 ")
    assert row.split() == ["t3", "t7", "2.00", "t9", "-1.50"]


def test_the_page_and_the_picture() -> None:
    section = str(transition_section(torch.tensor([[0.5, -1.0], [0.0, 0.0]]), ["A<b>", "C"]))
    assert "A&lt;b&gt; → C: -1" in section
    assert "A<b>" not in section
    for size in (1, 2, 30):
        assert png(transition_figure(torch.zeros(size, size), [f"t{k}" for k in range(size)])).startswith(b"\x89PNG")
