// The current state of the local fleet, in a few lines that a person can watch. Pure: objects in, lines out.
import { ANNOTATIONS } from '#api/names.ts'
import { isReason, REASONS } from '#api/catalogue.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { commitText, newestCommitText, shortCommit } from '#api/protocol/commit-title.ts'
import { refusalOf } from '#explain/attention/change-findings.ts'
import { ladderLines } from '#explain/ladder-lines.ts'
import { counted } from '#lib/counted.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { attentionLines } from './attention-lines.ts'
import { HUB } from './layout.ts'
import type { ClusterSeen, FleetSeen, HubSeen, StoppedProgram } from './seen.ts'
import { hostedOf } from './plan-clusters.ts'

const isTrue = (
  o: {
    readonly status?:
      | { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
      | undefined
  },
  type: string,
): boolean => o.status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false

const declared = (c: ClusterSeen): number => c.machineSets.reduce((n, s) => n + s.spec.replicas, 0)
const readyMachines = (c: ClusterSeen): number => c.machines.filter((m) => m.status?.phase === 'Ready').length
const openJobs = (c: ClusterSeen): readonly RemedyOperationJob[] => c.jobs.filter((j) => j.status?.phase !== 'Done')

/** `beacon 1.1.0 ×3, 1.0.0 ×2`, of what is in use, by component. */
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

/** The one wait that ends at a time of day: it is said with it. */
const rateOf = (waiting: { readonly predicate: string; readonly seen?: string } | undefined): string =>
  waiting?.predicate === 'RateExceeded' && waiting.seen !== undefined ? `, ${waiting.seen}` : ''

/** What was observed, else what the reason means: the reason alone is a word for programs. */
function waitText({ predicate, seen = '' }: { readonly predicate: string; readonly seen?: string }): string {
  if (seen !== '') return seen
  const [meaning = ''] = (isReason(predicate) ? REASONS[predicate].doc : predicate).split(';')
  return `${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`.replace(/\.$/, '')
}

function rolloutLine(set: MachineComponentSet): string | undefined {
  const slices = (set.status?.slices ?? []).filter((w) => !['Passed', 'Failed', 'Aborted'].includes(w.phase))
  const slice = slices.find((w) => w.waitingFor?.predicate === 'RateExceeded') ?? slices[0]
  if (slice !== undefined) {
    return `${slice.component} ${slice.version ?? ''} step ${slice.step + 1}: ${slice.phase}, ${slice.machines.length} machine${slice.machines.length === 1 ? '' : 's'}${rateOf(slice.waitingFor)}`
  }
  // One that is blocked needs attention, which is said above.
  if (set.status?.phase === 'Blocked') return undefined
  return set.status?.waitingFor === undefined ? undefined : waitText(set.status.waitingFor)
}

/** Statuses outlive their agents: a machine counts as Ready here once its agent has reported since the start. */
const isHeard = (c: ClusterSeen, m: Machine, since: number): boolean =>
  (c.heard.get(m.metadata.name ?? '') ?? 0) >= since

const silentNote = (silent: number): string =>
  silent === 0 ? '' : `   ${silent} agent${silent === 1 ? ' has' : 's have'} not reported since the start`

function clusterLines(c: ClusterSeen, since: number, hasBars: boolean): string[] {
  // The line of the hub as a hub says it already.
  if (!c.isReachable) return c.name === HUB ? [] : [`${c.name.padEnd(6)} does not answer`]
  const rollouts = c.sets.flatMap((set) => [
    ...[rolloutLine(set)].filter((line) => line !== undefined),
    ...(hasBars ? ladderLines(set, c.sets).map((line) => `  ${line}`) : []),
  ])
  const repairs = openJobs(c)
  const heard = c.machines.filter((m) => isHeard(c, m, since))
  const ready = readyMachines({ ...c, machines: heard })
  return [
    `${c.name.padEnd(6)} ${ready}/${Math.max(declared(c), ready)} machines Ready   ${componentsLine(c.machines)}`.trimEnd() +
      silentNote(readyMachines(c) - ready),
    ...rollouts.map((l) => `${c.name.padEnd(6)}   rollout  ${l}`),
    ...repairs
      .slice(0, 3)
      .map(
        (j) =>
          `${c.name.padEnd(6)}   repair   ${j.spec.node.name}: ${j.spec.remedierRef.name}, ${j.status?.phase ?? 'Pending'}`,
      ),
    ...(repairs.length > 3 ? [`${c.name.padEnd(6)}   repair   and ${repairs.length - 3} more`] : []),
  ]
}

const newest = (releases: readonly Release[]): Release | undefined =>
  releases.toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1))[0]

