"""Makes a board of paired questions from SelfAware: one that can be answered beside the one like it that cannot.

    python make_board.py --data FOLDER --out boards/ --pairs 250 --seed 7
    python make_board.py --data FOLDER --out boards/ --full

The README beside this file says how pairs are made and what the board may be read to mean.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from calibrant import canonical
from calibrant.grounding.folding import fold, holds_words, words
from calibrant.units import Day, read_date, read_number

HERE = Path(__file__).resolve().parent
NAME = "known-unknowns"
METHOD = "selfaware-pairs.v1"
FULL = "selfaware-full.v1"
SOURCE = "SelfAware (Yin et al., 2023), CC BY-SA 4.0"

STANDS_ALONE = re.compile(r"(?:triviaqa|hotpot)_")
"""Sources whose questions are asked without a passage; those from SQuAD often hang on one that nobody holds here."""

FLOOR = 900
"""Similarity below which two questions are no pair, in ten thousandths."""
TWIN = 5000
"""Similarity from which two questions are one question in other words, in ten thousandths."""
SAME_FACT = 1000
"""The same, for two questions that share an answer."""
MOST_WORDS = 12

STOP = frozenset(
    """a an the of to in on at by for with and or is are was were be been being do does did you your we our it its that
    this what which who whom how why when where if would rather will can could should than have has had not no as from
    into so up out about there they them their he his she her i my me one any all most more""".split()
)


class Refused(Exception):
    """The data does not give such a board; the message says why."""


@dataclass(frozen=True)
class Asked:
    """A question of SelfAware, with the answers that are kept of it (none where it has no answer)."""

    number: int
    text: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two questions about one thing: ``similarity`` is in ten thousandths."""

    known: Asked
    unknown: Asked
    similarity: int


# --- reading --------------------------------------------------------------------------------------------------------


def read_questions(
    data: bytes, aside: Mapping[str, Mapping[str, str]], *, every_source: bool = False
) -> tuple[list[Asked], list[Asked]]:
    """The answerable and the unanswerable questions that may stand on a board, each in the order of its number.

    With ``every_source`` those that may hang on a passage are among the answerable.
    """
    known, unknown = [], []
    for row in sorted(json.loads(data)["example"], key=lambda row: int(row["question_id"])):
        number, text = int(row["question_id"]), _tidy(row["question"])
        if str(number) in aside["known"] or str(number) in aside["unknown"]:
            continue
        if not row["answerable"]:
            unknown.append(Asked(number, text))
        elif every_source or STANDS_ALONE.match(row["source"]):
            answers = usable_answers(text, row["answer"])
            known += [Asked(number, text, answers)] if answers else []
    return known, unknown


def usable_answers(question: str, answers: Iterable[str]) -> tuple[str, ...]:
    """The answers that only an answer would hit.

    Left out is what stands in the question (an echo of it would be right), a form of one letter, and a form that
    folds to an earlier one. A question that says the answer itself ("Which is older, X or Y?") keeps none.
    """
    kept: dict[str, str] = {}
    for answer in answers:
        folded = fold(answer)
        if holds_words(question, answer):
            if folded:
                return ()
            continue
        if len(folded) > 1 or folded.isdigit():
            kept.setdefault(folded, answer.strip())
    return tuple(kept.values())


def _tidy(question: str) -> str:
    """A question without the quotation marks that a table left around it."""
    text = question.strip()
    if text.startswith('"') and text.endswith('"') and '""' in text:
        text = text[1:-1].replace('""', '"')
    return " ".join(text.split())


def outcome_of(question: str, answers: Sequence[str]) -> dict[str, Any]:
    """The outcome space of a fact: boolean, date or number where every answer is one, else text."""
    if all(fold(answer) in ("yes", "no") for answer in answers):
        return {"kind": "boolean"}
    if all(isinstance(read_date(answer), Day) for answer in answers) and re.search(r"(?i)\bwhen\b|\byear\b", question):
        exact = all(len(str(read_date(answer))) == 10 for answer in answers)
        return {"kind": "date", "precision": "day" if exact else "year"}
    if all(read_number(answer) is not None for answer in answers):
        return {"kind": "number"}
    return {"kind": "text", "containing": True, "most_words": MOST_WORDS}


# --- matching -------------------------------------------------------------------------------------------------------


def terms_of(question: str) -> list[str]:
    """What a question is compared by: its content words, its pairs of them, and how it opens."""
    stems = [_stem(word) for word in words(question)]
    content = [stem for stem in stems if stem not in STOP]
    return [*content, *(f"{a} {b}" for a, b in pairwise(content)), "^ " + " ".join(stems[:2])]


