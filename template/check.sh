#!/bin/sh
# What CI runs, and what to run before a commit: declarations, rules and their cases. Stops at the first failure.
set -eu
cd "$(dirname "$0")"
kubenode=node_modules/.bin/kubenode
[ -x "$kubenode" ] || { echo "run npm ci first" >&2; exit 1; }

"$kubenode" lint fleet
"$kubenode" rules lint
"$kubenode" rules test
"$kubenode" rules coverage
