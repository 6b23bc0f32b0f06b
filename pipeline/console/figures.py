"""How figures and foreign text are written for people: one way for the console and for the report."""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Iterable

ABSENT = "-"


def plain(text: object) -> str:
    """Return `text` with control and direction characters made visible, so that data cannot steer a terminal."""
    line = str(text)
    if line.isascii() and line.isprintable():
        return line
    return "".join(
        c
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else c.encode("unicode_escape", "replace").decode()
        for c in line
    )


def width(text: str) -> int:
    """Return the terminal cells that `text` takes: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, cells: int) -> str:
    """Return `text` cut to `cells` terminal cells, with an ellipsis where something is left out."""
    if width(text) <= cells:
        return text
    kept, used = [], 1
    for c in text:
        used += width(c)
        if used > cells:
            break
        kept.append(c)
    return "".join(kept) + "…"


def pad(text: str, cells: int, right: bool = False) -> str:
    """Return `text` filled with spaces to `cells` terminal cells, right-aligned on request."""
    space = " " * max(0, cells - width(text))
    return space + text if right else text + space


def is_number(value: object) -> bool:
    """Say whether `value` is an int or a float (a bool is not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _odd(value: object) -> str:
    """Return the text of a value that has no digits: absent, NaN, infinite, or not a number at all."""
    if value is None:
        return ABSENT
    if not is_number(value):
        return plain(value)
    return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _finite(value: object) -> bool:
    return is_number(value) and math.isfinite(value)


def count(value: float | None) -> str:
    """Return a whole number with thousands separated: `327,346`."""
    return f"{round(value):,}" if _finite(value) else _odd(value)


def counted(value: float | None, noun: str) -> str:
    """Return a number and its noun: `1 warning`, `3 vocabularies`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count(value)} {noun if value == 1 else plural}"


def compact(value: float | None) -> str:
    """Return a magnitude in at most four characters or so: `141k`, `1.2M`, `870`."""
    if not _finite(value):
        return _odd(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * limit:
            scaled = value / limit
            return f"{scaled:.0f}{unit}" if abs(scaled) >= 9.95 else f"{scaled:.1f}{unit}"
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.2g}"


def seconds(value: float | None) -> str:
    """Return a duration given in seconds: `0.2 s`, `34 s`, `2 min 05 s`, `1 h 02 min`, `12 d`."""
    if not _finite(value):
        return _odd(value)
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = whole // 60
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes < 2880 else f"{minutes // 1440} d"


def microseconds(value: float | None) -> str:
    """Return a latency given in microseconds: `5.8 us`, `1.9 ms`, `2.0 s`."""
    if not _finite(value):
        return _odd(value)
    for limit, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if value >= limit or unit == "us":
            break
    return f"{value / limit:.1f} {unit}" if value / limit < 99.95 else f"{value / limit:.0f} {unit}"


def size(value: float | None) -> str:
    """Return a size given in bytes, in decimal units: `61 kB`, `1.2 MB`."""
    if not _finite(value):
        return _odd(value)
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= 0.9995 * limit:
            return f"{value / limit:.0f} {unit}" if value / limit >= 9.95 else f"{value / limit:.1f} {unit}"
    return f"{value:.0f} B"


def ratio(value: float | None) -> str:
    """Return a ratio: `0.31x`."""
    return f"{value:.2f}x" if _finite(value) else _odd(value)


def percent(fraction: float | None, digits: int = 1) -> str:
    """Return a share given as a fraction of one: `99.7 %`."""
    if not _finite(fraction):
        return _odd(fraction)
    shown = f"{100 * fraction:.{digits}f}"
    if fraction and float(shown) == 0:
        return f"< {10**-digits:.{digits}f} %"
    if fraction < 1 and float(shown) == 100:
        return f"> {100 - 10**-digits:.{digits}f} %"
    return f"{shown} %"


def metric(name: str, value: float | None) -> str:
    """Return a metric's value: three decimals, or a whole number where the metric counts examples."""
    if not _finite(value):
        return _odd(value)
    return count(value) if name.endswith("_count") else f"{value:.3f}" if abs(value) < 1e4 else f"{value:.3g}"


def signed(value: float | None) -> str:
    """Return a difference with its sign: `+0.004`, `-0.001`, `0.000`."""
    if not _finite(value):
        return _odd(value)
    shown = f"{value:+.3f}"
    return shown[1:] if float(shown) == 0 else shown


def general(value: float | None) -> str:
    """Return any number in four significant digits: `3.142`, `2013`, `31,204`, `2.147e+09`."""
    if not _finite(value):
        return _odd(value)
    if abs(value) >= 1e7:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"


def bound(limits: dict | None) -> str:
    """Return a threshold: `>= 0.630`, `<= 0.010`, `0.900 to 1.100`."""
    low, high = (limits or {}).get("min"), (limits or {}).get("max")
    shown = [
        None if end is None else "0" if end == 0 else f"{end:.3f}" if _finite(end) else _odd(end) for end in (low, high)
    ]
    if shown[0] is not None and shown[1] is not None:
        return f"{shown[0]} to {shown[1]}"
    return f">= {shown[0]}" if shown[0] is not None else f"<= {shown[1]}" if shown[1] is not None else ""


def value(thing: object) -> str:
    """Return a configuration value as one types it: lists in brackets, nothing as `null`, text without quotes."""
    if thing is None:
        return "null"
    if isinstance(thing, bool):
        return "true" if thing else "false"
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{plain(key)}: {value(item)}" for key, item in thing.items()) + "}"
    if isinstance(thing, list | tuple):
        return "[" + ", ".join(value(item) for item in thing) + "]"
    return plain(thing) if thing != "" else '""'


def short_path(path: str) -> str:
    """Return a path as one would type it here: relative where it lies under the current folder."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here) if path.startswith(here) else path


def joined(parts: Iterable[str], between: str = " · ") -> str:
    """Join the parts that say something."""
    return between.join(part for part in parts if part)