def _stem(word: str) -> str:
    ending = next((end for end in ("ing", "ed", "es", "s") if word.endswith(end) and len(word) - len(end) >= 3), "")
    return word.removesuffix(ending)


def vectors_of(questions: Sequence[Asked]) -> list[dict[str, float]]:
    """Each question as a vector of unit length: (1 + ln count) times ln((1 + N) / (1 + questions with the term))."""
    counts = [Counter(terms_of(question.text)) for question in questions]
    spread = Counter(term for count in counts for term in count)
    vectors = []
    for count in counts:
        weights = {
            term: (1 + math.log(times)) * math.log((1 + len(counts)) / (1 + spread[term]))
            for term, times in count.items()
        }
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values())) or 1.0
        vectors.append({term: weight / length for term, weight in weights.items()})
    return vectors


def similarities(rows: Sequence[Mapping[str, float]], columns: Sequence[Mapping[str, float]]) -> np.ndarray:
    """Cosine similarities in whole ten thousandths, so that no machine's last digit decides between two pairs."""
    holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for column, vector in enumerate(columns):
        for term, weight in vector.items():
            holders[term].append((column, weight))
    found = np.zeros((len(rows), len(columns)))
    for row, vector in enumerate(rows):
        for term, weight in vector.items():
            for column, other in holders[term]:
                found[row, column] += weight * other
    return np.rint(found * 10_000).astype(np.int64)


def match(known: Sequence[Asked], unknown: Sequence[Asked]) -> list[Pair]:
    """The pairs of one answerable and one unanswerable question with the greatest total similarity.

    No question stands in two pairs; none is a near-duplicate of another on the same side (the first is kept), nor of
    one on the other side (both are dropped); and no pair is less similar than the floor.
    """
    vectors = vectors_of([*known, *unknown])
    left, right = vectors[: len(known)], vectors[len(known) :]
    across = similarities(right, left)
    kept = [i for i in _first_of_twins(known, left) if across[:, i].max(initial=0) < TWIN]
    open_ = [i for i in _first_of_twins(unknown, right) if across[i].max(initial=0) < TWIN]
    table = across[np.ix_(open_, kept)]
    table[table < FLOOR] = 0
    paired = zip(*linear_sum_assignment(table.astype(float), maximize=True), strict=True)
    chosen = [Pair(known[kept[k]], unknown[open_[u]], int(table[u, k])) for u, k in paired if table[u, k]]
    return [pair for pair in chosen if not _gives_away(pair)]


def match_all(known: Sequence[Asked], unknown: Sequence[Asked]) -> list[Pair]:
    """Every unanswerable question with an answerable one, the total similarity as great as can be; none is kept out
    for being unlike the other or like another, only where it says the other's answer."""
    vectors = vectors_of([*known, *unknown])
    table = similarities(vectors[len(known) :], vectors[: len(known)])
    paired = zip(*linear_sum_assignment(table.astype(float), maximize=True), strict=True)
    return [pair for u, k in paired if not _gives_away(pair := Pair(known[k], unknown[u], int(table[u, k])))]


def _first_of_twins(questions: Sequence[Asked], vectors: Sequence[Mapping[str, float]]) -> list[int]:
    """The questions that do not repeat an earlier one, by index."""
    table = similarities(vectors, vectors)
    folded = [frozenset(map(fold, question.answers)) for question in questions]
    kept: list[int] = []
    for index in range(len(questions)):
        alike = [earlier for earlier in kept if table[index, earlier] >= SAME_FACT]
        if not any(table[index, earlier] >= TWIN or folded[index] & folded[earlier] for earlier in alike):
            kept.append(index)
    return kept


def _gives_away(pair: Pair) -> bool:
    """Whether the unanswerable question says the answer of the other."""
    return any(holds_words(pair.unknown.text, answer) for answer in pair.known.answers)


# --- writing --------------------------------------------------------------------------------------------------------


def challenges_of(pair: Pair) -> list[dict[str, Any]]:
    """Both halves of a pair as a board writes them."""
    name = f"sa-{pair.known.number}-{pair.unknown.number}"
    similar = f"similarity {pair.similarity / 10_000:.4f}"
    common = {"seat": "generalist", "test_type": "grounding", "attribute": "knowledge", "pair_id": name}
    attested = {
        "kind": "attested",
        "by": "the annotators of SelfAware",
        "reason": "Labelled unanswerable: no settled answer exists, or what would settle it is not given.",
    }
    return [
        {
            **common,
            "id": f"{name}-in",
            "half": "in",
            "prompt": pair.known.text,
            "outcome": outcome_of(pair.known.text, pair.known.answers),
            "resolver": {"kind": "facts", "file": f"{NAME}.facts.json", "key": f"sa-{pair.known.number}"},
            "note": f"SelfAware question {pair.known.number}; {similar} to its out-half",
        },
        {
            **common,
            "id": f"{name}-out",
            "half": "out",
            "prompt": pair.unknown.text,
            "outcome": {"kind": "text"},
            "resolver": attested,
            "note": f"SelfAware question {pair.unknown.number}; {similar} to its in-half",
        },
    ]


