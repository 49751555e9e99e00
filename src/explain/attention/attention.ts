// Everything that is wrong or waits in the fleet, each cause once, and whether the picture is complete. The console's Home, `local status` and `kubenode
// why` use it. An unknown part never counts as healthy. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { counted } from '#lib/counted.ts'
import { isLocal } from '#sync/git/local-url.ts'
import { acceptanceFindings } from './acceptance-findings.ts'
import {
  canaryFindings,
  machineSetFindings,
  maintenanceFindings,
  releaseFindings,
  setFindings,
} from './change-findings.ts'
import { connectionFindings, gapFindings, holdFindings, policyFindings, programFindings } from './cluster-findings.ts'
import { clusterObjectFindings } from './control-plane-findings.ts'
import { editFindings } from './edit-findings.ts'
import type { FleetFinding } from './finding.ts'
import { lateFindings, machineFindings, nodeFindings, repairFindings } from './node-findings.ts'
import type { ObservedCluster } from './observed.ts'
import { brakeFindings, breakerFindings, permitFindings } from './permit-findings.ts'
import { sourceFindings } from './source-findings.ts'
import { withCommits, withCauses } from './stopped-changes.ts'
import { rewritten } from '../finding.ts'
import { LATE_CAUSE } from '../late-heartbeat.ts'
import { withoutPush } from '../unblock.ts'

export function attentionOf(clusters: readonly ObservedCluster[], now: number): readonly FleetFinding[] {
  const unreached = new Set(clusters.filter((c) => c.state !== 'Connected').map(({ name }) => name))
  const found = clusters.flatMap((cluster) => ofCluster(cluster, unreached, now))
  const findings = withCauses(withCommits(found, clusters), clusters)
  return readsInPlace(clusters) ? findings.map((one) => rewritten(one, withoutPush)) : findings
}

function readsInPlace(clusters: readonly ObservedCluster[]): boolean {
  const sources = clusters.flatMap((cluster) => cluster.list('sources'))
  return sources.length > 0 && sources.every(isReadInPlace)
}

/** Without its URL, the source is not known to be a folder on this machine. */
const isReadInPlace = ({ spec }: Partial<FleetSource>): boolean => spec?.url !== undefined && isLocal(spec.url)

function ofCluster(cluster: ObservedCluster, unreached: ReadonlySet<string>, now: number): readonly FleetFinding[] {
  const holds = holdFindings(cluster, now)
  const permits = permitFindings(cluster)
  const asked = new Set(permits.map(({ object }) => object.name))
  const repairs = repairFindings(cluster, asked, holds.length > 0)
  return [
    ...connectionFindings(cluster),
    ...programFindings(cluster),
    ...policyFindings(cluster),
    ...holds,
    ...releaseFindings(cluster, now),
    ...sourceFindings(cluster),
    ...setFindings(cluster, now),
    ...machineSetFindings(cluster, now),
    ...canaryFindings(cluster, now),
    ...clusterObjectFindings(cluster, unreached, now),
    ...breakerFindings(cluster),
    ...brakeFindings(cluster),
    ...editFindings(cluster, now),
    ...permits,
    ...repairs.findings,
    ...acceptanceFindings(cluster),
    ...machineFindings(cluster, repairs.nodes),
    ...lateFindings(cluster),
    ...nodeFindings(cluster, repairs.conditions),
    ...maintenanceFindings(cluster, now),
    ...gapFindings(cluster),
  ]
}

/** Whether anything needs attention, as numbers and one sentence. */
export interface Attention {
  readonly sentence: string
  readonly needsPerson: number
  readonly waits: number
  /** Clusters that are only partly known, or not yet. Above 0, nothing is known to be healthy. */
  readonly unknown: number
}

/** Names the first finding of weight `Act`, in the order of the findings. */
export function summaryOfAttention(
  findings: readonly FleetFinding[],
  clusters: readonly ObservedCluster[],
  loading = 0,
): Attention {
  const acting = findings.filter((f) => f.weight === 'Act')
  const waiting = findings.filter((f) => f.weight === 'Wait')
  const late = waiting.filter(({ cause }) => cause === LATE_CAUSE)
  const counts: Counts = {
    acting,
    waits: waiting.length - late.length,
    holds: waiting.filter((f) => f.object.kind === 'OperationalHold').length,
    late: late.reduce((sum, f) => sum + f.count, 0),
    unknown: findings.filter((f) => f.weight === 'Unknown').length,
    loading,
  }
  return {
    sentence: sentenceOf(counts, clusters),
    needsPerson: acting.length,
    waits: waiting.length,
    unknown: counts.unknown + loading + (clusters.length === 0 ? 1 : 0),
  }
}

interface Counts {
  readonly acting: readonly FleetFinding[]
  readonly waits: number
  /** Number of holds among the waiting ones. */
  readonly holds: number
  /** Machines whose agents miss heartbeats: no change waits for them. */
  readonly late: number
  readonly unknown: number
  readonly loading: number
}

function sentenceOf(counts: Counts, clusters: readonly ObservedCluster[]): string {
  const { acting, waits, holds, late, unknown, loading } = counts
  const [first] = acting
  if (first !== undefined) {
    const many = acting.length === 1 ? '1 thing needs attention' : `${acting.length} things need attention`
    return `${many}${acting.length === 1 ? '' : ', the first'}: ${first.title ?? headline(first.text)} (${first.object.cluster})`
  }
  if (clusters.length === 0) return 'No cluster can be read.'
  if (loading > 0) return `Nothing needs attention so far; ${counted(loading, 'cluster')} still loading.`
  const changes = [
    ...(holds === 0 ? [] : [`; ${counted(holds, 'hold')}`]),
    ...(waits === holds ? [] : [`; ${counted(waits - holds, 'change')} in progress`]),
    ...(late === 0 ? [] : [`; no heartbeat from ${counted(late, 'machine')}`]),
  ].join('')
  if (unknown > 0) return `Nothing known needs attention${changes}; ${counted(unknown, 'cluster')} known only in part.`
  // If nothing was declared, nothing can be wrong, but "nothing needs attention" would read as "all is well".
  if (waits === 0 && clusters.every(isEmpty)) return 'No release and no machine yet.'
  return `Nothing needs attention${changes}.`
}

/** One line at the top; the list below has what was observed and what it blocks. */
const headline = (text: string): string => text.split(': ', 1)[0] ?? text

const isEmpty = (cluster: ObservedCluster): boolean =>
  cluster.gap === undefined && cluster.list('machines').length === 0 && cluster.list('releases').length === 0
