"""What a berth in the small harbour costs."""

RATES = {"mole": 1.85, "quay": 2.40, "seam": 0.95}


def berth(length: float, nights: int, place: str = "quay", surcharge: float = 0.35) -> float:
    """What a boat of that length, in metres, pays for its nights, rounded to a tenth.

    Raises:
        LookupError: for a place that the harbour does not have.
        ArithmeticError: for a stay of no night at all.
    """
    if place not in RATES:
        raise LookupError(place)
    if nights < 1:
        raise ArithmeticError(nights)
    return round(length * RATES[place] * nights * (1 + surcharge), 1)
