// Whether anything in the fleet needs attention, in one sentence and a short list. Pure.
import { newestReleases } from '#explain/newest-releases.ts'
import { isApprovalText } from '#sync/release/gates.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import type { Lift, ObjectName } from '../../basics.ts'
import type { AttentionRow, HomeHead } from '../../topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { at, commandLift, given, holdNotes, waitOf } from './parts.ts'
import { awayPrograms, awayText, gapOf, isLoading, type ReadableCluster } from './programs.ts'

/** Of each kind and cluster: the view of that kind lists all. */
const MOST = 20

export function attention(clusters: readonly ReadableCluster[], now: number): readonly AttentionRow[] {
  return clusters.flatMap((cluster) => {
    const { state, topics } = cluster
    return [
      ...ofConnection(state),
      ...ofPrograms(cluster),
      ...ofHolds(state, now),
      ...(topics.has('pipeline') ? ofReleases(state) : []),
      ...(topics.has('commits') ? ofSources(state) : []),
      ...(topics.has('sets') ? ofSets(state) : []),
      ...(topics.has('budgets') ? [...ofBreakers(state), ...ofPermits(state)] : []),
      ...(topics.has('repairs') ? ofRules(state) : []),
      ...(topics.has('machines') ? ofMachines(state) : []),
      ...(topics.has('maintenance') ? ofMaintenance(state) : []),
      ...ofGap(cluster),
    ]
  })
}

interface Point {
  readonly weight: AttentionRow['weight']
  readonly text: string
  readonly since?: string | undefined
  readonly lift?: Lift | undefined
  readonly runbook?: string
  /** Distinguishes several points of one object. */
  readonly part?: string
}

function row(object: ObjectName, { weight, text, since, lift, part, runbook }: Point): AttentionRow {
  const { cluster, kind, namespace = '', name } = object
  return {
    id: [cluster, kind, namespace, name, ...(part === undefined ? [] : [part])].join('/'),
    object,
    weight,
    text,
    ...at('since', since),
    ...given('lift', lift),
    ...given('runbook', runbook),
  }
}

const named = (
  cluster: ClusterState,
  kind: string,
  metadata: { readonly name?: string; readonly namespace?: string },
) => ({
  cluster: cluster.name,
  kind,
  name: metadata.name ?? '',
  ...given('namespace', metadata.namespace),
})

const ofConnection = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster.state === 'Unreachable' || cluster.state === 'Refused'
    ? [
        row(named(cluster, 'Cluster', { name: cluster.name }), {
          weight: 'Act',
          text: `cluster/${cluster.name} does not answer: ${cluster.message ?? cluster.state}`,
        }),
      ]
    : []

/** A hold on the whole cluster: repairs and rollouts that it stops do not each say so. */
const ofHolds = (cluster: ClusterState, now: number): readonly AttentionRow[] =>
  holdNotes(cluster.list('holds'), [], now).map(({ name, effect, author, reason, until }) =>
    row(named(cluster, 'OperationalHold', { name }), {
      weight: 'Wait',
      text: `cluster/${cluster.name} is ${effect === 'Freeze' ? 'frozen' : 'paused'} by ${author} until ${timestamp(until)}: ${reason}`,
      lift: commandLift(effect === 'Freeze' ? 'kubenode thaw' : `kubectl delete operationalhold ${name}`),
    }),
  )

const PROGRAMS_RUNBOOK = 'docs/three-in-the-morning.md'

const ofPrograms = (cluster: ReadableCluster): readonly AttentionRow[] =>
  awayPrograms(cluster).map((look) =>
    row(named(cluster.state, 'Cluster', { name: cluster.state.name }), {
      weight: 'Act',
      part: `program/${look.program}`,
      text: awayText(look),
      since: look.since === undefined ? undefined : new Date(look.since).toISOString(),
      lift: commandLift('kubenode check'),
      runbook: PROGRAMS_RUNBOOK,
    }),
  )

const ofGap = (cluster: ReadableCluster): readonly AttentionRow[] => {
  const text = gapOf(cluster)
  const object = named(cluster.state, 'Cluster', { name: cluster.state.name })
  return text === undefined ? [] : [row(object, { weight: 'Unknown', part: 'gap', text })]
}

const STOPPED: ReadonlySet<string> = new Set(['Paused', 'Failed'])

