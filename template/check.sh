#!/bin/sh
# What CI runs, and what to run before a commit: declarations, rules and their cases, scenarios. Stops at the first failure.
set -eu
cd "$(dirname "$0")"
kubenode=node_modules/.bin/kubenode
[ -x "$kubenode" ] || { echo "run npm ci first" >&2; exit 1; }

"$kubenode" lint fleet
"$kubenode" rules lint
"$kubenode" rules test
"$kubenode" rules coverage

# Scenarios of fleet/scenarios on ten assumed machines; no cluster is read. With an inventory of yours: --inventory FILE instead of --machines.
if git rev-parse --quiet --verify HEAD >/dev/null; then
  "$kubenode" simulate --dirty --fleet-cluster hub --machines 10
else
  echo "scenarios are not tried before the first commit" >&2
fi

# Recorded histories, named by their cluster, if the repository has any: kubenode history sample makes them.
for history in rules/history/*.jsonl.gz; do
  [ -e "$history" ] || continue
  "$kubenode" rules backtest --history "$history" --fleet-cluster "$(basename "$history" .jsonl.gz)"
done
