#!/bin/sh
# Keeps one systemd machine running in control groups of its own, and starts it again when it reboots.
# usage: boot.sh GROUP STATUS_FILE PROGRAM ARGUMENT...
set -u
group=$1
status=$2
shift 2
base=/sys/fs/cgroup
if [ -f "$base/cgroup.controllers" ]; then
  mkdir -p "$base/$group" && echo $$ >"$base/$group/cgroup.procs"
else
  for controller in "$base"/*; do
    [ -f "$controller/cgroup.procs" ] || continue
    mkdir -p "$controller/$group" || continue
    # An empty set of processors takes nobody in.
    for file in cpuset.cpus cpuset.mems; do
      if [ -f "$controller/$file" ]; then cat "$controller/$file" >"$controller/$group/$file"; fi
    done
    echo $$ >"$controller/$group/cgroup.procs"
  done
fi
while :; do
  "$@"
  code=$?
  echo "$code" >"$status"
  # What systemd-nspawn ends with when the machine asked for a reboot.
  [ "$code" = 133 ] || exit "$code"
done
