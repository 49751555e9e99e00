#!/bin/sh
# Keeps one systemd machine running in control groups of its own, and starts it again when it reboots.
# With a SOCKET, connections to it are passed on to ADDRESS of this host, for as long as the machine is up.
# usage: boot.sh GROUP STATUS_FILE SOCKET ADDRESS PROGRAM ARGUMENT...
set -u
group=$1
status=$2
socket=$3
address=$4
shift 4
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
if [ -n "$socket" ]; then
  rm -f "$socket"
  # One that ended is started again: without it the machine is cut off.
  (
    trap 'kill "$door" 2>/dev/null; exit' TERM
    while :; do
      systemd-socket-activate --listen="$socket" /lib/systemd/systemd-socket-proxyd "$address" &
      door=$!
      wait "$door"
      sleep 1
    done
  ) </dev/null >/dev/null 2>&1 &
  keeper=$!
  trap 'kill "$keeper"' EXIT
fi
while :; do
  "$@"
  code=$?
  echo "$code" >"$status"
  # What systemd-nspawn ends with when the machine asked for a reboot.
  [ "$code" = 133 ] || exit "$code"
done
