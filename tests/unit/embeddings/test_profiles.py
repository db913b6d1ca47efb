"""Profiles: what ships, what a file may add, and what makes vectors comparable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.config import Config, ServerSettings
from app.core.errors import ConfigurationError, NotFound
from app.embeddings.profiles import SHIPPED, Profile, Profiles, load_profiles, read_profiles
from tests.unit.embeddings.conftest import profile_of

USE = "openai_compatible:universal-sentence-encoder-m3"
E5 = "openai_compatible:multilingual-e5-small-q4"
TEI = "openai_compatible:intfloat/multilingual-e5-small"


def config(**changes: object) -> Config:
    values = {"database_url": "postgresql://h/d", "redis_url": "redis://h", "secret_key": "0123456789abcdef"}
    return Config.model_validate(values | changes)


def test_what_ships() -> None:
    profiles = read_profiles(SHIPPED)
    assert list(profiles) == [USE, E5, TEI]
    assert (profiles[USE].dimensions, profiles[USE].server, profiles[USE].prefixes) == (512, "fast", "client")
    assert (profiles[E5].dimensions, profiles[E5].server, profiles[E5].prefixes) == (384, "embeddings", "server")
    assert profiles[TEI].passage_prefix == "passage: "
    assert profiles[TEI].model == "intfloat/multilingual-e5-small"


def test_the_key_splits_at_the_first_colon(tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    file.write_text('[profiles."openai_compatible:nomic-embed-text:latest"]\ndimensions = 768\n')
    (profile,) = read_profiles(file).values()
    assert (profile.provider, profile.model) == ("openai_compatible", "nomic-embed-text:latest")
    assert profile.label == profile.model


def test_declaration_survives_json() -> None:
    for profile in read_profiles(SHIPPED).values():
        assert Profile.from_declaration(json.loads(json.dumps(profile.declaration()))) == profile


@pytest.mark.parametrize(
    "change",
    [
        {"dimensions": 9},
        {"similarity": "l2"},
        {"query_prefix": "q: "},
        {"prefixes": "server"},
        {"normalize": False},
        {"window": 100},
        {"splitter": 99},
        {"key": "openai_compatible:other"},
    ],
)
def test_what_makes_vectors_another_space(change: dict[str, object]) -> None:
    assert profile_of(**change).fingerprint("m") != profile_of().fingerprint("m")


def test_what_does_not() -> None:
    profile = profile_of()
    renamed = replace(profile, label="x", description="y", server="elsewhere")
    assert renamed.fingerprint("m") == profile.fingerprint("m") != profile.fingerprint("n")
    assert len(profile.fingerprint("m")) == 64


def test_unknown_profiles_list_the_known() -> None:
    with pytest.raises(NotFound) as caught:
        load_profiles(config()).get("nope")
    assert caught.value.code == "profile.unknown"
    assert E5 in str(caught.value)


def test_configured_and_what_to_set() -> None:
    profiles = load_profiles(config(ai_embeddings_url="http://h"))
    assert [profile.key for profile in profiles if profiles.configured(profile.key)] == [E5]
    assert profiles.server_variable(E5) == "AI_EMBEDDINGS_URL"
    assert profiles.server_variable(USE) == 'AI_EMBEDDINGS_SERVERS["fast"]'


def test_what_serves_first() -> None:
    fast = {"fast": {"url": "http://f"}}
    assert load_profiles(config(ai_embeddings_servers=fast, ai_embeddings_url="http://h")).initial_key() == USE
    assert load_profiles(config(ai_embeddings_url="http://h")).initial_key() == E5
    assert load_profiles(config()).initial_key() == USE
    assert load_profiles(config(ai_embeddings_servers=fast, ai_embeddings_initial=E5)).initial_key() == E5
    with pytest.raises(ConfigurationError, match="AI_EMBEDDINGS_INITIAL"):
        load_profiles(config(ai_embeddings_initial="nope"))


def test_a_file_adds_and_replaces(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        f'[profiles."{E5}"]\ndimensions = 7\nwindow = 64\n'
        '[profiles."openai_compatible:new"]\ndimensions = 3\nserver = "own"\nnormalize = false\n'
    )
    profiles = load_profiles(config(ai_embeddings_profiles=file))
    assert profiles.keys() == [USE, E5, TEI, "openai_compatible:new"]
    assert profiles.get(E5).dimensions == 7
    assert profiles.get(E5).prefixes == "client"
    assert not profiles.get("openai_compatible:new").normalize


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[profiles."openai_compatible:m"]\n', "dimensions is missing"),
        ('[profiles."openai_compatible:m"]\ndimensions = 0\n', "dimensions"),
        ('[profiles."openai_compatible:m"]\ndimensions = true\n', "dimensions"),
        ('[profiles."openai_compatible:m"]\ndimensions = 3\ndimension = 3\n', "unknown key dimension"),
        ('[profiles."openai_compatible:m"]\ndimensions = 3\nsimilarity = "cos"\n', "similarity"),
        ('[profiles."openai_compatible:m"]\ndimensions = 3\nprefixes = "both"\n', "prefixes"),
        ('[profiles."openai_compatible:m"]\ndimensions = 3\nnormalize = "yes"\n', "normalize"),
        ('[profiles."openai_compatible:m"]\ndimensions = 3\nwindow = 2\n', "window"),
        ('[profiles."nocolon"]\ndimensions = 3\n', "nocolon"),
        ('[profiles."ollama:m"]\ndimensions = 3\n', "ollama:m"),
        ("[profiles]\nx = 3\n", "must be a table"),
        ("[other]\n", "other"),
        ("", "no table"),
        ("[[", "no TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_profiles(file)
    assert named in str(caught.value)
    assert "mine.toml" in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read"):
        load_profiles(config(ai_embeddings_profiles=tmp_path / "none.toml"))


def test_iteration_is_in_declared_order() -> None:
    server = {"embeddings": ServerSettings(url="http://h")}
    profiles = Profiles({"b:1": profile_of(key="b:1"), "a:1": profile_of(key="a:1")}, server)
    assert [profile.key for profile in profiles] == ["b:1", "a:1"]
