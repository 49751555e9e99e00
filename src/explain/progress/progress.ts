// The progress of a fleet on this machine, in a few lines that a user can watch. Pure.
import { notReady, shownPhase } from '../cluster-phase.ts'
import { phaseWords } from '../phase-words.ts'
import { HUB_TARGET } from '#api/names.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { commitText, newestCommitText } from '#api/protocol/commit-title.ts'
import { activeMachines, sliceName } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { refusalOf } from '../attention/source-findings.ts'
import { newestReleases } from '../newest-releases.ts'
import { ladderLines } from '../ladder-lines.ts'
import { attentionProgress } from './attention-progress.ts'
import { waitText } from '../wait.ts'
import { type ClusterSeen, type FleetSeen, type HubSeen, nameHere, type Progress } from './seen.ts'

export const isTrue = (
  o: {
    readonly status?:
      | { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
      | undefined
  },
  type: string,
): boolean => o.status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false

export const declared = (c: ClusterSeen): number => c.machineSets.reduce((n, s) => n + s.spec.replicas, 0)
export const readyMachines = (c: ClusterSeen): number => c.machines.filter((m) => m.status?.phase === 'Ready').length
export const openJobs = (c: ClusterSeen): readonly RemedyOperationJob[] =>
  c.jobs.filter((j) => j.status?.phase !== 'Done')

/** Versions in use by component: `beacon 1.1.0 ×3, 1.0.0 ×2`. */
export function componentsLine(machines: readonly Machine[]): string {
  const counts = new Map<string, Map<string, number>>()
  for (const m of machines)
    for (const c of m.status?.components ?? []) {
      const versions = counts.get(c.name) ?? new Map<string, number>()
      const version = c.version ?? 'none'
      versions.set(version, (versions.get(version) ?? 0) + 1)
      counts.set(c.name, versions)
    }
  const parts = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, versions]) => {
      const each = [...versions].sort(([, a], [, b]) => b - a).map(([version, n]) => `${version} ×${n}`)
      return `${name} ${each.join(', ')}`
    })
  return parts.join('   ')
}

/** The rate limit is the one wait that ends at a time of day, so the time is shown. */
export const rateOf = (waiting: { readonly predicate: string; readonly seen?: string } | undefined): string =>
  waiting?.predicate === 'RateExceeded' && waiting.seen !== undefined ? `, ${waiting.seen}` : ''

function rolloutText(set: MachineComponentSet): string | undefined {
  const slices = (set.status?.slices ?? []).filter((w) => !['Passed', 'Failed', 'Aborted'].includes(w.phase))
  const slice = slices.find((w) => w.waitingFor?.predicate === 'RateExceeded') ?? slices[0]
  if (slice !== undefined) {
    return `${sliceName(slice)}: ${slice.phase}, ${counted(activeMachines(slice).length, 'machine')}${rateOf(slice.waitingFor)}`
  }
  // A blocked set needs attention, and is reported above.
  if (set.status?.phase === 'Blocked') return undefined
  return set.status?.waitingFor === undefined ? undefined : waitText(set.status.waitingFor)
}

/** Statuses outlive their agents: here a machine counts as Ready only after its agent reported since the start. */
export const isReporting = (c: ClusterSeen, m: Machine, since: number): boolean =>
  (c.lastHeartbeats.get(m.metadata.name ?? '') ?? 0) >= since

const silentNote = (silent: number): string =>
  silent === 0 ? '' : `   ${silent} agent${silent === 1 ? ' has' : 's have'} not reported since the start`

/** With more repairs at once, they are only counted. */
const MOST_REPAIRS = 3

function ofCluster(c: ClusterSeen, since: number, hasBars: boolean): readonly Progress[] {
  const of = c.name
  // The hub's own line already reports it.
  if (!c.isReachable) return of === HUB_TARGET ? [] : [{ of, text: 'does not answer' }]
  const rollouts = c.sets.flatMap((set) => [
    ...[rolloutText(set)].filter((text) => text !== undefined),
    ...(hasBars ? ladderLines(set, c.sets).map((line) => `  ${line}`) : []),
  ])
  const repairs = openJobs(c)
  const lastHeartbeats = c.machines.filter((m) => isReporting(c, m, since))
  const ready = readyMachines({ ...c, machines: lastHeartbeats })
  const counts = `${ready}/${Math.max(declared(c), ready)} machines Ready   ${componentsLine(c.machines)}`.trimEnd()
  const more = repairs.length - MOST_REPAIRS
  return [
    { of, text: `${counts}${silentNote(readyMachines(c) - ready)}` },
    ...rollouts.map((text) => ({ of, label: 'rollout', text }) as const),
    ...[
      ...repairs
        .slice(0, MOST_REPAIRS)
        .map((j) => `${j.spec.node.name}: ${j.spec.remedierRef.name}, ${j.status?.phase ?? 'Pending'}`),
      ...(more > 0 ? [`and ${more} more`] : []),
    ].map((text) => ({ of, label: 'repair', text }) as const),
  ]
}

/** Of two that were created within one second, the one that replaced the other. */
export const newest = (releases: readonly Release[]): Release | undefined =>
  newestReleases(releases).toSorted((a, b) =>
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1,
  )[0]

function releaseText(hub: HubSeen): string {
  if (!hub.isReachable) return 'does not answer'
  const release = newest(hub.releases)
  if (release === undefined)
    return isAlone(hub) ? `commit ${newestCommitText(hub.sources[0]?.status ?? {})}: applied` : 'no release yet'
  const stages = (release.status?.stages ?? []).map((s) => `${s.name} ${s.phase}`).join(', ')
  const { waitingFor } = release.status ?? {}
  // A failed stage has its own line.
  const hasFailed = release.status?.stages?.some((s) => s.phase === 'Failed') === true
  const waits = waitingFor === undefined || hasFailed ? '' : `   ${waitText(waitingFor)}`
  return `commit ${commitText(release.spec.commit, release.spec)}: ${release.status?.phase ?? 'new'}${stages === '' ? '' : ` (${stages})`}${waits}`
}

