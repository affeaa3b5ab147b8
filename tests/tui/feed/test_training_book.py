"""The training book: series, a ledger that adds up, and alarms in the words of their rules."""

import math

from simarena.tui.feed.training_book import TrainingBook


def step(number: int, **more: float) -> dict[str, float]:
    told = {name.replace("__", "/"): value for name, value in more.items()}
    return {"step": number, "ledger/dispatched": 8.0 * number, "ledger/trained": 8.0 * number, **told}


def test_a_step_told_again_replaces_what_was_told() -> None:
    book = TrainingBook()
    book.extend([step(1, reward__mean=0.5), step(2, reward__mean=0.75), step(2, reward__mean=1.0)])
    assert book.series("reward/mean") == [(1, 0.5), (2, 1.0)]
    assert (book.latest("reward/mean"), book.latest("nothing"), book.step) == (1.0, None, 2)
    book.rewind()
    assert (book.series("reward/mean"), book.rows, book.step) == ([], [], 0)


def test_the_ledger_adds_up_or_says_so() -> None:
    book = TrainingBook()
    book.take(step(1, ledger__filtered=0.0))
    assert book.ledger() == {"dispatched": 8, "trained": 8, "filtered": 0}
    assert book.ledger_adds_up()
    book.take({**step(2), "ledger/trained": 15.0})
    assert not book.ledger_adds_up()


def test_personas_are_those_of_evaluations() -> None:
    book = TrainingBook()
    book.extend(
        [{"step": 0, "eval/success": 0.5, "eval/thief": 0.25}, {"step": 9, "eval/success": 1, "eval/thief": 1}]
    )
    assert book.personas() == {"thief": [(0, 0.25), (9, 1.0)]}


def test_frozen_opponents_and_exploitability_are_no_personas() -> None:
    book = TrainingBook()
    book.take({"step": 0, "eval/against start": 0.5, "eval/exploitability": 1.9, "eval/kuhn-poker": 0.25})
    assert book.anchors() == {"start": [(0, 0.5)]}
    assert list(book.personas()) == ["kuhn-poker"]


def test_the_alarm_of_one_of_several_learners_names_it() -> None:
    book = TrainingBook()
    book.take({"step": 1, "ledger/dispatched": 1, "alarms/bob/gradient": 1.0, "alarms/gradient": 1.0})
    assert [alarm.text for alarm in book.alarms] == ["bob: gradient", "gradient"]


def test_an_alarm_is_told_once_while_it_rings_and_again_when_it_comes_back() -> None:
    book = TrainingBook()
    quiet = [step(n, reward__group_std=1.0, outcome__mean=0.5) for n in range(1, 12)]
    low = [step(n, reward__group_std=0.01, outcome__mean=0.5, alarms__deviation=1.0) for n in range(12, 24)]
    book.extend([*quiet, *low])
    (alarm,) = book.alarms
    assert (alarm.step, alarm.name) == (12, "deviation")
    book.extend([{"step": 23, "eval/success": 0.5}, step(24, reward__group_std=1.0)])
    assert len(book.alarms) == 1
    book.take(step(25, reward__group_std=0.01, alarms__deviation=1.0))
    assert [told.step for told in book.alarms] == [12, 25]


def test_an_alarm_speaks_in_the_words_of_its_rule() -> None:
    book = TrainingBook()
    quiet = [step(n, reward__group_std=1.0, outcome__mean=0.5) for n in range(1, 12)]
    low = [step(n, reward__group_std=0.01, outcome__mean=0.5) for n in range(12, 22)]
    book.extend([*quiet, *low, step(22, reward__group_std=0.01, outcome__mean=0.5, alarms__deviation=1.0)])
    (alarm,) = book.alarms
    assert "reward differs by 0.01 within a group, 1 at the start: collapse?" in alarm.text


def test_a_number_that_is_none_is_an_alarm() -> None:
    book = TrainingBook()
    book.take({"step": 3, "loss/policy": math.nan, "note": "text", "flag": True})  # type: ignore[dict-item]
    assert [(alarm.step, alarm.text) for alarm in book.alarms] == [(3, "loss/policy is nan")]
    assert book.names() == ["loss/policy"]
