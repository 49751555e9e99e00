#!/bin/sh
# hello 1.0.0: touches a file every second, so that its probe sees it. Replace it with a component of your own.
set -eu

child=
trap '[ -z "$child" ] || kill "$child"; exit 0' TERM
cd "${KUBENODE_ROOT:-/}"
mkdir -p run

while :; do
  echo $$ >run/hello.alive
  sleep 1 &
  child=$!
  wait "$child"
done
