#!/bin/sh
# Links libxsmm's shared library, libxsmm.so.VERSION, from the archives of Debian's package libxsmm-dev, which has no shared one.
# Does nothing if the package is not installed, or if the library is newer than the archives. Usage: tools/libxsmm.sh FOLDER
# libxsmm refers to BLAS routines for products that it has no kernel for. Backplane never makes such calls, so these names are
# taken from libxsmmnoblas, whose routines only report an error, and are hidden like all other foreign names.
set -eu
folder=$1
archives="/usr/lib/libxsmm.a /usr/lib/libxsmmnoblas.a"
for archive in $archives; do
    [ -e "$archive" ] || exit 0
done
version=$(sed -n 's/^Version: *//p' /usr/lib/pkgconfig/libxsmm.pc)
library=$folder/libxsmm.so.$version
[ -e "$library" ] && [ -z "$(find /usr/lib/libxsmm.a -newer "$library")" ] && exit 0
names=$(mktemp)
unfinished=$(mktemp "$folder/libxsmm.XXXXXX")
trap 'rm -f "$names" "$unfinished"' EXIT
echo '{ global: libxsmm_*; local: *; };' >"$names"
cc -shared -o "$unfinished" -Wl,-soname,libxsmm.so.1 -Wl,--build-id -Wl,--version-script="$names" -Wl,-z,defs -Wl,-z,now \
    -Wl,-Bsymbolic -Wl,--whole-archive /usr/lib/libxsmm.a -Wl,--no-whole-archive /usr/lib/libxsmmnoblas.a -lpthread -lrt -ldl -lm
chmod 755 "$unfinished"
mv "$unfinished" "$library"
