"""Jobs with edges as a tree that people read."""

from __future__ import annotations

from penstock.tasks.tree import DEEPEST, Branch, draw


def drawn(*branches: Branch) -> str:
    return "\n" + "\n".join(draw(branches))


def test_a_job_stands_below_the_one_it_waits_for_and_a_fan_in_where_the_ways_part() -> None:
    lessons = [Branch(f"l{n}", "lesson", ("o",)) for n in range(3)]
    exam = Branch("e", "exam", ("l0", "l1", "l2"))
    assert (
        drawn(Branch("o", "outline"), *lessons, exam, Branch("m", "mail", ("e",)))
        == """
└─ outline
   ├─ lesson
   ├─ lesson
   ├─ lesson
   └─ exam  (after 3 × lesson)
      └─ mail"""
    )


def test_several_beginnings_stand_side_by_side_and_what_joins_them_beside_them() -> None:
    one, two = Branch("1", "one"), Branch("2", "two")
    deeper = Branch("3", "three", ("1",))
    assert (
        drawn(one, two, deeper, Branch("4", "join", ("3", "2")), Branch("5", "end", ("4",)))
        == """
├─ one
│  └─ three
├─ two
└─ join  (after three, two)
   └─ end"""
    )


def test_many_that_are_alike_are_one_line() -> None:
    many = [Branch(str(n), "resize", ("o",), "completed", f"{n} s") for n in range(998)]
    last = Branch("z", "join", tuple(b.id for b in many), "waiting")
    assert (
        drawn(Branch("o", "outline", (), "completed", "2 s"), *many, last)
        == """
└─ outline  completed  2 s
   ├─ 998 × resize  completed
   └─ join  waiting  (after 998 × resize)"""
    )


def test_those_in_another_state_or_with_jobs_below_them_keep_their_own_lines() -> None:
    many = [Branch(str(n), "resize", (), "failed" if n == 9 else "completed") for n in range(20)]
    lines = list(draw([*many, Branch("c", "check", ("19",))]))
    assert lines == [
        "├─ 9 × resize  completed",
        "├─ resize  failed",
        "├─ 9 × resize  completed",
        "└─ resize  completed",
        "   └─ check",
    ]


def test_a_job_outside_is_nobodys_parent() -> None:
    assert (
        drawn(Branch("a", "a", ("gone",)), Branch("b", "b", ("a", "gone")))
        == """
└─ a
   └─ b  (after a, another job)"""
    )


def test_a_long_chain_goes_on_straight_down() -> None:
    chain = [Branch(str(n), f"link-{n}", (str(n - 1),)) for n in range(3_000)]
    lines = list(draw(chain))
    assert len(lines) == 3_000
    assert lines[-1].strip() == "└─ link-2999"
    assert max(map(len, lines)) <= 3 * (DEEPEST + 1) + len("link-2999")


def test_nothing_is_nothing() -> None:
    assert list(draw([])) == []