function releaseLine(hub: HubSeen): string {
  if (!hub.isReachable) return 'hub    not responding'
  const release = newest(hub.releases)
  if (release === undefined)
    return isAlone(hub)
      ? `hub    commit ${newestCommitText(hub.sources[0]?.status ?? {})}: applied`
      : 'hub    no release yet'
  const stages = (release.status?.stages ?? []).map((s) => `${s.name} ${s.phase}`).join(', ')
  const { waitingFor } = release.status ?? {}
  // A stage that failed has a line of its own.
  const hasFailed = release.status?.stages?.some((s) => s.phase === 'Failed') === true
  const waits = waitingFor === undefined || hasFailed ? '' : `   ${waitText(waitingFor)}`
  return `hub    commit ${commitText(release.spec.commit, release.spec)}: ${release.status?.phase ?? 'new'}${stages === '' ? '' : ` (${stages})`}${waits}`
}

/** What git dropped on the hub, such as a Cluster, and a person must approve. */
const heldPrune = (source: FleetSource | undefined): string | undefined =>
  source?.status?.conditions?.find((c) => c.type === 'PruneBlocked' && c.status === 'True')?.message

/** A commit without a release, such as the revert of a refused one: otherwise the release before it looks like the newest commit. */
function unreleasedLines({ isReachable, sources, releases }: HubSeen): readonly string[] {
  const [source] = sources
  const { commit, ...title } = source?.status ?? {}
  const release = newest(releases)
  const isFollowed = source !== undefined && refusal(source) === undefined && isTrue(source, 'Ready')
  if (!isReachable || !isFollowed || commit === undefined || release === undefined) return []
  if (heldPrune(source) !== undefined) return []
  if (releases.some((r) => r.spec.commit === commit) || release.status?.phase !== 'Succeeded') return []
  return [
    `hub      newest   commit ${commitText(commit, title)} is in force; it changes nothing in the clusters, so it has no release`,
  ]
}

interface OnTheWay {
  readonly name: string
  readonly how: string
}

/** Clusters on this machine that are being made or removed. */
function onTheWay({ hub, clusters }: FleetSeen): readonly OnTheWay[] {
  if (hub.clusters === undefined || !hub.isReachable) return []
  const here = new Set(clusters.map((c) => c.name))
  const declared = hub.clusters.flatMap((cluster) => {
    const name = hostedOf(cluster)?.name
    return name === undefined ? [] : [{ name, cluster }]
  })
  const names = new Set(declared.map(({ name }) => name))
  return [
    ...declared.flatMap(({ name, cluster: { metadata, status } }) => {
      const { phase = 'Pending', waitingFor } = status ?? {}
      const waits = waitingFor === undefined ? '' : `: ${waitText(waitingFor)}`
      if (metadata.deletionTimestamp !== undefined) return [{ name, how: `is being deleted${waits}` }]
      return here.has(name) || phase === 'Expired' ? [] : [{ name, how: `is ${phase}${waits}` }]
    }),
    ...[...here].filter((name) => name !== HUB && !names.has(name)).map((name) => ({ name, how: 'is being removed' })),
  ]
}

/** By their names here. Their control planes are stopped as declared, so nothing of them answers. */
const expiredNames = ({ clusters = [] }: HubSeen): readonly string[] =>
  clusters.flatMap((c) => {
    const isExpired = c.status?.phase === 'Expired' && c.metadata.deletionTimestamp === undefined
    return isExpired ? (hostedOf(c)?.name ?? []) : []
  })

