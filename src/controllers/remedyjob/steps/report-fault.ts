// Reports a fault to the host's provider and keeps the answer. A report that cannot be made never blocks a repair: it is skipped, with the reason.
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { findCondition } from '#kube/conditions.ts'
import type { Operation } from '#api/protocol/operations.ts'
import type { StepResult } from '../actions.ts'
import type { Seen } from '../seen.ts'
import { type JobTools, hostOf } from './step-tools.ts'

/** About the limit of vendors' forms. */
const MOST_TEXT = 200

export async function reportFault(
  tools: JobTools,
  { category, text }: NonNullable<Operation['reportFault']>,
  seen: Seen,
  signal: AbortSignal,
): Promise<StepResult> {
  const why = ownCause(seen)
  if (why !== undefined) return skipped(why)
  const host = hostOf(tools, seen)
  if (typeof host === 'string') return skipped(host)
  const { provider, providerID } = host
  if (provider.reportFault === undefined) return skipped(`provider ${provider.name} takes no reports`)
  try {
    const answer = await provider.reportFault(providerID, category, text ?? faultText(seen), signal)
    return answer === 'Ordered'
      ? { outcome: 'Succeeded', output: `${provider.name} accepted the report (${category})` }
      : skipped(`${provider.name} no longer has host ${providerID}`)
  } catch (error) {
    return skipped(`no answer of ${provider.name}, not repeated: ${messageOf(error)}`)
  }
}

const skipped = (why: string): StepResult => ({
  outcome: 'Skipped',
  output: printableLine(`not reported: ${why}`).slice(0, MOST_TEXT),
})

/** Effects of a rollout or a person are not the vendor's fault. Both may become known after the repair started. */
function ownCause({ remedier, maintained }: Seen): string | undefined {
  if (maintained !== undefined) return `the cause is known: ${maintained}`
  const inhibited = findCondition(remedier?.status?.conditions, 'Inhibited')
  return inhibited?.status === 'True' ? `a change is blamed: ${inhibited.message}` : undefined
}

/** The node's state, for a person at the vendor. */
export function faultText({ job, node }: Pick<Seen, 'job' | 'node'>): string {
  const found = (node?.status?.conditions ?? []).filter((c) => (c.type === 'Ready') !== (c.status === 'True'))
  const shown = found.map((c) => `${c.type}=${c.status}${c.message === undefined ? '' : ` (${c.message})`}`)
  return printableLine([`rule ${job.spec.remedierRef.name}`, ...shown].join('; ')).slice(0, MOST_TEXT)
}