function ofReleases(cluster: ClusterState): readonly AttentionRow[] {
  return newestReleases(cluster.list('releases'))
    .slice(0, MOST)
    .flatMap(({ metadata, status = {} }) => {
      const { phase = 'Pending', waitingFor, stages = [] } = status
      if (phase === 'Succeeded' || phase === 'Superseded' || phase === 'Reverted') return []
      const object = named(cluster, 'Release', metadata)
      const waiting = stages.find((s) => s.waitingFor !== undefined && s.phase !== 'Waiting')?.waitingFor ?? waitingFor
      const isAsked = stages.some((s) =>
        (s.gates ?? []).some((g) => g.phase === 'Waiting' && isApprovalText(g.seen ?? '')),
      )
      const weight = STOPPED.has(phase) || isAsked ? 'Act' : 'Wait'
      const seen = waiting?.seen ?? waiting?.predicate
      return [
        row(object, {
          weight,
          text: `release/${object.name} is ${phase}${seen === undefined ? '' : `: ${seen}`}`,
          since: waiting?.since ?? status.startedAt,
          lift: waitOf(waiting).wait?.lift ?? commandLift(`kubenode why release/${object.name}`),
        }),
      ]
    })
}

const ofSources = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster.list('sources').flatMap(({ metadata, status }) => {
    const object = named(cluster, 'FleetSource', metadata)
    const { refused, prunes = [] } = status ?? {}
    return [
      ...(refused === undefined
        ? []
        : [
            row(object, { weight: 'Act', text: `source/${object.name} refuses the newest commit: ${refused.message}` }),
          ]),
      ...prunes.map(({ name, held }) =>
        row(object, {
          weight: 'Act',
          part: `prune/${name}`,
          text: `source/${object.name}: ${counted(held.count, 'deletion')} on the hub for approval`,
          lift: commandLift(`kubenode approve source/${object.name} --reason WHY`),
        }),
      ),
    ]
  })

const ofSets = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster
    .list('sets')
    .flatMap(({ metadata, status = {} }) => {
      const { phase = 'Pending', waitingFor, counts } = status
      if (phase === 'Complete') return []
      const object = named(cluster, 'MachineComponentSet', metadata)
      const isStopped = phase === 'Blocked' || (phase === 'Paused' && (counts?.failed ?? 0) > 0)
      const progress = `${counts?.updated ?? 0} of ${counted(counts?.total ?? 0, 'machine')} updated`
      const seen = waitingFor?.seen ?? waitingFor?.predicate
      return [
        row(object, {
          weight: isStopped ? 'Act' : 'Wait',
          text: `set/${object.name} is ${phase}: ${progress}${seen === undefined ? '' : `; ${seen}`}`,
          since: waitingFor?.since,
          lift: waitOf(waitingFor).wait?.lift,
        }),
      ]
    })
    .slice(0, MOST)

const ofBreakers = (cluster: ClusterState): readonly AttentionRow[] =>
  (cluster.list('ledgers')[0]?.spec.breakers ?? []).flatMap(({ policy, state, since, failures }) =>
    state !== 'Open'
      ? []
      : [
          row(named(cluster, 'DefenderPolicy', { name: policy }), {
            weight: 'Act',
            text: `the breaker of policy ${policy} is open after ${counted(failures, 'failure')}: only recoveries are granted`,
            since,
          }),
        ],
  )

const ofPermits = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster
    .list('permits')
    .flatMap(({ metadata, status }) => {
      const shut = [...(status?.gates ?? []), ...(status?.verdicts ?? [])].find(
        (v) => v.gate === 'Approval' && v.verdict === 'Waiting',
      )
      if (shut === undefined || status?.phase !== 'Requested') return []
      const object = named(cluster, 'OperationPermit', metadata)
      return [
        row(object, {
          weight: 'Act',
          text: `operationpermit/${object.name} needs an approval${shut.seen === undefined ? '' : `: ${shut.seen}`}`,
          since: metadata.creationTimestamp,
          lift: commandLift(`kubenode approve operationpermit/${object.name} --reason WHY`),
        }),
      ]
    })
    .slice(0, MOST)

/** Reasons of a rule that no time lifts. */
const STUCK: ReadonlySet<string> = new Set(['LadderExhausted', 'HoldAbort'])

const ofRules = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster
    .list('rules')
    .flatMap(({ metadata, status }) =>
      (status?.matching ?? []).flatMap(({ node, since, reason, waitingFor }) =>
        reason === undefined || !STUCK.has(reason)
          ? []
          : [
              row(named(cluster, 'Node', { name: node }), {
                weight: 'Act',
                part: metadata.name ?? '',
                text: `node/${node}: ${reason === 'LadderExhausted' ? 'ladder exhausted' : 'repair aborted'} (rule ${metadata.name ?? ''})${waitingFor === undefined ? '' : `: ${waitingFor}`}`,
                since,
                lift: commandLift(`kubenode repair node/${node} --reason WHY`),
              }),
            ],
      ),
    )
    .slice(0, MOST)

