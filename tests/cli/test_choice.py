"""bench/choice: its scores and tables follow from the times that it prints. No test depends on how fast anything is."""

import math
import re
import subprocess
import sys

import pytest

from conftest import BUILD, NO_LEAK_CHECK, ROOT

PROGRAM = BUILD / "bench" / "choice"
FAMILIES = ("products", "transforms", "linalg", "contractions")
LINE = re.compile(r"^(?P<name>.+): least (?P<least>\d+) ns, spread (?P<spread>[\d.]+) \| (?P<choices>.+?) \| (?P<times>.+?)"
                  r"(?: \| tuned in (?P<tuning>[\d.]+) ms)?$", re.M)
CHOICE = re.compile(r"(estimated|measured|tuned) (\S+) ([\d.]+)")
WAYS = {"estimated": "estimates", "measured": "measured times", "tuned": "tuning"}


@pytest.fixture
def choice(backplane, tmp_path):
    def run(*words, **env):
        return backplane(*words, command=PROGRAM, env={**NO_LEAK_CHECK, "TMPDIR": str(tmp_path), **env})

    return run


def scores_of(text):
    """Returns the printed scores by way, after comparing each with the printed times, which are whole nanoseconds."""
    scores = {}
    for line in LINE.finditer(text):
        times = [(label, int(ns)) for label, ns in re.findall(r"(\S+) (\d+)(?= |$)", line["times"])]
        least = int(line["least"])
        assert least == min(ns for _, ns in times) and len(times) >= 2, line[0]
        assert float(line["spread"]) >= 1
        for way, label, score in CHOICE.findall(line["choices"]):
            limits = [((ns - 0.5) / (least + 0.5) - 5e-4, (ns + 0.5) / (least - 0.5) + 5e-4) for name, ns in times if name == label]
            assert any(low <= float(score) <= high for low, high in limits), line[0]
            scores.setdefault(way, []).append(float(score))
    return scores


def check_table(section, scores):
    """Compares the table of a section with the scores of its lines."""
    for way, values in scores.items():
        row = re.search(rf"^\| {WAYS[way]} \| ([\d.]+) \| ([\d.]+) \| (\d+) % \| (\d+) % \| (\d+) % \|", section, re.M)
        mean = math.exp(sum(map(math.log, values)) / len(values))
        assert abs(float(row[1]) - mean) < 2e-3 and abs(float(row[2]) - max(values)) < 1e-2
        for column, limit in ((3, 1.05), (4, 1.3), (5, 2)):
            if all(abs(value - limit) > 1e-3 for value in values):
                assert abs(int(row[column]) - 100 * sum(value <= limit for value in values) / len(values)) <= 0.5
    counted = len(scores["measured"])
    assert re.search(rf"\b{counted} with two candidates or more", section)


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_follow_from_the_lines(choice, family, tmp_path):
    done = choice(family, "--fixed", 3, "--random", 2, "--tuned", BACKPLANE_CACHE_DIR=str(tmp_path))
    assert done.code == 0, done
    parts = re.split(r"^### (.+)$", done.out, flags=re.M)
    assert parts[1::2] == [f"{family}, fixed, 1 thread", f"{family}, random, 1 thread"]
    for lines, section in zip(parts[0::2], parts[2::2]):
        scores = scores_of(lines)
        assert set(scores) == set(WAYS)
        check_table(section, scores)
        tuned = len(scores["tuned"])
        assert re.search(r"^Tuning, over .*: (\d+) of (\d+)\.$", section, re.M)
        libraries = re.findall(r"^\| (\S+) \| (\d+) \| [\d.]+ \| [\d.]+ \|$", section, re.M)
        assert len(libraries) >= 2 and all(1 <= int(count) <= tuned for _, count in libraries)
    assert (tmp_path / "tuning.txt").read_text().count("took") > 0


def test_untuned_run_measures_no_class(choice, tmp_path):
    done = choice("products", "--fixed", 2, "--random", 0, BACKPLANE_CACHE_DIR=str(tmp_path))
    assert done.code == 0 and set(scores_of(done.out)) == {"estimated", "measured"}
    assert "Tuning" not in done.out and not (tmp_path / "tuning.txt").exists()


def test_temporary_cache_is_removed(choice, environment, tmp_path):
    environment.pop("BACKPLANE_CACHE_DIR")
    done = choice("products", "--fixed", 1, "--random", 0)
    assert done.code == 0 and not list(tmp_path.glob("choice-*"))


def test_seed_selects_the_random_problems(choice):
    names = [LINE.findall(choice("products", "--fixed", 0, "--random", 3, "--seed", seed).out) for seed in (1, 1, 2)]
    first, again, other = ([line[0] for line in lines] for lines in names)
    assert len(first) == 3 and first == again != other


@pytest.mark.parametrize("words", [("--threads",), ("--random", "x"), ("--fixed", "-1"), ("qr",), ("products",) * 5])
def test_wrong_usage(choice, words):
    done = choice(*words)
    assert done.code == 2 and "usage: choice" in done.err and not done.out


def test_tables_of_the_page(choice, tmp_path):
    """tools/choice_tables.py copies the figures of the program's tables, and of a table of peers."""
    done = choice("products", "--fixed", 3, "--random", 0, "--tuned", BACKPLANE_CACHE_DIR=str(tmp_path))
    peer = "| matmul | 1 | float32 | numpy 2.4.6 | 16 | 1.69 | 0.55 | 1.07 | 7*101x99x97 |"
    (tmp_path / "run.txt").write_text(f"machine: one\nprocessor: two\n\n{done.out}\n{peer}\n")
    tables = subprocess.run([sys.executable, ROOT / "tools/choice_tables.py", tmp_path / "run.txt"], capture_output=True, text=True, check=True).stdout
    figures = re.findall(r"^\| (estimates|measured times|tuning) \| ([\d.]+) \| ([\d.]+) \|", done.out, re.M)
    assert len(figures) == 3
    for way, mean, worst in figures:
        assert f"| 1 | fixed products, 3 | {way} | {mean} | {worst} |" in tables
    native = re.search(r"^\| native \| 3 \| ([\d.]+) \|", done.out, re.M)[1]
    assert f"| native | {float(native):.2f} / - |" in tables
    assert re.search(r"^\| 1 \| fixed products \| \d+, \d+ \| ", tables, re.M)
    assert "| numpy 2.4.6 |" in tables and "| 1 | matmul | float32 | 1.69 (0.55; 1.07) |" in tables
