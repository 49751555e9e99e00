#!/bin/sh
# scribe 1.0.0: writes a line to the node's log now and then, and touches a file so that its health can be seen.
set -eu

child=
trap '[ -z "$child" ] || kill "$child"; exit 0' TERM
cd "${KUBENODE_ROOT:-/}"
mkdir -p run var/log

lines=0
while :; do
  echo $$ >run/scribe.alive
  [ $((lines % 30)) -ne 0 ] || echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) scribe: all quiet" >>var/log/messages
  lines=$((lines + 1))
  sleep 1 &
  child=$!
  wait "$child"
done
