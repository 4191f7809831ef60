"""Judge files for tests: their parts as values, and what is written beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from calibrant.records.subject import Response
from calibrant.runs.run import Run, run
from tests.runs.rigs import write_board

PROMPT = "{{ rubric }}\nQ: {{ question }}\nA: {{ response }}\nSay {{ labels|join(' or ') }}."
RUBRIC = "The response greets."
JUDGE: dict[str, Any] = {
    "schema": "calibrant.judge.v1",
    "id": "greets",
    "subject": "python:house_judges.greets",
    "prompt": "prompt.txt",
    "rubric": "../rubrics/greets.md",
    "labels": ["pass", "fail"],
}
MODULE = """
import json

def greets(asked: str) -> str:
    answer = asked.rpartition("A: ")[2]
    return json.dumps({"critique": "looked", "verdict": "pass" if "hello" in answer.lower() else "fail"})
"""


def write_judge(folder: Path, name: str = "judge.json", **changes: Any) -> Path:
    """A judge file in a project, with its prompt and rubric; a field that is None is left out."""
    (folder / "calibrant.yaml").write_text("schema: calibrant.project.v1\n", encoding="utf-8")
    for place, text in (("judges/prompt.txt", PROMPT), ("rubrics/greets.md", RUBRIC), ("house_judges.py", MODULE)):
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_text(text, encoding="utf-8")
    fields = {key: value for key, value in {**JUDGE, **changes}.items() if value is not None}
    path = folder / "judges" / name
    path.write_text(json.dumps(fields, indent=1), encoding="utf-8")
    return path


def answered_run(folder: Path, answers: list[str], *, epochs: int = 1, **challenge: Any) -> Run:
    """A run whose responses wait for a label: the answers, one challenge each."""
    fields = {"seat": "clerk", "test_type": "role-fit", "attribute": "tone", "target": "It greets.", **challenge}
    challenges = [{"id": f"c{n}", "prompt": f"Question {n}?", **fields} for n in range(len(answers))]
    board = write_board(folder / "boards", challenges)

    def say(asked: str) -> Response:
        number = int(asked.partition("Question ")[2].partition("?")[0])
        return Response(text=answers[number])

    return run(board, say, epochs=epochs, runs=folder / "runs")
