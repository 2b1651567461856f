"""report: everything about the machine in one file, with nothing private."""

import html.parser
import json
import os

import pytest

from browser import check_layout, chromium, look  # noqa: F401

SECTIONS = ["findings", "actions", "system", "machine", "libraries", "providers", "devices", "settings", "problems", "environment", "choices", "files", "programs"]


@pytest.fixture
def home(tmp_path):
    """A home directory with settings, and with packages and programs that only look installed."""
    home = tmp_path / "person"
    for name in ("env/lib/python3.11/site-packages/numpy-9.8.7.dist-info", "env/lib/python3.11/site-packages/numpyro-1.0.dist-info",
                 "env/lib/python3.11/site-packages/num-1.1.dist-info",
                 "env/lib/python3.11/site-packages/torch-3.1.0+cpu.dist-info", ".local/lib/python3.9/site-packages/SciPy-8.7-py3.9.egg-info",
                 "R/library/base", "config/backplane"):
        (home / name).mkdir(parents=True)
    (home / "R/library/base/DESCRIPTION").write_text("Package: base\nVersion: 9.1.2\nPriority: base\n")
    (home / "config/backplane/backplane.conf").write_text("num_threads = 2\nnonsense = 1\n")
    return home


@pytest.fixture
def report(backplane, home):
    def run(*words, env=None, **options):
        own = {"HOME": str(home), "VIRTUAL_ENV": str(home / "env"), "R_HOME": str(home / "R"), "XDG_CONFIG_HOME": str(home / "config"),
               "LD_LIBRARY_PATH": f"{home}/lib:/home/somebody/lib:{home}2/lib", "BACKPLANE_VERBOSE": "0", "SECRET_TOKEN": "hidden"}
        return backplane("report", *words, env={**own, **(env or {})}, **options)

    return run


def test_json_has_all_sections(report, backplane, home):
    done = report("--json")
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert list(found) == SECTIONS
    version = backplane("version", "--json").json
    assert found["system"]["backplane"] == version["version"] and found["machine"]["processor"] == version["cpu"]
    assert found["machine"]["instruction_set"] == version["cpu_hardware_capability"]
    listed = backplane("list", "--json", env={"VIRTUAL_ENV": str(home / "env")}).json
    assert [row["id"] for row in found["libraries"]] == [row["id"] for row in listed["libraries"]]
    native = next(row for row in found["libraries"] if row["id"] == "native")
    assert native["int_bits"] == 64 and native["state"] == "ok"
    assert [row["name"] for row in found["providers"]] == [row["name"] for row in listed["providers"]]
    assert found["devices"][0]["id"] == "host"
    settings = {row["name"]: row for row in found["settings"]}
    assert settings["num_threads"] == {"name": "num_threads", "value": "2", "layer": "user file", "where": "~/config/backplane/backplane.conf:1"}
    assert settings["verbose"]["layer"] == "environment" and "nonsense" in found["problems"][0]["problem"]
    variables = {row["name"]: row["value"] for row in found["environment"]}
    assert variables["BACKPLANE_VERBOSE"] == "0" and "SECRET_TOKEN" not in variables
    chosen = [row for row in found["choices"] if row["verdict"] == "chosen"]
    assert {row["problem"] for row in chosen} == {row["problem"] for row in found["choices"]} and len(chosen) == 8
    assert all(row["time"] and row["source"] in ("estimated", "interpolated", "measured") for row in chosen)


def test_findings_are_those_of_doctor(report, backplane, home):
    environment = {"OPENBLAS_CORETYPE": "Prescott"}
    found = report("--json", env=environment).json["findings"]
    own = {"HOME": str(home), "VIRTUAL_ENV": str(home / "env"), "XDG_CONFIG_HOME": str(home / "config"), "LD_LIBRARY_PATH": f"{home}/lib:/home/somebody/lib:{home}2/lib"}
    doctor = backplane("doctor", "--json", env={**own, **environment}).json["findings"]
    worst_first = ["error", "warning", "note"]
    wanted = sorted((row for row in doctor if row["severity"] != "ok"), key=lambda row: (worst_first.index(row["severity"]), not row["saves"]))
    assert [(row["severity"], row["check"], row["advice"]) for row in found] == [(row["severity"], row["check"], row["advice"]) for row in wanted]
    assert any(row["check"] == "kernel variables" and "OPENBLAS_CORETYPE" in row["finding"] for row in found)
    assert all(row["advice"] for row in found)


def test_actions_are_the_advice_of_warnings(report):
    """Each advice once, with all of its findings; notes need no action."""
    found = report("--json", env={"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_L2_SIZE": "", "OMP_NUM_THREADS": "1"}).json
    advice = [row["advice"] for row in found["findings"] if row["severity"] != "note"]
    actions = {row["action"]: row for row in found["actions"]}
    assert set(actions) == set(advice) and len(actions) == len(found["actions"])
    for action, row in actions.items():
        same = [finding for finding in found["findings"] if finding["advice"] == action]
        assert {finding["check"] for finding in same} == {name.split(" (")[0] for name in row["because"].split(", ")}
        assert row["saves"] in [finding["saves"] for finding in same]
    if found["machine"]["instruction_set"] == "DEFAULT":
        return
    assert "kernel variables" in actions["`unset OPENBLAS_CORETYPE`."]["because"]
    slow = [row for row in found["findings"] if row["check"] == "kernels" and "Prescott" in row["finding"]]
    assert all("1024x1024 matrices in f64 takes" in row["saves"] and "(estimated)" in row["saves"] for row in slow)


