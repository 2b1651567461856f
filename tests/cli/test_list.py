"""list and doctor: table and JSON agree, and doctor finds the problems that a test makes."""

import os
import re
import resource
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, COMMAND, ROOT, SANITIZED


def test_list_table_and_json_agree(backplane):
    text, facts = backplane("list"), backplane("list", "--json")
    assert text.code == facts.code == 0
    facts = facts.json
    assert text.out.split("\n")[0].split() == [
        "ID",
        "VERSION",
        "INTERFACES",
        "INT",
        "BITS",
        "THREADING",
        "KERNEL",
        "SET",
        "STATE",
        "PATH",
    ]
    for row in facts["libraries"]:
        assert any(line.startswith(row["id"] + " ") for line in text.out.splitlines()) == (row["state"] != "facade")
        assert row["state"] in ("ok", "facade", "broken", "untrusted", "unprobed")
        assert row["path"] or "builtin" in row["kinds"]
    assert len({row["id"] for row in facts["libraries"]}) == len(facts["libraries"])
    assert any(p["name"] == "native" and p["status"] == "OK" for p in facts["providers"])
    assert facts["searched"] and facts["problems"] == []


def test_list_all_shows_everything(backplane):
    everything, facts = backplane("list", "--all"), backplane("list", "--json").json
    assert everything.code == 0
    for row in facts["libraries"]:
        assert row["path"] in everything.out and row["build_id"] in everything.out
        assert all(alias in everything.out for alias in row["aliases"])
    assert all(place["place"] in everything.out for place in facts["searched"])


@pytest.mark.skipif(bool(SANITIZED), reason=f"a sanitizer ({SANITIZED}) reserves more address space than this test allows")
@pytest.mark.skipif(bool(os.environ.get("TESTED_EMULATED")), reason="an emulator reserves more address space than this test allows")
def test_list_counts_files_without_address_space(tmp_path):
    """A file that is larger than the limit cannot be mapped. The list has it, with the limit."""
    file = tmp_path / "libblas.so.3"
    with open(file, "wb") as made:
        made.truncate(1 << 40)
    environment = os.environ | {"BACKPLANE_LIBRARY_PATH": str(tmp_path), "BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_REGISTRY_CACHE": "off"}

    def limited(*words):
        return subprocess.run(
            [str(COMMAND), "list", *words],
            capture_output=True,
            env=environment,
            text=True,
            timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
        ).stdout

    assert "1 file was not read, because this process has too little address space" in limited()
    assert str(file) not in limited()
    assert "RLIMIT_AS" in limited("--all") and str(file) in limited("--all")


def test_list_sees_the_virtual_environment(backplane):
    """The tests use the libraries of .venv in every environment."""
    wheels = {str(p.resolve()) for p in (ROOT / ".venv").glob("lib/python3*/site-packages/*.libs/*openblas*.so*")}
    assert wheels, ".venv has no NumPy with a BLAS of its own"
    assert wheels <= {row["path"] for row in backplane("list", "--json").json["libraries"]}


def test_list_sees_the_same_without_the_variable(backplane):
    """The built command finds .venv through the file backplane-environment, so that `build/backplane list` shows the libraries of `make run`."""
    paths = [{row["path"] for row in backplane("list", "--json", env=env).json["libraries"]} for env in ({}, {"VIRTUAL_ENV": ""})]
    assert paths[0] == paths[1]


def test_an_environment_that_others_name_is_not_searched(backplane, tmp_path):
    for name in ("backplane", "libbackplane.so.0"):
        shutil.copy(BUILD / name, tmp_path / name)
    file = tmp_path / "backplane-environment"
    file.write_text(f"{tmp_path}/env\n")
    (tmp_path / "env" / "lib").mkdir(parents=True)

    def searched():
        done = backplane("list", "--json", env={"VIRTUAL_ENV": ""}, command=tmp_path / "backplane")
        return {place["place"]: place["outcome"] for place in done.json["searched"]}

    assert f"{tmp_path}/env/lib" in searched()
    file.chmod(0o666)
    assert f"{tmp_path}/env/lib" not in searched() and "another user" in searched()[str(file)]
    file.chmod(0o644)
    for text in (b"env\n", b"", f"{tmp_path}/env\0\n".encode()):
        file.write_bytes(text)
        assert searched()[str(file)] == "names no absolute path"
    for text in (b"/" * 5000, b"/" * 5000000):
        file.write_bytes(text)
        assert "longer than a path" in searched()[str(file)]
    file.unlink()
    assert str(file) not in searched()
    os.mkfifo(file)  # must not be waited for
    assert "cannot be read" in searched()[str(file)]


