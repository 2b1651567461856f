#!/bin/busybox sh
# The only process of the emulated machine: runs /commands, prints their output on the serial line, and switches off.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp TERM=dumb
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm
exec > /dev/ttyS0 2>&1 < /dev/null
cd "$(cat /where)" || poweroff -f
count=0
failed=0
while read -r line; do
    echo "== $line"
    sh -c "$line"
    status=$?
    echo "== exit status $status"
    count=$((count + 1))
    [ $status -eq 0 ] || failed=$((failed + 1))
done < /commands
if [ $failed -eq 0 ]; then
    echo "== all $count commands ended with 0"
else
    echo "== $failed of $count commands failed"
fi
sleep 1 # the serial line has a buffer
poweroff -f
