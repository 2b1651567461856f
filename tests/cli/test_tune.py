"""`backplane tune`: every operation is measured without a wrong result, from the command line, a trace, a log and a list."""

import json
import pathlib
import shutil
import subprocess

import pytest

from conftest import COMMAND

ONE = ["--set", "num_threads=1"]
OPERATIONS = [
    "matmul f32 40x30 30x20",
    "matmul bf16 8x9 9x7",
    "matmul f16 8x9 9x7",
    "matmul c128 5x6 6x7 --trans-a",
    "matmul f64 4x8x8 4x8x8",
    "gemm f64 6x5 5x4 6x4 --alpha 2 --beta 0.5",
    "fft c64 1000",
    "ifft c128 7x60",
    "rfft f64 64x100",
    "irfft c128 8x51",
    "irfftn c64 16x9",
    "hfft c64 33",
    "inv c64 30x30",
    "solve f64 50x50 50x3",
    "solve_triangular f32 40x40 40x5",
    "solve_triangular f64 40x40 40x5 --unitriangular --upper",
    "cholesky f32 60x60",
    "cholesky c128 30x30 --upper",
    "cholesky_solve f64 30x2 30x30",
    "cholesky_inverse f64 30x30",
    "lu_factor f64 40x30",
    "lu f64 30x40",
    "lu_solve f64 30x30 30 30x2",
    "ldl_factor f64 40x40",
    "ldl_factor c64 30x30 --hermitian",
    "ldl_solve c128 30x30 30 30x2 --hermitian",
    "qr f32 50x30",
    "qr c64 30x50 --mode complete",
    "eigh f64 40x40",
    "eigvalsh c64 20x20",
    "eig f64 30x30",
    "eigvals c64 20x20",
    "svd f64 40x30",
    "svdvals c64 20x30",
    "lstsq f64 50x20 50x2",
    "lstsq f32 20x20 20x2 --driver gelsd",
    "det f64 70x70",
    "slogdet f32 40x40",
    "pinv f32 20x30",
    "matrix_rank f64 30x30",
    "cond f64 30x30",
    "einsum ij,jk,kl->il f64 20x30 30x40 40x20",
    "einsum ijk->kji f64 8x9x10",
    "conv2d f32 2x8x20x20 4x8x3x3",
    "conv_transpose2d f32 2x8x10x10 8x4x3x3",
    "max_pool2d f32 2x8x20x20 --kernel 3",
    "avg_pool2d f32 2x8x20x20 --kernel 3",
    "batch_norm f32 4x8x10x10 8 8 8 8",
    "sdpa f32 2x4x60x16 2x4x60x16 2x4x60x16",
    "sdpa f32 2x60x16 2x60x16 2x60x16 --causal",
    "lstm f32 9x4x16 80x16 80x20",
    "gru f32 9x4x16 60x16 60x20",
    "unary f32 50x50 --kind log",
    "binary f64 50x50 50x50 --kind divide",
    "reduce f32 50x50 --kind sum",
    "softmax f32 50x50",
    "layer_norm f32 50x64",
]


@pytest.fixture
def environment(environment, tmp_path, probe_cache):
    """Records of these tests must not change the choices of others: each has a cache directory of its own."""
    if not (probe_cache / "libraries.txt").exists():
        subprocess.run([COMMAND, "list"], env=environment, stdout=subprocess.DEVNULL, check=True, timeout=120)
    own = tmp_path / "cache"
    own.mkdir(mode=0o700)
    shutil.copy(probe_cache / "libraries.txt", own)
    return {**environment, "BACKPLANE_CACHE_DIR": str(own)}


def test_no_operation_has_a_wrong_result(backplane, tmp_path, environment):
    """Every candidate of this machine agrees with the others, also where results are determined up to a factor only."""
    listing = tmp_path / "list.txt"
    listing.write_text("# every operation\n" + "\n".join(OPERATIONS) + "\n")
    done = backplane("tune", "--from", listing, "--json", *ONE)
    assert done.code == 0, done.err
    assert "wrongly" not in done.err
    facts = done.json
    assert facts["failed"] == facts["unread"] == facts["left"] == 0
    assert len(facts["problems"]) >= len(OPERATIONS)  # einsum has parts
    for problem in facts["problems"]:
        times = [c["time_ns"] for c in problem["candidates"] if c["time_ns"]]
        chosen = [c for c in problem["candidates"] if c["chosen"]]
        assert len(chosen) == 1
        if times:
            assert chosen[0]["time_ns"] == min(times), problem
            assert "measured" in problem["decision"]