def test_list_probe(backplane):
    assert backplane("list", "--probe", "--json").json["libraries"]


def test_list_shows_problems(backplane):
    assert len(backplane("list", "--json", env={"BACKPLANE_NUM_THREADS": "x"}).json["problems"]) == 1


def test_list_without_any_library(backplane):
    done = backplane("list", "--json", env={"BACKPLANE_REGISTRY_SYSTEM": "false"})
    assert done.code == 0
    assert [row["id"] for row in done.json["libraries"] if "blas" in row["kinds"]] in ([], ["native"])


FAKES = BUILD / "tests" / "registry-fakes"


def only(folder, **more):
    """The variables under which a folder of fake libraries is all that there is."""
    path = ":".join(str(FAKES / name) for name in folder.split(":"))
    return {"BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_REGISTRY_CACHE": "off", "BACKPLANE_LIBRARY_PATH": path, **more}


def test_a_wrong_routine_is_shown_and_refused(backplane):
    """A LAPACK whose dpotrf computes nothing: seen in list, doctor and explain, and never chosen for that."""
    env = only("lapack-wrong")
    row = next(r for r in backplane("list", "--json", env=env).json["libraries"] if r["path"])
    sentence = "wrong results in probe: dpotrf, random matrix: the product of the factors differs from the matrix"
    assert row["state"] == "ok" and row["faults"] == ["cholesky f64: " + sentence]
    assert "(not for cholesky f64; see --all)" in backplane("list", env=env).out
    assert sentence in " ".join(backplane("list", "--all", env=env).out.split())
    found = [f for f in backplane("doctor", "--json", env=env).json["findings"] if sentence in f["finding"]]
    assert len(found) == 1 and found[0]["severity"] == "warning"
    wide = backplane("explain", "cholesky", "f64", "8x8", env=env)
    narrow = backplane("explain", "cholesky", "f32", "8x8", env=env)
    assert f"refused: {sentence}" in wide.out and "+ blas " not in wide.out and "* blas " not in wide.out
    assert sentence not in narrow.out and "blas               lapack     potrf" in narrow.out


needs_onednn = pytest.mark.skipif(not (FAKES / "dnn-none").exists(), reason="oneDNN 3 was not there when the tests were built")


@needs_onednn
def test_a_wrong_primitive_is_shown_and_refused(backplane):
    """A oneDNN whose products of integers saturate: seen in list, doctor and explain, and used for products of floats."""
    env = only("dnn-saturates")
    sentence = "wrong results in probe: op NN, 3x5x7, all elements -128 and -128"
    row = next(r for r in backplane("list", "--json", env=env).json["libraries"] if r["family"] == "onednn")
    assert row["state"] == "ok" and "matmul i8 x i8: " + sentence in row["faults"]
    assert not any(line.startswith("matmul f32") for line in row["faults"])
    assert sentence in " ".join(backplane("list", "--all", env=env).out.split())
    found = [f["finding"] for f in backplane("doctor", "--json", env=env).json["findings"] if sentence in f["finding"]]
    assert len(found) == 1 and "not offered" not in found[0]
    assert f"its matmul i8 x i8: {sentence}" in backplane("explain", "matmul", "i8", "8x8", "8x8", env=env).out
    assert sentence not in backplane("explain", "matmul", "f32", "8x8", "8x8", env=env).out


@needs_onednn
def test_a_primitive_that_the_processor_lacks_is_no_finding(backplane):
    """Without products of f16 and of integers, doctor reports nothing, and list says so."""
    env = only("dnn-reference")
    assert "matmul i8 x i8: not offered on this processor" in " ".join(backplane("list", "--all", env=env).out.split())
    assert not any("not offered" in f["finding"] for f in backplane("doctor", "--json", env=env).json["findings"])


