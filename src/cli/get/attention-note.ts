// One line below a `kubenode get` table on a terminal: which of the shown kinds need attention. Printed to stderr, so a pipe gets only the table.
import { attentionOf, summaryOfAttention } from '#explain/attention/attention.ts'
import { worstFirst } from '#explain/attention/finding.ts'
import { LATE_CAUSE } from '#explain/late-heartbeat.ts'
import { readObserved } from '#explain/attention/read.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Wanted } from './wanted.ts'

/** If a cluster takes longer, the table appears without the line. */
const WITHIN_MS = 2_000

/** Kinds that findings cover. */
const JUDGED: ReadonlySet<string> = new Set([
  'Cluster',
  'ComponentCanary',
  'FleetSource',
  'Machine',
  'MachineComponentSet',
  'MachineSet',
  'Node',
  'NodeRemedier',
  'Release',
])

/** Only for whole lists: `why` explains a named object. */
export const isNoted = (wanted: readonly Wanted[]): boolean =>
  wanted.length > 0 && wanted.every(({ type, name }) => name === undefined && JUDGED.has(type.kind))

/** Undefined if nothing is known to need attention; the table alone makes no such claim. */
export async function attentionNote(
  wanted: readonly Wanted[],
  client: Pick<KubeClient, 'list'>,
): Promise<string | undefined> {
  const kinds = new Set(wanted.map(({ type }) => type.kind))
  const now = () => systemClock.now()
  const observed = await readObserved('', client, () => Promise.resolve([]), now, WITHIN_MS).catch(() => undefined)
  if (observed?.state !== 'Connected') return undefined
  const own = worstFirst(attentionOf([observed], systemClock.now())).filter(({ object }) => kinds.has(object.kind))
  const acting = own.filter(({ weight }) => weight === 'Act')
  // The state in the table may be out of date.
  if (acting.length === 0) return own.find(({ cause }) => cause === LATE_CAUSE)?.text
  const { sentence } = summaryOfAttention(acting, [observed])
  return `${sentence.replace(/ \(\)$/, '')}; to list all: kubenode why`
}
