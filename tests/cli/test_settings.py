"""settings, get and set: values, layers, and the files."""

import os
import shutil
import subprocess

import pytest
from conftest import BUILD


def row(rows, name):
    return next(r for r in rows if r["name"] == name)


def test_defaults(backplane):
    rows = backplane("settings", "--json").json
    assert row(rows, "num_threads")["value"] == row(rows, "num_threads")["default"] == "0"
    assert row(rows, "num_threads")["layer"] == "default"
    assert row(rows, "dispatch.fallback")["allowed"] == "strict|warn|allow"
    table = backplane("settings").out.splitlines()
    assert table[0].split() == ["SETTING", "VALUE", "LAYER", "WHERE"]
    assert [line.split()[0] for line in table[1:]] == [r["name"] for r in rows]


def test_layers(backplane, tmp_path):
    assert backplane("set", "num_threads", "3").code == 0
    rows = backplane("settings", "--changed", "--json").json
    assert row(rows, "num_threads")["layer"] == "user file" and "backplane.conf" in row(rows, "num_threads")["where"]
    environment = {"BACKPLANE_NUM_THREADS": "2"}
    rows = backplane("settings", "--changed", "--json", env=environment).json
    assert row(rows, "num_threads")["value"] == "2" and row(rows, "num_threads")["layer"] == "environment"
    assert row(rows, "num_threads")["where"] == "BACKPLANE_NUM_THREADS"