def test_one_problem(backplane):
    done = backplane("tune", "matmul", "f64", "30x20", "20x10", *ONE)
    assert done.code == 0 and "30x20 @ 20x10" in done.out and "tuning.txt" in done.out
    explained = backplane("explain", "matmul", "f64", "30x20", "20x10", *ONE).out
    assert "lowest measured time" in explained and "measured just now" in explained
    shown = backplane("tune", "--show").out
    assert "matmul f64 30x20 @ 20x10 -> 30x10; 1 thread" in shown
    records = backplane("tune", "--show", "--json").json["records"]
    assert [r["problem"].split(";")[0] for r in records].count("matmul f64 30x20 @ 20x10 -> 30x10") == 1


@pytest.mark.parametrize(
    "problem, reason",
    [
        ("matmul f32 0x3 3x4", "its result has no elements"),
        ("matmul f32 6000x6000 6000x6000", "its operands are larger than 64 MiB"),
        ("matmul f32 20x20 20x20 --set deterministic=threads", "deterministic=threads uses no measured times"),
    ],
)
def test_what_cannot_be_measured_says_why(backplane, tmp_path, problem, reason):
    words = problem.split()
    done = backplane("tune", *words, *ONE)
    assert done.code == 4 and "nothing is measured: " in done.err and reason in done.err, done.err
    done = backplane("tune", "--json", *words, *ONE)
    assert done.code == 4 and done.json["failed"] == 1 and reason in done.json["problems"][0]["decision"]


@pytest.mark.parametrize("problem", ["unary f32 100 --kind relu", "reduce f32 10x10 --kind sum", "matmul f32 2x2 2x2 --set blas.preferred=native:tiny"])
def test_one_candidate_has_a_time(backplane, problem):
    done = backplane("tune", "--json", *problem.split(), *ONE)
    assert done.code == 0 and done.json["failed"] == 0, done.err
    assert [c["time_ns"] > 0 for c in done.json["problems"][0]["candidates"] if c["chosen"]] == [True]


def test_export_clear_import(backplane, tmp_path):
    file = tmp_path / "times.txt"
    backplane("tune", "matmul", "f64", "31x20", "20x10", *ONE)
    assert backplane("tune", "--export", file).code == 0
    assert "31x20" in file.read_text()
    assert backplane("tune", "--clear").code == 0
    assert "31x20" not in backplane("tune", "--show").out
    assert backplane("tune", "--import", file).code == 0
    assert "31x20" in backplane("tune", "--show").out
    assert backplane("tune", "--import", tmp_path / "absent").code == 4


def words(problems):
    return [p["problem"] for p in problems]


def test_from_a_trace_and_a_log(backplane, tmp_path):
    trace, log = tmp_path / "trace.json", tmp_path / "log.txt"
    event = '{{"name":"{}","cat":"x","ph":"X","ts":1.0,"dur":{},"args":{{"library":"a","problem":"{}"}}}}'
    trace.write_text(
        "[\n"
        + ",\n".join(
            [
                event.format("gemm", 1.5, "f64 9x8 @ 8x7 -> 9x7"),
                event.format("gemm", 9.5, "f32 9x8^T @ 8x7 -> 9x7"),
                event.format("gemm", 1, "f32 9x8 strided @ 8x7 -> 9x7"),
                event.format("gemm", 20, "f64 5x4^T @ 4x3 -> 5x3 + beta C"),
                event.format("gemm", 5, "f64 9x8 @ 8x7 -> 9x7"),
                event.format("fft", 4, "c64 6 x 40 forward real to complex"),
                event.format("fft", 3, "c128 31 inverse complex to real"),
                event.format("svd", 2, "f64 9x7 reduced"),
                event.format("einsum", 2, "f64 contraction"),
            ]
        )
        + "\n]\n"
    )
    done = backplane("tune", "--from", trace, "--json", *ONE)
    assert done.code == 0, done.err
    assert done.json["unread"] == 1
    assert words(done.json["problems"]) == [
        "f64 5x4^T @ 4x3 -> 5x3 + beta C",  # the longest total time first
        "f32 9x8^T @ 8x7 -> 9x7",
        "f64 9x8 @ 8x7 -> 9x7",
        "c64 6 x 40 forward real to complex",
        "c128 31 inverse complex to real",
        "f64 9x7 reduced",
    ]
    log.write_text(
        "backplane,gemm,blas,openblas,gemm,f64 9x6 @ 6x7 -> 9x7,threads 1,plan hit,OK,1.5 us\n"
        "backplane,solve,lapack,openblas,getrf, getrs,f64 9x9, 2 right sides,threads 1,plan new,OK,7.5 us\n"
        "backplane,candidate,f64 9x6 @ 6x7 -> 9x7,openblas,chosen,gemm,,1.0 us\n"
    )
    done = backplane("tune", "--from", log, "--json", *ONE)
    assert words(done.json["problems"]) == ["f64 9x9, 2 right sides", "f64 9x6 @ 6x7 -> 9x7"]


