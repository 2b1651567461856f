"""Writes the parts of the man page and of the shells' completions that follow from `backplane help --json`: options, and names of commands and
operations. Such a part is between two comments, or in the man page between the text of a command and the next command.

Usage: command_pages.py BACKPLANE [--check]. With --check it writes nothing, and fails if a file would change.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNARY = (
    "copy negative abs exp log sqrt tanh sigmoid relu gelu gelu_tanh silu hardswish "
    "floor ceil round trunc sign reciprocal rsqrt sin cos tan erf expm1 log1p log2 "
    "asin acos atan sinh cosh asinh acosh atanh log10 exp2 "
    "erfc hardsigmoid mish softsign logsigmoid selu tanhshrink"
)
# The values that a shell offers for an option. Others take a file (FILE), or what the user knows.
VALUES = {
    "norm": "backward ortho forward",
    "padding": "same valid",
    "activation": UNARY,
    "kind": UNARY + " isnan isinf isfinite logical_not bitwise_invert "
    "leaky_relu elu celu clip softplus threshold hardshrink softshrink add subtract multiply divide maximum minimum equal not_equal less less_equal "
    "greater greater_equal logical_and logical_or logical_xor pow remainder fmod floor_divide atan2 bitwise_and bitwise_or bitwise_xor "
    "bitwise_left_shift bitwise_right_shift sum prod mean max min argmax argmin any all",
    "to": "f16 bf16 f32 f64 i8 u8 i32 i64 bool",
    "dtype": "f16 bf16 f32 f64 c64 c128 i32 i64",
    "strategy": "auto auto-hq optimal dp branch-all branch-2 branch-1 greedy random-greedy random-greedy-128 left-to-right",
    "minimize": "flops size write combo limit",
    "mode": "reduced complete r",
    "driver": "gelsy gels gelsd gelss",
    "ord": "fro nuc 1 -1 2 -2 inf -inf",
}
TAKE_OPERATIONS = ("explain", "eval", "compare", "tune", "bench")


def short(text):
    """The first sentence of a help text, without its full stop."""
    return re.split(r"(?<=[a-z0-9)])[.;] ", text)[0].rstrip(".")


def dashes(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


# ---- Man page ----


def man_option(option):
    """The lines of an option: its names in bold, its value in italics."""
    long = dashes("--" + option["name"])
    if option["letter"]:
        value = f' " \\fI{option["value"]}\\fP"' if option["value"] else ""
        head = f'.BR \\-{option["letter"]} ", " {long}{value}'
    else:
        value = f' \\fI{option["value"]}\\fP' if option["value"] else ""
        head = f".B {long}{value}"
    text = dashes(option["help"])
    text = re.sub(r"/etc/[\w/.]+\w", r"\\fI\g<0>\\fP", text)
    text = re.sub(r"\bBACKPLANE_\w+", r"\\fB\g<0>\\fP", text)
    return [".TP", head, text]


def man(page, facts):
    for command in facts["commands"]:
        name = dashes(command["name"])
        section = re.search(rf"^\.SS {re.escape(name)}\n.*?(?=^\.S[SH] )", page, re.S | re.M)
        text = section.group()
        before = text[: text.index("\n.TP\n") + 1] if "\n.TP\n" in text else text
        behind = re.search(r"^\.PP\n", text[len(before) :], re.M)
        after = text[len(before) + behind.start() :] if behind else ""
        options = "".join(line + "\n" for option in command["options"] for line in man_option(option))
        page = page[: section.start()] + before + options + after + page[section.end() :]
    return page


# ---- Completions ----


def names_of(facts):
    return [row["name"] for row in facts["operations"]]


def wrapped(names, width=140):
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) + 5 > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + name
    return lines


def bash(facts):
    yield '_backplane_commands="' + " ".join(command["name"] for command in facts["commands"]) + '"'
    yield '_backplane_operations="' + "\n    ".join(wrapped(names_of(facts))) + '"'
    yield "_backplane_options() {"
    yield "    case $1 in"
    for command in facts["commands"]:
        lines = "\n            ".join(wrapped(["--" + option["name"] for option in command["options"]], 120))
        yield f"        {command['name']}) echo \"{lines}\" ;;"
    yield "    esac"
    yield "}"
    yield "# The values of an option; empty if it has no list of them."
    yield "_backplane_values() {"
    yield "    case $1 in"
    for name, values in VALUES.items():
        yield f'        --{name}) echo "{values}" ;;'
    yield "    esac"
    yield "}"


def zsh_value(option):
    name, value = option["name"], option["value"]
    if not value:
        return ""
    if name in VALUES:
        return f":{name}:({VALUES[name]})"
    special = {"set": ":setting:_backplane_assignment", "device": ":device:_backplane_devices", "pid": ":process:_pids"}
    return special.get(name) or (":file:_files" if value == "FILE" else f":{value.replace(':', '-')}")


def zsh_option(option):
    text = short(option["help"])
    for old, new in (("\\", "\\\\"), ("[", "("), ("]", ")"), (":", "\\:"), ("'", "'\\''")):
        text = text.replace(old, new)
    long = "--" + option["name"]
    repeat = "*" if option["name"] in ("set", "output") else ""
    if option["letter"]:
        both = f"{{-{option['letter']},{long}}}"
        first = "'*'" if repeat else f"'(-{option['letter']} {long})'"
        return f"{first}{both}'[{text}]{zsh_value(option)}'"
    return f"'{repeat}{long}[{text}]{zsh_value(option)}'"


def zsh(facts):
    yield "_backplane_commands=("
    for command in facts["commands"]:
        summary = short(command["summary"]).replace("'", "'\\''").replace(":", "\\:")
        yield f"    '{command['name']}:{summary}'"
    yield ")"
    yield "_backplane_operations=(" + "\n    ".join(wrapped(names_of(facts))) + ")"
    yield "# Sets `options` to the options of a command."
    yield "_backplane_options() {"
    yield "    case $1 in"
    for command in facts["commands"]:
        yield f"        {command['name']}) options=("
        for option in command["options"]:
            yield f"            {zsh_option(option)}"
        yield "        ) ;;"
    yield "    esac"
    yield "}"


def fish_option(option, commands):
    line = f'complete -c backplane -n "$using {" ".join(commands)}"'
    if option["letter"]:
        line += f" -s {option['letter']}"
    line += f" -l {option['name']}"
    special = {"set": " -x -a '(__backplane_assignments)'", "device": " -x -a '(__backplane_devices)'", "pid": " -x -a '(__fish_complete_pids)'"}
    if option["value"]:
        name = option["name"]
        values = f" -x -a '{VALUES[name]}'" if name in VALUES else special.get(name)
        line += values or (" -r -F" if option["value"] == "FILE" else " -x")
    return line + " -d '" + short(option["help"]).replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(facts):
    for command in facts["commands"]:
        summary = short(command["summary"]).replace("'", "\\'")
        yield f"complete -c backplane -n __backplane_command -a {command['name']} -d '{summary}'"
    for names in wrapped(names_of(facts)):
        yield f'complete -c backplane -n "$using {" ".join(TAKE_OPERATIONS)}" -a \'{names}\''
    seen = {}
    for command in facts["commands"]:
        for option in command["options"]:
            key = json.dumps(option, sort_keys=True)
            seen.setdefault(key, []).append(command["name"])
    for key, commands in seen.items():
        yield fish_option(json.loads(key), commands)


BEGIN, END = "# ---- From `backplane help --json`, by `make docs` ----\n", "# ---- End of that part ----\n"


def completion(text, lines):
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + "".join(line + "\n" for line in lines) + END + after


def main():
    facts = json.loads(subprocess.run([sys.argv[1], "help", "--json"], capture_output=True, check=True).stdout)
    makers = {
        "docs/reference/backplane.1": lambda text: man(text, facts),
        "completions/backplane.bash": lambda text: completion(text, bash(facts)),
        "completions/_backplane": lambda text: completion(text, zsh(facts)),
        "completions/backplane.fish": lambda text: completion(text, fish(facts)),
    }
    stale = 0
    for name, make in makers.items():
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = make(old)
        if new != old and "--check" in sys.argv:
            print(f"{name} is out of date: make docs")
            stale += 1
        elif new != old:
            path.write_text(new, encoding="utf-8")
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