@pytest.mark.parametrize(
    "variables, value, where",
    [
        ({"OMP_NUM_THREADS": "1"}, "1", "OMP_NUM_THREADS"),
        ({"OMP_NUM_THREADS": "4,2"}, "4", "OMP_NUM_THREADS"),
        ({"OMP_NUM_THREADS": "4", "OMP_THREAD_LIMIT": "2"}, "2", "OMP_THREAD_LIMIT"),
        ({"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "4"}, "1", "OPENBLAS_NUM_THREADS"),
        ({"MKL_NUM_THREADS": "1"}, "1", "MKL_NUM_THREADS"),
        ({"MKL_NUM_THREADS": "0"}, "0", ""),
    ],
)
def test_thread_limits_of_other_software(backplane, variables, value, where):
    layer = "shared environment" if where else "default"
    shown = row(backplane("settings", "--json", env=variables).json, "num_threads")
    assert (shown["value"], shown["layer"], shown["where"]) == (value, layer, where)
    got = backplane("get", "num_threads", "--json", env=variables).json
    assert (got["value"], got["layer"], got["where"]) == (value, layer, where)
    own = {**variables, "BACKPLANE_NUM_THREADS": "3"}
    assert row(backplane("settings", "--json", env=own).json, "num_threads")["where"] == "BACKPLANE_NUM_THREADS"
    assert backplane("set", "num_threads", "5").code == 0
    shown = row(backplane("settings", "--json", env=variables).json, "num_threads")
    assert (shown["value"], shown["layer"]) == ("5", "user file")


def test_a_bad_thread_limit_is_reported(backplane):
    done = backplane("get", "num_threads", env={"OMP_NUM_THREADS": "two"})
    assert done.out == "0\n" and "OMP_NUM_THREADS: 'two' is not a number of threads" in done.err


def test_changed_leaves_defaults_out(backplane):
    names = [r["name"] for r in backplane("settings", "--changed", "--json").json]
    assert names == ["threads.adapt", "calibration", "registry.cache_dir"]  # set by the tests
    assert backplane("settings", "--changed").out.count("\n") == 4


def test_get(backplane):
    assert backplane("get", "dispatch.fallback").out == "warn\n"
    facts = backplane("get", "dispatch.fallback", "--json").json
    assert (
        facts["value"] == "warn" and facts["type"] == "enum" and facts["environment"] == "BACKPLANE_DISPATCH_FALLBACK"
    )


def test_set_checks_before_writing(backplane, tmp_path):
    done = backplane("set", "num_threads", "-1")
    assert done.code == 2 and "num_threads" in done.err
    done = backplane("set", "dispatch.fallback", "sometimes")
    assert done.code == 2 and "strict" in done.err and "allow" in done.err
    assert not (tmp_path / "config").exists() or not list((tmp_path / "config").rglob("*.conf"))


def test_value_with_a_dash(backplane):
    assert backplane("set", "num_threads", "--", "-1").code == 2
    assert backplane("set", "--", "blas.preferred", "-x-").code == 0
    assert backplane("get", "blas.preferred").out == "-x-\n"


def test_set_keeps_the_rest_of_the_file(backplane, tmp_path):
    file = tmp_path / "config" / "backplane" / "backplane.conf"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nverbose = 0\n")
    assert backplane("set", "num_threads", "2").code == 0
    assert "# mine\n" in file.read_text() and "verbose = 0" in file.read_text()
    assert backplane("get", "num_threads").out == "2\n"
    done = backplane("set", "--unset", "num_threads")
    assert done.code == 0 and str(file) in done.out
    assert backplane("get", "num_threads").out == "0\n" and file.read_text() == "# mine\nverbose = 0\n"


def test_startup_settings_can_be_stored(backplane):
    assert backplane("set", "registry.probe_timeout", "4000").code == 0
    assert backplane("get", "registry.probe_timeout").out == "4000\n"


def test_set_says_what_hides_it(backplane):
    done = backplane("set", "num_threads", "2", env={"BACKPLANE_NUM_THREADS": "1"})
    assert done.code == 0 and "backplane: warning: " in done.err and "BACKPLANE_NUM_THREADS" in done.err
    assert backplane("set", "num_threads", "2").err == ""


def test_set_in_a_named_file(backplane, tmp_path):
    file = tmp_path / "module" / "stack.conf"
    done = backplane("set", "--file", str(file), "num_threads", "3")
    assert (done.code, done.err) == (0, "") and file.read_text() == "num_threads = 3\n" and str(file) in done.out
    assert backplane("get", "num_threads").out == "0\n"
    environment = {"BACKPLANE_SETTINGS_FILE": str(file)}
    assert backplane("set", "num_threads", "2", env=environment).err.count("named file") == 1
    got = backplane("get", "num_threads", "--json", env=environment).json
    assert (got["value"], got["layer"], got["where"]) == ("3", "named file", f"{file}:1")
    done = backplane("set", "--file", str(file), "num_threads", "4", env={**environment, "BACKPLANE_NUM_THREADS": "1"})
    assert done.code == 0 and "BACKPLANE_NUM_THREADS" in done.err
    assert backplane("set", "-f", str(file), "--unset", "num_threads").code == 0 and file.read_text() == ""
    done = backplane("get", "num_threads", env={"BACKPLANE_SETTINGS_FILE": str(tmp_path / "absent")})
    assert (done.code, done.out) == (0, "2\n") and str(tmp_path / "absent") in done.err
    assert backplane("set", "-f", str(file), "--system", "num_threads", "1").code == 2 and file.read_text() == ""


@pytest.fixture
def private_etc(tmp_path):
    """The words in front of a command that give it a private /etc with what the loader needs."""
    etc = tmp_path / "etc"
    etc.mkdir(mode=0o755)
    for name in ("ld.so.cache", "ld.so.conf", "passwd"):
        if os.path.exists(f"/etc/{name}"):
            shutil.copy(f"/etc/{name}", etc)
    words = ["unshare", "--mount", "sh", "-c", f'mount --bind "{etc}" /etc && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("no right to mount in a namespace of its own")
    return etc, words


def test_set_for_all_users(private_etc, tmp_path):
    etc, words = private_etc
    environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*arguments):
        return subprocess.run([*words, str(BUILD / "backplane"), *arguments], capture_output=True, text=True, env=environment)

    done = run("set", "--system", "num_threads", "3")
    assert (done.returncode, done.stderr) == (0, "") and "/etc/backplane/backplane.conf" in done.stdout
    assert (etc / "backplane/backplane.conf").read_text() == "num_threads = 3\n"
    assert '"system file"' in run("get", "num_threads", "--json").stdout
    assert run("set", "num_threads", "2").returncode == 0
    done = run("set", "--system", "num_threads", "4")
    assert done.returncode == 0 and "user file" in done.stderr and run("get", "num_threads").stdout == "2\n"
    (etc / "backplane/backplane.conf").chmod(0o666)
    done = run("set", "--system", "num_threads", "5")
    assert done.returncode == 6 and "can write to it" in done.stderr and done.stdout == ""
    assert "num_threads = 4" in (etc / "backplane/backplane.conf").read_text()


def test_file_that_cannot_be_written(backplane, tmp_path):
    (tmp_path / "config").write_text("a file where a folder should be")
    done = backplane("set", "num_threads", "2")
    assert done.code == 6 and done.out == ""


def test_no_home(backplane):
    done = backplane("set", "num_threads", "2", env={"XDG_CONFIG_HOME": "", "HOME": ""})
    assert done.code != 0 and done.out == ""


def test_a_preference_of_a_list_of_words_is_no_library(backplane):
    done = backplane("set", "dist.preferred", "mkl")
    assert done.code == 0 and "stored for machines that have it" not in done.err, done
    assert backplane("set", "dist.preferred", "other").code != 0


@pytest.mark.parametrize("name, what", [("blas.preferred", "matrix products are"), ("linalg.preferred", "linear algebra is"),
                                        ("fft.preferred", "Fourier transforms are")])
def test_preferences_are_looked_at(backplane, name, what):
    """An absent library is stored with a warning, because machines may share a file."""
    for value in ("nativx", "/no/such/library.so"):
        done = backplane("set", name, value)
        assert done.code == 0 and f"warning: stored for machines that have it: {name}: no library '{value}'" in done.err
        assert f"{what} offered by native" in done.err and backplane("get", name).out == f"{value}\n"
    assert "did you mean 'native'?" in backplane("set", name, "nativx").err
    for value in ("native", "default", ""):
        done = backplane("set", name, value)
        assert done.code == 0 and done.err == ""
    assert backplane("set", "--unset", name).err == ""


def test_einsum_uses_its_settings(backplane):
    for value in ("auto-hq", "random-greedy-128", "dynamic-programming"):
        done = backplane("set", "opt_einsum.strategy", value)
        assert done.code == 0 and done.err == ""
        assert backplane("get", "opt_einsum.strategy").out == f"{value}\n"
    backend = next(one for one in backplane("list", "--backends", "--json").json["backends"] if one["name"] == "opt_einsum")
    assert backend["available"] and backend["enabled"] and backend["reason"] == ""
    assert "nothing on this machine uses" in backplane("set", "mha.fastpath", "false").err


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [("registry.deepbind", word, "off") for word in ("false", "No", "0")]
    + [("registry.deepbind", word, "on") for word in ("true", "yes", "1")]
    + [("calibration", "false", "off"), ("tuning.store", "0", "off")],
)
def test_words_of_a_switch(backplane, name, word, value):
    """Settings that have on or off besides other words take the words of a switch."""
    variable = "BACKPLANE_" + name.upper().replace(".", "_")
    done = backplane("get", name, env={variable: word})
    assert (done.code, done.out.strip(), done.err) == (0, value, "")


def test_words_that_a_setting_has_not(backplane):
    done = backplane("get", "calibration", env={"BACKPLANE_CALIBRATION": "true"})
    assert "'true' is not accepted; it takes off|read|auto" in done.err
