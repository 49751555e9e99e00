#!/bin/sh
# In place of ssh: a host that answers each script after a while, and one that never answers. Called as: fake-ssh.sh -F CONFIG …, with the script on standard input.
config=$2
cat > /dev/null
if grep -q '^HostName stuck' "$config"; then exec sleep 600; fi
sleep "$(cat "$(dirname -- "$0")/seconds")"
echo '{"kubenode":"done","name":"","value":""}'
