// One line below a table of `kubenode get` on a terminal: what of the shown kinds needs attention. On stderr, so that a pipe gets the table alone.
import { attentionOf, summaryOfAttention } from '#explain/attention/attention.ts'
import { worstFirst } from '#explain/attention/finding.ts'
import { LATE_CAUSE } from '#explain/late-heartbeat.ts'
import { readObserved } from '#explain/attention/read.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Wanted } from './wanted.ts'

/** A cluster that needs longer gets its table without the line. */
const WITHIN_MS = 2_000

/** Kinds that findings are about. */
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

/** Of a list as a whole: an object that is named is explained by `why`. */
export const isNoted = (wanted: readonly Wanted[]): boolean =>
  wanted.length > 0 && wanted.every(({ type, name }) => name === undefined && JUDGED.has(type.kind))

/** Undefined where nothing is known to need attention: the table says no more than that either. */
export async function attentionNote(
  wanted: readonly Wanted[],
  client: Pick<KubeClient, 'list'>,
): Promise<string | undefined> {
  const kinds = new Set(wanted.map(({ type }) => type.kind))
  const observed = await readObserved('', client, () => Promise.resolve([]), WITHIN_MS).catch(() => undefined)
  if (observed?.state !== 'Connected') return undefined
  const own = worstFirst(attentionOf([observed], systemClock.now())).filter(({ object }) => kinds.has(object.kind))
  const acting = own.filter(({ weight }) => weight === 'Act')
  // What the table shows may be over.
  if (acting.length === 0) return own.find(({ cause }) => cause === LATE_CAUSE)?.text
  const { sentence } = summaryOfAttention(acting, [observed])
  return `${sentence.replace(/ \(\)$/, '')}; to list all: kubenode why`
}
