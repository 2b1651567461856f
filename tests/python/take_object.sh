#!/bin/sh
# A compiler launcher (CMAKE_C_COMPILER_LAUNCHER) that takes an object of another build folder, COMPILED, if that has it, and
# compiles otherwise. A wheel has the same objects as the library, so that the test of the wheel need not compile them again.
# Usage: COMPILED=FOLDER take_object.sh COMPILER ARGUMENT...
object= dependencies= before=
for word; do
    case $before in
    -o) object=$word ;;
    -MF) dependencies=$word ;;
    esac
    before=$word
done
[ -n "$object" ] && [ -f "$COMPILED/$object" ] || exec "$@"
cp "$COMPILED/$object" "$object"
[ -z "$dependencies" ] || echo "$object:" >"$dependencies"
