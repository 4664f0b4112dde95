"""The sentence that is being read from lines of one word each, until it is a record: taken, left out or refused."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.data.intake import Intake, SentenceBody

_ONE_SENTENCE = 1000  # words in a file of one sentence from which on blank lines may be what is missing


class OpenSentence:
    """Collects words and what is wrong with them; `end` gives the sentence to the intake as one record."""

    def __init__(self, intake: Intake, body: SentenceBody):
        self._intake = intake
        self._body = body
        self._start()

    def _start(self) -> None:
        self.line = 0  # where the sentence begins; 0: nothing of it was seen yet
        self.tokens: list[str] = []
        self.gold: list[str] = []
        self.inputs: list[Sequence[str]] = []
        self._faults: list[tuple[int, str, str]] = []

    def begin(self, line: int) -> None:
        """A line of the sentence stands here; the first one is where the record starts."""
        self.line = self.line or line

    def bad(self, line: int, reason: str, remedy: str) -> None:
        """Something that makes the sentence a bad record."""
        self.begin(line)
        self._faults.append((line, reason, remedy))

    def word(
        self, line: int, token: str, gold: str | None, untagged: frozenset[str], inputs: Sequence[str] = ()
    ) -> None:
        """One word, its gold tag where tags are collected, and the cells of further columns; `untagged` are cells that
        stand for no tag."""
        self.begin(line)
        if not token.strip():
            self.bad(line, f"the word {token!r} is blank", "write a word, or end the sentence with an empty line")
        elif gold is not None and (not gold.strip() or gold in untagged):
            self.bad(
                line,
                f"the word {token!r} has no gold tag ({gold!r})",
                "give it one, or choose another data.gold or none",
            )
        else:
            self.tokens.append(token)
            self.inputs.append(inputs)
            if gold is not None:
                self.gold.append(gold)

    def end(self, id: str | None = None) -> None:
        """The sentence is complete; nothing happens where none was begun."""
        if not self.line:
            return
        intake = self._intake
        if self._faults:
            line, reason, remedy = self._faults[0]
            more = len(self._faults) - 1
            intake.bad(line, reason + (f" (and {more} more in this sentence)" if more else ""), remedy)
        elif intake.admit(self.line, None, id=id):
            self._body.append(self.tokens, self.gold, self.inputs)
            intake.report.tokens += len(self.tokens)
        self._start()

    def note_one_sentence(self) -> None:
        """Tells of a file that is one long sentence."""
        report = self._intake.report
        if report.records == 1 and report.tokens >= _ONE_SENTENCE:
            self._intake.note(f"the file is one sentence of {report.tokens} words; an empty line ends a sentence")
