// systemd of a host without an agent, and what the kernel there tells about the processes of its units: read together, in one snippet, because each costs a
// way to the host and back. What the kernel tells is as old as the last answer of systemd.
import { KubeNodeError } from '#lib/errors.ts'
import { visible } from '#lib/printable.ts'
import type { Channel } from '#ssh/channel.ts'
import { quoted } from '#ssh/channel.ts'
import { agentErrors } from '../agent-errors.ts'
import { parseStat, type ProcessId } from '../supervise/proc.ts'
import { JOURNAL_MS, journalArguments, type Kernel } from '../supervise/systemd/kernel.ts'
import {
  PROPERTIES,
  UNIT_WITHIN_MS,
  parseShow,
  type Systemctl,
  type UnitState,
} from '../supervise/systemd/systemctl.ts'

/** A longer command line counts as another one. */
const ARGUMENT_BYTES = 16 * 1024
/** Of one unit: its properties, and one process in base64. */
const UNIT_BYTES = 64 * 1024
const SHOW_WITHIN_MS = 30_000
const MARGIN_MS = 10_000
const MAX_OUTPUT_BYTES = 64 * 1024

interface Process {
  readonly id: ProcessId | undefined
  readonly argv: readonly string[]
}

export function unitsOverSsh(channel: Pick<Channel, 'ask'>): {
  readonly systemctl: Systemctl
  readonly kernel: Kernel
} {
  const processes = new Map<number, Process>()
  let boot = ''
  const show = async (units: readonly string[]): Promise<readonly UnitState[]> => {
    if (units.length === 0) return []
    const names = units.map(quoted).join(' ')
    const snippet = `o=$(systemctl show -p ${PROPERTIES} -- ${names}) || exit 1
printf '%s\\n\\0' "$o"
head -c 64 /proc/sys/kernel/random/boot_id
for p in $(printf '%s\\n' "$o" | sed -n 's/^MainPID=\\([1-9][0-9]*\\)$/\\1/p'); do
printf '\\0%s\\0' "$p"
head -c 1024 "/proc/$p/stat" 2>/dev/null
printf '\\0'
head -c ${ARGUMENT_BYTES} "/proc/$p/cmdline" 2>/dev/null | base64 -w 0
done`
    const { code, stdout, stderr } = await channel.ask({
      snippet,
      deadlineMs: SHOW_WITHIN_MS,
      maxBytes: units.length * UNIT_BYTES,
    })
    if (code !== 0) throw refused(`show ${units.join(' ')}`, stderr || `exited with code ${code}`)
    const [text = '', bootId = '', ...rest] = stdout.toString('latin1').split('\0')
    boot = bootId.trim()
    processes.clear()
    for (let at = 0; at + 2 < rest.length && at < 3 * units.length; at += 3) {
      const [pid = '', stat = '', cmdline = ''] = rest.slice(at, at + 3)
      const argv = Buffer.from(cmdline, 'base64').toString('utf8').split('\0').slice(0, -1)
      processes.set(Number(pid), { id: parseStat(stat), argv })
    }
    return parseShow(visible(text), units)
  }
  return {
    systemctl: {
      show,
      async run(...args) {
        const { code, stderr } = await channel.ask({
          snippet: `timeout -k 5 ${UNIT_WITHIN_MS / 1_000} systemctl ${args.map(quoted).join(' ')}`,
          deadlineMs: UNIT_WITHIN_MS + MARGIN_MS,
        })
        if (code !== 0) throw refused(args.join(' '), stderr || `exited with code ${code}`)
      },
    },
    kernel: {
      process: (pid) => processes.get(pid)?.id,
      arguments: (pid) => processes.get(pid)?.argv,
      bootId: () => boot,
      state: () => undefined,
      keepOnly: () => undefined,
      async output(unit) {
        const { code, stdout } = await channel.ask({
          snippet: `timeout ${JOURNAL_MS / 1_000} journalctl ${journalArguments(unit).map(quoted).join(' ')} | tail -c ${MAX_OUTPUT_BYTES}`,
          deadlineMs: JOURNAL_MS + MARGIN_MS,
        })
        return code === 0 ? visible(stdout.toString('utf8')) : undefined
      },
    },
  }
}

const refused = (command: string, answer: string) =>
  new KubeNodeError(agentErrors.KN8037({ command, answer: answer.slice(0, 160) }), { retry: 'later' })