def test_a_library_that_passes_calls_on_is_never_chosen(backplane):
    env = only("dropin:plain")
    rows = {r["id"]: r for r in backplane("list", "--json", env=env).json["libraries"] if r["path"]}
    assert rows["blas"]["state"] == "ok" and rows["blas-libdropin"]["state"] == "facade"
    assert "libdropin" not in backplane("explain", "matmul", "f32", "64x64", "64x64", env=env).out
    assert "libdropin" not in backplane("list", env=env).out
    for name in ("flexiblas", "trampoline", "backplane-dropin"):
        rows = [r for r in backplane("list", "--json", env=only(name)).json["libraries"] if r["path"]]
        assert [r["state"] for r in rows] == ["facade"]
        assert rows[0]["id"] not in backplane("explain", "matmul", "f32", "64x64", "64x64", env=only(name)).out


def test_a_lapack_alone_names_its_blas(backplane):
    env = only("openmp")
    row = next(r for r in backplane("list", "--json", env=env).json["libraries"] if r["path"].endswith("/libalone.so"))
    assert row["blas"] == "blas" and row["threading"] == "libgomp"
    assert "libalone.so (products by blas" in backplane("list", env=env).out


# ---- doctor ----


def findings(backplane, **environment):
    done = backplane("doctor", "--json", env=environment)
    found = done.json["findings"]
    worst = max(["ok", "note", "warning", "error"].index(f["severity"]) for f in found)
    assert done.code == (1 if worst > 1 else 0)
    return found


def of(found, check):
    return [f for f in found if f["check"] == check and f["severity"] != "ok"]


def test_every_check_reports(backplane):
    names = {f["check"] for f in findings(backplane)}
    assert names == {
        "configuration",
        "missing",
        "broken",
        "providers",
        "shadowed",
        "alternatives",
        "kernels",
        "kernel variables",
        "openmp",
        "pools",
        "thread limits",
    }


def test_text_and_json_agree(backplane):
    text, found = backplane("doctor"), findings(backplane)
    assert sum(
        line.split()[0] in ("ok", "note", "warning", "error") and not line.startswith(" ")
        for line in text.out.splitlines()
    ) == len(found)
    for f in found:
        assert f["finding"] in text.out and f["advice"] in text.out


def test_no_fast_blas(backplane):
    found = of(findings(backplane, BACKPLANE_REGISTRY_SYSTEM="false"), "missing")
    assert any("no optimised BLAS" in f["finding"] and "install" in f["advice"] for f in found)


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("OPENBLAS_CORETYPE", "Prescott", "warning"),
        ("OPENBLAS_L2_SIZE", "512", "warning"),
        ("BLIS_ARCH_TYPE", "generic", "warning"),
        ("BLIS_ARCH_TYPE", "5", "warning"),
        ("MKL_ENABLE_INSTRUCTIONS", "SSE4_2", "warning"),
        ("MKL_DEBUG_CPU_TYPE", "5", "warning"),
        ("LIBXSMM_TARGET", "snb", "warning"),
        ("ATEN_CPU_CAPABILITY", "default", "warning"),
        ("OPENBLAS_CORETYPE", "Unheard", "note"),
    ],
)
def test_variables_that_slow_kernels(backplane, name, value, severity):
    if backplane("version", "--json").json["cpu_hardware_capability"] not in ("AVX2", "AVX512"):
        pytest.skip("needs a processor with AVX2, whose kernels a variable can take away")
    plain = {"OPENBLAS_CORETYPE": "", "OPENBLAS_L2_SIZE": ""}  # a machine may set them for an older OpenBLAS
    assert of(findings(backplane, **plain), "kernel variables") == []
    found = of(findings(backplane, **{**plain, name: value}), "kernel variables")
    assert any(f["severity"] == severity and f"{name}={value}" in f["finding"] for f in found)


def test_stale_coretype_shows_in_the_kernels_too(backplane, tmp_path):
    """The probe of a library has the environment of the user's program."""
    facts = backplane("version", "--json").json
    rows = backplane("list", "--json").json["libraries"]
    if facts["cpu_hardware_capability"] == "DEFAULT" or not any(
        r["family"] == "openblas" and r["state"] == "ok" for r in rows
    ):
        pytest.skip("needs OpenBLAS and a processor with AVX2")
    found = of(
        findings(backplane, OPENBLAS_CORETYPE="Prescott", BACKPLANE_CACHE_DIR=str(tmp_path / "fresh")), "kernels"
    )
    assert any(
        "openblas" in f["finding"] and "Prescott" in f["finding"] and "OPENBLAS_CORETYPE" in f["advice"] for f in found
    )


