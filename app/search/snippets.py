"""The few lines of a text that show why it was found. Pure; pieces are plain text, whoever renders them escapes.

A snippet comes from the best passage while its text is what was embedded, else from where the words of the question
stand closest together, else from the beginning. `ts_headline` is not used: it does not escape (`postgres.md`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from app.search.matching import WORD_LIMIT, words_of

Piece = tuple[str, bool]
"""(text, whether it is a word of the question)."""

LENGTH = 240
SEARCHED = 20_000
"""Characters of a long text that are looked at."""

_SPANS = re.compile(r"[^\W_]+")
_SPACES = re.compile(r"\s+")


def folded(word: str) -> str:
    """Lower case without accents, for comparing beginnings of words."""
    if word.isascii():  # most words of most texts, at a twentieth of the time
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def likely_words(text: str, beginnings: AbstractSet[str]) -> set[str]:
    """The lower-cased words of ``text`` that begin like a term of the question: a stem changes the end only."""
    found: set[str] = set()
    text = text[:SEARCHED].lower()
    if text.isascii():
        return {word[:WORD_LIMIT] for word in _beginning(text, beginnings) if word[:3] in beginnings}
    for piece in set(_SPANS.findall(text)):
        if not piece.isascii():  # one word or several
            found.update(word for word in words_of(piece) if folded(word)[:3] in beginnings)
        elif piece[:3] in beginnings:
            found.add(piece[:WORD_LIMIT])
    return found


def _beginning(text: str, beginnings: AbstractSet[str]) -> Iterator[str]:
    """The words of an ASCII text that begin so: each beginning is looked for, a tenth of the time to cut the text."""
    for beginning in beginnings:
        at = text.find(beginning)
        while at >= 0:
            word = _SPANS.match(text, at)
            end = word.end() if word else at + 1
            if word and not text[at - 1 : at].isalnum():
                yield word.group()
            at = text.find(beginning, end)


def snippet(
    text: str, marked: AbstractSet[str], names: Sequence[str] = (), region: tuple[int, int] | None = None
) -> tuple[Piece, ...]:
    """About 240 characters of ``text`` with the ``marked`` (lower-cased) words and ``names`` (identifiers) set apart.

    ``region`` are the offsets of the passage to show; None is the whole text. Empty for a blank text.
    """
    start, end = region or (0, len(text))
    start = max(0, min(start, len(text)))
    end = min(end, len(text), start + SEARCHED)
    spans = _marks(text, start, end, marked, names)
    first = _densest(spans, start)
    begin = _word_start(text, max(start, first - LENGTH // 4), start)
    stop = _word_end(text, begin + LENGTH, end)
    pieces = list(_pieces(text, begin, stop, spans))
    if not any(piece.strip() for piece, _ in pieces):
        return ()
    before = [("… ", False)] if text[start:begin].strip() else []
    after = [(" …", False)] if text[stop:].strip() else []
    return (*before, *pieces, *after)


def marked_pieces(text: str, marked: AbstractSet[str], names: Sequence[str] = ()) -> tuple[Piece, ...]:
    """The whole of a short text, a title for example, with what counts set apart."""
    return tuple(_pieces(text, 0, len(text), _marks(text, 0, len(text), marked, names)))


def _marks(text: str, start: int, end: int, marked: AbstractSet[str], names: Sequence[str]) -> list[tuple[int, int]]:
    """Spans to set apart, in order and apart from each other; of scripts without spaces, pairs of characters."""
    region = text[start:end]
    found = [match.span() for name in names for match in re.finditer(re.escape(name), region, re.IGNORECASE)]
    found += _ascii_words(region, marked) if region.isascii() else _words(region, marked)
    spans: list[tuple[int, int]] = []
    for begin, stop in sorted(found):
        if spans and begin < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
        else:
            spans.append((begin, stop))
    return [(start + begin, start + stop) for begin, stop in spans]


def _ascii_words(region: str, marked: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    """Where a text of ASCII letters alone has the words: each is looked for, which is quicker than to cut the text."""
    lower = region.lower()
    for word in marked:
        at = lower.find(word)
        while at >= 0:
            end = at + len(word)
            if len(word) == WORD_LIMIT:  # the beginning of a longer one
                while lower[end : end + 1].isalnum():
                    end += 1
            if not (lower[at - 1 : at].isalnum() or lower[end : end + 1].isalnum()):
                yield (at, end)
            at = lower.find(word, end)


def _words(region: str, marked: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    if not marked:
        return
    for match in _SPANS.finditer(region):
        word = match.group()
        if word.isascii():  # one word, whatever it is
            if word.lower()[:WORD_LIMIT] in marked:
                yield match.span()
            continue
        parts = list(words_of(word))
        if len(parts) == 1 and parts[0] in marked:
            yield match.span()
        elif len(parts) > 1:
            yield from _parts(word, match.start(), parts, marked)


def _parts(word: str, offset: int, parts: Sequence[str], marked: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for part in parts:
        where = word.lower().find(part, at)
        if where < 0:
            return
        if part in marked:
            yield (offset + where, offset + where + len(part))
        at = where + 1 if len(part) == 2 else where + len(part)


def _densest(spans: list[tuple[int, int]], default: int) -> int:
    """Where the stretch of 240 characters with most marks begins."""
    best, most = default, 0
    for at, (begin, _) in enumerate(spans):
        count = sum(1 for other in spans[at:] if other[1] - begin <= LENGTH)
        if count > most:
            best, most = begin, count
    return best


def _word_start(text: str, at: int, lowest: int) -> int:
    """The first beginning of a word from ``at`` on; ``lowest`` is one."""
    if at <= lowest:
        return lowest
    space = re.search(r"\s", text[at - 1 : at + 40])
    return at - 1 + space.end() if space else at


def _word_end(text: str, at: int, highest: int) -> int:
    """The last end of a word up to ``at``; ``highest`` is one."""
    if at >= highest:
        return highest
    cut = text[at - 40 : at + 1]
    space = max((match.start() for match in re.finditer(r"\s", cut)), default=-1)
    return at - 40 + space if space > 0 else at


def _pieces(text: str, begin: int, stop: int, spans: list[tuple[int, int]]) -> Iterator[Piece]:
    at = begin
    for start, end in spans:
        if start < at or end > stop:
            continue
        if start > at:
            yield (_SPACES.sub(" ", text[at:start]), False)
        yield (text[start:end], True)
        at = end
    if at < stop:
        yield (_SPACES.sub(" ", text[at:stop]), False)
