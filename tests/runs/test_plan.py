"""Plans are pure: the same terms give the same order, each task once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.runs.plan import Marks, Task, ask_order, task_of


@given(st.integers(1, 40), st.integers(1, 4), st.sampled_from(["board", "shuffled"]), st.integers(0, 5))
def test_each_task_once_epoch_by_epoch(challenges, epochs, order, seed) -> None:
    tasks = list(ask_order(challenges, epochs, order, seed))
    assert len(tasks) == len(set(tasks)) == challenges * epochs
    assert [task.epoch for task in tasks] == sorted(task.epoch for task in tasks)
    assert tasks == list(ask_order(challenges, epochs, order, seed))
    if order == "board":
        assert tasks == sorted(tasks, key=lambda task: (task.epoch, task.number))


def test_the_seed_decides_the_shuffled_order_and_each_epoch_has_its_own() -> None:
    one, other = ([t.number for t in ask_order(50, 2, "shuffled", seed)] for seed in (1, 2))
    assert one != other
    assert one[:50] != one[50:]


@given(st.integers(0, 10**6), st.integers(1, 99))
def test_a_key_names_its_task(number, epoch) -> None:
    assert task_of(Task(number, epoch).key) == Task(number, epoch)


@pytest.mark.parametrize("key", ["", "1", "/", "1/", "/1", "a/1", "1/b", "-1/1", "1/²", "1/1/1", " 1/1"])
def test_a_key_that_names_none_is_refused(key) -> None:
    with pytest.raises(ValueError, match="names no task"):
        task_of(key)


def test_marks_hold_one_for_each_task_and_know_no_other() -> None:
    marks = Marks(3, 2)
    marks[Task(2, 2)] = 7
    assert (marks[Task(2, 2)], marks.count(0), marks.count(7)) == (7, 5, 1)
    assert Task(2, 2) in marks
    for stranger in (Task(3, 1), Task(0, 3), Task(0, 0), Task(-1, 1)):
        assert stranger not in marks
