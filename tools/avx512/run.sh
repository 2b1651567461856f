#!/bin/sh
# Runs commands on an emulated processor with AVX-512, for machines without it. docs/explanation/avx512.md explains what that proves.
# Usage: tools/avx512/run.sh COMMAND...
# Each COMMAND is one line for sh, run in the root of the repository. Files that it names, and the libraries they need,
# are copied into the emulated machine at the same path. First a check verifies that the processor has AVX-512.
# Exit status: 0 if every command returned 0. The output is also written to build/avx512/results.txt.
#   CPU=corei7_skylake_x   a processor of `bochs --help cpu` with AVX-512; corei7_icelake_u and tigerlake are others
#   BOCHS=bochs-bin        the emulator; another one than Debian's for processors that it does not have
#   BIOS=/usr/share/bochs  the folder of its BIOS
#   LIMIT=3600             seconds after which the emulator is stopped
#   EXTRA=                 further files to copy, separated by blanks
set -eu
cd "$(dirname "$0")/../.."
cpu=${CPU:-corei7_skylake_x}
limit=${LIMIT:-3600}
bochs=${BOCHS:-bochs-bin}
bios=${BIOS:-/usr/share/bochs}
tools=$PWD/tools/avx512
work=$PWD/build/avx512
root=$work/root
disc=$work/disc

packages=""
need() {
    [ -e "$1" ] || packages="$packages $2"
}
if [ -z "${BOCHS:-}" ]; then
    need /usr/bin/bochs-bin bochs
    need /usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so bochs-term
fi
need "$bios/BIOS-bochs-latest" bochsbios
need /usr/lib/ISOLINUX/isolinux.bin isolinux
need /usr/lib/syslinux/modules/bios/ldlinux.c32 syslinux-common
need /usr/bin/xorriso xorriso
need /usr/bin/cpio cpio
need /bin/busybox busybox-static
if [ -n "$packages" ]; then
    echo "tools/avx512/run.sh needs Debian 12's packages:$packages" >&2
    exit 2
fi

# A kernel with a serial console. It is unpacked from its package, not installed.
mkdir -p "$work/cache"
kernel=$(find "$work/cache" -name 'vmlinuz-*' | sort | tail -n 1)
if [ -z "$kernel" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
    package=$(echo "$package" | head -n 1)
    (cd "$work/cache" && apt-get -qq -o APT::Sandbox::User=root download "$package")
    dpkg-deb --fsys-tarfile "$work/cache/$package"_*.deb |
        tar -x -C "$work/cache" --strip-components=2 --wildcards './boot/vmlinuz-*'
    rm -f "$work/cache/$package"_*.deb
    kernel=$(find "$work/cache" -name 'vmlinuz-*' | sort | tail -n 1)
fi

rm -rf "$root" "$disc"
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/$PWD" "$disc/isolinux"

# copy FILE: copies a file and the libraries it is linked with, keeping their paths.
copy() {
    path=$(realpath "$1")
    for file in "$path" $(ldd "$path" 2>/dev/null | grep -o '/[^ ]*'); do
        mkdir -p "$root/$(dirname "$file")"
        cp -L "$file" "$root/$file"
    done
}
cp /bin/busybox "$root/bin/busybox"
${CC:-gcc} -O1 -static -o "$work/probe" "$tools/probe.c"
copy "$work/probe"
cp "$tools/init.sh" "$root/init"

echo "$PWD" > "$root/where"
echo "$work/probe" > "$root/commands"
for command in "$@"; do
    printf '%s\n' "$command" >> "$root/commands"
    for word in $command; do
        word=${word#*=}
        if [ -f "$word" ]; then
            copy "$word"
        fi
    done
done
for file in ${EXTRA:-}; do
    copy "$file"
done

(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) > "$disc/initrd"
cp "$kernel" "$disc/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$disc/isolinux"
# The emulated CPUID reports a size of the compacted XSAVE area that Linux rejects, so only the standard format is used.
cat > "$disc/isolinux/isolinux.cfg" <<END
default linux
prompt 0
label linux
 kernel /vmlinuz
 append initrd=/initrd console=ttyS0,115200 quiet mitigations=off clearcpuid=xsavec,xsaves no5lvl tsc=reliable panic=-1
END
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot \
    -boot-load-size 4 -boot-info-table "$disc" 2> "$work/xorriso.log"

cat > "$work/bochsrc" <<END
config_interface: textconfig
display_library: term
romimage: file=$bios/BIOS-bochs-latest
vgaromimage: file=$bios/VGABIOS-lgpl-latest
cpu: model=$cpu, count=1, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=1024, host=1024
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
clock: sync=none, time0=946684800
com1: enabled=1, mode=file, dev=$work/serial.log
speaker: enabled=0
log: $work/bochs.log
panic: action=fatal
error: action=report
info: action=ignore
END
echo continue > "$work/debugger" # the first command of the emulator's debugger, which Debian's has
debugger=
if "$bochs" --help 2>&1 | grep -q -- '-rc '; then
    debugger="-rc $work/debugger"
fi

# The emulator's display needs a terminal, which script(1) provides. It ends when the emulated machine is switched off.
: > "$work/serial.log"
TERM=vt100 nice -n 10 timeout --foreground -k 5 "$limit" script -qec \
    "$bochs -q -f $work/bochsrc $debugger" "$work/screen.log" < /dev/null > /dev/null 2>&1 &
emulator=$!
trap 'kill $emulator 2> /dev/null || true' EXIT
trap 'exit 143' HUP INT TERM
tail -n +1 -f --pid=$emulator "$work/serial.log" | sed -u 's/\r//g' | tee "$work/results.txt" &
wait $!
grep -q '^== all [0-9]* commands ended with 0$' "$work/results.txt"
