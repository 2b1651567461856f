"""Every setting of the table: read, write, wrong type, wrong value, restore, scope, origin, help."""

import os
import pydoc

import pytest

import backplane as bp

# Preferred libraries accept any text, and warn if no library has the name: see test_preferences.py.
pytestmark = pytest.mark.filterwarnings(r"ignore:\w+\.preferred:backplane.Warning")

ROWS = [bp.setting(name) for name in bp.settings]
WRITABLE = [row for row in ROWS if not row.read_only and not row.startup]
# Settings whose valid values depend on this machine; they have tests of their own.
MACHINE_DECIDES = {"cpu.capability"}


def other_values(row):
    """Returns valid values of the setting that are not the current one."""
    now = row.get()
    if row.type == "bool":
        return [not now]
    if row.type == "int":
        low, high = map(int, row.allowed.split(".."))
        return [value for value in (low, high, (low + high) // 2) if value != now]
    if row.type == "enum":
        return [word.replace("-N", "-12") for word in row.allowed.split("|") if word != now]
    if row.allowed:  # a list of these words
        words = row.allowed.split(",")
        return [words[1], ",".join(reversed(words))]
    return ["some text", 'with "quotes", commas = and \\ backslashes #', "日本"]


def wrong_values(row):
    if row.type == "int":
        low, high = map(int, row.allowed.split(".."))
        return [low - 1, high + 1, 10**30]
    if row.type == "enum":
        return ["no such word", ""]
    return ["line\nbreak", "x" * 5000] if row.type == "text" else []


def wrong_types(row):
    words = [1, None, b"off"] + ([] if "true|false" in row.allowed else [True])  # bool for a setting with these words
    return {"bool": [0, 1, "true", None, 1.0], "int": [True, "1", 1.5, None], "enum": words,
            "text": [1, None, b"x", ["x"]]}[row.type]


def attribute(name):
    """Returns the object that has the setting as an attribute, and the attribute's name."""
    place, rest = bp.settings, name
    while "." in rest:
        head, _, tail = rest.partition(".")
        if not isinstance(getattr(place, head), bp.Settings):
            return place, rest.replace(".", "__")
        place, rest = getattr(place, head), tail
    return place, rest


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def row(request):
    return request.param


@pytest.fixture(params=WRITABLE, ids=lambda row: row.name)
def writable(request):
    if request.param.name in MACHINE_DECIDES:
        pytest.skip("what it accepts depends on the processor")
    return request.param


def test_read(row):
    value = row.get()
    assert type(value) is {"bool": bool, "int": int, "enum": str, "text": str}[row.type]
    place, last = attribute(row.name)
    assert getattr(place, last) == value == bp.settings[row.name]
    layer, where, text = row.origin()
    assert text == (str(value).lower() if row.type == "bool" else str(value))
    assert row.stored("default") == row.default


def test_help_describes_the_setting(row):
    assert row.help in row.__doc__ and row.environment in row.__doc__ and (row.allowed in row.__doc__)
    place, last = attribute(row.name)
    if "__" not in last:
        page = pydoc.plain(pydoc.render_doc(type(place)))
        assert last in page and row.environment in page


def test_write_and_remove(writable):
    place, last = attribute(writable.name)
    before = writable.get()
    for value in other_values(writable):
        setattr(place, last, value)
        assert getattr(place, last) == value
        assert writable.origin()[0] == "process"
        delattr(place, last)
        assert getattr(place, last) == before and writable.stored("process") is None


def test_wrong_types_name_the_setting(writable):
    place, last = attribute(writable.name)
    before = writable.origin()
    for value in wrong_types(writable):
        with pytest.raises(TypeError, match=f"^{writable.name}: expects") as caught:
            setattr(place, last, value)
        assert isinstance(caught.value, bp.Error) and caught.value.status == "E_BAD_VALUE"
        with pytest.raises(TypeError, match=f"^{writable.name}: expects"):
            bp.flags({writable.name: value})
    assert writable.origin() == before


def test_wrong_values_change_nothing(writable):
    place, last = attribute(writable.name)
    before = writable.origin()
    for value in wrong_values(writable):
        with pytest.raises(ValueError, match=writable.name) as caught:
            setattr(place, last, value)
        assert isinstance(caught.value, bp.Error) and caught.value.status == "E_BAD_VALUE"
        with pytest.raises(ValueError):
            bp.flags({writable.name: value})
    assert writable.origin() == before


def test_scope_and_restore(writable):
    before = writable.origin()
    for value in other_values(writable):
        with bp.flags({writable.name: value}):
            assert writable.get() == value and writable.origin()[0] == "thread scope"
            assert writable.stored("process") is None
        assert writable.origin() == before


def test_environment(writable, python):
    value = other_values(writable)[0]
    text = str(value).lower() if writable.type == "bool" else str(value)
    done = python("-c", f"import backplane; r = backplane.setting({writable.name!r}); print(ascii(r.get())); print(r.origin()[0])",
                  **{writable.environment: text, "PYTHONUTF8": "1"})
    assert done.stdout.split("\n")[:2] == [ascii(value), "environment"], done.stderr


@pytest.mark.parametrize("fixed", [row for row in ROWS if row.startup or row.read_only], ids=lambda row: row.name)
def test_startup_settings_cannot_be_set(fixed):
    place, last = attribute(fixed.name)
    value = other_values(fixed)[0]
    for write in (lambda: setattr(place, last, value), lambda: bp.set_flags({fixed.name: value}), lambda: bp.flags({fixed.name: value})):
        with pytest.raises(bp.Error) as caught:
            write()
        assert caught.value.status == "E_READ_ONLY"


def test_unknown_names_have_the_nearest():
    for attempt in (lambda: bp.settings.num_thread, lambda: setattr(bp.settings, "num_thread", 1), lambda: bp.settings["num_thread"],
                    lambda: bp.setting("num_thread"), lambda: bp.flags(num_thread=1), lambda: bp.set_flags(num_thread=1),
                    lambda: delattr(bp.settings, "num_thread"), lambda: bp.settings.blas.preferre):
        with pytest.raises(AttributeError, match="did you mean '(num_threads|preferred)'") as caught:
            attempt()
        assert isinstance(caught.value, bp.Error) and caught.value.status == "E_UNKNOWN_NAME"
    assert not hasattr(bp.settings, "nonsense") and "num_thread" not in bp.settings
    with pytest.raises(AttributeError):
        bp.settings.blas = 1


def test_the_tree_is_a_mapping_too():
    assert "num_threads" in bp.settings and "preferred" in bp.settings.blas and 3 not in bp.settings
    assert len(bp.settings) == len(ROWS) and set(dir(bp.settings)) == {row.name.partition(".")[0] for row in ROWS}
    bp.settings["num_threads"] = 3
    assert bp.settings.num_threads == 3 and "num_threads = 3" in repr(bp.settings)
    del bp.settings["num_threads"]
    assert bp.settings.num_threads != 3 and "<setting num_threads" in repr(bp.setting("num_threads"))
    assert bp.settings.blas__preferred == bp.settings.blas.preferred


def test_set_flags_checks_all_before_it_changes_one():
    with pytest.raises(ValueError):
        bp.set_flags({"num_threads": 2, "dispatch.fallback": "never"})
    assert bp.setting("num_threads").stored("process") is None
    bp.set_flags({"dispatch.fallback": "strict"}, num_threads=2)
    assert bp.settings.num_threads == 2 and bp.settings.dispatch.fallback == "strict"


def test_names_by_keyword_and_by_mapping():
    with bp.flags({"dispatch.fallback": "allow"}, blas__preferred="native"):
        assert bp.settings.dispatch.fallback == "allow" and bp.settings.blas.preferred == "native"
    with pytest.raises(bp.BadTypeError, match="twice"):
        bp.flags({"blas.preferred": "a"}, blas__preferred="b")
    with pytest.raises(TypeError):
        bp.flags({1: 2})


def test_numbers_that_act_as_int_are_taken():
    class Two:
        def __index__(self):
            return 2

    bp.settings.num_threads = Two()
    assert bp.settings.num_threads == 2


def test_text_that_is_no_utf8_survives():
    odd = os.fsdecode(b"/caf\xe9")
    bp.settings.blas.preferred = odd
    assert bp.settings.blas.preferred == odd
    for wrong in ("a\0b", "\ud83d"):
        for attempt in (lambda: setattr(bp.settings.blas, "preferred", wrong), lambda: bp.flags({"blas.preferred": wrong})):
            with pytest.raises(bp.BadValueError, match="^blas.preferred:"):
                attempt()
    for attempt in (lambda: bp.backend_status("a\0b"), lambda: bp.setting("num_threads").stored("a\0b"), lambda: bp.Options({"a\0b": 1})):
        with pytest.raises(bp.Error):
            attempt()


def test_numbers_too_long_for_text():
    for wrong in (10**5000, -10**5000):
        with pytest.raises(bp.BadValueError, match="^num_threads:"):
            bp.settings.num_threads = wrong


def test_unknown_layers_are_refused():
    with pytest.raises(ValueError, match="nowhere"):
        bp.setting("num_threads").stored("nowhere")
