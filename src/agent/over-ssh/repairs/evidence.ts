// Saves evidence that a repair may destroy, on a host without an agent: the same kinds in the same folder as an agent's, written there by one snippet for each.
// Nothing of it comes here but its size.
import { join } from 'node:path'
import type { EVIDENCE } from '#api/kinds/operations.ts'
import { type Channel, quoted } from '#ssh/channel.ts'
import type { Files } from '../../files/port.ts'
import { componentsFolder, evidenceFolder, type NodeDir } from '../../node-dir.ts'
import { dropOldEvidence, JOURNAL_LINES, MAX_BYTES } from '../../repair/evidence.ts'
import type { StepResult } from '../../repair/steps.ts'

type Kind = (typeof EVIDENCE)[number]

export interface EvidenceOverSshDeps {
  readonly channel: Pick<Channel, 'ask'>
  readonly files: Files
  readonly dir: NodeDir
}

const KIND_S = 20
const MARGIN_MS = 20_000

/** Undefined: only an agent can collect it. No arguments and no environment of processes, because they may contain secrets. */
function programOf(kind: Kind, dir: NodeDir): string | undefined {
  switch (kind) {
    case 'Journal':
      return `journalctl --quiet --no-pager --output=short-iso --lines=${JOURNAL_LINES} || tail -c 65536 /var/log/syslog`
    case 'KernelLog':
      return 'dmesg --kernel --color=never --since=-1h || dmesg'
    case 'Components':
      return `for d in ${quoted(componentsFolder(dir))}/*/; do printf '== %s\\n' "$d"; head -c 65536 "$d/record.json"; echo; done`
    case 'Processes':
      return 'cat /proc/[0-9]*/stat; grep -ls " D " /proc/[0-9]*/stat | head -n 50 | sed "s/stat$/stack/" | xargs -r tail -n +1'
    case 'Disks':
      return 'df -P; df -P -i; cat /proc/mounts /proc/diskstats'
    case 'Network':
      return 'cat /proc/net/dev /proc/net/sockstat /proc/net/snmp'
    case 'Devices':
      return undefined
    default:
      return kind satisfies never
  }
}

export async function evidenceOverSsh(
  { channel, files, dir }: EvidenceOverSshDeps,
  kinds: readonly Kind[],
  job: string,
  signal: AbortSignal,
): Promise<StepResult> {
  const folder = evidenceFolder(dir, job)
  await files.makeFolder(folder)
  const lines: string[] = []
  for (const kind of kinds) {
    signal.throwIfAborted()
    const program = programOf(kind, dir)
    if (program === undefined) {
      lines.push(`${kind}: not collected: it needs an agent`)
      continue
    }
    const path = join(folder, `${kind.toLowerCase()}.txt`)
    const [p, whole] = [quoted(`${path}.partial`), quoted(path)]
    const { code, stdout, stderr } = await channel.ask({
      snippet: `timeout -k 1 ${KIND_S} sh -c ${quoted(program)} 2>&1 | tail -c ${MAX_BYTES} >${p} && mv -f -T -- ${p} ${whole} && stat -c %s -- ${whole}`,
      deadlineMs: KIND_S * 1_000 + MARGIN_MS,
      maxBytes: 64,
    })
    const bytes = /^\d{1,8}(?=\n$)/.exec(stdout.toString('latin1'))?.[0]
    lines.push(
      code === 0 && bytes !== undefined
        ? `${kind}: ${path} (${bytes} bytes)`
        : `${kind}: not collected: ${stderr || `code ${code}`}`,
    )
  }
  await dropOldEvidence(files, dir)
  return { outcome: 'Succeeded', output: lines.join('\n') }
}
