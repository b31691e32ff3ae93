"""Names in snake_case, kebab-case and PascalCase, as sprig's ``snakecase`` and its kin write them.

The rules are those of the Go library that sprig uses: runs of one kind of character are words;
digits stick to the word before them unless small letters follow.
"""

from __future__ import annotations

import unicodedata

from tiphys.spec.expression.lexer import is_space

Word = tuple[str, str]
"""A kind and its text; the kind is empty past the end."""
_END: Word = ("", "")


def _connects(character: str) -> bool:
    return character in "-_" or is_space(character)


def _punctuates(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def _kind(character: str) -> str:
    if _connects(character):
        return "connector"
    if _punctuates(character):
        return "punctuation"
    if character.isupper():
        return "upper"
    if character.isalpha():
        return "letters"
    return "number" if unicodedata.category(character).startswith("N") else "other"


def _words(text: str) -> list[Word]:
    words: list[Word] = []
    position = 0
    while position < len(text):
        kind = _kind(text[position])
        end = _end(text, position, kind)
        words.append((kind, text[position:end]))
        position = end
    return words


def _end(text: str, start: int, kind: str) -> int:
    end = start + 1
    if kind == "upper":
        return _end_of_capitals(text, end)
    same = _punctuates if kind == "punctuation" else lambda character: _kind(character) == kind
    while end < len(text) and same(text[end]):
        end += 1
    return end


def _end_of_capitals(text: str, end: int) -> int:
    if end < len(text) and text[end].isupper():
        while end < len(text) and text[end].isupper():
            end += 1
        # In HTTPStatus the S belongs to the next word.
        return end - 1 if end < len(text) and text[end].isalpha() else end
    while end < len(text) and _kind(text[end]) == "letters":
        end += 1
    return end


class _Writer:
    def __init__(self, text: str, connector: str) -> None:
        self.words = [*_words(text), _END]
        self.index = 0
        self.connector = connector
        self.written: list[str] = []

    @property
    def word(self) -> Word:
        return self.words[min(self.index, len(self.words) - 1)]

    @property
    def more(self) -> bool:
        """Tell whether text is left behind the current word."""
        return self.index + 1 < len(self.words) - 1

    def write(self, word: Word) -> None:
        kind, text = word
        if kind == "connector":
            self.written.append(self.connector * len(text))
        else:
            self.written.append(text.lower())

    def join(self, kinds: frozenset[str]) -> None:
        if self.word[0] not in kinds:
            self.written.append(self.connector)

    def run(self) -> str:
        while self.more:
            previous = self.word
            if previous[0] != "connector":
                self.write(previous)
            self.index += 1
            if previous[0] == "number":
                self.after_number()
            elif previous[0] == "connector":
                self.write(previous)
            elif previous[0] != "punctuation":
                self.after_word()
        self.write(self.word)
        return "".join(self.written)

    def after_number(self) -> None:
        while self.word[0] in {"letters", "number"}:
            self.write(self.word)
            self.index += 1
        self.join(frozenset(["", "punctuation", "connector"]))

    def after_word(self) -> None:
        if self.word[0] != "number":
            self.join(frozenset(["connector", "punctuation"]))
            return
        if not self.more:
            return
        number = self.word
        self.index += 1
        if self.word[0] != "letters":
            self.write(number)
            self.join(frozenset(["connector", "punctuation"]))
            return
        self.written.append(self.connector)
        self.write(number)
        self.after_number()


def snake(text: str, connector: str) -> str:
    """Write in small letters with ``connector`` between words."""
    return _Writer(text, connector).run() if text else ""


def camel(text: str) -> str:
    """Write in PascalCase; leading connectors stay."""
    body = text.lstrip("".join({c for c in text if _connects(c)}))
    lead = text[: len(text) - len(body)]
    if not body:
        # The Go library writes the last connector twice; so do we.
        return text + text[-1:]
    previous, capital = body[0].upper(), body[0].isupper()
    written: list[str] = []
    for character in body[1:]:
        if _connects(character) and _connects(previous):
            written.append(previous)
            previous = character
            continue
        following = character
        if _connects(previous):
            capital, following = character.isupper(), character.upper()
        else:
            if capital and character.isupper():
                following = character.lower()
            elif capital:
                capital = False
            written.append(previous)
        previous = following
    return lead + "".join([*written, previous])
