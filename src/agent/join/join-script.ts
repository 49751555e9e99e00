// Pure: the first program that runs on a host. It needs a shell, tar, gzip, sha256sum, find, and curl or wget. It checks every download against digests
// that it contains, and reports what the host lacks: a host below the minimum cannot even start Node.js.
import { agentErrors } from '../agent-errors.ts'
import { FLOOR } from '../preflight/floor.ts'
import { libErrors } from '#lib/lib-errors.ts'
import { downloadScript } from './download-script.ts'
import { shellError } from './shell-error.ts'

export interface Archive {
  /** Architecture name as in Kubernetes. */
  readonly arch: 'amd64' | 'arm64'
  readonly sha256: string
}

export const archiveName = (arch: string): string => `agent-linux-${arch}.tar.gz`

/** Compares `major.minor` as one number: 4.18 is 4018. */
export const number = ([major, minor]: readonly [number, number]): number => major * 1_000 + minor

/**
 * The check of src/lib/trusted-way.ts, without Node.js: every folder up to `/` belongs to root, and either only root can write to it, or it has the
 * sticky bit like /tmp.
 */
const othersCanReplace = shellError(
  libErrors.KN1040_writable({
    path: '$prefix',
    seen: '$way belongs to another user or is writable by others',
    command: 'chown root $way && chmod go-w $way',
  }),
)

/** Libraries built with a newer C library than the oldest one that the agent supports. */
const LATER = ['libgcc_s.so.1', 'libstdc++.so.6'] as const

const tooOld = (what: string, seen: string, floor: readonly [number, number]): string =>
  shellError(agentErrors.KN8004({ what, seen, floor: floor.join('.') }))

/** Without archives: the script for the folder of an unpacked archive. */
export const joinScript = (archives: readonly Archive[] = []): string => `#!/bin/sh
# Makes this host a node of a cluster: join.sh [--from URL] [--ca FILE] [--prefix DIR] [options of agent.mjs join] < BUNDLE
set -u
umask 022
newline='
'
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
from='' ca='' prefix=/opt/kubenode
n=$#
while [ "$n" -gt 0 ]; do
  a=$1 n=$((n - 1)); shift
  case $a in
    --from) from=\${1%/} n=$((n - 1)); shift ;;
    --ca) ca=$1 n=$((n - 1)); shift ;;
    --prefix) prefix=$1 n=$((n - 1)); shift ;;
    *) set -- "$@" "$a" ;;
  esac
done
case \${1:--} in --*) set -- - "$@" ;; -) [ $# -gt 0 ] || set -- - ;; esac

number() { echo "$1" | awk -F'[.-]' '{ print $1 * 1000 + $2 }'; }
kernel=$(uname -r)
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }')
[ "$(number "$kernel")" -ge ${number(FLOOR.kernel)} ] || ${tooOld('Linux', '$kernel', FLOOR.kernel)}
[ "$(number "\${glibc:-0.0}")" -ge ${number(FLOOR.glibc)} ] || ${tooOld('glibc', '${glibc:-of another kind}', FLOOR.glibc)}

dir=$here
if ! [ -x "$here/bin/node" ]; then
  [ "$(id -u)" = 0 ] || ${shellError(agentErrors.KN8053())}
  for p in tar gzip sha256sum mktemp find; do
    command -v $p >/dev/null || ${shellError(agentErrors.KN8085({ program: '$p' }))}
  done
  machine=$(uname -m) arch='' sha=''
  case $machine in
${archives.map(({ arch, sha256 }) => `    ${MACHINES[arch]}) arch=${arch} sha=${sha256} ;;\n`).join('')}    *) ${shellError(agentErrors.KN1051_arch({ arch: '$machine' }))} ;;
  esac
  trusted() {
    at=$(CDPATH='' cd -P -- "$1" && pwd -P) || exit 1
    way=$at
    while :; do
      [ -n "$(find "$way" -prune -user 0 \\( ! -perm -020 ! -perm -002 -o -perm -1000 \\))" ] || ${othersCanReplace}
      [ "$way" != / ] || break
      way=$(dirname -- "$way")
    done
  }
  # What runs from this folder runs as root: nothing is written, removed or run where another user could replace it.
  there=$prefix
  while ! [ -d "$there" ]; do there=$(dirname -- "$there"); done
  trusted "$there"
  # Not in /tmp, where programs may not be allowed to run; what an earlier try left is removed.
  find "$prefix" -maxdepth 1 -name '.join-*' -mmin +60 -exec rm -rf {} + 2>/dev/null
  dir=$(mkdir -p "$prefix" 2>&1 && mktemp -d "$prefix/.join-XXXXXX" 2>&1) || ${shellError(agentErrors.KN8087({ folder: '$prefix', why: '$dir' }))}
  trap 'rm -rf "$dir"' EXIT
  trap 'exit 1' HUP INT TERM
  # Once more, because another user may have made a folder of the name first; from now on without the links on the way.
  trusted "$dir"
  dir=$at
  name=${archiveName('$arch')}
  file=$here/$name
  if ! [ -f "$file" ]; then
    url=$from/$name
    file=$dir/$name
    [ -n "$from" ] || ${shellError(agentErrors.KN8085({ program: '$here/$name' }))}
    ${downloadScript({ url: '"$url"', ca: '"$ca"', to: '"$file"', shownUrl: '$url', unwritten: shellError(agentErrors.KN8087({ folder: '$prefix', why: '$name does not fit' })) })}
  fi
  echo "$sha  $file" | sha256sum -c >/dev/null 2>&1 || ${shellError(agentErrors.KN8084({ file: '$file' }))}
  # A full disk is a line for each file of the archive: the first one says it.
  why=$(tar -xzf "$file" -C "$dir" --no-same-owner 2>&1) || { why=\${why%%"$newline"*}; ${shellError(agentErrors.KN8087({ folder: '$prefix', why: '$why' }))}; }
  [ "$file" = "$here/$name" ] || rm -f "$file"
fi
starts() { LD_LIBRARY_PATH=$dir/lib "$dir/bin/node" --version 2>&1; }
if ! why=$(starts); then
  # Those of the bundle may need a newer C library than this host has; its own, where it has them, do not.
  rm -f ${LATER.map((name) => `"$dir/lib/${name}"`).join(' ')} 2>/dev/null
  why=$(starts) || ${shellError(agentErrors.KN1006_host({ why: '$why' }))}
fi
LD_LIBRARY_PATH=$dir/lib "$dir/bin/node" "$dir/agent.mjs" join "$@" --prefix "$prefix"
`

const MACHINES: Readonly<Record<Archive['arch'], string>> = { amd64: 'x86_64 | amd64', arm64: 'aarch64 | arm64' }
