"""docs/how-to/troubleshoot.md has one heading for each status code of BP_STATUS_MAP, and no heading for another."""

import re

import common


def main():
    codes = re.findall(r"^    X\(\d+, (\w+), \"", common.read("include/backplane/status.h"), re.M)
    headings = re.findall(r"^## BP_(\w+)$", common.read("docs/how-to/troubleshoot.md"), re.M)
    failures = [f"troubleshoot.md has no heading for BP_{code}" for code in codes if headings.count(code) == 0]
    failures += [f"troubleshoot.md has {headings.count(code)} headings for BP_{code}" for code in codes if headings.count(code) > 1]
    failures += [f"troubleshoot.md has a heading for BP_{name}, which is no status code" for name in headings if name not in codes]
    common.finish(failures, len(codes))


main()
