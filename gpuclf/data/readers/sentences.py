"""Raw text: one sentence a line, its tokens parted by blanks or found later by a token pattern."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.data.intake import Intake, SentenceBody, TextBody

_BLANKS = str.maketrans(dict.fromkeys("\t\v\f\r", " "))


class SentencesParser:
    """Tokens are parted by blanks and tabs; a no-break space stays inside a token, and white space alone is none.

    Lines without a token are passed over, and counted in a note. Read for prediction, they are sentences without
    tokens, so that every line is answered. With `data.tokenize: words` the lines are given as texts.
    """

    keep_cr = False

    def __init__(self, intake: Intake, body: SentenceBody | TextBody):
        self._intake = intake
        self._body = body
        self._blank = 0

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """One sentence a line."""
        intake, body = self._intake, self._body
        for line, text in enumerate(lines, first):
            blank = not text or text.isspace()
            if blank and not intake.predicting:
                self._blank += 1
            elif intake.admit(line, None, empty=blank):
                if isinstance(body, TextBody):
                    body.texts.append(text)
                else:
                    tokens = [token for token in text.translate(_BLANKS).split(" ") if token and not token.isspace()]
                    body.append(tokens)
                    intake.report.tokens += len(tokens)

    def finish(self) -> None:
        """Tells about blank lines."""
        if self._blank:
            self._intake.note(f"{self._blank} blank lines were passed over")
