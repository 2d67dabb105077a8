#!/bin/sh
# Runs the script $2 under systemd as the first process of a machine, whose files are those of this one. Nothing
# that it changes reaches this machine: it has namespaces of its own, and writes into the memory of folder $1. The
# script finds that folder at /shared. The caller has begun a namespace for mounts.
set -eu
shared=$1 root=$1/root
cgroup=$1/cgroup
mkdir "$root" "$cgroup"
mount -t cgroup2 none "$cgroup"
cgroup=$cgroup/sign-in-relay-test-$$
mkdir "$cgroup"
trap 'find "$cgroup" -depth -type d -exec rmdir {} \;' EXIT

boot='
set -eu
mount -t tmpfs none "$root"
mkdir "$root/changes" "$root/work" "$root/files"
mount -t overlay -o "lowerdir=/,upperdir=$root/changes,workdir=$root/work" none "$root/files"
cd "$root/files"
mkdir -p shared before
mount --bind "$shared" shared
mount -t proc none proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro none sys
mount -t cgroup2 none sys/fs/cgroup
for folder in dev run tmp; do mount -t tmpfs none $folder; done
chmod 1777 tmp
for device in null zero full random urandom tty; do cp -a /dev/$device dev; done
mkdir dev/shm dev/pts
mount -t devpts none dev/pts
ln -s pts/ptmx dev/ptmx
echo > etc/fstab
for unit in sysctl udevd udev-trigger modules-load random-seed timesyncd; do
  ln -sf /dev/null etc/systemd/system/systemd-$unit.service
done
printf "[Unit]\nRequires=sysinit.target script.service\n" > etc/systemd/system/script.target
printf "[Service]\nExecStart=/bin/sh /shared/%s\nExecStopPost=systemctl exit\n" "$script" > etc/systemd/system/script.service
pivot_root . before
exec setpriv --bounding-set=-sys_time,-sys_boot,-sys_module,-sys_rawio sh -c "
  cd / && umount -l before && mount --make-rshared / && exec env -i container=test PATH=$PATH /lib/systemd/systemd --unit=script.target --show-status=no
" < /dev/null
'
export shared root
script=$2
export script
(
  sh -c 'echo $PPID' > "$cgroup/cgroup.procs"
  # When the shell above ends, however that comes about, so does this machine.
  exec setpriv --pdeathsig=KILL unshare --cgroup --mount --pid --fork --kill-child --net --uts --ipc sh -c "$boot"
)
