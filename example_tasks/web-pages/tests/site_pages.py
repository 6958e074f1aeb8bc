"""Sites of the task's form, and the table that they hold. python site_pages.py FOLDER writes the one that is given."""

import html
import random
import sys
from pathlib import Path

GIVEN = 8
HEADER = ("isotope", "half-life", "note")
NOTES = ("beta & gamma", 'called "soft"', "branch < 1 %", "pure alpha", "", "Auger électrons")


def rows(seed: int) -> list[list[str]]:
    """The rows of all pages."""
    draw = random.Random(seed)
    names = [f"{draw.choice(['Co', 'Sr', 'Cs', 'Na', 'Bi'])}-{draw.randrange(20, 220)}" for _ in range(11)]
    return [[name, f"{draw.uniform(0.1, 90):.1f} {draw.choice('dhy')}", draw.choice(NOTES)] for name in names]


def pages(seed: int) -> dict[str, str]:
    """File name -> page; the pages link to each other in no order that their names would tell."""
    draw = random.Random(seed)
    table = rows(seed)
    parts = [table[:4], table[4:5], table[5:9], table[9:]]
    names = ["index.html", *(f"{word}/p{draw.randrange(100)}.html" for word in draw.sample(["a", "b", "c"], 3))]
    return {
        name: _page(part, _link(name, names[number + 1]) if number + 1 < len(names) else "")
        for number, (name, part) in enumerate(zip(names, parts, strict=True))
    }


def _link(here: str, there: str) -> str:
    return f'<a class="nav" href="{"../" * here.count("/")}{there}">next</a>'


def _page(part: list[list[str]], link: str) -> str:
    def row(cells: list[str] | tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}> {_marked(html.escape(cell))} </{tag}>" for cell in cells) + "</tr>"

    body = "\n".join([row(HEADER, "th"), *(row(cells, "td") for cells in part)])
    other = '<p><a href="about.html">about</a> <!-- <a href="old.html">next</a> --></p>'
    return f"<!doctype html>\n<meta charset=utf-8>\n<h1>Isotopes</h1>{other}\n<table>\n{body}\n</table>\n{link}\n"


def _marked(text: str) -> str:
    return f"<b>{text}</b>" if text[:2].isalpha() and len(text) > 3 else text


def write(folder: Path, seed: int) -> None:
    """Write a site."""
    for name, page in pages(seed).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), GIVEN)
