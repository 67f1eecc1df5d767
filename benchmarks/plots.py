"""Plots as SVG: seconds over messages or bytes over turns, both logarithmic, in panels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from html import escape

Line = list[tuple[int, float]]

WIDTH, HEIGHT = 300, 240  # of a panel, in pixels
LEFT, TOP, KEY = 46, 26, 200
COLORS = ("#d81b60", "#1e88e5", "#f9a825", "#00897b", "#8e24aa", "#757575", "#bdbdbd", "#5d4037")


def seconds(decade: int) -> str:
    """A power of ten seconds."""
    return _scaled(decade, ("ns", "µs", "ms", "s"), first=-9)


def size(decade: int) -> str:
    """A power of ten bytes."""
    return _scaled(decade, ("B", "KB", "MB"), first=0)


def plot(
    title: str,
    panels: Mapping[str, Mapping[str, Line]],
    label: Callable[[int], str] = seconds,
) -> str:
    """One picture; a name has the same colour in every panel. Text takes the page's colour."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    colors = dict(zip(names, COLORS * 2, strict=False))
    points = [p for lines in panels.values() for line in lines.values() for p in line]
    axes = _Axes(points, label)
    width = len(panels) * (WIDTH + LEFT) + KEY
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 34}"',
        'font-family="sans-serif" font-size="11" fill="#888">',
        f"<title>{escape(title)}</title>",
    ]
    for k, (name, lines) in enumerate(panels.items()):
        parts += _panel(f"{title}, {name}", LEFT + k * (WIDTH + LEFT), lines, axes, colors)
    for k, name in enumerate(names):
        x, y = width - KEY + 10, TOP + 8 + k * 16
        parts.append(f'<path d="M{x} {y}h14" stroke="{colors[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 19}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


class _Axes:
    def __init__(self, points: Line, label: Callable[[int], str]) -> None:
        self.label = label
        sizes, values = zip(*points, strict=True)
        self.sizes = sorted(set(sizes))
        self._size = math.log10(min(sizes)), math.log10(max(sizes))
        self.decades = range(
            math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1
        )

    def x(self, size: float) -> float:
        low, high = self._size
        return (math.log10(size) - low) / ((high - low) or 1) * WIDTH

    def y(self, value: float) -> float:
        low, high = self.decades[0], self.decades[-1]
        return TOP + HEIGHT - (math.log10(value) - low) / ((high - low) or 1) * HEIGHT


def _panel(
    title: str, left: int, lines: Mapping[str, Line], axes: _Axes, colors: Mapping[str, str]
) -> Iterator[str]:
    yield f'<text x="{left}" y="14" font-weight="bold">{escape(title)}</text>'
    for decade in axes.decades:
        y = axes.y(10.0**decade)
        yield f'<path d="M{left} {y:.0f}h{WIDTH}" stroke="#8884"/>'
        yield f'<text x="{left - 5}" y="{y + 4:.0f}" text-anchor="end">{axes.label(decade)}</text>'
    for size in axes.sizes:
        x, y = left + axes.x(size), TOP + HEIGHT + 16
        yield f'<text x="{x:.0f}" y="{y}" text-anchor="middle">{size:,}</text>'
    for name, line in lines.items():
        path = " ".join(f"{left + axes.x(n):.0f},{axes.y(s):.1f}" for n, s in line)
        yield f'<polyline points="{path}" fill="none" stroke="{colors[name]}" stroke-width="2"/>'


def _scaled(decade: int, units: tuple[str, ...], first: int) -> str:
    unit = min(max(0, (decade - first) // 3), len(units) - 1)
    return f"{10 ** (decade - first - 3 * unit)} {units[unit]}"
