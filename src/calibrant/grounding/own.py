"""Options that a seat wrote itself, with its commitment to one: read, held to the rules of options, or said why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from calibrant.errors import quote
from calibrant.grounding.folding import fold
from calibrant.grounding.options import MOST_OPTIONS, check_options
from calibrant.records.outcome import Option, Outcome
from calibrant.units import Unread

_ID = re.compile(r"\w[\w.:@+-]{0,199}")
_SPACES = re.compile(r"\s+")
_SEPARATORS = re.compile(r"\s*(?:[,;/&]|\band\b|\bor\b)\s*", re.IGNORECASE)
_MOST_REASONS: Final = 3
_LONGEST_REASON: Final = 500


class Written(NamedTuple):
    """What a reply says of its options and its commitment, as JSON values that nobody has looked at."""

    options: object
    option: object


class Committed(NamedTuple):
    """Sound options, and the name of the one that is committed to."""

    options: tuple[Option, ...]
    option: str


class _Offer(NamedTuple):
    name: str
    covers: str


def read_own(outcome: Outcome, written: Written) -> Committed | Unread:
    """The options and the commitment that ``written`` holds, or the first reasons why there are none. Total."""
    offers = _offers(written.options)
    if isinstance(offers, Unread):
        return offers
    twice = _said_twice(offers)
    if twice is not None:
        return twice
    options = tuple(map(_option, _names(offers), offers))
    problems = check_options(outcome, options)
    if problems:
        rest = len(problems) - _MOST_REASONS
        reasons = [problem.found for problem in problems[:_MOST_REASONS]] + ([f"and {rest} more"] if rest > 0 else [])
        return Unread("; ".join(reasons)[:_LONGEST_REASON])
    chosen = _commitment(offers, options, written.option)
    return chosen if isinstance(chosen, Unread) else Committed(options, options[chosen].name)


def _offers(given: object) -> list[_Offer] | Unread:
    """The options as they were written: a list of maps with ``name`` and ``covers``, or a map from one to the other."""
    if given is None or given in ([], {}):
        return Unread("no options of its own")
    if isinstance(given, Mapping):
        given = [{"name": name, "covers": covers} for name, covers in given.items()]
    if not isinstance(given, list):
        return Unread("options that are no list")
    if len(given) > MOST_OPTIONS:
        return Unread(f"{len(given)} options, where at most {MOST_OPTIONS} are read")
    offers = []
    for number, item in enumerate(given, 1):
        fields = {fold(str(key)): value for key, value in item.items()} if isinstance(item, Mapping) else {}
        name, covers = _text(fields.get("name")), fields.get("covers")
        if not name or not isinstance(covers, str):
            return Unread(f"an option without a name and what it covers, the {number}. of {len(given)}")
        offers.append(_Offer(name, covers))
    return offers


def _text(value: object) -> str:
    """A name; a number is one too."""
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _said_twice(offers: Sequence[_Offer]) -> Unread | None:
    names = [fold(offer.name) for offer in offers]
    twice = next((offer.name for offer, name in zip(offers, names, strict=True) if names.count(name) > 1), None)
    return None if twice is None else Unread(f"two options of the name {quote(twice)}")


def _names(offers: Sequence[_Offer]) -> Iterator[str]:
    """The names under which the options are kept: their own where all of them are ids, else their numbers."""
    kept = all(_ID.fullmatch(offer.name) for offer in offers)
    return (offer.name if kept else f"option-{number}" for number, offer in enumerate(offers, 1))


def _option(name: str, offer: _Offer) -> Option:
    return Option(name=name, covers=offer.covers)


def _commitment(offers: Sequence[_Offer], options: Sequence[Option], said: object) -> int | Unread:
    """The place of the one option that is committed to."""
    if isinstance(said, Mapping):
        said = {fold(str(key)): value for key, value in said.items()}.get("name")
    texts = [_text(one) for one in said] if isinstance(said, list) else _SEPARATORS.split(_text(said))
    alone = _places(_text(said), offers, options)
    meant = alone or {place for text in texts for place in _places(text, offers, options)}
    if len(meant) > 1:
        named = ", ".join(quote(offers[place].name) for place in sorted(meant)[:_MOST_REASONS])
        return Unread(f"{len(meant)} commitments ({named}), where one is to be made")
    if not any(texts):
        return Unread("no commitment to one of its options")
    if not meant or len([text for text in texts if text]) > 1 > len(alone):
        return Unread(f"a commitment to {quote(said)}, which is none of its options")
    return meant.pop()


def _places(text: str, offers: Sequence[_Offer], options: Sequence[Option]) -> set[int]:
    """The options that a text means, by their places: by name, or by exactly what they cover."""
    return {place for place, offer in enumerate(offers) if text and _means(text, offer, options[place])}


def _means(text: str, offer: _Offer, option: Option) -> bool:
    covers = _SPACES.sub("", offer.covers)
    return (bool(fold(text)) and fold(text) in (fold(offer.name), fold(option.name))) or _SPACES.sub("", text) == covers
