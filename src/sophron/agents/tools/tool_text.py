"""A stranger's text made safe to hand on: bounded, no control characters, no direction marks."""

import unicodedata

_KEPT = "\n\t"


def plain(text: str, most: int) -> str:
    """`text` cut at `most` characters; control, format and unpaired characters appear as escapes, not as themselves.

    So nothing in it can paint a terminal, reorder what a reader sees, or hide a sentence (zero width, tags).
    """
    cut = text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most} more characters]"
    return "".join(map(_shown, cut.replace("\r\n", "\n")))


def _shown(character: str) -> str:
    if character in _KEPT or character.isprintable():
        return character
    # Blanks other than the plain one are not "printable" to Python; they are harmless.
    return character if unicodedata.category(character) == "Zs" else ascii(character)[1:-1]
