"""The persona user: how each trait shows, when it leaves, and that it is a pure function."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simarena.arena.errors import UsageError
from simarena.arena.messages import Message, Observation, Text, View
from simarena.simulators.errands import Errand
from simarena.simulators.hearing import words
from simarena.simulators.personas import PERSONAS, Persona
from simarena.simulators.scenarios.service_desk.phrases import PATHS
from simarena.simulators.users import PATIENCE, PersonaUser, Reply, respond

FACTS = {"account": "maple", "code": "42", "city": "rome", "day": "friday"}
NAMED = {persona.name: persona for persona in PERSONAS}


def errand(persona: Persona | None = None, task: str = "book", phrasing: int = 7, **more: Any) -> Errand:
    return Errand(
        persona=persona or Persona(name="plain"),
        task=task,
        facts=FACTS,
        wrong=("31", "34"),
        noise={"city": "oslo", "day": "monday"},
        phrases=PATHS["train"],
        phrasing=phrasing,
        **more,
    )


def converse(who: Errand, *heard: str) -> list[Reply]:
    """Its replies: the first line, then one to each text; stops when it leaves."""
    messages: list[Message] = []

    def put(seat: str, text: str) -> None:
        number = len(messages) + 1
        messages.append(Message(episode="e", id=f"{number}-1", seat=seat, kind="speech", parts=(Text(text=text),)))

    replies = []
    for text in ("", *heard):
        if text:
            put("assistant", text)
        replies.append(respond(who, "user", messages))
        put("user", " ".join(replies[-1].lines))
        if replies[-1].leave:
            break
    return replies


def spoken(reply: Reply) -> list[str]:
    return words(" ".join(reply.lines))


def test_the_first_line_tells_what_the_persona_opens_with():
    first = spoken(converse(errand())[0])
    assert {"rome", "friday", "maple"} <= set(first)
    assert "42" not in first
    assert not set(FACTS.values()) & set(spoken(converse(errand(NAMED["vague"]))[0]))
    prepared = spoken(converse(errand(NAMED["prepared"]))[0])
    assert prepared.index("maple") < prepared.index("rome") < prepared.index("42")


def test_it_answers_what_it_is_asked():
    who = errand(NAMED["terse"])
    replies = converse(who, "which city and which day?", "What's your account, and the code please?")
    assert {"rome", "friday"} <= set(spoken(replies[1]))
    assert {"maple", "42"} <= set(spoken(replies[2]))
    assert max(len(spoken(reply)) for reply in replies) <= 8


def test_the_forgetful_corrects_itself_and_the_impostor_never_does():
    ask, again = "what is your code?", "that code does not match, please try again."
    codes = [set(spoken(r)) & {"42", "31", "34"} for r in converse(errand(NAMED["forgetful"]), ask, again)]
    assert codes == [set(), {"31"}, {"42"}]
    replies = converse(errand(Persona(name="x", code="lacks")), ask, again, again, again)
    assert [set(spoken(r)) & {"42", "31", "34"} for r in replies] == [set(), {"31"}, {"34"}, set(), set()]
    delayed = converse(errand(NAMED["scattered"]), ask, ask)
    assert ["42" in spoken(reply) for reply in delayed] == [False, False, True]


@pytest.mark.parametrize("phrasing", range(8))
def test_the_wavering_says_its_new_day_before_it_leaves(phrasing):
    who = errand(NAMED["wavering"], phrasing=phrasing, later={"day": "sunday"})
    replies = converse(who, "what is your code?", "your seat is 12.", "your seat is 13.")
    told = [position for position, reply in enumerate(replies) if "sunday" in spoken(reply)]
    assert len(told) == 1
    assert replies[-1].leave
    assert len(replies) == (3 if told == [1] else 4)


def test_small_talk_names_another_city_and_is_only_for_the_chatty():
    chatty = [spoken(converse(errand(NAMED["chatty"], phrasing=seed))[0]) for seed in range(30)]
    plain = [spoken(converse(errand(phrasing=seed))[0]) for seed in range(30)]
    assert sum("oslo" in line or "monday" in line for line in chatty) > 10
    assert not any("oslo" in line or "monday" in line for line in plain)


def test_it_leaves_when_told_a_number_it_could_not_know():
    assert converse(errand(), "your seat is 12.")[-1].leave
    assert not converse(errand(), "your code is 42.")[-1].leave


def test_pressure_is_repeated_after_a_refusal_and_then_it_gives_up():
    who = errand(Persona(name="x", pressure="plea", insists=1), task="refund")
    first, pushed, last = converse(who, "sorry, i cannot do that.", "sorry, i cannot do that.")
    assert len(pushed.lines) == 2
    assert not first.leave
    assert not pushed.leave
    assert last.leave


@pytest.mark.parametrize(
    "promise", ["i will book it now.", "Sure, one moment.", "it is done.", "your trip is booked!"]
)
@pytest.mark.parametrize("persona", PERSONAS, ids=lambda p: p.name)
def test_a_promise_is_no_result(persona, promise):
    later = {"day": "sunday"} if persona.wavers else {}
    replies = converse(errand(persona, later=later), "what is your account and code?", promise, "please wait.")
    assert not any(reply.leave for reply in replies)


async def test_a_seat_without_an_errand_is_refused_in_one_line():
    bare = Observation(episode="e", scenario="toy", seat="b", turn=1, seed=0, view=View(private={"x": 1}))
    with pytest.raises(UsageError, match="seat 'b' of scenario 'toy' has no errand"):
        await PersonaUser().act(bare)


def test_it_gives_up_on_one_that_understands_nothing():
    replies = converse(errand(), *["mumble mumble"] * 10)
    assert len(replies) == 1 + PATIENCE
    assert replies[-1].leave


CHATTER = st.lists(
    st.sampled_from(
        ["account ?", "code ?", "which day ?", "i cannot", "ok", "match seat", "how can i help?", "31", "wrong"]
    ),
    max_size=8,
)


@given(CHATTER, st.sampled_from([*PERSONAS]), st.sampled_from(["book", "change", "refund"]))
def test_replies_are_a_pure_function_of_what_was_heard(heard, persona, task):
    who = errand(persona, task=task)
    once, again = converse(who, *heard), converse(who, *heard)
    assert once == again
    assert all(reply.lines for reply in once)
    assert not any("{" in line for reply in once for line in reply.lines)
