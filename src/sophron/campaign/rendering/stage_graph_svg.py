"""The stage graph as an inline SVG picture: columns are topological generations, edges run from left to right.

One node a stage, whatever the number of steps, so that the picture of 10,000 steps is as readable as one of ten.
"""

import graphlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from sophron.records.sanitize import one_line

WIDTH, HEIGHT = 150, 74
GAP_X, GAP_Y = 40, 22
MARGIN = 6
LONGEST = 19
WIDE = 3
"""Columns from which on a picture takes the width of the page."""
SWEEPS = 4
NAMESPACE = "http://www.w3.org/2000/svg"


@dataclass(frozen=True)
class Node:
    """One stage. status: a word that the page's style colours (planned, pass, fail, waiting); notes: lines below."""

    name: str
    depends_on: Sequence[str] = ()
    notes: Sequence[str] = ()
    status: str = "planned"
    title: str = ""


@dataclass(frozen=True)
class _Way:
    """An edge with its bends: cells (column, row) from its source to its target."""

    source: str
    target: str
    cells: tuple[tuple[int, float], ...]


def svg(nodes: Sequence[Node], title: str) -> str:
    """Return the picture as SVG text for a page; everything shown is escaped. Empty for no nodes."""
    if not nodes:
        return ""
    places, ways = layout({node.name: tuple(node.depends_on) for node in nodes})
    columns = 1 + max(column for column, _ in places.values())
    lowest = max(row for way in ways for _, row in way.cells) if ways else 0.0
    rows = 1 + max(lowest, *(row for _, row in places.values()), 0.0)
    width = columns * WIDTH + (columns - 1) * GAP_X + 2 * MARGIN
    height = rows * HEIGHT + (rows - 1) * GAP_Y + 2 * MARGIN
    described = "; ".join(_sentence(node) for node in nodes)
    size = f'viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}"'
    labels = 'role="img" aria-labelledby="graph-title" aria-describedby="graph-text"'
    parts = [
        f'<svg class="{"graph small" if columns < WIDE else "graph"}" {labels} {size} xmlns="{NAMESPACE}">',
        f'<title id="graph-title">{escape(one_line(title))}</title>',
        f'<desc id="graph-text">{escape(described)}</desc>',
        *(_edge(way) for way in ways),
        *(_box(node, *places[node.name]) for node in nodes),
        "</svg>",
    ]
    return "\n".join(parts)


def _sentence(node: Node) -> str:
    needs = " and ".join(one_line(name) for name in node.depends_on)
    notes = ", ".join(one_line(note) for note in node.notes)
    return f"{one_line(node.name)} ({notes}){f' builds on {needs}' if needs else ''}"


def layout(graph: Mapping[str, Sequence[str]]) -> tuple[dict[str, tuple[int, float]], list[_Way]]:
    """Return the places of the nodes as (column, row), and the ways of the edges.

    graph: node -> what it depends on; names that are not nodes are ignored. An edge over several columns passes a
    free cell in each (Sugiyama's layers), and cells are ordered by the mean row of their neighbours.
    Raises graphlib.CycleError.
    """
    known = {name: [other for other in needs if other in graph] for name, needs in graph.items()}
    column = _generations(known)
    chains = {
        (source, target): [
            source,
            *(f"{source}\0{target}\0{at}" for at in range(column[source] + 1, column[target])),
            target,
        ]
        for target, needs in known.items()
        for source in needs
    }
    columns: list[list[str]] = [[] for _ in range(1 + max(column.values()))]
    for name in graph:
        columns[column[name]].append(name)
    neighbours: dict[str, list[str]] = {}
    for chain in chains.values():
        for offset, cell in enumerate(chain[1:-1], start=1):
            columns[column[chain[0]] + offset].append(cell)
        for before, after in pairwise(chain):
            neighbours.setdefault(before, []).append(after)
            neighbours.setdefault(after, []).append(before)
    rows = _rows(columns, neighbours)
    place = {cell: (index, rows[cell]) for index, cells in enumerate(columns) for cell in cells}
    ways = [_Way(source, target, tuple(place[cell] for cell in chain)) for (source, target), chain in chains.items()]
    return {name: place[name] for name in graph}, ways


def _generations(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()
    column: dict[str, int] = {}
    generation = 0
    while sorter.is_active():
        ready = sorter.get_ready()
        column |= dict.fromkeys(ready, generation)
        sorter.done(*ready)
        generation += 1
    return column


def _rows(columns: Sequence[list[str]], neighbours: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Row of each cell: order by the mean of the neighbours' rows, then centre each column on the tallest one."""
    tallest = max(len(cells) for cells in columns)
    rows = {cell: float(index) for cells in columns for index, cell in enumerate(cells)}
    for _ in range(SWEEPS):
        for cells in columns:
            cells.sort(key=lambda cell: _mean([rows[other] for other in neighbours.get(cell, [])], rows[cell]))
            for index, cell in enumerate(cells):
                rows[cell] = index + (tallest - len(cells)) / 2
    return rows


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _corner(column: int, row: float) -> tuple[float, float]:
    return MARGIN + column * (WIDTH + GAP_X), MARGIN + row * (HEIGHT + GAP_Y)


def _edge(way: _Way) -> str:
    x, y = _corner(*way.cells[0])
    path = f"M{x + WIDTH:g} {y + HEIGHT / 2:g}"
    x, y = x + WIDTH, y + HEIGHT / 2
    for index, cell in enumerate(way.cells[1:], start=1):
        left, top = _corner(*cell)
        middle = top + HEIGHT / 2
        path += f"C{x + GAP_X / 2:g} {y:g} {left - GAP_X / 2:g} {middle:g} {left:g} {middle:g}"
        x, y = left, middle
        if index < len(way.cells) - 1:  # a bend: straight through the free cell
            x += WIDTH
            path += f"H{x:g}"
    arrow = f"M{x - 7:g} {y - 4:g}L{x:g} {y:g}L{x - 7:g} {y + 4:g}"
    return f'<path class="edge" fill="none" d="{path}"/><path class="edge" fill="none" d="{arrow}"/>'


def _box(node: Node, column: int, row: float) -> str:
    x, y = _corner(column, row)
    shown = [
        f'<tspan class="{"name" if index == 0 else "note"}" x="{x + 14:g}" y="{y + (24, 43, 60)[index]:g}">'
        f"{escape(_cut(line))}</tspan>"
        for index, line in enumerate([node.name, *node.notes][:3])
    ]
    return (
        f'<g class="node {escape(node.status)}"><title>{escape(one_line(node.title or node.name))}</title>'
        f'<rect class="box" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
        f'<rect class="mark" x="{x:g}" y="{y + 10:g}" width="4" height="{HEIGHT - 20}" rx="2"/>'
        f"<text>{''.join(shown)}</text></g>"
    )


def _cut(line: str) -> str:
    line = one_line(line)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
