"""What bias probes do to a text and to the names of labels: padding, an author's line, letters for names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, Final

from calibrant.judging.judge import Judge
from calibrant.records.judgefile import Decoding

MOST_LABELS: Final = len(ascii_uppercase) // 2
"""Labels that can be named by letters, whatever the labels are."""

LENGTH_FACTOR: Final = 2.0
"""How many times as long as it was the padded text is at least."""

LEAST_PADDING: Final = 300
"""Characters that are added to a text at least, however short it is."""

UNNAMED: Final = "an unnamed author"
"""Who is said to have written a text where a probe only asks what the name of an author does."""

AUTHORITY: Final = "Professor Ingrid Halvorsen, a leading authority in this field"
"""Who is said to have written a text unless the user names somebody else. There is no such person."""

PADDING: Final = (
    "The response above is meant as it is written, and it is given here in full.",
    "To say it in other words, what has been stated above is what is stated.",
    "It should be noted that the foregoing stands as it stands.",
    "All things considered, this is how the matter has been put here.",
    "With that in mind, the response can be read from its beginning to its end.",
    "In summary, what was to be said has been said in the place where it was said.",
)
"""Sentences that claim nothing about any question, in the order in which they are added."""


def padded(text: str) -> str:
    """``text`` with sentences behind it that say nothing: `LENGTH_FACTOR` times as long, and by `LEAST_PADDING`."""
    wanted = max(len(text) * LENGTH_FACTOR, len(text) + LEAST_PADDING)
    parts: list[str] = []
    length = len(text) + 1
    while length < wanted:
        parts.append(PADDING[len(parts) % len(PADDING)])
        length += len(parts[-1]) + 1
    return f"{text}\n\n{' '.join(parts)}"


def attributed(text: str, author: str) -> str:
    """``text`` under a line that says who wrote it."""
    return f"Written by: {author}\n\n{text}"


def neutral_names(labels: Sequence[str]) -> tuple[str, ...]:
    """As many letters as there are labels, none of which is a label.

    Raises:
        ValueError: for more labels than letters.
    """
    taken = {label.casefold() for label in labels}
    letters = [letter for letter in ascii_uppercase if letter.casefold() not in taken]
    if len(labels) > len(letters):
        raise ValueError(f"{len(labels)} labels, and {len(letters)} letters to name them")
    return tuple(letters[: len(labels)])


def renamed(judge: Judge, names: Mapping[str, str]) -> Judge:
    """``judge`` with other names for its labels, and a line in its rubric that says what they stand for."""
    decoding, pairwise = judge.decoding.to_dict(), judge.decoding.pairwise
    changed: dict[str, Any] = {"labels": [names[label] for label in judge.labels], "positive": names[judge.positive]}
    if pairwise is not None:
        tie = names[pairwise.tie] if pairwise.tie is not None else None
        changed["pairwise"] = {**pairwise.to_dict(), "labels": [names[label] for label in pairwise.labels], "tie": tie}
    legend = ", ".join(f"{names[label]} stands for {label}" for label in judge.labels)
    note = f"Each label has another name here: {legend}. Give the verdict under these names."
    return replace(judge, rubric=f"{judge.rubric}\n\n{note}", decoding=Decoding.from_dict({**decoding, **changed}))