function withoutExpired(seen: FleetSeen): FleetSeen {
  const expired = new Set(expiredNames(seen.hub))
  return expired.size === 0 ? seen : { ...seen, clusters: seen.clusters.filter((c) => !expired.has(c.name)) }
}

/** Clusters that are expected to answer: neither expired nor being made or removed. */
export function expectedClusters(seen: FleetSeen): ReadonlySet<string> {
  const way = new Set(onTheWay(seen).map(({ name }) => name))
  return new Set(withoutExpired(seen).clusters.flatMap(({ name }) => (way.has(name) ? [] : [name])))
}

/** `since`: when the fleet was started; 0 when that is not known. `hasBars`: for a terminal; a log has a line for each change, and bars would double them. */
export const summaryLines = (seen: FleetSeen, since: number, hasBars = false): readonly string[] =>
  linesOf(seen, { since, hasBars, hasAttention: true })

/** Where all that needs attention is listed below. */
export const stateLines = (seen: FleetSeen, since: number): readonly string[] =>
  linesOf(seen, { since, hasBars: false, hasAttention: false })

interface Shown {
  readonly since: number
  readonly hasBars: boolean
  readonly hasAttention: boolean
}

const linesOf = (seen: FleetSeen, shown: Shown): readonly string[] => [
  ...summaryOf(withoutExpired(seen), onTheWay(seen), shown),
  ...expiredNames(seen.hub).map((name) => `${name.padEnd(6)} expired; kubenode why cluster/${name}`),
]

const summaryOf = (
  { hub, clusters, at = 0 }: FleetSeen,
  way: readonly OnTheWay[],
  { since, hasBars, hasAttention }: Shown,
): readonly string[] => [
  releaseLine(hub),
  ...unreleasedLines(hub),
  ...(hasAttention ? attentionLines({ hub, clusters, at }, (c, m) => isHeard(c, m, since)) : []),
  ...inStages(hub, clusters).flatMap((c) => clusterLines(c, since, hasBars)),
  ...way.map(({ name, how }) => `${name.padEnd(6)} ${how}`),
]

