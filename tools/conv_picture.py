"""conv_picture.py - plots docs/benchmarks/conv.svg from docs/benchmarks/data/conv.txt: the times of the layers of ResNet-50 and MobileNet.

    build/bench/conv --onednn PATH > docs/benchmarks/data/conv.txt
    build/bench/conv --onednn PATH --settings conv.fp32_precision=ieee >> docs/benchmarks/data/conv.txt
    python3 tools/conv_picture.py

The first run is of the default precision, the second one of ieee. A bar is the time of a layer relative to oneDNN called directly."""
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs/benchmarks"
LINE = re.compile(r"(\w+)\s+(\d+) of\s+(\d+) to\s+(\d+),\s+(\d+), (\d)x\d/(\d),\s+\d+ groups\s+([\d.]+)\s+[\d.a-z]+\s+[\d.a-z]+\s+([\d.]+)")
COLOURS = ("#0b6e4f", "#7fb8a4")
LEFT, TOP, ROW, SCALE, MOST = 250, 62, 26, 300, 1.5


def read():
    """Returns the layers of each run: (name, ours, oneDNN's) in microseconds."""
    runs = []
    for line in (DOCS / "data/conv.txt").read_text().splitlines():
        if line.startswith("batch"):
            runs.append([])
        found = LINE.match(line)
        if found:
            network, count, inputs, outputs, size, kernel, stride = found.groups()[:7]
            name = f"{network}: {inputs} to {outputs}, {size}x{size}, {kernel}x{kernel}" + (f", stride {stride}" if stride != "1" else "")
            runs[-1].append((name + (f" (x{count})" if count != "1" else ""), float(found[8]), float(found[9])))
    return runs


def bar(y, ours, peer, colour):
    ratio = ours / peer
    width = min(ratio, MOST) * SCALE
    return [f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="9" fill="{colour}"/>',
            f'<text x="{LEFT + width + 4:.1f}" y="{y + 8.5}" font-size="9" fill="#555">{ratio:.2f}</text>']


def main():
    default, ieee = read()[:2]
    height = TOP + ROW * len(default) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + int(MOST * SCALE) + 60} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="100%" height="{height}" fill="white"/>',
           '<text x="10" y="20" font-weight="bold">Time of a layer relative to oneDNN called directly (shorter is faster)</text>',
           f'<text x="10" y="40"><tspan fill="{COLOURS[0]}">■ default precision, Winograd permitted</tspan>'
           f'<tspan dx="16" fill="{COLOURS[1]}">■ conv.fp32_precision=ieee</tspan></text>']
    for i, (chosen, exact) in enumerate(zip(default, ieee)):
        y = TOP + i * ROW
        out.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{chosen[0]}</text>')
        out += bar(y, chosen[1], chosen[2], COLOURS[0]) + bar(y + 10, exact[1], exact[2], COLOURS[1])
    out.append(f'<line x1="{LEFT + SCALE}" y1="{TOP - 6}" x2="{LEFT + SCALE}" y2="{height - 14}" stroke="#999" stroke-dasharray="3 3"/>')
    (DOCS / "conv.svg").write_text("\n".join(out + ["</svg>", ""]))


main()
