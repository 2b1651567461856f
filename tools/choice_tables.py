"""choice_tables.py - makes the tables of docs/benchmarks/performance.md from a file that tools/bench_choice.sh has written.

    python tools/choice_tables.py FILE [--write]

Prints the tables as Markdown. `--write` puts them into the page instead, between its two markers."""
import pathlib
import re
import sys
import textwrap

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "performance.md"
BEGIN, END = "<!-- tables of tools/choice_tables.py -->", "<!-- end of the tables -->"
FAMILIES = {"products": "products", "transforms": "transforms", "linalg": "linear algebra", "contractions": "contractions"}
SECTION = re.compile(r"^### (\w+), (fixed|random), (\d+) threads?$", re.M)
HEADING = re.compile(r"(\d+) problems, (\d+) with two .*? smaller time ([\d.]+), worst ([\d.]+) ")
CHOICE = re.compile(r"^\| (estimates|measured times|tuning) \| ([\d.]+) \| ([\d.]+) \| (\d+) % \| (\d+) % \| (\d+) % \| .*\|$", re.M)
LIBRARY = re.compile(r"^\| (\S+) \| (\d+) \| ([\d.]+) \|(?: [\d.]+ \|)?$", re.M)
TUNED = re.compile(r"^Tuned scores above [\d.]+: (\d+); (\d+) of them ", re.M)
TUNING = re.compile(r"^Tuning, over .*: geometric mean ([\d.]+), worst ([\d.]+) .*; above 1: (\d+) of (\d+)\.$", re.M)
ONE_SHOT = re.compile(r"^A warm one-shot call .*, (\d+) problems .*: geometric mean ([\d.]+), worst ([\d.]+) ", re.M)
PEER = re.compile(r"^\| (\w+) \| (\d+) \| (\w+) \| (\w+) ([\w.+]+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| .*\|$", re.M)

LIBRARIES_ARE = """One library for all problems: its time over the time of the choice by measured times, for the fixed / random ones. "of N": it
accepts N of them."""
TUNING_IS = """Tuning: the number of scores above 1.05, and of those that are above it in a second measurement too; the time that tuning takes over the larger of 50
calls and 20 ms for each class that is measured; a warm one-shot call with tuned times over one without."""
PEERS_ARE = """Peers: their time over ours, the geometric mean (the least of all cases; the spread)."""


def table(heading, rows):
    """Columns with a cell that begins with a digit are right-aligned."""
    if not rows:
        return []
    aligned = ["---:" if any(cell[:1].isdigit() for cell in column) else "---" for column in zip(*rows)]
    return ["| " + " | ".join(heading) + " |", "|" + "|".join(aligned) + "|", *("| " + " | ".join(row) + " |" for row in rows), ""]


def sections(text):
    """Yields (family, kind, threads, text of the section); sections without a scored problem are left out."""
    parts = SECTION.split(text)
    for at in range(1, len(parts), 4):
        family, kind, threads, body = parts[at:at + 4]
        if CHOICE.search(body):
            yield FAMILIES[family], kind, threads, body


def choices(found):
    rows = []
    for family, kind, threads, body in found:
        heading = HEADING.search(body)
        for way, mean, worst, *within in CHOICE.findall(body):
            rows.append([threads, f"{kind} {family}, {heading[2]}", way, mean, worst, *(f"{each} %" for each in within), f"{heading[3]}, {heading[4]}"])
    return table(["threads", "problems", "choice by", "geometric mean", "worst", "within 1.05", "within 1.3", "within 2", "spread: mean, worst"], rows)


def libraries(found):
    """Returns a table for each number of threads: the time of each library over ours, for fixed / random problems."""
    lines = []
    for threads in dict.fromkeys(each[2] for each in found):
        times = {}
        for family, kind, _, body in (each for each in found if each[2] == threads):
            for name, count, ratio in LIBRARY.findall(body):
                times.setdefault(name, {})[family, kind] = f"{float(ratio):.2f}" + ("" if count == HEADING.search(body)[2] else f" of {count}")
        rows = [[name, *(" / ".join(ratios.get((family, kind), "-") for kind in ("fixed", "random")) for family in FAMILIES.values())]
                for name, ratios in times.items()]
        lines += table([f"one library, {threads} thread{'' if threads == '1' else 's'}", *FAMILIES.values()], rows)
    return lines


def tuning(found):
    rows = []
    for family, kind, threads, body in found:
        tuned, took, one_shot = TUNED.search(body), TUNING.search(body), ONE_SHOT.search(body)
        if tuned:
            calls = [one_shot[2], one_shot[3]] if one_shot else ["-", "-"]
            rows.append([threads, f"{kind} {family}", f"{tuned[1]}, {tuned[2]}", took[1], took[2], f"{took[3]} of {took[4]}", *calls])
    return table(["threads", "problems", "above 1.05, twice", "cost", "worst", "cost above 1", "one-shot call", "worst"], rows)


def peers(text):
    rows, versions = {}, {}
    for family, threads, kind, peer, version, _, mean, least, spread in PEER.findall(text):
        rows.setdefault((threads, family, kind), {})[peer] = f"{mean} ({least}; {spread})"
        versions[peer] = version
    cells = [[*key, *(row.get(peer, "-") for peer in versions)] for key, row in rows.items()]
    return table(["threads", "family", "type", *(f"{peer} {version}" for peer, version in versions.items())], cells)


def whole(path):
    text = path.read_text()
    found = list(sections(text))
    if not found:
        sys.exit(f"choice_tables.py: {path} has no scores")
    head = re.search(r"^processor: (.*)$", text, re.M)
    used = re.search(r"^backplane .*\n(?:.*\n)?(.* [\d.]+, .*)$", text, re.M)
    first = f"{head[1] if head else ''}. {used[1] if used else ''}. [{path.name}](data/{path.name}) has a line for each problem."
    lines = [textwrap.fill(first, 150, break_long_words=False, break_on_hyphens=False), "",
             *choices(found), LIBRARIES_ARE, "", *libraries(found), TUNING_IS, "", *tuning(found)]
    compared = peers(text)
    if compared:
        lines += [PEERS_ARE, "", *compared]
    return "\n".join(lines).strip() + "\n"


def main():
    text = whole(pathlib.Path(sys.argv[1]))
    if "--write" not in sys.argv:
        print(text, end="")
        return
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


main()
