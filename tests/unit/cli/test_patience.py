"""What waits for a server elsewhere tries again, but not for ever and not in vain."""

from __future__ import annotations

import pytest

from tiphys.cli.patience import Patience, ask
from tiphys.client import AnswerError
from tiphys.errors import NotFoundError, TiphysError

AWAY = AnswerError("refused")


def met(seconds: float = 60.0) -> Patience:
    patience = Patience(seconds)
    patience.end()
    return patience


def test_a_server_that_comes_back_answers_and_its_absence_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = [AWAY, AWAY]

    def question() -> str:
        if left:
            raise left.pop()
        return "ended"

    assert ask(question, met()) == "ended"
    assert capsys.readouterr().err == "the server is away, trying again: refused\n"


def refusal(status: int) -> AnswerError:
    error = AnswerError("no")
    error.status = status
    return error


@pytest.mark.parametrize("error", [NotFoundError("gone"), refusal(403)])
def test_what_would_fail_again_is_told_at_once(error: TiphysError) -> None:
    with pytest.raises(type(error)) as caught:
        met().wait(error)

    assert caught.value is error


def test_a_server_that_never_answered_is_not_waited_for() -> None:
    with pytest.raises(AnswerError):
        Patience().wait(AWAY)


def test_patience_ends() -> None:
    with pytest.raises(AnswerError):
        met(0.0).wait(AWAY)