def write_board(folder: Path, pairs: Sequence[Pair], told: Mapping[str, Any]) -> list[Path]:
    """Write the board, its facts and its manifest. Each is there whole or not at all."""
    head = {
        "schema": "calibrant.board.v1",
        "profile": "default",
        "frame": "representative",
        "title": f"Known unknowns: {len(pairs)} pairs of {SOURCE}; {_drawn(told)}, data {told['data_sha256'][:12]}",
        "seats": [
            {
                "id": "generalist",
                "name": "Generalist",
                "lane": "common knowledge: what is settled and widely known",
                "context": {"text": (HERE / "seats" / "generalist.md").read_text(encoding="utf-8")},
            }
        ],
    }
    lines = [head, *(challenge for pair in pairs for challenge in challenges_of(pair))]
    board = b"".join(canonical.encode(line) + b"\n" for line in lines)
    facts = {f"sa-{pair.known.number}": list(pair.known.answers) for pair in pairs}
    files = {f"{NAME}.jsonl": board, f"{NAME}.facts.json": _pretty(facts)}
    digests = {name: canonical.sha256(data) for name, data in files.items()}
    files[f"{NAME}.manifest.json"] = _pretty({**told, "files_sha256": digests})
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, data) for name, data in files.items()]


def _drawn(told: Mapping[str, Any]) -> str:
    seed = "" if told["seed"] is None else f"seed {told['seed']}, "
    return f"{seed}method {told['method']}"


def _pretty(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _write(path: Path, data: bytes) -> Path:
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    part.replace(path)
    return path


def make(data: bytes, folder: Path, pairs: int | None, seed: int) -> list[Path]:
    """Make the board from the bytes of SelfAware.json; without a number of ``pairs``, the one of full size.

    Raises:
        Refused: where there are not as many pairs as asked for.
    """
    set_aside = (HERE / "set_aside.json").read_bytes()
    full = pairs is None
    known, unknown = read_questions(data, json.loads(set_aside), every_source=full)
    matched = match_all(known, unknown) if full else match(known, unknown)
    if pairs is None:
        drawn = matched
    elif len(matched) < pairs:
        raise Refused(f"{len(matched)} pairs are as similar as {FLOOR / 10_000}; {pairs} were asked for")
    else:
        drawn = random.Random(seed).sample(matched, pairs)
    drawn = sorted(drawn, key=lambda pair: pair.known.number)
    told = {
        "source": SOURCE,
        "method": FULL if full else METHOD,
        "seed": None if full else seed,
        "pairs": len(drawn),
        "data_sha256": canonical.sha256(data),
        "set_aside_sha256": canonical.sha256(set_aside),
        "answerable_considered": len(known),
        "unanswerable_considered": len(unknown),
        "pairs_matched": len(matched),
        "similarity_floor": None if full else FLOOR / 10_000,
        "similarity_median": round(float(np.median([pair.similarity for pair in drawn])) / 10_000, 4),
    }
    return write_board(folder, drawn, told)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: 0 where the board was made, 2 where it could not be."""
    parser = argparse.ArgumentParser(description="Makes a board of paired questions from SelfAware.")
    parser.add_argument("--data", type=Path, help="the folder that holds SelfAware.json (or selfaware/SelfAware.json)")
    parser.add_argument("--out", type=Path, default=HERE / "boards", help="the folder that the board is written to")
    parser.add_argument("--pairs", type=int, default=250)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--full", action="store_true", help="every unanswerable question, with some answerable one")
    given = parser.parse_args(arguments)
    folder = given.data or Path(os.environ.get("CALIBRANT_DATA", "."))
    places = [folder / "SelfAware.json", folder / "selfaware" / "SelfAware.json"]
    found = next((place for place in places if place.is_file()), None)
    try:
        if found is None:
            raise Refused(f"no SelfAware.json in {folder}; the README says where to get it")
        if given.pairs < 1:
            raise Refused(f"{given.pairs} pairs: at least one is needed")
        written = make(found.read_bytes(), given.out, None if given.full else given.pairs, given.seed)
    except (OSError, ValueError, KeyError, Refused) as failed:
        print(f"make_board: {failed}", file=sys.stderr)
        return 2
    print("\n".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
