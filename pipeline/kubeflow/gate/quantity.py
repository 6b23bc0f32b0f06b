"""Kubernetes quantities, compared exactly.

The kubernetes package has a parser too, but it takes 4 s to import and accepts what the API server does not (`NaN`).

Source: kubernetes/apimachinery pkg/api/resource/quantity.go (grammar at its top).
"""

from __future__ import annotations

import re
from fractions import Fraction

QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?",
    re.ASCII,
)
_BINARY = {unit: Fraction(1024) ** power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {
    unit: Fraction(1000) ** power for power, unit in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
}
FACTORS = {**_BINARY, **_DECIMAL}


def parse_quantity(text: str) -> Fraction:
    """Return the number that a quantity such as `500m` or `8Gi` means.

    Raises:
        ValueError: not a quantity.
    """
    found = QUANTITY.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no quantity such as 2, 500m or 8Gi")
    exponent = int(found["exponent"] or 0)
    return Fraction(found["number"]) * FACTORS[found["suffix"] or ""] * Fraction(10) ** exponent


def is_positive(text: str) -> bool:
    """Say whether a text is a quantity above zero."""
    try:
        return parse_quantity(text) > 0
    except ValueError:
        return False
