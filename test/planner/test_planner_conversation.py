from __future__ import annotations

from pyrua_ros.planner.conversation import ContextPolicy, Conversation, Exchange, Picture


def turn(i: int, feedback: str = "ok", frames: int = 1, code: str = "robo.show()") -> Exchange:
    shown = tuple(Picture(f"{i:03d}-{k} front", "", b"jpeg") for k in range(1, frames + 1))
    return Exchange(code, "", feedback, shown, (f"call_{i}",), {"native": i})


def test_over_40_turns_the_newest_frames_stay_and_older_ones_become_stubs():
    policy = ContextPolicy(keep_frames=4, spare_frames=3)
    conversation = Conversation("prefix", "task", policy)
    most = 0
    for i in range(1, 41):
        conversation.add(turn(i))
        kept = [picture.name for picture in conversation.pictures()]
        most = max(most, len(kept))
        assert kept[-1] == f"{i:03d}-1 front"
        assert len(kept) >= min(i, 4)
    assert most == 7
    captions = [picture.caption for exchange in conversation.exchanges for picture in exchange.pictures]
    assert captions[0] == "[frame 001-1 front (old, left out)]"
    assert captions[-1] == "[frame 040-1 front]"


def test_frames_are_left_out_in_batches_so_that_most_turns_keep_the_prefix():
    conversation = Conversation("prefix", "task", ContextPolicy(keep_frames=4, spare_frames=4))
    changes = 0
    for i in range(1, 41):
        before = [exchange.pictures for exchange in conversation.exchanges]
        conversation.add(turn(i))
        changes += [exchange.pictures for exchange in conversation.exchanges[:-1]] != before
    assert changes == 7


def test_text_stays_within_its_cap_and_the_last_turn_stays_whole():
    policy = ContextPolicy(max_chars=20_000, keep_chars=100)
    conversation = Conversation("prefix", "task", policy)
    for i in range(1, 41):
        conversation.add(turn(i, feedback=f"turn {i}\n" + "x" * 3000, code="y = 1\n" * 50))
        assert conversation.characters() <= policy.max_chars
    assert len(conversation.last_feedback) == len("turn 40\n") + 3000
    first = conversation.exchanges[0]
    assert first.compact
    assert first.native is None
    assert first.feedback.startswith("turn 1\nxxx")
    assert first.feedback.endswith("[2907 characters left out]")


def test_a_single_turn_above_the_cap_is_not_cut():
    conversation = Conversation("prefix", "task", ContextPolicy(max_chars=1000))
    conversation.add(turn(1, feedback="z" * 5000))
    assert len(conversation.last_feedback) == 5000
