"""Checks on the built objects that libbackplane does not contain the references of the operations, and that these call functions of
tensors and element types only: no operation, whose errors they would share. They also read the descriptions of calls, and the order
in which a contraction takes its operands, which changes no value."""

import re

import common

MAY_CALL = re.compile(r"bp_(tensor|view|dtype|contraction_path)_\w+|bp_call_(get_info|field_at)|bp_op_inputs|bp_einsum_path")


def symbols(path, *options):
    """Returns the names that nm prints for an object or archive."""
    lines = common.run("nm", *options, path).splitlines()
    return {line.split()[-1] for line in lines if line and not line.endswith(":")}


def main():
    folder = common.build_folder()
    archive = folder / "libbackplane_reference.a"
    if not archive.exists():
        common.skip("the references are not built")
    own = symbols(archive, "--defined-only", "--extern-only")
    called = {name for name in symbols(archive, "--undefined-only") if name.startswith(("bp_", "bp__"))}
    failures = [f"{archive.name} calls {name}: a reference may call no operation" for name in sorted(called) if not MAY_CALL.fullmatch(name)]
    checked = len(called)
    modules = sorted((folder / "backplane-providers").glob("*.so"))
    for path in [folder / "libbackplane.so", folder / "libbackplane_internal.a", folder / "backplane-probe", *modules]:
        if path.exists():
            checked += len(own)
            failures += [f"{path.name} contains {name} of the references" for name in sorted(own & symbols(path, "--defined-only"))]
    common.finish(failures, checked)


main()
