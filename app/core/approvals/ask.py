"""What a list of modifications may be asked, and its checks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.approvals.parts import STATES
from app.core.errors import Invalid

SIZE, MOST = 25, 100
NAMES = ("state", "mine", "to_vote", "subject", "record", "cursor", "size")
_TRUE, _FALSE = ("1", "true"), ("", "0", "false")


@dataclass(frozen=True)
class ApprovalAsk:
    """Modifications that match all that is given. ``to_vote``: pending, and the actor's vote is missing."""

    state: str | None = None
    mine: bool = False
    to_vote: bool = False
    subject: str | None = None
    record_id: int | None = None
    before: int | None = None
    size: int = SIZE


def read_ask(raw: Mapping[str, object]) -> ApprovalAsk:
    """An :class:`ApprovalAsk` from texts by the names above. Raises :class:`Invalid` with every path that is wrong."""
    given = {name: str(value).strip() for name, value in raw.items() if value is not None}
    problems = [
        Invalid("input.unknown_field", path=name[:100], field=name[:100]) for name in given if name not in NAMES
    ]
    state = given.get("state") or None
    if state is not None and state not in STATES:
        problems.append(Invalid("input.choice", path="state", value=state[:40], allowed=", ".join(STATES)))
    for name in ("mine", "to_vote"):
        if given.get(name, "").lower() not in (*_TRUE, *_FALSE):
            problems.append(Invalid("input.type", path=name, expected="true, false"))
    ask = ApprovalAsk(
        state=state,
        mine=given.get("mine", "").lower() in _TRUE,
        to_vote=given.get("to_vote", "").lower() in _TRUE,
        subject=given.get("subject", "").replace("\x00", "")[:200] or None,
        record_id=_number("record", given, 2**63 - 1, problems),
        before=_number("cursor", given, 2**63 - 1, problems),
        size=_number("size", given, MOST, problems) or SIZE,
    )
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return ask


def _number(name: str, given: Mapping[str, str], most: int, problems: list[Invalid]) -> int | None:
    value = given.get(name)
    if not value:
        return None
    if value.isascii() and value.isdigit() and len(value) < 20 and 1 <= int(value) <= most:
        return int(value)
    problems.append(_not_a_number(name, most))
    return None


def _not_a_number(name: str, most: int) -> Invalid:
    if most == 2**63 - 1:
        return Invalid("input.type", path=name, expected="1, 2, 3 …")
    return Invalid("input.range", path=name, least=1, most=most)
