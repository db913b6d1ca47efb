"""Which commit a run is kept with."""

from __future__ import annotations

from pathlib import Path

from app.documentation.runs.commit import commit_of

ONE, TWO = "1" * 40, "a" * 40


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_the_build_says_counts_first(tmp_path: Path) -> None:
    write(tmp_path / ".git/HEAD", ONE)
    assert commit_of(tmp_path, [None, "v1.2", TWO.upper()]) == TWO
    assert commit_of(tmp_path, [None, "v1.2"]) == ONE


def test_head_on_a_branch_packed_or_not(tmp_path: Path) -> None:
    write(tmp_path / ".git/HEAD", "ref: refs/heads/main\n")
    assert commit_of(tmp_path) is None
    write(tmp_path / ".git/packed-refs", f"# pack-refs\n{ONE} refs/heads/other\n{TWO} refs/heads/main\n")
    assert commit_of(tmp_path) == TWO
    write(tmp_path / ".git/refs/heads/main", ONE + "\n")
    assert commit_of(tmp_path) == ONE


def test_a_linked_work_tree(tmp_path: Path) -> None:
    write(tmp_path / "main/.git/refs/heads/topic", TWO)
    write(tmp_path / "main/.git/worktrees/w/HEAD", "ref: refs/heads/topic")
    write(tmp_path / "main/.git/worktrees/w/commondir", "../..")
    write(tmp_path / "w/.git", f"gitdir: {tmp_path}/main/.git/worktrees/w\n")
    assert commit_of(tmp_path / "w") == TWO


def test_without_a_repository_nothing_is_said(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None
    write(tmp_path / ".git/HEAD", "ref: refs/heads/../../../etc/passwd")
    assert commit_of(tmp_path) is None
