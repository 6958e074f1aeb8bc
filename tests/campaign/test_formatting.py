"""Values as people read them."""

from sophron.campaign.rendering import formatting


def test_flat_goes_into_mappings_and_lists_of_mappings():
    block = {"model": {"bonds": {"k": 30.0}, "none": {}}, "rates": [0.1, 0.2], "parts": [{"x": 1}, {"x": True}]}
    assert list(formatting.flat(block)) == [
        ("model.bonds.k", 30.0), ("model.none", {}), ("rates", [0.1, 0.2]), ("parts.0.x", 1), ("parts.1.x", True),
    ]  # fmt: skip
    assert formatting.plain([0.1, "a\u202e"]) == '[0.1, "a"]'
    assert formatting.plain(False) == "false"


def test_numbers_and_hours():
    assert [formatting.number(value) for value in (3.21349, 12, 1.5e-7)] == ["3.213", "12", "1.5e-07"]
    assert [formatting.hours(value) for value in (0.0, 0.0033, 0.25, 1234.5)] == [
        "0.00",
        "< 0.01",
        "0.25",
        "1,234.50",
    ]
