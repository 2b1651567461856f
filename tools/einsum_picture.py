"""einsum_picture.py - plots docs/benchmarks/einsum.svg from docs/benchmarks/data/einsum_path.txt: the cost of a path over the time of its search.

    .venv/bin/python bench/einsum_path.py build/bench/einsum_path > docs/benchmarks/data/einsum_path.txt
    python3 tools/einsum_picture.py
"""
import math
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs/benchmarks"
NETS = [("regular-8", "8 operands"), ("regular-20", "20 operands"), ("regular-100", "100 operands"), ("circuit-379", "circuit, 379 operands")]
LINE = re.compile(r"net (\S+)\s+(backplane|opt_einsum) (\S+)\s+([\d.]+) us\s+log10\s+([\d.]+)")
WIDTH, HEIGHT, LEFT, TOP, GAP = 330, 230, 62, 46, 78
COLOURS = {"backplane": "#0b6e4f", "opt_einsum": "#b3541e"}


def read():
    nets = {}
    for line in (DOCS / "data/einsum_path.txt").read_text().splitlines():
        found = LINE.match(line)
        if found:
            net, who, strategy, time, cost = found.groups()
            nets.setdefault(net, []).append((who, strategy, float(time) / 1e6, float(cost)))
    return nets


def scale(values, length, margin):
    """Returns a function that maps values to positions, with a margin at both ends."""
    low, high = min(values), max(values)
    span = max(high - low, 0.02)
    return lambda value: margin + (value - low) / span * (length - 2 * margin)


def text_of(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.999:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def panel(rows, title, x0, y0):
    across = scale([math.log10(row[2]) for row in rows], WIDTH, 34)
    up = scale([row[3] for row in rows], HEIGHT, 26)
    out = [f'<rect x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
           f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">{title}</text>',
           f'<text x="{x0 + WIDTH / 2}" y="{y0 + HEIGHT + 34}" text-anchor="middle" fill="#555">time of the search</text>',
           f'<text transform="translate({x0 - 46},{y0 + HEIGHT / 2}) rotate(-90)" text-anchor="middle" fill="#555">log10 of operations</text>']
    for exponent in range(-7, 3):
        x = x0 + across(exponent)
        if x0 <= x <= x0 + WIDTH:
            out.append(f'<line x1="{x:.1f}" y1="{y0}" x2="{x:.1f}" y2="{y0 + HEIGHT}" stroke="#e4e4e4"/>')
            out.append(f'<text x="{x:.1f}" y="{y0 + HEIGHT + 16}" text-anchor="middle" fill="#555">{text_of(10.0**exponent)}</text>')
    for cost in {min(row[3] for row in rows), max(row[3] for row in rows)}:
        out.append(f'<text x="{x0 - 6}" y="{y0 + HEIGHT - up(cost) + 4:.1f}" text-anchor="end" fill="#555">{cost:.2f}</text>')
    labels = []
    for who, strategy, time, cost in rows:
        x, y = x0 + across(math.log10(time)), y0 + HEIGHT - up(cost)
        right = x > x0 + WIDTH * 0.6
        crowded = any(abs(x - other) < 45 and abs(y - height) < 12 for other, height in labels)
        labels.append((x, y))
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{COLOURS[who]}"/>')
        out.append(f'<text x="{x + (-8 if right else 8):.1f}" y="{y + (17 if crowded else -6):.1f}" text-anchor="{"end" if right else "start"}" '
                   f'fill="{COLOURS[who]}">{strategy}</text>')
    return out


def main():
    nets = read()
    width, height = 2 * (WIDTH + LEFT) + 30, 2 * (HEIGHT + GAP) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{LEFT}" y="18"><tspan fill="{COLOURS["backplane"]}">● backplane</tspan>'
           f'<tspan dx="16" fill="{COLOURS["opt_einsum"]}">● opt_einsum</tspan><tspan dx="16" fill="#555">lower and further left is better</tspan></text>']
    for i, (net, title) in enumerate(row for row in NETS if row[0] in nets):
        out += panel(nets[net], title, LEFT + i % 2 * (WIDTH + LEFT + 10), TOP + i // 2 * (HEIGHT + GAP))
    (DOCS / "einsum.svg").write_text("\n".join(out + ["</svg>", ""]))


main()
