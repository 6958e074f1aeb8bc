"""The catalogue: what ships, how a campaign changes it, and who may stand in for whom."""

import pytest

from sophron.agents.gateway import gateway
from sophron.interfaces.model_backend import Usage
from sophron.records.errors import UserError


def own(root, text):
    (root / "config").mkdir()
    (root / "config" / "models.yaml").write_text(text)
    return gateway.load_catalogue(root)


def test_the_shipped_models_have_prices_contexts_and_variables_for_their_keys(tmp_path):
    catalogue = gateway.load_catalogue(tmp_path)
    opus = catalogue.get("claude-opus")
    assert (opus.provider, opus.rank, opus.key_env) == ("anthropic", 1, "ANTHROPIC_API_KEY")
    assert opus.dollars(Usage(1_000_000, 100_000)) == pytest.approx(6.0)
    for model in catalogue.models:
        paid = model.provider in ("anthropic", "openai") and model.handle != "local"
        assert (model.price_in > 0 and model.price_out > 0) is paid
        assert model.max_output < model.context


def test_candidates_have_the_same_rank_and_a_role_and_no_stand_in_is_among_them(tmp_path):
    catalogue = gateway.load_catalogue(tmp_path)
    assert [model.handle for model in catalogue.candidates(1, "control")] == ["claude-opus"]
    assert [model.handle for model in catalogue.candidates(3, "work")] == ["claude-haiku", "gpt-mini", "local"]
    assert [model.handle for model in catalogue.candidates(3, "control")] == ["claude-haiku"]


@pytest.mark.parametrize("provider", ["heuristic", "replay", "mailbox"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_named_provider_stands_in_for_every_weaker_rank(tmp_path, provider, rank):
    assert [model.handle for model in gateway.load_catalogue(tmp_path).candidates(rank, "work", provider)] == [provider]


def test_a_weaker_model_never_stands_in_for_a_stronger_one(tmp_path):
    assert gateway.load_catalogue(tmp_path).candidates(1, "work", "openai") == []


def test_a_campaign_changes_single_keys_and_adds_models_and_its_own_come_first(tmp_path):
    catalogue = own(
        tmp_path,
        "models:\n  ours: {provider: openai, name: big, rank: 3, price_in: 0.5}\n  claude-haiku: {price_in: 2}\n",
    )
    assert [model.handle for model in catalogue.candidates(3, "work")] == ["ours", "claude-haiku", "gpt-mini", "local"]
    haiku = catalogue.get("claude-haiku")
    assert (haiku.price_in, haiku.price_out, haiku.name) == (2, 5, "claude-haiku-4-5-20251001")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("models:\n  ours: {provider: openai, name: big}\n", r'config/models.yaml:2: models.ours: the key "rank" is'),
        ("models:\n  claude-opus: {prize_in: 1}\n", r'unknown key; did you mean "price_in"'),
        ("models:\n  claude-opus: {price_in: -1}\n", r"models.claude-opus.price_in: -1 is below"),
        ("models:\n  claude-opus: {key_env: sk-abc}\n", r"key_env"),
    ],
)
def test_a_faulty_entry_is_one_sentence_with_file_and_key(tmp_path, text, sentence):
    with pytest.raises(UserError, match=sentence):
        own(tmp_path, text)


def test_an_unknown_handle_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(UserError, match='no model "claude-opos"; did you mean "claude-opus"'):
        gateway.load_catalogue(tmp_path).get("claude-opos")
