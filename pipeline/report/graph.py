"""Geometry of the DAG of a run: nodes one below the other, lines in lanes, bars of time. In SVG user units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.console import figures, record

ROW = 52  # height of a node and of its row beside it, pixels; report.css has the same
LANE, DOT, CORNER = 13, 6, 6
HUES = 6  # number of line colours in report.css


@dataclass(frozen=True)
class Edge:
    """A line from one node to another; `hue` is the colour of its source."""

    source: str
    target: str
    path: str
    hue: int


@dataclass(frozen=True)
class Dot:
    """A node of the graph."""

    id: str
    x: float
    y: float
    status: str
    arrows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """The DAG as rows: nodes in running order, lines to the next row straight, all others in lanes on the left."""

    width: float
    height: float
    dots: list[Dot]
    edges: list[Edge]


def graph(nodes: Sequence[dict], text_width: float = 190) -> Graph:
    """Lay out the nodes of a run record; an upstream that the record lacks is left out."""
    rows = {node["id"]: i for i, node in enumerate(nodes)}
    links = [(rows[up], i) for i, node in enumerate(nodes) for up in node.get("upstream") or [] if rows.get(up, i) < i]
    lanes = _lanes(links)
    hues = {source: number % HUES for number, source in enumerate(sorted(lanes))}  # lanes are the ones to tell apart
    x = 14 + LANE * (max(lanes.values(), default=-1) + 1)
    edges = []
    for source, target in links:
        lane_x = x - LANE * (lanes.get(source, 0) + 1)
        path = _straight(x, source) if target == source + 1 else _lane_path(x, lane_x, source, target)
        edges.append(Edge(nodes[source]["id"], nodes[target]["id"], path, hues.setdefault(source, len(hues) % HUES)))
    dots = []
    for i, node in enumerate(nodes):
        steps = {i - source for source, target in links if target == i}
        from_left = [f"M{x - DOT} {_y(i)}l-7 -4v8z"] if steps - {1} else []
        from_above = [f"M{x} {_y(i) - DOT}l-4 -7h8z"] if 1 in steps else []
        dots.append(Dot(node["id"], x, _y(i), node.get("status", "pending"), (*from_left, *from_above)))
    return Graph(x + 16 + text_width, ROW * len(nodes), dots, edges)


def _y(row: int) -> float:
    return ROW * row + ROW / 2


def _lanes(links: list[tuple[int, int]]) -> dict[int, int]:
    """Return a lane for every row whose lines pass over other rows, the innermost free one, short spans first."""
    spans = {}
    for source, target in links:
        if target > source + 1:
            spans[source] = max(spans.get(source, 0), target)
    lanes: dict[int, int] = {}
    for source in sorted(spans, key=lambda row: (spans[row] - row, row)):
        taken = {lanes[other] for other in lanes if other < spans[source] and spans[other] > source}
        lanes[source] = next(lane for lane in range(len(spans)) if lane not in taken)
    return lanes


def _straight(x: float, source: int) -> str:
    """Return the line to the next row."""
    return f"M{x} {_y(source) + DOT}V{_y(source + 1) - DOT}"


def _lane_path(x: float, lane_x: float, source: int, target: int) -> str:
    """Return a line that leaves its node downwards, turns into its lane, and enters the target from the left."""
    top, end, c = _y(source) + DOT, _y(target), CORNER
    return f"M{x} {top}v6q0 {c} -{c} {c}H{lane_x + c}q-{c} 0 -{c} {c}V{end - c}q0 {c} {c} {c}H{x - DOT - 6}"


def spans(run: dict) -> dict[str, tuple[float, float]]:
    """Return where each node's bar starts and how long it is, in percent of the run; only nodes that ran have one."""
    found = {}
    for node in record.nodes(run):
        elapsed = node.get("elapsed_s")
        if not figures.is_number(elapsed) or elapsed <= 0 or node.get("status") not in record.TRIED:
            continue
        try:
            started = datetime.fromisoformat(node["started"]).timestamp() + (node.get("loading_s") or 0.0)
        except (KeyError, TypeError, ValueError):
            continue
        found[node["id"]] = (started, elapsed)
    if not found:
        return {}
    begin = min(start for start, _ in found.values())
    total = max(start + elapsed for start, elapsed in found.values()) - begin
    return {
        name: (100 * (start - begin) / total, max(0.4, 100 * elapsed / total))
        for name, (start, elapsed) in found.items()
    }
