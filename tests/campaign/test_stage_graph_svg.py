"""The picture of the stage graph: where things lie, and that it holds only what it may."""

import graphlib
from xml.etree import ElementTree as ET

import pytest

from sophron.campaign.rendering import stage_graph_svg
from sophron.campaign.rendering.stage_graph_svg import Node

MELT = {
    "build": (),
    "relax": ("build",),
    "equilibrate": ("relax",),
    "produce": ("equilibrate",),
    "green_kubo": ("produce",),
    "shear": ("equilibrate",),
    "rouse": ("produce",),
    "cross_check": ("green_kubo", "shear"),
}


def test_columns_are_topological_generations():
    places, _ = stage_graph_svg.layout(MELT)
    columns = {name: column for name, (column, _) in places.items()}
    assert columns == {
        "build": 0, "relax": 1, "equilibrate": 2, "produce": 3, "shear": 3, "green_kubo": 4, "rouse": 4, "cross_check": 5,
    }  # fmt: skip


def test_no_two_nodes_share_a_cell_and_no_edge_crosses_a_node():
    places, ways = stage_graph_svg.layout(MELT)
    assert len(set(places.values())) == len(MELT)
    assert len(ways) == 8
    for way in ways:
        assert not set(way.cells[1:-1]) & set(places.values()), way


def test_a_long_edge_has_a_bend_in_every_column_between():
    _, ways = stage_graph_svg.layout({"a": (), "b": ("a",), "c": ("b",), "d": ("c", "a")})
    (long,) = [way for way in ways if (way.source, way.target) == ("a", "d")]
    assert [column for column, _ in long.cells] == [0, 1, 2, 3]


def test_a_straight_chain_is_straight():
    places, _ = stage_graph_svg.layout({"a": (), "b": ("a",), "c": ("b",)})
    assert {row for _, row in places.values()} == {0.0}


def test_what_is_needed_but_not_there_is_no_edge_and_a_cycle_is_refused():
    assert stage_graph_svg.layout({"a": ("gone",)})[1] == []
    with pytest.raises(graphlib.CycleError):
        stage_graph_svg.layout({"a": ("b",), "b": ("a",)})


def test_the_picture_is_xml_with_a_title_and_a_description_for_each_node():
    nodes = [Node("a", notes=("2 steps",), title="all of a"), Node("b", ("a",), ("1 step", "≤ 3 core-hours"), "pass")]
    tree = ET.fromstring(stage_graph_svg.svg(nodes, "Stages"))
    names = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert names == ["Stages", "all of a", "b"]
    described = tree.find("{http://www.w3.org/2000/svg}desc").text
    assert described == "a (2 steps); b (1 step, ≤ 3 core-hours) builds on a"
    assert [group.get("class") for group in tree.iter("{http://www.w3.org/2000/svg}g")] == ["node planned", "node pass"]


def test_what_a_name_holds_stays_text():
    evil = '<script>alert(1)</script>"&\x1b[31m\u202egnp'
    picture = stage_graph_svg.svg([Node(evil, notes=(evil,), status='x" onload="y', title=evil)], evil)
    tree = ET.fromstring(picture)
    assert {element.tag.rpartition("}")[2] for element in tree.iter()} == {
        "svg", "title", "desc", "g", "rect", "text", "tspan",
    }  # fmt: skip
    assert not any(name.startswith("on") for element in tree.iter() for name in element.attrib)
    assert "\x1b" not in picture
    assert "\u202e" not in picture


def test_nothing_is_drawn_of_nothing():
    assert stage_graph_svg.svg([], "nothing") == ""


def test_a_picture_of_one_or_two_stages_is_not_blown_up():
    assert 'class="graph small"' in stage_graph_svg.svg([Node("a")], "stages")
    assert 'class="graph"' in stage_graph_svg.svg([Node("a"), Node("b", ["a"]), Node("c", ["b"])], "stages")