def test_programs_are_found(report):
    programs = {(row["name"], row["version"], row["directory"]) for row in report("--json").json["programs"]}
    assert ("numpy", "9.8.7", "~/env/lib/python3.11/site-packages") in programs
    assert ("torch", "3.1.0+cpu", "~/env/lib/python3.11/site-packages") in programs
    assert ("scipy", "8.7", "~/.local/lib/python3.9/site-packages") in programs
    assert ("R", "9.1.2", "~/R") in programs
    assert not {"1.0", "1.1"} & {version for _, version, _ in programs}  # numpyro and num are other packages


@pytest.mark.parametrize("form", [(), ("--json",), ("--html",)])
def test_nothing_private(report, home, form):
    text = report(*form).out
    assert "~/lib" in text and "/home/?/lib" in text and f"{home}2/lib" in text
    assert str(home) + "/" not in text and "somebody" not in text and "hidden" not in text
    assert os.uname().nodename not in text or len(os.uname().nodename) < 4


def test_variables_of_unknown_names_are_left_out(report):
    """A name that begins as a library's is not a library's, and its value may be a secret."""
    heads = ("BACKPLANE", "OPENBLAS", "GOTO", "BLIS", "MKL", "OMP", "GOMP", "KMP", "ONEDNN", "DNNL", "ATEN", "TORCH", "LIBXSMM", "ARMPL",
             "FLEXIBLAS", "LBT", "POCL", "OCL", "CUDA", "ROCR", "HIP")
    unknown = {f"{head}_PASSWORD": f"secret-{head}" for head in heads} | {"FLEXIBLASX": "secret-x", "OMP_NUM_THREADS_": "secret-y"}
    known = {"OMP_NUM_THREADS": "3", "MKL_VERBOSE": "0", "OPENBLAS_VERBOSE": "0", "BACKPLANE_NUM_THREADS": "2"}
    environment = {**unknown, **known}  # the same for all reports: another environment has libraries examined again
    done = report("--json", env=environment)
    assert done.code == 0 and "secret" not in done.out
    shown = {row["name"]: row["value"] for row in done.json["environment"]}
    assert known.items() <= shown.items() and not unknown.keys() & shown.keys()
    assert "secret" not in report(env=environment).out and "secret" not in report("--html", env=environment).out


def test_a_home_of_root_is_no_prefix_of_all(report):
    assert "/usr/" in report(env={"HOME": "/"}).out


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order, and keeps what a test asks for."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.text = [], [], [], ""

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "img", "iframe", "link")
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_page(report):
    out = report("--html", env={"BACKPLANE_BLAS_PREFERRED": "<b>&'\"", "OMP_PROC_BIND": "<script>"}).out
    page = Page()
    page.feed(out)
    page.close()
    assert page.open == [] and page.ids == SECTIONS and page.links == [f"#{name}" for name in SECTIONS]
    assert "<b>&'\"" in page.text and "<script>" in page.text and "Candidates of typical problems" in page.text


def test_layout(report, look, home):
    """With findings of each kind, long names, and variables of one long word and of many."""
    long = {"OPENBLAS_CORETYPE": "Prescott", "BACKPLANE_NUM_THREADS": "9999", "KMP_DUPLICATE_LIB_OK": "1",
            "LD_PRELOAD": "/absent/" + "x" * 300 + ".so", "OMP_PLACES": ",".join(f"{{{i}}}" for i in range(100))}
    (home / "config/backplane/backplane.conf").write_text(f"num_threads = 2\n{'nonsense' * 30} = 1\n")
    text = report("--html", env=long).out
    found = look(text)
    check_layout(found)
    assert all(one["headings"] == SECTIONS for one in found)
    assert all(len(set(one["colours"].values())) == len(one["colours"]) >= 2 for one in found)


def test_output_file(report, tmp_path):
    file = tmp_path / "report.json"
    done = report("--json", "-o", str(file))
    assert (done.code, done.err, done.out) == (0, "", f"{file}\n")
    assert list(json.loads(file.read_text())) == SECTIONS
    text = tmp_path / "report.txt"
    assert report("--output", str(text)).code == 0 and "Processor and memory" in text.read_text() and "\033" not in text.read_text()
    text.write_text("before")
    done = report("-o", str(tmp_path / "absent" / "report.txt"))
    assert done.code == 6 and "absent" in done.err and done.out == ""
    assert report("-o", "/dev/full").code == 6
    assert report("--json", "--html", "-o", str(text)).code == 2 and text.read_text() == "before"


def test_nothing_is_measured(report, tmp_path):
    cache = tmp_path / "cache"
    done = report("--json", env={"BACKPLANE_CACHE_DIR": str(cache), "BACKPLANE_CALIBRATION": "auto", "BACKPLANE_REGISTRY_SYSTEM": "off"})
    assert done.code == 0 and not (cache / "calibration.txt").exists()
