"""What a person makes of free text: the clerk's lines, an LLM's English, and babble."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simarena.simulators.hearing import hear, words

ASKING = {
    "hello, how can i help you?": ("task",),
    "What can I do for you today?": ("task",),
    "which city and which day do you want?": ("details",),
    "When would you like to travel?": ("details",),
    "what is your account and your code?": ("account", "code"),
    "I'd be happy to help you with that! Could you please provide your account number?": ("account",),
    "To verify your identity, please enter your PIN.": ("code",),
    "that code does not match, please try again.": ("code",),
    "Hmm, that is incorrect.": ("code",),
    "ok, one moment.": (),
    "i will book it for you now.": (),
    "": (),
}
REFUSING = (
    "sorry, i cannot refund a fixed fare.",
    "sorry, i cannot help without the right code.",
    "I’m sorry, but I can’t do that.",
    "Unfortunately we are unable to refund this trip. Can I help you with anything else?",
    "That is not possible.",
)
NOT_REFUSING = (
    "I cannot find it. What is your account?",
    "i can help you.",
    "i can not see your code, please tell me your code.",
)


@pytest.mark.parametrize(("text", "asks"), ASKING.items())
def test_asks(text, asks):
    heard = hear(text)
    assert heard.asks == asks
    assert not heard.refusal


@pytest.mark.parametrize("text", REFUSING)
def test_refusals(text):
    assert hear(text).refusal


@pytest.mark.parametrize("text", NOT_REFUSING)
def test_a_question_that_could_change_it_is_no_refusal(text):
    assert not hear(text).refusal


def test_numbers_and_words():
    assert hear("Booked! Seat 12, row 3.").numbers == {"12", "3"}
    assert words("@refund now, it's Rome.") == ["@refund", "now", ",", "it's", "rome", "."]


@given(st.text())
def test_any_text_is_understood_somehow(text):
    heard = hear(text)
    assert not (heard.refusal and set(heard.asks) - {"task"})
