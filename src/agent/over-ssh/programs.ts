// Hooks and checks of components on a host without an agent: one program without a shell, in the environment of a component, with a time limit. The end of
// its output comes back, however much it prints, and no longer than the host has time for it.
import { type Channel, quoted } from '#ssh/channel.ts'
import { visible } from '#lib/printable.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { FLOOD_BYTES } from '../hook.ts'
import { lastLines } from '../last-lines.ts'
import { onNode, type NodeDir } from '../node-dir.ts'
import { SSHD } from './prelude.ts'

export interface ProgramDeps {
  readonly channel: Pick<Channel, 'ask'>
  readonly dir: NodeDir
  readonly environment: Readonly<Record<string, string>>
  /** In which it runs; default: the root of the node. */
  readonly folder?: string
  /** No process that it starts outlives it, and it ends once this file is there or the session is lost. */
  readonly isAlone?: { readonly until: string }
}

export interface ProgramEnd {
  /** Undefined: it exited with code 0. */
  readonly problem: string | undefined
  /** Of both its streams, without anything that controls a terminal. */
  readonly output: string
}

/** A host whose disk is full cannot run it: that says nothing about what the program would have said. */
class NotRun extends Error {}

const KEPT_BYTES = 4_096
/** Before the output, once the program is about to be started; then, how it ended. */
const BEGUN = 'B'
const FROZEN = 'F'
const ENDED = 'E'
const SHOWN = 120
/** Beyond the limit of the program: for the snippet itself, and for a program that is killed late. */
const MARGIN_MS = 15_000
/** As `timeout` exits: when it ended a program; and when something ended it with SIGKILL, which may be `timeout` a second later. */
const TIMED_OUT = 124
const KILLED = 137

/**
 * A program that leaves children behind with its output open does not delay the answer: the reader of the output gets a second. Its output goes to a file,
 * because a pipe to `tail` would wait for all of them.
 */
export async function programOverSsh(
  { channel, dir, environment, folder = dir.root, isAlone }: ProgramDeps,
  [program = '', ...args]: readonly string[],
  timeoutMs: number,
): Promise<ProgramEnd> {
  const own = quoted(onNode(dir, program))
  const variables = Object.entries(environment).map(([name, value]) => quoted(`${name}=${value}`))
  // As the agent's own programs: what they create is readable by others.
  const snippet = `d=$(mktemp -d) || exit 1
trap 'rm -rf "$d"' EXIT
mkfifo "$d/p" && : >"$d/o" || exit 1
printf ${BEGUN}
umask 022
{ head -c ${FLOOD_BYTES} >"$d/o" || cat >/dev/null; : >"$d/e"; } <"$d/p" 2>/dev/null &
h=$!
p=${quoted(program)}
[ ! -e ${own} ] || p=${own}
(cd ${quoted(folder)} && exec timeout -k 1 ${(timeoutMs / 1_000).toFixed(3)} env -i ${variables.join(' ')} "$p" ${args.map(quoted).join(' ')}) >"$d/p" 2>&1 </dev/null &
t=$!
${isAlone === undefined ? '' : watching(quoted(isAlone.until))}
wait "$t"
c=$?
${isAlone === undefined ? '' : 'kill "$w" 2>/dev/null; kill -s KILL -- "-$t" 2>/dev/null'}
i=0
while [ ! -e "$d/e" ] && [ "$i" -lt 10 ]; do sleep 0.1; i=$((i+1)); done
kill "$h" 2>/dev/null
if [ -e "$d/f" ]; then printf ${FROZEN}; else printf ${ENDED}; fi
tail -c ${KEPT_BYTES} "$d/o"
exit "$c"`
  const { code, stdout, stderr } = await channel.ask({
    snippet,
    deadlineMs: timeoutMs + MARGIN_MS,
    maxBytes: KEPT_BYTES + BEGUN.length + ENDED.length,
  })
  const text = stdout.toString('utf8')
  if (!text.startsWith(BEGUN)) throw new NotRun(`could not be started on the host: ${stderr || `code ${code}`}`)
  const output = visible(text.slice(BEGUN.length + ENDED.length))
  if (text[BEGUN.length] === FROZEN) return { problem: 'the node was frozen', output }
  if (code === 0) return { problem: undefined, output }
  const late = `timed out after ${timeoutMs} ms`
  return {
    problem: code === TIMED_OUT ? late : code === KILLED ? `was killed, or ${late}` : `exited with code ${code}`,
    output,
  }
}

/**
 * No other snippet can run meanwhile, so the host itself looks for the file, and for the process of sshd that the session began with: once that has ended, the
 * session is lost, and the next one could not begin before this program ends.
 */
const watching = (file: string): string => `s=\${${SSHD}:-1}
{ while sleep 1; do
if [ -e ${file} ] || [ -L ${file} ]; then : >"$d/f"; break; fi
[ "$s" -le 1 ] || [ -d "/proc/$s" ] || break
done; kill -s KILL -- "-$t"; } </dev/null >/dev/null 2>&1 &
w=$!`

export const hookOverSsh =
  (deps: ProgramDeps) =>
  async (command: readonly string[], timeoutMs: number): Promise<void> => {
    const [program = ''] = command
    const { problem, output } = await programOverSsh(deps, command, timeoutMs).catch((e: unknown) => {
      if (!(e instanceof NotRun)) throw e
      return { problem: messageOf(e), output: '' }
    })
    if (problem === undefined) return
    throw new KubeNodeError(agentErrors.KN8033({ program, why: problem, output: output.trim().slice(-SHOWN) }))
  }

/** For a message. */
export const lastLineOf = (output: string): string => lastLines(output, 1)