/** Phases of a Machine that end only when a person acts. */
const ENDED: ReadonlySet<string> = new Set(['Failed', 'Lost'])

const ofMachines = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster
    .list('machines')
    .filter((m) => ENDED.has(m.state.phase))
    .slice(0, MOST)
    .map((m) => {
      const name = m.metadata.name ?? ''
      return row(named(cluster, 'Machine', { name }), {
        weight: 'Act',
        text: `machine/${name} is ${m.state.phase}${m.state.reason === '' ? '' : `: ${m.state.reason}`}`,
        since: m.since === 0 ? undefined : new Date(m.since * 1_000).toISOString(),
        lift: commandLift(`kubenode why machine/${name}`),
      })
    })

const ofMaintenance = (cluster: ClusterState): readonly AttentionRow[] =>
  cluster
    .list('events')
    .filter((e) => e.status?.phase === 'Failed' || e.status?.phase === 'Missed')
    .slice(0, MOST)
    .map(({ metadata, spec, status }) =>
      row(named(cluster, 'MaintenanceEvent', metadata), {
        weight: 'Act',
        text: `work on the host of machine/${spec.machine}: ${status?.message ?? status?.phase ?? ''}`,
        since: status?.phaseSince,
      }),
    )

export function homeHead(clusters: readonly ReadableCluster[], rows: readonly AttentionRow[]): HomeHead {
  const acting = rows.filter((r) => r.weight === 'Act').toSorted((a, b) => (a.since ?? 0) - (b.since ?? 0))
  const waits = rows.filter((r) => r.weight === 'Wait').length
  const holds = rows.filter((r) => r.object.kind === 'OperationalHold').length
  const unknown = rows.filter((r) => r.weight === 'Unknown').length
  const loading = clusters.filter(isLoading).length
  const machines = clusters.filter((c) => c.topics.has('machines')).flatMap((c) => c.state.list('machines'))
  const ready = machines.filter((m) => m.state.isReady).length
  // The cache may not have noticed yet that an API server no longer answers.
  const connected = clusters.filter((c) => c.state.state === 'Connected' && c.isUnknown !== true).length
  return {
    sentence: sentenceOf({ acting, waits, holds, unknown, loading }, clusters),
    needsAttention: acting.length,
    waits,
    unknown: unknown + loading + (clusters.length === 0 ? 1 : 0),
    clusters: { total: clusters.length, connected },
    machines: { total: machines.length, ready },
  }
}

interface Counts {
  readonly acting: readonly AttentionRow[]
  readonly waits: number
  /** Of those that wait: holds on a whole cluster. */
  readonly holds: number
  readonly unknown: number
  readonly loading: number
}

function sentenceOf({ acting, waits, holds, unknown, loading }: Counts, clusters: readonly ReadableCluster[]): string {
  const [first] = acting
  if (first !== undefined) {
    const many = acting.length === 1 ? '1 thing needs attention' : `${acting.length} things need attention`
    return `${many}${acting.length === 1 ? '' : ', the first'}: ${headline(first.text)} (${first.object.cluster})`
  }
  if (clusters.length === 0) return 'No cluster can be read.'
  if (loading > 0) return `Nothing needs attention so far; ${counted(loading, 'cluster')} still loading.`
  const changes = [
    ...(holds === 0 ? [] : [`; ${counted(holds, 'hold')} on a whole cluster`]),
    ...(waits === holds ? [] : [`; ${counted(waits - holds, 'change')} in progress`]),
  ].join('')
  if (unknown > 0) return `Nothing known needs attention${changes}; ${counted(unknown, 'cluster')} known only in part.`
  // Where nothing was declared, nothing can be wrong: "nothing needs attention" would be read as "all is well".
  if (waits === 0 && isEmpty(clusters)) return 'No release and no machine yet.'
  return `Nothing needs attention${changes}.`
}

/** One line at the top: what was seen, and what it stops, is in the list below. */
const headline = (text: string): string => text.split(': ', 1)[0] ?? text

const isEmpty = (clusters: readonly ReadableCluster[]): boolean =>
  clusters.every(
    ({ state, topics }) =>
      topics.has('machines') && state.list('machines').length === 0 && state.list('releases').length === 0,
  )
