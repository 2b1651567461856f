"""fft_accuracy.py - plots the accuracy of Fourier transforms from the output of bench/fft_accuracy.

    build/bench/fft_accuracy > docs/benchmarks/data/fft_accuracy.txt
    python3 tools/fft_accuracy.py docs/benchmarks/data/fft_accuracy.txt docs/benchmarks/fft_accuracy.svg

Two panels, single and double precision: error in units of the type's rounding error over the length, with one mark for each
library. The dashed curve is 0.75 sqrt(log2 n), the growth of an accurate transform's error."""
import math
import sys

EPSILON = {"c64": 2.0**-24, "c128": 2.0**-53}
COLOURS = {"native": "#1b6ca8", "fftw": "#c8553d", "fftwf": "#c8553d", "mkl": "#3a7d44"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 400, 300, 60, 40, 80
MOST = 6.0


def x_of(n, panel):
    return LEFT + panel * (WIDTH + GAP) + math.log2(n) / 20.5 * WIDTH


def y_of(units):
    return TOP + HEIGHT - min(units, MOST) / MOST * HEIGHT


def frame(out, panel, dtype):
    left = LEFT + panel * (WIDTH + GAP)
    out.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>')
    out.append(f'<text x="{left + WIDTH / 2}" y="{TOP - 14}" text-anchor="middle">{dtype}: error / {"2^-24" if dtype == "c64" else "2^-53"}</text>')
    for k in range(0, 21, 4):
        out.append(f'<text x="{x_of(2**k, panel):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">2^{k}</text>')
    for units in range(int(MOST) + 1):
        out.append(f'<text x="{left - 8}" y="{y_of(units) + 4:.1f}" text-anchor="end">{units}</text>')
        out.append(f'<line x1="{left}" y1="{y_of(units):.1f}" x2="{left + WIDTH}" y2="{y_of(units):.1f}" stroke="#ddd"/>')
    points = " ".join(f"{x_of(2**(k / 4), panel):.1f},{y_of(0.75 * math.sqrt(k / 4)):.1f}" for k in range(1, 82))
    out.append(f'<polyline points="{points}" fill="none" stroke="#999" stroke-dasharray="5 4"/>')


def main():
    rows = [line.split() for line in open(sys.argv[1]) if line.startswith("c")]
    total = LEFT + 2 * WIDTH + GAP + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{TOP + HEIGHT + 70}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    seen = []
    for panel, dtype in enumerate(EPSILON):
        frame(out, panel, dtype)
        for kind, n, library, error in rows:
            if kind == dtype and library in COLOURS:
                units = float(error) / EPSILON[dtype]
                out.append(f'<circle cx="{x_of(int(n), panel):.1f}" cy="{y_of(units):.1f}" r="3" fill="{COLOURS[library]}" fill-opacity="0.75"/>')
                seen += [library] if library not in seen and library != "fftwf" else []
    x = LEFT
    for library in seen:
        out.append(f'<circle cx="{x}" cy="{TOP + HEIGHT + 46}" r="4" fill="{COLOURS[library]}"/>')
        out.append(f'<text x="{x + 9}" y="{TOP + HEIGHT + 50}">{library}</text>')
        x += 90
    out.append(f'<text x="{x}" y="{TOP + HEIGHT + 50}">dashed: 0.75 sqrt(log2 n)</text></svg>')
    open(sys.argv[2], "w").write("\n".join(out) + "\n")


main()
