"""What a worker is configured for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiphys.errors import InvalidInputError
from tiphys.temporal.setting import Settings


@pytest.mark.parametrize("word", ["", "0", "false", "No", " off "])
def test_without_the_flag_the_worker_runs_the_work_itself(word: str) -> None:
    settings = Settings.from_environment(
        {"ENABLE_VOLCANO_SCHEDULER": word, "XDG_DATA_HOME": "/data"}
    )

    assert not settings.enabled
    assert settings.data == Path("/data/tiphys-temporal")


@pytest.mark.parametrize("word", ["1", "true", "Yes", "ON"])
def test_with_the_flag_it_needs_a_server(word: str) -> None:
    given = {"ENABLE_VOLCANO_SCHEDULER": word}

    with pytest.raises(InvalidInputError, match="TIPHYS_SERVER"):
        Settings.from_environment(given)
    assert Settings.from_environment({**given, "TIPHYS_SERVER": "http://x"}).enabled


def test_a_word_that_is_neither_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="maybe"):
        Settings.from_environment({"ENABLE_VOLCANO_SCHEDULER": "maybe"})


def test_the_token_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")

    settings = Settings.from_environment({"TIPHYS_TOKEN_FILE": str(tmp_path / "token")})

    assert settings.token == "secret"