/** Deletions on the hub that git requests, such as a Cluster, and that a user must approve. */
export const heldPrune = (source: FleetSource | undefined): string | undefined =>
  source?.status?.conditions?.find((c) => c.type === 'PruneBlocked' && c.status === 'True')?.message

/** A commit without a release, such as the revert of a refused one: otherwise the previous release looks like the newest commit. */
function unreleasedTexts({ isReachable, sources, releases }: HubSeen): readonly string[] {
  const [source] = sources
  const { commit, ...title } = source?.status ?? {}
  const release = newest(releases)
  const isFollowed = source !== undefined && refusalOf(source) === undefined && isTrue(source, 'Ready')
  if (!isReachable || !isFollowed || commit === undefined || release === undefined) return []
  if (heldPrune(source) !== undefined) return []
  if (releases.some((r) => r.spec.commit === commit) || release.status?.phase !== 'Succeeded') return []
  return [`commit ${commitText(commit, title)} is in force; it changes nothing in the clusters, so it has no release`]
}

interface OnTheWay {
  readonly name: string
  readonly how: string
}

const NOT_HERE = 'is Ready, but its programs do not run on this machine yet'

/** Clusters on this machine that are being created or removed. */
export function onTheWay({ hub, clusters }: FleetSeen): readonly OnTheWay[] {
  if (hub.clusters === undefined || !hub.isReachable) return []
  const here = new Set(clusters.map((c) => c.name))
  const declared = hub.clusters.flatMap((cluster) => {
    const name = nameHere(cluster)
    return name === undefined ? [] : [{ name, cluster }]
  })
  const names = new Set(declared.map(({ name }) => name))
  return [
    ...declared.flatMap(({ name, cluster: { metadata, status } }) => {
      const { phase = 'Pending', waitingFor } = status ?? {}
      const seen = waitingFor === undefined ? notReady(status)?.message : waitText(waitingFor)
      const waits = seen === undefined ? '' : `: ${seen}`
      if (metadata.deletionTimestamp !== undefined) return [{ name, how: `is being deleted${waits}` }]
      if (here.has(name) || phase === 'Expired') return []
      const shown = shownPhase(status) ?? phase
      return [{ name, how: shown === 'Ready' ? NOT_HERE : `${phaseWords('Cluster', shown)}${waits}` }]
    }),
    ...[...here]
      .filter((name) => name !== HUB_TARGET && !names.has(name))
      .map((name) => ({ name, how: 'is being removed' })),
  ]
}

/** By their local names. Their control planes are stopped as declared, so they do not answer. */
const expiredNames = ({ clusters = [] }: HubSeen): readonly string[] =>
  clusters.flatMap((c) => {
    const isExpired = c.status?.phase === 'Expired' && c.metadata.deletionTimestamp === undefined
    return isExpired ? (nameHere(c) ?? []) : []
  })

export function withoutExpired(seen: FleetSeen): FleetSeen {
  const expired = new Set(expiredNames(seen.hub))
  return expired.size === 0 ? seen : { ...seen, clusters: seen.clusters.filter((c) => !expired.has(c.name)) }
}

/** Clusters that should answer: not expired, and not being created or removed. */
export function expectedClusters(seen: FleetSeen): ReadonlySet<string> {
  const way = new Set(onTheWay(seen).map(({ name }) => name))
  return new Set(withoutExpired(seen).clusters.flatMap(({ name }) => (way.has(name) ? [] : [name])))
}

interface Wanted {
  /** When the fleet was started; 0 when unknown. */
  readonly since: number
  /** For a terminal. A log has a line for each change, and bars would double them. */
  readonly hasBars?: boolean
  /** Absent where everything that needs attention is listed below. */
  readonly hasAttention?: boolean
}

export function progressOf(
  all: FleetSeen,
  { since, hasBars = false, hasAttention = false }: Wanted,
): readonly Progress[] {
  const { hub, clusters, at = 0 } = withoutExpired(all)
  return [
    { of: HUB_TARGET, text: releaseText(hub) },
    ...unreleasedTexts(hub).map((text) => ({ of: HUB_TARGET, label: 'newest', text }) as const),
    ...(hasAttention ? attentionProgress({ hub, clusters, at }, since, (c, m) => isReporting(c, m, since)) : []),
    ...inStages(hub, clusters).flatMap((c) => ofCluster(c, since, hasBars)),
    ...onTheWay(all).map(({ name, how }) => ({ of: name, text: how })),
    ...expiredNames(all.hub).map((name) => ({ of: name, text: `expired; kubenode why cluster/${name}` })),
  ]
}

/** A change reaches the clusters in this order; those that no stage names come last. */
function inStages({ clusters = [], releases }: HubSeen, seen: readonly ClusterSeen[]): readonly ClusterSeen[] {
  const stages = (newest(releases)?.status?.stages ?? []).map((s) => s.name)
  const stageOf = new Map(clusters.flatMap((c) => (nameHere(c) === undefined ? [] : [[nameHere(c), c.spec.stage]])))
  const rank = ({ name }: ClusterSeen) => {
    const at = stages.indexOf(stageOf.get(name) ?? '')
    return at === -1 ? stages.length : at
  }
  return seen.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

/** A hub without other clusters: git's objects are applied to it directly, without a release. */
export const isAlone = ({ clusters, sources: [source] }: HubSeen): boolean =>
  clusters?.length === 0 && source !== undefined && isTrue(source, 'Ready')
