"""The driver's side of a run: which variables hold keys of models."""

import pytest

from sophron.campaign.snakefile.local_steps import key_variables
from sophron.records.errors import UserError

SHIPPED = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}


def write(root, text):
    (root / "config").mkdir()
    (root / "config" / "models.yaml").write_text(text)


def test_keys_of_the_shipped_models_are_known(tmp_path):
    assert set(key_variables(tmp_path)) == SHIPPED


def test_a_campaign_may_change_one_key_of_an_entry_and_name_a_variable_of_its_own(tmp_path):
    write(tmp_path, "models:\n  claude-opus: {price_in: 5}\n  local: {key_env: MY_SERVER_SECRET}\n")
    assert set(key_variables(tmp_path)) == SHIPPED | {"MY_SERVER_SECRET"}


def test_a_faulty_file_is_named_with_its_line(tmp_path):
    write(tmp_path, "models:\n  claude-opus: {prize_in: 5}\n")
    with pytest.raises(
        UserError, match=r'models.yaml:2: models.claude-opus.prize_in: unknown key; did you mean "price_in"'
    ):
        key_variables(tmp_path)
