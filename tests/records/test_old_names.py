"""Former names of modules lead to modules that exist, under any form of import."""

from importlib.util import find_spec

from sophron.records import files, old_names


def test_every_former_name_of_a_module_leads_to_one_that_exists():
    assert [before for before, now in old_names.MODULES.items() if find_spec(now) is None] == []


def test_the_writer_of_recorded_pipelines_is_found_by_its_former_name():
    from sophron.records import atomic
    from sophron.records.atomic import write_json

    assert atomic is files
    assert write_json is files.write_json
