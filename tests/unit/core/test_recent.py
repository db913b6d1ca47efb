"""What is kept of what was used last."""

from __future__ import annotations

from app.core.recent import Recent


def test_what_was_not_used_for_longest_goes_first() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)
    assert len(recent) == 2


def test_a_thing_is_made_once_unless_its_key_holds_a_list() -> None:
    recent: Recent[object, list[int]] = Recent(2)
    made = recent.of(("a", 1), lambda: [1])
    assert recent.of(("a", 1), lambda: [2]) is made
    assert recent.of(("a", [1]), lambda: [3]) == [3]
    assert recent.of(("a", [1]), lambda: [4]) == [4]
    assert len(recent) == 1


def test_a_thing_that_is_taken_is_not_kept() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    assert (recent.pop("a"), recent.pop("a"), recent.get("a")) == (1, None, None)