/** A change reaches them in this order; what no stage names comes last. */
function inStages({ clusters = [], releases }: HubSeen, seen: readonly ClusterSeen[]): readonly ClusterSeen[] {
  const stages = (newest(releases)?.status?.stages ?? []).map((s) => s.name)
  const stageOf = new Map(
    clusters.flatMap((c) => (hostedOf(c) === undefined ? [] : [[hostedOf(c)?.name, c.spec.stage]])),
  )
  const rank = ({ name }: ClusterSeen) => {
    const at = stages.indexOf(stageOf.get(name) ?? '')
    return at === -1 ? stages.length : at
  }
  return seen.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

const refusal = (source: FleetSource | undefined): string | undefined =>
  source === undefined ? undefined : refusalOf(source)?.message

const notRunning = (name: string, stopped: readonly StoppedProgram[] = []): readonly string[] =>
  stopped.map((p) => `${name}: role ${p.name} is not running`)

/** A hub without further clusters: what git declares is applied to it at once, without a release. */
const isAlone = ({ clusters, sources: [source] }: HubSeen): boolean =>
  clusters?.length === 0 && source !== undefined && isTrue(source, 'Ready')

function unmetByHub(hub: HubSeen, commit: string, called: string): readonly string[] {
  const { isReachable, sources, releases } = hub
  if (!isReachable) return ['the hub is not responding']
  const [source] = sources
  if (source === undefined) return ['the hub does not follow a repository yet']
  const refused = refusal(source)
  if (refused !== undefined) return [`refused: ${refused}`]
  if (source.status?.commit !== commit) return [`commit ${called} has not been read yet`]
  const held = heldPrune(source)
  if (held !== undefined) return [`deletions wait for a person: ${held}`]
  const release = newest(releases)
  if (release === undefined) return isAlone(hub) ? [] : ['no release created yet']
  // Without it the release before it would pass for the newest.
  const deleted = source.status?.tracks?.find(
    (t) => !releases.some((r) => r.metadata.name === (t.release ?? r.metadata.name)),
  )
  if (deleted !== undefined) return [`release ${deleted.release ?? ''} was deleted; sync creates it again`]
  if (release.status?.phase === 'Succeeded') return []
  const waits = release.status?.waitingFor
  const why = waits === undefined ? '' : `: ${waitText(waits)}`
  return [`release ${release.metadata.name ?? ''} is ${release.status?.phase ?? 'new'}${why}`]
}

/** After a start the statuses still describe the time before: a cluster is not Ready until its agents have reported since. */
export const unheard = (seen: FleetSeen, since: number): readonly string[] =>
  withoutExpired(seen).clusters.flatMap((c) => {
    const silent = c.machines.filter((m) => !isHeard(c, m, since)).length
    return silent === 0 ? [] : [`${c.name}: ${silent} of ${c.machines.length} agents have not reported since the start`]
  })

/** What is something else here than in git, in the words that sync left on it. */
export function rehearsalNotes({ hub, clusters }: FleetSeen): readonly string[] {
  const wasOf = ({ metadata }: { readonly metadata: KubeObject['metadata'] }) =>
    metadata.annotations?.[ANNOTATIONS.rehearsalOf]
  const notes = (hub.clusters ?? []).flatMap((c) => {
    const was = wasOf(c)
    return was === undefined ? [] : [`cluster ${c.metadata.name ?? ''} is an embedded one here (in git: ${was})`]
  })
  const pools = clusters.flatMap((c) =>
    c.machineSets.flatMap((set) => {
      const was = wasOf(set)
      const { replicas, template } = set.spec
      const here = `${counted(replicas, 'machine')} of provider ${template.spec.provider?.name ?? ''}`
      return was === undefined ? [] : [`pool ${set.metadata.name ?? ''} of ${c.name} has ${here} here (in git: ${was})`]
    }),
  )
  return [...notes, ...pools]
}

const editOf = (o: MachineComponentSet | MachineSet): string =>
  o.status?.conditions?.find((c) => c.type === 'UncommittedChange')?.message ?? 'edited'

/** Why the fleet is not yet as git says; empty when it is. */
/** `called`: the commit as people call it. */
export function unmet(all: FleetSeen, commit: string, called = shortCommit(commit)): readonly string[] {
  const seen = withoutExpired(all)
  const { hub, clusters } = seen
  const way = onTheWay(seen).map(({ name, how }) => `${name} ${how}`)
  const out: string[] = [...unmetByHub(hub, commit, called), ...notRunning('hub', hub.stopped), ...way]
  for (const c of clusters) {
    if (!c.isReachable) {
      out.push(`${c.name} does not answer`)
      continue
    }
    out.push(...notRunning(c.name, c.stopped))
    // A fleet of a person may have none in a cluster; once the release has succeeded, all that git declares is there.
    if (declared(c) === 0 && out.length > 0) out.push(`${c.name} has no MachineSet yet`)
    if (readyMachines(c) < declared(c)) out.push(`${c.name}: ${readyMachines(c)} of ${declared(c)} machines are Ready`)
    const edited = [...c.sets.map((s) => ['set', s] as const), ...c.machineSets.map((s) => ['machineset', s] as const)]
    for (const [noun, s] of edited)
      if (isTrue(s, 'UncommittedChange')) out.push(`${c.name}: ${noun}/${s.metadata.name ?? ''} was ${editOf(s)}`)
    for (const s of c.sets)
      if (!isTrue(s, 'Ready'))
        out.push(`${c.name}: set ${s.metadata.name ?? ''} is not rolled out${rateOf(s.status?.waitingFor)}`)
    const open = openJobs(c).length
    if (open > 0) out.push(`${c.name}: ${open === 1 ? '1 repair is' : `${open} repairs are`} open`)
  }
  return out
}
