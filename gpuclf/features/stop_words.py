"""English words that say how a sentence is built rather than what it is about: the closed classes of its grammar."""

from __future__ import annotations

_ARTICLES = "a an the this that these those each every either neither some any no all both such same other another own"
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves who whom whose which what one ones someone somebody something anyone
anybody anything everyone everybody everything nobody nothing none
"""
_PREPOSITIONS = """
about above across after against along among around as at before behind below beneath beside besides between beyond by
despite down during except for from in inside into like near of off on onto out outside over past per since through
throughout till to toward towards under until up upon with within without via
"""
_CONJUNCTIONS = "and or but nor so yet if though although because while whereas unless than whether when where why how"
_VERBS = """
be am is are was were been being do does did done doing have has had having will would shall should can could may might
must ought get gets got gotten getting
"""
_ADVERBS = """
not very too also just only even still already again ever never here there then now once more most much many few less
least lot quite rather really almost often always sometimes perhaps maybe however therefore thus else etc
"""
_PIECES = "s t d m ll re ve n nt isn aren wasn weren don doesn didn haven hasn hadn won wouldn couldn shouldn cannot"

ENGLISH = frozenset(
    " ".join((_ARTICLES, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _VERBS, _ADVERBS, _PIECES)).split()
)  # _PIECES are what contractions leave where an apostrophe parts them
