// Pure: the first program that runs on a host. A host below the minimum cannot even start Node.js, so plain shell reports what it lacks.
import { FLOOR } from '#agent/preflight/floor.ts'

const number = ([major, minor]: readonly [number, number]): number => major * 1_000 + minor

/** Compares `major.minor` as one number: 4.18 is 4018. */
export const joinScript = (): string => `#!/bin/sh
# Makes this host a node of a cluster: join.sh BUNDLE
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
number() { echo "$1" | awk -F'[.-]' '{ print $1 * 1000 + $2 }'; }
kernel=$(uname -r)
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }')
if [ "$(number "$kernel")" -lt ${number(FLOOR.kernel)} ]; then
  echo "KN8004: cannot join: this host has Linux $kernel, and the agent needs ${FLOOR.kernel.join('.')} or newer; upgrade the host first" >&2
  exit 1
fi
if [ "$(number "\${glibc:-0.0}")" -lt ${number(FLOOR.glibc)} ]; then
  echo "KN8004: cannot join: this host has glibc \${glibc:-of another kind}, and the agent needs ${FLOOR.glibc.join('.')} or newer; upgrade the host first" >&2
  exit 1
fi
if ! why=$(LD_LIBRARY_PATH=$here/lib "$here/bin/node" --version 2>&1); then
  case $why in
    *libatomic*) todo='install libatomic1 (Debian, Ubuntu: apt-get install libatomic1) or libatomic (RHEL, Fedora: dnf install libatomic), then join again' ;;
    *) todo='install what it names, or make the bundle with --with-node, then join again' ;;
  esac
  echo "KN8063: cannot join: Node.js does not start on this host: $why; $todo" >&2
  exit 1
fi
LD_LIBRARY_PATH=$here/lib exec "$here/bin/node" "$here/agent.mjs" join "$@"
`
