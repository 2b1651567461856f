"""attention_picture.py - plots docs/benchmarks/attention.svg from docs/benchmarks/data/attention.txt: time and memory of the kernels of attention.

    build/bench/attention --kernels 4096 --rounds 9 > docs/benchmarks/data/attention.txt
    python3 tools/attention_picture.py

Both axes are logarithmic. Memory is the workspace of a call; the dashed line is the memory of query, key, value and output together."""
import re
from math import log2, log10
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs/benchmarks"
LINE = re.compile(r"\s*(\d+) (\w+)\s+([\d.]+) \[[\d. ]+\]\s+(\d+)\s+(\d+)")
COLOURS = {"flash": "#0b6e4f", "mem_efficient": "#c8553d", "math": "#3d5a98"}
LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 50, 300, 230, 110


def read():
    """Returns the machine, and for each kernel its points: (length, ms, MiB of workspace, MiB of tensors)."""
    text = (DOCS / "data/attention.txt").read_text()
    points = {name: [] for name in COLOURS}
    for length, name, time, workspace, tensors in (found.groups() for found in map(LINE.match, text.splitlines()) if found):
        points[name].append((int(length), float(time), int(workspace) / 2**20, int(tensors) / 2**20))
    return text.splitlines()[0], points


class Chart:
    """One chart with logarithmic axes; the lowest and the highest value are powers of 10."""

    def __init__(self, left, title, unit, lengths, low, high):
        self.left, self.lengths, self.low, self.high = left, lengths, low, high
        self.out = [f'<text x="{left}" y="{TOP - 10}" font-weight="bold">{title}</text>']
        for power in range(round(log10(low)), round(log10(high)) + 1):
            y = self.y(10.0**power)
            self.out += [f'<line x1="{left}" y1="{y:.1f}" x2="{left + WIDTH}" y2="{y:.1f}" stroke="#ddd"/>',
                         f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} {unit}</text>']
        for length in lengths:
            self.out.append(f'<text x="{self.x(length):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{length}</text>')

    def x(self, length):
        first, last = log2(self.lengths[0]), log2(self.lengths[-1])
        return self.left + (log2(length) - first) / (last - first) * WIDTH

    def y(self, value):
        return TOP + HEIGHT - (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low)) * HEIGHT

    def plot(self, values, colour, style=""):
        line = " ".join(f"{self.x(length):.1f},{self.y(value):.1f}" for length, value in values)
        self.out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" {style}/>')
        if not style:
            self.out += [f'<circle cx="{self.x(length):.1f}" cy="{self.y(value):.1f}" r="3" fill="{colour}"/>' for length, value in values]


def main():
    machine, points = read()
    lengths = [point[0] for point in points["flash"]]
    times = Chart(LEFT, "Time", "ms", lengths, 0.1, 1000)
    memory = Chart(LEFT + WIDTH + GAP, "Memory besides the tensors", "MiB", lengths, 0.1, 100)
    for name, colour in COLOURS.items():
        times.plot([(length, time) for length, time, _, _ in points[name]], colour)
        memory.plot([(length, workspace) for length, _, workspace, _ in points[name]], colour)
    memory.plot([(length, tensors) for length, _, _, tensors in points["flash"]], "#777", 'stroke-dasharray="4 3"')
    width, height = LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 60
    legend = "".join(f'<tspan dx="14" fill="{colour}">■ {name}</tspan>' for name, colour in COLOURS.items())
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="100%" height="{height}" fill="white"/>',
           f'<text x="{LEFT - 14}" y="18">{legend}<tspan dx="14" fill="#777">┄ query, key, value and output</tspan></text>',
           *times.out, *memory.out,
           f'<text x="{LEFT}" y="{height - 14}" fill="#555">Queries and as many keys; f32, {machine.replace(", ms", "")}</text>']
    (DOCS / "attention.svg").write_text("\n".join([*out, "</svg>", ""]))


main()
