"""Checks that the name of no static function is one word that tells nothing alone, such as "at", "next" or "known": a backtrace shows
the name without its file. A name of two words, or a word with one meaning ("transpose"), is accepted. So are the functions of a provider,
which have the names of the fields that they fill."""

import re

import common

WORDS = frozenset("""
    at of in on is to by has have for with from as
    after again apart around before behind between beyond earlier exactly here inside later left near next now once own outside within
    all any both enough known least less missing more most none nothing other same some such unknown
    cheapest closest fastest greatest highest largest longest lowest shortest smallest
    current failed final first fixed kept last original raw ready stored usable visible
    do find get go put run set take use
""".split())
DEFINITION = re.compile(r"^(?:static|INLINE)\b[^;={}()]*?\b(\w+)\(", re.M)


def main():
    failures, checked = [], 0
    for path in common.sources("src") + common.sources("python/src"):
        code = common.code_of(path)
        for match in DEFINITION.finditer(code):
            checked += 1
            if match.group(1) in WORDS:
                failures.append(f"{path}:{common.line_of(code, match.start())}: {match.group(1)}() needs a subject in its name")
    assert checked > 4000
    common.finish(failures, checked)


main()
