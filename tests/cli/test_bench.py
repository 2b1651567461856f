"""bench: its table, JSON and messages. No test depends on how fast anything is."""

import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from conftest import BUILD, COMMAND, NO_LEAK_CHECK, ROOT
from test_terminal import on_terminal


def processor_time():
    """Returns the seconds that ended child processes have used of processors, whatever else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


QUICK = ["--threads", "1", "--seconds", "20"]
SCHEMA = {"schema", "schema_version", "version", "date", "seconds", "interrupted", "machine", "libraries", "cases", "overheads"}
CASE = {
    "operation",
    "dtype",
    "size",
    "threads",
    "problem",
    "skipped",
    "flops",
    "bytes",
    "unit",
    "chosen",
    "best",
    "ratio",
    "slowdown",
    "error_text",
    "error_bound",
    "results",
}
RESULT = {
    "library",
    "provider",
    "algorithm",
    "version",
    "threads",
    "chosen",
    "samples",
    "median_ns",
    "fastest_ns",
    "low_ns",
    "high_ns",
    "speed",
    "error",
    "wrong",
    "failure",
}


@pytest.fixture
def bench(backplane):
    def run(*words, env=None):
        return backplane("bench", *words, env=env or NO_LEAK_CHECK)

    return run


def operations(backplane):
    """The names in the help, and the sizes."""
    text = backplane("bench", "--help").out
    lines = text[text.index("\nOperations\n") :].splitlines()[3:]
    return [line.split()[0] for line in lines if line.strip()]


def test_help_lists_operations(backplane):
    names = operations(backplane)
    runs = {row["name"] for row in backplane("help", "--json").json["operations"] if row["explains"]}
    assert len(names) == len(set(names)) and set(names) == runs
    assert ["matmul", "fft", "solve"] == names[:3]


def test_what_is_measured_without_options(bench, backplane):
    """Few operations at seven rising sizes each, in two types, on all cores: lines, and no dots."""
    facts = bench("--libraries", "native", "--seconds", "0.01", "--json").json
    cases = {}
    for case in facts["cases"]:
        cases.setdefault((case["operation"], case["dtype"], case["threads"]), []).append(case["size"])
    cpus = facts["machine"]["usable_cpus"]
    assert set(cases) == {(name, dtype, cpus) for name, dtypes in
                          (("matmul", "f32 f64"), ("fft", "c64 c128"), ("solve", "f32 f64")) for dtype in dtypes.split()}
    assert all(len(sizes) == 7 and sizes == sorted(set(sizes)) for sizes in cases.values())
    assert cases["matmul", "f32", cpus] == [16, 32, 64, 128, 256, 512, 1024]
    assert all(sizes[1::2] == [size // 4 * 4 for size in sizes[1::2]] for sizes in cases.values())


def test_sizes_of_every_operation_rise(bench, backplane):
    names = operations(backplane)
    facts = bench(*names, "--dtype", "f32", "--libraries", "native", "--threads", "1", "--seconds", "0.01", "--json").json
    sizes = {name: [case["size"] for case in facts["cases"] if case["operation"] == name] for name in names}
    assert all(len(found) == 7 and found == sorted(set(found)) for found in sizes.values()), sizes


def test_pages_and_completions_name_every_operation_and_member(backplane):
    guide = (ROOT / "docs/reference/bench.md").read_text()
    files = [ROOT / "docs/reference/backplane.1", *(ROOT / "completions" / name for name in ("backplane.bash", "_backplane", "backplane.fish"))]
    for name in operations(backplane):
        assert f"`{name}`" in guide
        for file in files:
            assert re.search(rf"\b{name}\b", file.read_text()), (name, file)
    for member in SCHEMA | CASE | RESULT:
        assert f"`{member}`" in guide or f"`{member}[]`" in guide or f'`"{member}"`' in guide, member


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["matmull"], "'matmul'"),
        (["concat"], "uses no library"),
        (["matmul", "--stride", "2"], "matmul takes no option --stride"),
        (["conv2d", "fft", "--stride", "2"], "fft takes no option --stride"),
        (["--kernel", "2"], "takes no option --kernel"),
        (["matmul", "fft", "--shapes", "nxn,nxn"], "one operation"),
        (["matmul", "--shapes", "nxn"], "matmul takes A B"),
        (["matmul", "--shapes", "nxn,nxn,n"], "matmul takes A B"),
        (["matmul", "--shapes", "nxm,nxn"], "shapes such as"),
        (["matmul", "--shapes", "nx,nxn"], "shapes such as"),
        (["matmul", "--shapes", ",nxn"], "shapes such as"),
        (["matmul", "--shapes", "nxn:half,nxn"], "shapes such as"),
        (["gemm", "--shapes", "nxn,nxn,nxn"], "gemm overwrites C"),
        (["unary", "--kind", "expp"], "'exp'"),
        (["matmul", "matmul"], "twice"),
        (["matmul", "--sizes", "0"], "--sizes"),
        (["matmul", "--sizes", "16777217"], "--sizes"),
        (["matmul", "--sizes", "4,,8"], "--sizes"),
        (["matmul", "--sizes", ""], "--sizes"),
        (["matmul", "--sizes", "4x4"], "--sizes"),
        (["matmul", "--sizes", "-4"], "--sizes"),
        (["matmul", "--sizes", "8,4,8"], "twice"),
        (["matmul", "--sizes", ",".join(map(str, range(1, 66)))], "1 to 64 items"),
        (["matmul", "--dtype", "f33"], "f32"),
        (["matmul", "--dtype", "f32,f32"], "twice"),
        (["matmul", "--dtype", "i16"], "--dtype"),
        (["matmul", "--threads", "0"], "--threads"),
        (["matmul", "--threads", "1,1"], "twice"),
        (["matmul", "--threads", "1025"], "--threads"),
        (["matmul", "--libraries", "nativ"], "'native'"),
        (["matmul", "--libraries", "native,native"], "twice"),
        (["matmul", "--seconds", "0"], "--seconds"),
        (["matmul", "--seconds", "-1"], "--seconds"),
        (["matmul", "--seconds", "nan"], "--seconds"),
        (["matmul", "--seconds", "1e9"], "--seconds"),
        (["matmul", "--seconds", "5s"], "--seconds"),
        (["matmul", "--html", "-", "--json"], "standard output"),
        (["matmul", "--set", "num_threads"], "num_threads"),
    ],
)
def test_wrong_usage(bench, words, hint):
    done = bench(*words)
    assert done.code == 2 and done.out == "", done
    assert hint in done.err and done.err.startswith("backplane: bench: ") and done.err.count("\n") == 1


def test_page_that_cannot_be_written_is_found_first(bench, tmp_path):
    start = processor_time()
    done = bench("matmul", "--seconds", "600", "--html", str(tmp_path / "no" / "page.html"))
    assert done.code == 6 and "page.html" in done.err and processor_time() - start < 60


def check_result(case, result):
    assert set(result) == RESULT
    if result["samples"] == 0:
        assert result["failure"] and result["median_ns"] is None and result["speed"] is None
        return
    assert result["failure"] is None and result["algorithm"] is not None
    assert 0 < result["fastest_ns"] <= result["low_ns"] <= result["median_ns"] <= result["high_ns"]
    work = case["flops"] if case["unit"] == "GFLOP/s" else case["bytes"]
    assert math.isclose(result["speed"], work / result["median_ns"], rel_tol=1e-6)
    if case["error_text"]:
        assert 0 <= result["error"] <= (case["error_bound"] or 0) and not result["wrong"]


def check_case(case):
    assert set(case) == CASE
    for result in case["results"]:
        check_result(case, result)
    times = {r["library"]: r["median_ns"] for r in case["results"] if r["samples"]}
    if case["skipped"]:
        assert not case["results"] and case["ratio"] is None and case["slowdown"] is None
        return
    assert case["problem"] and case["bytes"] > 0 and case["flops"] > 0
    assert case["best"] == min(times, key=times.get)
    assert [r["library"] for r in case["results"] if r["chosen"]] == [case["chosen"]]
    assert math.isclose(case["ratio"], times[case["chosen"]] / times[case["best"]], rel_tol=1e-6) and case["ratio"] >= 1
    assert case["slowdown"] >= 1


def test_json(bench, backplane):
    names = ["matmul", "solve", "fft", "einsum", "vecdot"]
    done = bench(*names, "--sizes", "12,4", "--dtype", "f64,f32", *QUICK, "--json")
    assert done.code == 0, done
    facts = done.json
    assert set(facts) == SCHEMA
    assert facts["schema"] == "backplane-bench" and facts["schema_version"] == 1 and facts["interrupted"] is False
    assert min(case["slowdown"] for case in facts["cases"] if not case["skipped"]) == 1
    assert facts["version"] == backplane("version", "--json").json["version"]
    cases = facts["cases"]
    assert [(c["size"], c["operation"]) for c in cases if c["dtype"] in ("f32", "c64")] == [(s, n) for s in (4, 12) for n in names]
    for case in cases:
        check_case(case)
        assert case["threads"] == 1 and case["unit"] == ("GB/s" if case["operation"] == "vecdot" else "GFLOP/s")
        assert case["dtype"] in (("c64", "c128") if case["operation"] == "fft" else ("f32", "f64"))
    measured = [c for c in cases if not c["skipped"]]
    assert measured and all(c["error_text"] for c in measured)
    ran = {r["library"] for c in cases for r in c["results"] if r["samples"]}
    assert {row["id"] for row in facts["libraries"]} == ran and "native" in ran
    assert [row["operation"] for row in facts["overheads"]] == names
    assert all(row["one_shot_ns"] > 0 and row["plan_ns"] > 0 and row["library"] for row in facts["overheads"])
    assert [row["threads"] for row in facts["machine"]["bandwidth"]] == [1]
    assert {(row["dtype"], row["threads"]) for row in facts["machine"]["peak"]} == {("f32", 1), ("f64", 1)}


def test_flops(bench):
    """Counted as the help says; complex numbers take four times as many."""
    want = {"matmul": 2 * 8**3, "cholesky": 8**3 / 3, "fft": 5 * 8 * 3, "einsum": 4 * 8**4, "svd": 22 * 8**3, "rfft": 60}
    facts = bench(*want, "--sizes", "8", "--dtype", "f64", *QUICK, "--json").json
    for case in facts["cases"]:
        assert math.isclose(case["flops"], want[case["operation"]])
    case = bench("matmul", "--sizes", "8", "--dtype", "c128", *QUICK, "--json").json["cases"][0]
    assert case["flops"] == 4 * want["matmul"] and case["bytes"] == 3 * 64 * 16


def test_choice_is_that_of_a_call(bench, backplane):
    facts = bench("matmul", "svd", "--sizes", "6,40", "--dtype", "f64", *QUICK, "--json").json
    for case in facts["cases"]:
        shape = f"{case['size']}x{case['size']}"
        shapes = [shape] * (2 if case["operation"] == "matmul" else 1)
        told = backplane("explain", case["operation"], "f64", *shapes, "--set", "num_threads=1", "--json").json
        assert case["chosen"] == next(row["library"] for row in told["candidates"] if row["chosen"])


def test_every_operation(bench, backplane):
    """Each operation runs, is checked where there is a check, and has an overhead if it has a plan."""
    names = operations(backplane)
    done = bench(*names, "--sizes", "5", "--dtype", "f64", "--libraries", "native", "--threads", "1", "--seconds", "120", "--json")
    assert done.code == 0, done
    assert [case["operation"] for case in done.json["cases"]] == names
    for case in done.json["cases"]:
        check_case(case)
        assert not case["skipped"] and bool(case["error_text"]) == (case["flops"] <= 6e6), case
    assert [row["operation"] for row in done.json["overheads"]] == [name for name in names if name != "matrix_power"]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_types_of_layers(bench, dtype):
    names = ["conv2d", "conv2d_weight", "max_pool2d_input", "batch_norm_gradients", "layer_norm", "sdpa", "sdpa_gradients", "lstm",
             "lstm_gradients", "random_normal", "unary", "take", "softmax_input"]
    done = bench(*names, "--sizes", "3", "--dtype", dtype, "--libraries", "native", *QUICK, "--json")
    assert done.code == 0, done
    for case in done.json["cases"]:
        check_case(case)
        assert case["dtype"] == dtype


def test_types_without_products(bench, tmp_path):
    """Integers have no peak, which is measured on a product."""
    page = tmp_path / "page.html"
    done = bench("reduce", "--kind", "max", "--sizes", "3", "--dtype", "i32,i64,f32", *QUICK, "--json", "--html", page)
    assert done.code == 0, done
    assert [case["dtype"] for case in done.json["cases"]] == ["i32", "i64", "f32"]
    for case in done.json["cases"]:
        check_case(case)
    assert {peak["dtype"] for peak in done.json["machine"]["peak"]} == {"f32"} and page.stat().st_size > 0


def test_options_of_operations(bench):
    """The options change the problem, and the count of its operations."""
    work = 2 * 8 * 32 * 32 * 9

    def case(*words):
        done = bench(*words, "--dtype", "f32", "--libraries", "native", *QUICK, "--json")
        assert done.code == 0, done
        return done.json["cases"][0]

    assert case("conv2d", "--sizes", "6")["flops"] == work * 36
    assert case("conv2d", "--sizes", "6", "--stride", "2")["flops"] == work * 9
    assert case("conv2d", "--sizes", "6", "--padding", "0")["flops"] == work * 16
    grouped = case("conv2d", "--sizes", "6", "--groups", "4", "--shapes", "8x32xn*,32x8x3x3,32")
    assert grouped["flops"] == work * 36 / 4 and grouped["bytes"] == 4 * (2 * 8 * 32 * 36 + 32 * 8 * 9 + 32)
    assert case("conv2d_input", "--sizes", "6")["flops"] == case("conv2d_weight", "--sizes", "6")["flops"] == work * 36
    assert case("sdpa", "--sizes", "6")["flops"] == 2 * 8 * 6 * 6 * (64 + 64)
    assert case("sdpa_gradients", "--sizes", "6")["flops"] == 2 * 8 * 6 * 6 * 5 * 64
    assert case("gru", "--sizes", "6")["flops"] == 2 * 16 * 16 * 2 * 3 * 36
    assert case("matrix_power", "--sizes", "6", "--power", "7")["flops"] == 4 * 2 * 6**3
    assert "mean" in case("reduce", "--sizes", "6", "--kind", "mean")["problem"]
    assert case("take", "--shapes", "100x7,n", "--sizes", "6")["bytes"] == 700 * 4 + 6 * 8 + 42 * 4


def test_help_of_an_operation(backplane):
    text = backplane("bench", "conv2d", "--help").out
    assert "--stride" in text and "--sizes" in text and "--kernel" not in text and "8x32xnxn, 32x32x3x3" in text
    assert backplane("bench", "conv22d", "--help").code == 2


def test_some_libraries(bench):
    case = bench("matmul", "--sizes", "200", "--dtype", "f32", "--libraries", "native", *QUICK, "--json").json["cases"][0]
    assert {r["library"] for r in case["results"]} == {"native", case["chosen"]}


def test_types_that_an_operation_does_not_take(bench):
    done = bench("rfft", "--sizes", "8", "--dtype", "c64", *QUICK)
    assert done.code == 3 and "rfft takes real input" in done.err and done.err.count("\n") == 1


def test_time_limit(bench):
    """What does not fit the time is skipped with a reason, and the command ends."""
    start = processor_time()
    facts = bench("svd", "--sizes", "4,60000", "--dtype", "f64", "--threads", "1", "--seconds", "600", "--json").json
    assert processor_time() - start < 100
    last = facts["cases"][-1]
    assert last["size"] == 60000 and "too long" in last["skipped"] and last["ratio"] is None


def test_first_case_on_a_busy_machine(bench):
    """The bandwidth and the smallest calls take longer than the whole limit here, as they do elsewhere on a busy machine."""
    facts = bench("matmul", "--sizes", "4,5", "--dtype", "f64", "--threads", "1", "--seconds", "0.001", "--json").json
    assert facts["seconds"] > 0.001
    first, second = facts["cases"]
    assert first["skipped"] is None and first["ratio"] >= 1
    assert second["skipped"] == "the time was over"


def test_arrays_that_do_not_fit(bench):
    facts = bench("einsum", "--sizes", "3000", "--dtype", "f32", "--threads", "1", "--seconds", "86400", "--json").json
    assert facts["cases"][0]["skipped"] == "it needs too much memory"


def test_settings_apply(bench):
    facts = bench("matmul", "--sizes", "8", "--dtype", "f64", *QUICK, "--set", "dispatch.exclude=native", "--json").json
    assert "native" not in {r["library"] for r in facts["cases"][0]["results"]}
    assert bench("matmul", "--sizes", "8", *QUICK, "--set", "num_thread=1").code == 2


def test_text(bench):
    done = bench("matmul", "fft", "--sizes", "4", "--dtype", "f32", *QUICK)
    assert done.code == 0 and done.err == "", done
    table, score, errors, overheads, machine = done.out.split("\n\n")[:5]
    assert table.splitlines()[0].split() == "OPERATION TYPE N THREADS CHOICE TIME IQR SPEED RATIO OTHERS".split()
    assert [line.split()[:4] for line in table.splitlines()[1:]] == [["matmul", "f32", "4", "1"], ["fft", "c64", "4", "1"]]
    assert "geometric mean" in score and "native" in errors
    assert "matmul" in overheads and "GB/s" in machine and "peak f32" in machine


@pytest.mark.parametrize("columns", [60, 80, 120, 160])
def test_fits_the_terminal(environment, columns):
    words = ["bench", "matmul", "vector_norm", "--sizes", "6,70", "--dtype", "f64", *QUICK]
    shown = on_terminal({**environment, **NO_LEAK_CHECK}, *words, columns=columns, NO_COLOR="1")
    body = [line.split("\r")[-1] for line in shown.splitlines()]  # behind the progress bar
    assert max(len(line) for line in body) <= columns, body
    assert any("matmul" in line for line in body) and any("GB/s" in line for line in body)
    for name in "OPERATION THREADS CHOICE TIME IQR SPEED RATIO OTHERS ERROR ONE-SHOT".split():
        assert any(name in line for line in body), name


def test_a_busy_machine_is_a_finding(bench, tmp_path):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    done = bench("matmul", "--sizes", "4", *QUICK, "--html", tmp_path / "page.html", env={"BACKPLANE_THREADS_ADAPT": "on", **NO_LEAK_CHECK})
    for process in busy:
        process.kill()
        process.wait()
    assert done.code == 0
    kept = re.search(r"Other processes kept ([\d.]+) of (\d+) processors busy", (tmp_path / "page.html").read_text())
    assert 0.5 < float(kept[1]) <= float(kept[2])


def test_progress_on_terminals_only(bench, environment):
    assert "#" in on_terminal({**environment, **NO_LEAK_CHECK}, "bench", "matmul", "--sizes", "4,8", *QUICK, NO_COLOR="1")
    done = bench("matmul", "--sizes", "4", *QUICK)
    assert done.err == "" and "\r" not in done.out


def interrupt(environment, tmp_path, *words, after):
    process = subprocess.Popen(
        [COMMAND, "bench", "--seconds", "600", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, **NO_LEAK_CHECK},
        cwd=tmp_path,
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    return process.returncode, out.decode(), err.decode()


def test_interrupt_shows_what_is_done(environment, backplane, tmp_path):
    backplane("list")  # probes the libraries, which is no part of the measurement
    code, out, err = interrupt(environment, tmp_path, "--json", "--html", "page.html", after=5)
    assert code == -signal.SIGINT and err == ""
    facts = json.loads(out)
    assert facts["interrupted"] and set(facts) == SCHEMA
    assert facts["cases"][-1]["skipped"] == "interrupted"
    assert "interrupted" in (tmp_path / "page.html").read_text()


def test_wrong_library(bench, tmp_path):
    """A library that is fast and wrong: reported, and not the fastest one."""
    if not (BUILD / "tests" / "dispatch-second" / "second.so").exists():
        pytest.skip("the C tests and what they need are not built")
    places = {
        "BACKPLANE_REGISTRY_SYSTEM": "false",
        "BACKPLANE_LIBRARY_PATH": str(BUILD / "tests" / "dispatch-twins" / "one"),
        "BACKPLANE_PROVIDER_PATH": str(BUILD / "tests" / "dispatch-second"),
    }
    done = bench("matmul", "--sizes", "20", "--dtype", "f64", *QUICK, "--json", "--html", tmp_path / "page.html", env=places)
    finding = re.search(r'<ul class="findings">\s*<li class="error">(.*?)</li>', (tmp_path / "page.html").read_text(), re.S)
    assert "gives a wrong result" in finding[1] and "<code>backplane set dispatch.exclude " in finding[1]
    case = done.json["cases"][0]
    wrong = [r for r in case["results"] if r["wrong"]]
    assert [r["provider"] for r in wrong] == ["second"] and wrong[0]["error"] > case["error_bound"]
    assert done.code == 1 and "gave a wrong result" in done.err
    assert case["best"] == "native"