def test_thread_variables(backplane):
    cpus = backplane("version", "--json").json["usable_cpus"]
    found = of(findings(backplane, OMP_NUM_THREADS=str(cpus + 1)), "thread limits")
    assert any(f["severity"] == "warning" and "OMP_NUM_THREADS" in f["finding"] for f in found)
    if cpus > 1:
        found = of(findings(backplane, OPENBLAS_NUM_THREADS="1"), "thread limits")
        assert any(f["severity"] == "note" and "OPENBLAS_NUM_THREADS" in f["finding"] for f in found)
        few = of(findings(backplane, OMP_NUM_THREADS="1"), "thread limits")
        (limited,) = [f for f in few if f["finding"].startswith("OMP_NUM_THREADS=1 limits")]
        assert re.fullmatch(rf"a product of 1024x1024 matrices in f64 takes .* on 1 thread and .* on {cpus} threads \(estimated\)", limited["saves"])


def test_duplicate_runtimes_allowed_by_variable(backplane):
    assert any(
        "KMP_DUPLICATE_LIB_OK" in f["finding"] for f in of(findings(backplane, KMP_DUPLICATE_LIB_OK="TRUE"), "openmp")
    )


def test_bad_configuration(backplane):
    found = of(findings(backplane, BACKPLANE_NUM_THREADS="many"), "configuration")
    assert len(found) == 1 and found[0]["severity"] == "warning" and "BACKPLANE_NUM_THREADS" in found[0]["finding"]
    assert backplane("doctor", env={"BACKPLANE_NUM_THREADS": "many"}).err == ""


def test_cache_that_cannot_be_kept(backplane, tmp_path):
    (tmp_path / "file").write_text("")
    found = of(findings(backplane, BACKPLANE_CACHE_DIR=str(tmp_path / "file" / "below")), "missing")
    assert any("probe cache" in f["finding"] for f in found)


def test_a_folder_that_shadows(backplane, tmp_path):
    """A copy shadows the system's library through LD_LIBRARY_PATH."""
    rows = backplane("list", "--json").json["libraries"]
    row = next(
        (r for r in rows if r["soname"] and r["state"] == "ok" and r["family"] in ("openblas", "blis", "netlib")), None
    )
    if row is None:
        pytest.skip("needs an OpenBLAS, BLIS or netlib to copy")
    (tmp_path / "front").mkdir()
    shutil.copy(row["path"], tmp_path / "front" / row["soname"])
    found = of(findings(backplane, LD_LIBRARY_PATH=str(tmp_path / "front")), "shadowed")
    assert any(
        f["severity"] == "warning" and row["soname"] in f["finding"] and str(tmp_path / "front") in f["finding"]
        for f in found
    )


def test_backends_of_graphs(backplane):
    """The backends of a program are in its process only, so that the command has the built-in one."""
    listed = backplane("list", "--json").json["graph_backends"]
    assert [one["name"] for one in listed] == ["blocks"] and listed[0]["description"]
    assert "GRAPH BACKEND" in backplane("list", "--backends").out


def test_doctor_finds_a_busy_machine(backplane):
    """As many processes as there are processors leave one thread; without the setting nothing is said."""
    count = len(os.sched_getaffinity(0))
    usable = backplane("version", "--json").json["usable_cpus"]
    if usable < max(count, 2):
        pytest.skip(f"{usable} usable processors of {count}: a quota, or calls have one thread anyway")
    code = "print(flush=True)\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for one in busy:
            one.stdout.readline()
        said = {on: [f["finding"] for f in backplane("doctor", "--json", env={"BACKPLANE_THREADS_ADAPT": on}).json["findings"]] for on in ("true", "false")}
    finally:
        for one in busy:
            one.kill()
            one.wait()
            one.stdout.close()
    assert [text for text in said["true"] if text.startswith("other processes keep ") and "calls use 1 thread (threads.adapt)" in text]
    assert not [text for text in said["false"] if "threads.adapt" in text]
