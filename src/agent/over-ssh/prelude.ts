// Pure: what a host is asked before anything is done on it without an agent: root, systemd, the programs that the snippets need, and that no
// other session works there.
import type { NodeDir } from '../node-dir.ts'
import { AGENT_UNIT } from '../leave/leave-host.ts'
import { quoted } from '#ssh/channel.ts'

/** Part of every distribution's base, with systemd 239 or newer. */
const PROGRAMS = [
  'base64',
  'dd',
  'flock',
  'head',
  'mkfifo',
  'mktemp',
  'sed',
  'sha256sum',
  'stat',
  'systemctl',
  'timeout',
]

/** A session that was lost ends with the snippet that it was at. */
const LOCK_WAIT_S = 15

/** The lock is held by the shell of the session, and the kernel releases it when that shell ends, however it ends. */
export function visitPrelude({ path, state }: NodeDir): string {
  const refuse = (why: string): string => `{ printf '%s\\n' ${quoted(why)} >&2; exit 1; }`
  return [
    `[ "$(id -u)" = 0 ] || ${refuse('the user is not root')}`,
    `[ -d /run/systemd/system ] || ${refuse('systemd does not run this host')}`,
    ...PROGRAMS.map((name) => `command -v ${name} >/dev/null || ${refuse(`the host has no ${name}`)}`),
    `! systemctl is-active --quiet ${AGENT_UNIT} || ${refuse('an agent runs on this host: set channel Agent, or let the agent leave')}`,
    `mkdir -p -- ${quoted(path)} ${quoted(state)} && chmod go-w -- ${quoted(path)} ${quoted(state)} || exit 1`,
    `[ ! -L ${quoted(`${state}/ssh.lock`)} ] || ${refuse('the lock is a link')}`,
    `exec 9>>${quoted(`${state}/ssh.lock`)}`,
    `flock -w ${LOCK_WAIT_S} 9 || ${refuse('another session works on this host')}`,
    `[ ! -L ${quoted(`${state}/ssh.mark`)} ] || ${refuse('the mark is a link')}`,
    endLeft(quoted(`${state}/ssh.mark`), refuse('what the last session began does not end')),
    FIND_SSHD,
  ].join('\n')
}

const MARK = 'KUBENODE_VISIT'

/** In the environment of each snippet: the process of sshd that serves the session, or 1 where another program does. */
export const SSHD = 'KUBENODE_SSHD'

/** Before anything is asked: a snippet of a session that is lost as it begins would find no sshd above it, and never learn of the loss. */
export const FIND_SSHD = `${SSHD}=$$
n=
while [ "$${SSHD}" -gt 1 ]; do
read -r n <"/proc/$${SSHD}/comm" || n=
case $n in sshd*) break ;; esac
${SSHD}=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$${SSHD}/status" 2>/dev/null)
${SSHD}=\${${SSHD}:-1}
done
export ${SSHD}`

/**
 * A session that is lost leaves the snippet running that it was at. Two at once could undo each other's steps, so it ends first, as if the power had gone.
 * Its processes are known by a mark that only root of this host can read: no pod can have it.
 */
const endLeft = (
  mark: string,
  refused: string,
): string => `[ -s ${mark} ] || cat /proc/sys/kernel/random/uuid >${mark} || exit 1
${MARK}=$(head -c 36 ${mark})
n=0
while left=$(grep -lz "^${MARK}=$${MARK}$" /proc/[0-9]*/environ 2>/dev/null); [ -n "$left" ]; do
[ "$n" -lt 50 ] || ${refused}
s=TERM
[ "$n" -lt 25 ] || s=KILL
for f in $left; do p=\${f#/proc/}; kill -s "$s" "\${p%/environ}" 2>/dev/null; done
n=$((n+1))
sleep 0.2
done
export ${MARK}`
