// Pure: the scripts that join a host over SSH. The host downloads join.sh and the archive itself, and then runs the same join.sh as a pasted join line does,
// in its offline form. Every script can be repeated.
import type { Machine, SshSessionStep } from '#api/kinds/machine.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import { quoted } from '#lib/shell-word.ts'
import type { RescueLine } from '#ssh/login/key-of-secret.ts'
import { hostScript } from '#ssh/script.ts'
import { agentErrors } from '../agent-errors.ts'
import { FLOOR } from '../preflight/floor.ts'
import { PROXY_OF_HOST, downloadScript } from './download-script.ts'
import { type TokenSecret, joinTicket } from './join-command.ts'
import { joinLine, linesOf, sourceOf } from './join-line.ts'
import { number } from './join-script.ts'
import { type RescuePlaces, RESCUE_PLACES, rescueInstall } from './rescue-script.ts'
import { defined } from '#lib/defined.ts'
import { numbered } from '#lib/errors.ts'
import type { ErrorMessage } from '#lib/error-table.ts'

export interface ScriptPlaces {
  /** Only root can write to it: what is downloaded there runs as root. */
  readonly folder: string
  /** Where the programs are installed; default: that of join.sh. */
  readonly prefix?: string
  readonly rescue?: RescuePlaces
}

const SCRIPT_PLACES: ScriptPlaces = { folder: '/var/lib/kubenode-join' }

/** The archive, and what is in it; the rest is for the first components. */
const FREE_MIB = 512

export function sshScript(
  step: SshSessionStep,
  machine: Machine,
  token: TokenSecret | undefined,
  now: number,
  rescue?: RescueLine,
  places: ScriptPlaces = SCRIPT_PLACES,
): string {
  switch (step) {
    case 'Reach':
      return hostScript(`${ROOT}\nfact user "$(id -un)"`)
    case 'Preflight':
      return hostScript(preflight(places))
    case 'Fetch':
      return hostScript(fetch(machine, token, now, places))
    case 'Start':
      return hostScript(start(machine, token, now, places, installed(machine, rescue, places)))
    default:
      return step satisfies never
  }
}

const ROOT = `[ "$(id -u)" = 0 ] || failed PreflightFailed 'the scripts must run as root: log in as root, or as a user with sudo'`

const failed = (failure: string, message: ErrorMessage): string => `failed ${failure} "${numbered(message)}"`

const tooOld = (what: string, seen: string, floor: readonly [number, number]): string =>
  failed('PreflightFailed', agentErrors.KN8004({ what, seen, floor: floor.join('.') }))

/** Nothing is written. join.sh checks most of it again. */
const preflight = ({ prefix = '/opt/kubenode' }: ScriptPlaces): string => `${ROOT}
number() { echo "$1" | awk -F'[.-]' '{ print $1 * 1000 + $2 }'; }
kernel=$(uname -r)
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }')
fact kernel "$kernel"
fact glibc "\${glibc:-none}"
fact arch "$(uname -m)"
[ "$(number "$kernel")" -ge ${number(FLOOR.kernel)} ] || ${tooOld('Linux', '$kernel', FLOOR.kernel)}
[ "$(number "\${glibc:-0.0}")" -ge ${number(FLOOR.glibc)} ] || ${tooOld('glibc', '${glibc:-of another kind}', FLOOR.glibc)}
for p in tar gzip sha256sum mktemp find awk; do command -v $p >/dev/null || ${failed('PreflightFailed', agentErrors.KN8085({ program: '$p' }))}; done
command -v curl >/dev/null || command -v wget >/dev/null || ${failed('PreflightFailed', agentErrors.KN8085({ program: 'curl and no wget' }))}
there=${quoted(prefix)}
while ! [ -d "$there" ]; do there=$(dirname -- "$there"); done
free=$(df -Pm -- "$there" 2>/dev/null | awk 'NR == 2 { print $4 }')
fact freeMiB "\${free:-unknown}"
[ "\${free:-${FREE_MIB}}" -ge ${FREE_MIB} ] || failed Full "$there has $free MiB free and needs ${FREE_MIB}"`

/** One session at a time: an earlier one may still run although its connection is lost. The lock ends with its process. */
const inFolder = (folder: string): string => `${ROOT}
folder=${quoted(folder)}
mkdir -p -- "$folder" && cd -P -- "$folder" || failed Full "$folder cannot be created"
[ -n "$(find . -prune -user 0 ! -perm -020 ! -perm -002)" ] || failed PreflightFailed "$folder belongs to another user or is writable by others"
exec 9> lock || failed Full "$folder cannot be written"
if command -v flock >/dev/null; then flock -n 9 || failed Busy 'an earlier session still runs on this host'; fi`

function fetch(machine: Machine, token: TokenSecret | undefined, now: number, { folder }: ScriptPlaces): string {
  const { base, ca, sha256 } = sourceOf(ticketOf(machine, token, now), {})
  const get = (name: string) =>
    downloadScript({
      url: `"\${base}${name}"`,
      ca: ca === undefined ? "''" : 'ca.pem',
      to: `"${name}"`,
      shownUrl: `\${base}${name}`,
      unwritten: `failed Full "$folder cannot hold ${name}"`,
    })
  return `${inFolder(folder)}
${PROXY_OF_HOST}
base=${quoted(base)}
${ca === undefined ? ':' : `printf '%s\\n' ${linesOf(ca).map(quoted).join(' ')} > ca.pem || failed Full "$folder cannot be written"`}
matches() { echo "${sha256}  join.sh" | sha256sum -c >/dev/null 2>&1; }
matches || { ${get('join.sh')}; }
matches || ${failed('PreflightFailed', agentErrors.KN8084({ file: '${base}join.sh' }))}
case $(uname -m) in x86_64 | amd64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) ${failed('PreflightFailed', agentErrors.KN1051_arch({ arch: '$(uname -m)' }))} ;; esac
name=agent-linux-$arch.tar.gz
complete() { [ -f "$name" ] && grep -q "sha=$(sha256sum < "$name" | awk '{ print $1 }') " join.sh; }
complete || { ${get('$name')}; }
complete || ${failed('PreflightFailed', agentErrors.KN8084({ file: '${base}$name' }))}`
}

const installed = (machine: Machine, rescue: RescueLine | undefined, places: ScriptPlaces): string =>
  rescue === undefined ? '' : `${rescueInstall(uidOf(machine), rescue, places.rescue ?? RESCUE_PLACES)}\n`

/**
 * The bundle is in the script, and so in no list of processes. `rescue` comes before the agent starts: once that has its certificate, the join is over, and
 * a rescue key that is missing would never be noticed.
 */
function start(
  machine: Machine,
  token: TokenSecret | undefined,
  now: number,
  { folder, prefix }: ScriptPlaces,
  rescue: string,
): string {
  const ticket = ticketOf(machine, token, now)
  const { sha256 } = sourceOf(ticket, {})
  const line = joinLine(ticket, { offline: true, ...defined({ prefix }) })
  return `${inFolder(folder)}
echo "${sha256}  join.sh" | sha256sum -c >/dev/null 2>&1 || ${failed('PreflightFailed', agentErrors.KN8084({ file: '$folder/join.sh' }))}
${rescue}if ! out=$( {${line}; } 9>&- 2>&1); then
  why=$(echo "$out" | grep 'KN[0-9]' | tail -n 1)
  failed PreflightFailed "\${why:-$(echo "$out" | tail -n 1)}"
fi
cd /
rm -rf -- "$folder"`
}

const ticketOf = (machine: Machine, token: TokenSecret | undefined, now: number) =>
  joinTicket(machine, token === undefined ? [] : [token], now)
