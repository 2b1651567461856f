"""settings, get and set: values, layers, and the user's file."""

import pytest


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
    assert names == ["calibration", "registry.cache_dir"]  # set by the tests
    assert backplane("settings", "--changed").out.count("\n") == 3


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


def test_file_that_cannot_be_written(backplane, tmp_path):
    (tmp_path / "config").write_text("a file where a folder should be")
    done = backplane("set", "num_threads", "2")
    assert done.code == 6 and done.out == ""


def test_no_home(backplane):
    done = backplane("set", "num_threads", "2", env={"XDG_CONFIG_HOME": "", "HOME": ""})
    assert done.code != 0 and done.out == ""


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
