"""A recorded run: opened by its index, followed while it grows, its turns with what training made of them."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from pydantic import JsonValue
from rollouts import SEAT, episode, record

from simarena.arena.episodes import Episode, Reward
from simarena.arena.errors import RunFolderError, UnknownName
from simarena.arena.messages import Message, Text, ToolCall, ToolResult
from simarena.arena.record import RunFolder
from simarena.training import accounts
from simarena.training.accounts import Account
from simarena.training.credit import TurnCredit
from simarena.tui.feed.recorded import Recorded

RULE: dict[str, JsonValue] = {"rule": "returns", "gamma": 1.0}
FACTS = {"name": "first", "recipe": {"steps": 9, "seats": {SEAT: "learner"}}}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder.create(tmp_path / "run")
    run.describe(FACTS)
    return run


def told(member: int = 0, *, deal: int = 7, step: int = 0, rewards: tuple[float, ...] = (0.25, 1.0)) -> Episode:
    id = f"train-{step}/{deal}/{member}"
    says = [
        ("user", "speech", Text(text="hi\x1b[2J")),
        (SEAT, "tool_call", ToolCall(name="look", arguments={"a": 1})),
    ]
    messages = [
        Message(episode=id, id=f"{n}-1", seat=seat, kind=kind, parts=(part,), time=100.0 + n)  # type: ignore[arg-type]
        for n, (seat, kind, part) in enumerate(says)
    ]
    answer = ToolResult(name="look", content={"seen": "\u202ex"})
    messages.append(
        Message(
            episode=id, id="1-2", seat="world", kind="tool_result", parts=(answer,), audience=(SEAT,), time=101.5
        )
    )
    base = episode(
        rewards,
        id=id,
        deal=deal,
        member=member,
        messages=tuple(messages),
        labels={"persona": "[red]"},
        records=[record((1, 2), (3, 4), start=p == 0, version=step) for p in range(len(rewards))],
    )
    paid = tuple(Reward(index=r.index, seat=r.seat, value=r.value, parts={"all": r.value}) for r in base.rewards)
    return base.model_copy(update={"rewards": paid})


def credited(folder: RunFolder, step: int = 0) -> list[Episode]:
    played = [told(0, step=step), told(1, step=step, rewards=(0.25, 0.0))]
    credit = tuple(
        tuple(
            TurnCredit(advantage=a, baseline=b, compared=2, key="deal 7", parts={"return": a + b}) for a, b in row
        )
        for row in [[(0.5, 0.75), (0.5, 0.5)], [(-0.5, 0.75), (-0.5, 0.5)]]
    )
    members = tuple(one.id for one in played)
    batch = f"train-{step + 1:06d}"
    account = Account(
        step=step + 1,
        rule=RULE,
        scenario="toy",
        deal=7,
        seat=SEAT,
        policy="assistant",
        members=members,
        credit=credit,
    )
    accounts.write(folder, batch, [account])
    folder.write_episodes(batch, played, dict.fromkeys(members, "trained"))
    return played


async def test_rows_come_from_the_index_and_conversations_from_their_place(folder: RunFolder) -> None:
    credited(folder)
    folder.metric({"step": 1, "outcome/success": 0.5, "ledger/dispatched": 2, "ledger/trained": 2})
    folder.close()
    source = Recorded(RunFolder.open(folder.path))
    await source.start()
    assert (source.title, source.live, source.status().connection) == ("first", False, "recorded")
    row = source.conversations.get("train-0/7/0")
    assert row is not None
    assert (row.turn, row.reward, row.persona, row.credited, row.version) == (3, 1.25, "[red]", "trained", 0)
    assert row.last == "seen=<U+202E>x"
    opened = await source.open(row.key)
    assert opened.lines[0].text == "hi␛[2J"
    assert [piece.kind for line in opened.lines for piece in line.pieces] == ["text", "call", "result"]
    assert opened.lines[2].audience == (SEAT,)
    fact = opened.turns[1, SEAT]
    assert (fact.reward, fact.parts, fact.advantage, fact.version, fact.tokens) == (0.25, {"all": 0.25}, 0.5, 0, 2)
    assert opened.turns[0, "user"].advantage is None
    assert source.training.ledger_adds_up()
    assert source.training.series("outcome/success") == [(1, 0.5)]
    assert (source.training.total_steps, source.training.learners) == (9, (SEAT,))


async def test_why_tells_the_group_the_sum_and_every_token(folder: RunFolder) -> None:
    credited(folder)
    folder.write_episodes("eval-000000", [told(0, deal=3, step=5)])
    source = Recorded(folder)
    await source.start()
    why = await source.why("train-0/7/1")
    assert (why.rule, why.settings, why.fate, why.step, why.seat) == ("returns", "gamma=1.0", "trained", 1, SEAT)
    assert [(one.member, one.reward) for one in why.siblings] == [(0, 1.25), (1, 0.25)]
    turn = why.turns[1]
    assert turn.sum == "0.0000 − baseline 0.5000 (of 2 in deal 7) = advantage -0.5000"
    assert [(other.member, other.value, other.advantage) for other in turn.others] == [
        (0, 1.0, 0.5),
        (1, 0.0, -0.5),
    ]
    assert [token.sampled for token in turn.tokens] == [False, False, True, True]
    assert {(token.advantage, token.ratio) for token in turn.tokens if token.sampled} == {(-0.5, 1.0)}
    assert turn.tokens[0].logprob is None
    plain = await source.why("train-5/3/0")
    assert "not learned from" in plain.fate
    assert plain.turns[0].advantage is None
    assert {token.ratio for token in plain.turns[0].tokens} == {None}
    with pytest.raises(UnknownName, match="did you mean 'assistant'"):
        await source.why("train-0/7/1", "asistant")
    with pytest.raises(UnknownName, match="conversation"):
        await source.why("nobody")
    await source.close()


async def test_a_run_that_goes_on_is_followed_to_its_end(folder: RunFolder) -> None:
    source = Recorded(RunFolder.open(folder.path))
    await source.start()
    assert (source.live, source.status().connection, len(source.conversations)) == (True, "following", 0)
    credited(folder)
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1, "a": 1}\n{"step": 2, "a"')
    await _until(lambda: source.training.latest("a") == 1.0 and len(source.conversations) == 2)
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write(": 2}\n")
    await _until(lambda: source.training.series("a") == [(1, 1.0), (2, 2.0)])
    folder.rewind(1)
    await _until(lambda: source.training.series("a") == [(1, 1.0)])
    folder.write_episodes("eval-000001", [told(0, deal=9, step=2)])
    folder.describe(FACTS | {"after": {"success": 1.0}})
    folder.close()
    await _until(lambda: not source.live)
    assert source.status().connection == "ended"
    assert "train-2/9/0" in source.conversations
    await source.close()


async def _until(holds, seconds: float = 10) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_training_run_that_went_without_a_word_is_lost(folder: RunFolder) -> None:
    source = Recorded(RunFolder.open(folder.path))
    await source.start()
    folder.close()
    await _until(lambda: not source.live)
    assert source.status().connection == "lost"
    assert "simarena train --resume" in source.status().detail
    await source.close()


async def test_a_batch_that_was_replaced_is_read_again(folder: RunFolder) -> None:
    folder.write_episodes("train-000001", [told(0)])
    source = Recorded(folder)
    await source.start()
    path = folder.path / "episodes" / "train-000001.jsonl"
    path.write_text(json.dumps({"id": "other"}) + "\n" + path.read_text())
    with pytest.raises(RunFolderError):
        await source.open("train-0/7/0")
    folder.write_episodes("train-000001", [told(n) for n in range(3)])
    await _until(lambda: len(source.conversations) == 3)
    assert (await source.open("train-0/7/2")).row.member == 2
    await source.close()


async def test_a_batch_that_grows_gives_each_row_once(folder: RunFolder, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    lines = [(told(n).model_dump_json() + "\n").encode() for n in range(4)]
    path = folder.path / "episodes" / "round-001.jsonl"
    path.write_bytes(lines[0] + lines[1][:40])
    taken: list[str] = []
    source = Recorded(folder)
    put = source.conversations.put
    monkeypatch.setattr(source.conversations, "put", lambda row: (taken.append(row.key), put(row)))
    await source.start()
    assert (taken, source.status().detail) == (["train-0/7/0"], "")
    arrived = source.status().arrived
    for more in (lines[1][40:-1], b"\n" + lines[2] + lines[3][:9], lines[3][9:]):
        with path.open("ab") as file:
            file.write(more)
        source.look_again()
        assert source.status().detail == ""
    assert taken == [f"train-0/7/{n}" for n in range(4)]
    assert source.status().arrived == 4 * arrived
    assert (await source.open("train-0/7/3")).row.member == 3
    await source.close()


async def test_trouble_with_the_folder_is_told_and_passes(folder: RunFolder) -> None:
    source = Recorded(folder)
    await source.start()
    (folder.path / "episodes" / "train-000001.jsonl").write_text("nonsense\n")
    folder.write_episodes("train-000002", [told(1)])
    await _until(lambda: len(source.conversations) == 1)
    await asyncio.sleep(1.2)
    assert "train-000001.jsonl:1 is not an episode" in source.status().detail
    folder.write_episodes("train-000001", [told(0)])
    await _until(lambda: source.status().detail == "" and len(source.conversations) == 2)
    await source.close()


async def test_a_folder_that_is_away_for_a_moment_is_followed_again(folder: RunFolder) -> None:
    source = Recorded(folder)
    await source.start()
    kept = (folder.path / "episodes").rename(folder.path / "aside")
    await _until(lambda: "has no episodes/ folder" in source.status().detail)
    kept.rename(folder.path / "episodes")
    folder.write_episodes("train-000001", [told(0)])
    await _until(lambda: len(source.conversations) == 1 and source.status().detail == "")
    folder.describe({"recipe": {"steps": "x"}})
    await _until(lambda: "recipe.steps is 'x'" in source.status().detail)
    folder.describe(FACTS)
    await _until(lambda: source.status().detail == "")
    await source.close()


async def test_a_large_run_opens_at_once_and_is_read_to_the_end(folder: RunFolder, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    for step in range(20):
        folder.write_episodes(f"train-{step:06d}", [told(0, deal=step, step=step)])
    folder.close()
    monkeypatch.setattr("simarena.tui.feed.recorded.PATIENCE", 0.0)
    source = Recorded(folder)
    await source.start()
    assert source.status().connection == "opening"
    assert not source.status().over
    await _until(lambda: source.status().connection == "recorded")
    assert len(source.conversations) == 20
    await source.close()


@pytest.mark.slow
async def test_fifty_thousand_episodes_open_within_two_seconds(folder: RunFolder) -> None:
    base = told()
    for step in range(100):
        numbered = [base.model_copy(update={"id": f"train-{step}/{n}/0", "deal": n}) for n in range(500)]
        folder.write_episodes(f"train-{step:06d}", numbered)
    folder.close()
    source = Recorded(folder)
    began = time.process_time()  # of this process: a busy machine must not fail it
    await source.start()
    assert time.process_time() - began < 2.0
    await _until(lambda: source.status().connection == "recorded", seconds=120)
    assert len(source.conversations) == 50_000
    opened = await source.open("train-42/17/0")
    assert opened.row.deal == 17
    await source.close()