def test_recorded_problems_are_the_same_classes(backplane, tmp_path, environment):
    """A trace of explained calls leads to records that those calls find."""
    np = pytest.importorskip("numpy")
    for name, shape in (("a", (12, 8)), ("b", (8, 5))):
        np.save(tmp_path / f"{name}.npy", np.ones(shape))
    trace = tmp_path / "trace.json"
    run = [COMMAND, "eval", "matmul", tmp_path / "a.npy", tmp_path / "b.npy", "-o", tmp_path / "c.npy", *ONE]
    subprocess.run(run, env={**environment, "BACKPLANE_TRACE": str(trace)}, check=True, timeout=60)
    assert json.loads(trace.read_text())
    assert backplane("tune", "--from", trace, *ONE).code == 0
    assert "lowest measured" in backplane("explain", "matmul", "f64", "12x8", "8x5", *ONE).out


def test_calls_with_gaps_are_the_same_classes(backplane, tmp_path):
    """A trace names the leading dimensions, so that the same strided product is measured."""
    strided = ["matmul", "f64", "9x8", "8x7", "--lda=16", "--trans-b", "--ldb=20", "--ldc=10", *ONE]
    trace = tmp_path / "trace.json"
    trace.write_text(
        '{"name":"gemm","dur":1.5,"args":{"problem":"f64 9x8 ld 16 @ 8x7^T ld 20 -> 9x7 ld 10"}}\n'
        '{"name":"gemm","dur":1.0,"args":{"problem":"f64 5x4^T ld 6 @ 4x3 ld 8 -> 5x3 ld 9 + beta C"}}\n'
        '{"name":"gemm","dur":0.5,"args":{"problem":"f64 2 x 5x4 ld 6 @ 4x3 -> 5x3"}}\n'
    )
    done = backplane("tune", "--from", trace, "--json", *ONE)
    assert done.code == 0 and done.json["unread"] == 0, done.err
    assert words(done.json["problems"]) == [
        "f64 9x8 ld 16 @ 8x7^T ld 20 -> 9x7 ld 10",
        "f64 5x4^T ld 6 @ 4x3 ld 8 -> 5x3 ld 9 + beta C",
        "f64 2 x 5x4 ld 6 @ 4x3 -> 5x3",
    ]
    explained = backplane("explain", *strided).out
    assert "f64 9x8 ld 16 @ 8x7^T ld 20 -> 9x7 ld 10" in explained and "lowest measured" in explained
    assert "lowest measured" not in backplane("explain", "matmul", "f64", "9x8", "8x7", *ONE).out
    packed = [*ONE, "--set", "dispatch.packed=second"]
    assert backplane("tune", "matmul", "f64", "30x20", "20x10", *packed).code == 0
    assert "lowest measured" in backplane("explain", "matmul", "f64", "30x20", "20x10", *packed).out
    assert "; packed second" in backplane("tune", "--show").out


