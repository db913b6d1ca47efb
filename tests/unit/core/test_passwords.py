from app.core.access.passwords import LIMIT, hash_password, is_outdated, verify_password


def test_right_password_opens_and_a_wrong_one_does_not() -> None:
    stored = hash_password("correct horse")
    assert verify_password(stored, "correct horse")
    assert not verify_password(stored, "correct house")
    assert not is_outdated(stored)


def test_without_a_stored_hash_nothing_opens() -> None:
    assert not verify_password(None, "nobody-knows-it")
    assert not verify_password("", "")


def test_a_hash_of_another_kind_never_opens() -> None:
    assert not verify_password("plain text", "plain text")


def test_a_password_beyond_the_limit_is_wrong_even_when_its_beginning_is_right() -> None:
    longest = "x" * LIMIT
    stored = hash_password(longest)
    assert verify_password(stored, longest)
    assert not verify_password(stored, longest + "y")


def test_a_hash_with_lower_costs_is_outdated() -> None:
    weak = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$4mh6XbfDqkwRHKtvOTCuT2+1oT3WqBPcTQyEGVhk9KQ"
    assert is_outdated(weak)