def test_wisdom_of_fftw_is_kept(backplane, environment):
    """FFTW's measurements differ between runs; equal ones were kept, not made again."""
    kept = pathlib.Path(environment["BACKPLANE_CACHE_DIR"]) / "plans.txt"
    shape = ["fft", "c128", "60", *ONE]
    if not any(row["library"] == "fftw" for row in backplane("explain", *shape, "--json").json["candidates"]):
        pytest.skip("FFTW is not installed")
    assert not kept.exists()
    backplane("explain", *shape, "--set", "tuning.start=now")  # benchmark is off
    assert not kept.exists()
    backplane("tune", *shape, "--set", "tuning.store=read")
    assert not kept.exists()
    assert backplane("tune", *shape).code == 0
    first = kept.read_text()
    assert "fftw_wisdom" in first
    assert backplane("tune", "--clear").code == 0
    assert backplane("tune", *shape).code == 0
    assert kept.read_text() == first
    assert backplane("tune", "fft", "c128", "72", *ONE).code == 0
    assert len(kept.read_text()) > len(first)  # merged


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give an operation"),
        (["--show", "--clear"], "give one of"),
        (["matmul", "f64", "2x2"], "it takes"),
        (["matmull", "f64", "2x2", "2x2"], "'matmul'"),
        (["--from", "/no/such/file"], "cannot open"),
        (["matmul", "f64", "2x2", "2x2", "--seconds", "0"], "--seconds"),
        (["matmul", "f64", "2x3", "3x2", "--lda", "2"], "--lda is 2; it must be at least 3"),
        (["matmul", "f64", "3", "3x2", "--lda", "4"], "has no rows"),
        (["fft", "f64", "8", "--lda", "9"], "it is for matmul, gemm"),
    ],
)
def test_errors(backplane, arguments, text):
    done = backplane("tune", *arguments)
    assert done.code in (2, 6) and text in done.err


def test_a_bad_line_does_not_stop_the_others(backplane, tmp_path):
    listing = tmp_path / "list.txt"
    listing.write_text("nonsense f64 2x2\nmatmul f64 6x6 6x6\n--json\n")
    done = backplane("tune", "--from", listing, *ONE)
    assert done.code == 2 and "no such operation" in done.err and "6x6 @ 6x6" in done.out


def test_a_wrong_file_gets_one_message(backplane, tmp_path):
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("".join(f"line{i} of a file\n" for i in range(183)))
    done = backplane("tune", "--from", wrong, *ONE)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
    assert f"{wrong}:1: no such operation: 'line0'" in done.err and "182 further lines" in done.err and "trace" in done.err


def test_times_that_cannot_be_kept(backplane, environment, tmp_path):
    """A path that no directory can be made in: what is said, and the exit code, tell that nothing was kept."""
    file = tmp_path / "file"
    file.write_text("")
    env = {"BACKPLANE_CACHE_DIR": str(file / "cache")}
    done = backplane("tune", "matmul", "f64", "6x6", "6x6", *ONE, env=env)
    assert done.code != 0 and "none are kept" in done.out and "tuning.txt" not in done.out and "6x6 @ 6x6" in done.out
    listing = tmp_path / "list.txt"
    listing.write_text("matmul f64 6x6 6x6\n")
    assert backplane("tune", "--from", listing, *ONE, env=env).code != 0
    done = backplane("tune", "matmul", "f64", "6x6", "6x6", *ONE, env={"BACKPLANE_TUNING_STORE": "off"})
    assert done.code == 0 and "tuning.store" in done.out and "tuning.txt" not in done.out


def test_the_machine_is_measured_and_a_later_run_goes_on(backplane, environment, tmp_path):
    folder = tmp_path / "measured"
    folder.mkdir(mode=0o700)
    changed = {"BACKPLANE_CACHE_DIR": str(folder), "BACKPLANE_CALIBRATION": "auto",
               "BACKPLANE_REGISTRY_SYSTEM": "false"}
    first = backplane("tune", "--machine", "--json", "--seconds", "1", env=changed)
    assert first.code == 0 and (folder / "calibration.txt").stat().st_size > 1000
    done = backplane("tune", "--machine", "--json", "--seconds", "110", env=changed)
    assert done.json["complete"]
    again = backplane("tune", "--machine", env=changed)
    assert "Everything was measured before." in again.out
    explained = backplane("explain", "fft", "c128", "64", "--json", env=changed).json
    assert [c["time_source"] for c in explained["candidates"] if c["accepted"]] == ["measured"]
