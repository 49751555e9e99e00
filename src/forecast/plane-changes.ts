// A commit's effect on the version, data and keys of a control plane, and the way back: the old programs until the one-way step, after it only a restore that
// loses writes; keys never come back. Pure. The running state is only known from an inventory of the hub.
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { API_GROUP } from '#api/kind.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import { HUB_TARGET } from '#api/names.ts'
import { restoreToken } from '#api/restore-token.ts'
import { ROTATED_KEYS, type RotationField } from '#api/rotated-keys.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { takesMachines } from '#delivery/machine-loss.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { jsonEqual } from '#lib/json.ts'
import { deletionRisk, mayAsk, type Risk, riskGate, risksOf } from '#sync/release/risk.ts'
import { type BindingHub, bindingHub, isInStage } from './stage-members.ts'

type ControlPlane = NonNullable<Cluster['spec']['controlPlane']>

/** One Cluster on the hub when the inventory was taken. */
export interface PlaneNow {
  readonly namespace: string
  readonly name: string
  /** Missing in inventories of older releases. */
  readonly createdAt?: string
  readonly version?: string
  readonly flavor?: string
  /** Machines of the cluster, if they were counted. */
  readonly machines?: number
  /** How long half of its last changes of the version took at most, in milliseconds; of how many it is known. */
  readonly tookMs?: number
  readonly timed?: number
  /** Minor versions that its host serves. */
  readonly served?: readonly string[]
  readonly change?: NonNullable<NonNullable<Cluster['status']>['change']>
  readonly snapshots: readonly { readonly name: string; readonly version: string; readonly takenAt: string }[]
}

export interface PlaneChange {
  readonly cluster: string
  readonly what: string
  /** The change or its revert loses writes. */
  readonly isOneWay: boolean
}

export function planeNow({
  metadata: { namespace = '', name = '', creationTimestamp },
  spec,
  status = {},
}: Cluster): PlaneNow {
  const { change, history = [], machines, served, snapshots = [], versions } = status
  const [running] = versions ?? []
  // An entry with equal times was not measured.
  const times = history
    .flatMap(({ startedAt, completedAt }) =>
      completedAt === undefined ? [] : [Date.parse(completedAt) - Date.parse(startedAt)],
    )
    .filter((ms) => ms > 0)
    .toSorted((a, b) => a - b)
  const tookMs = times[Math.floor((times.length - 1) / 2)]
  return {
    namespace,
    name,
    ...defined({ createdAt: creationTimestamp }),
    ...(running !== undefined && { version: running.version }),
    ...defined({ change, served, flavor: spec.controlPlane?.flavor, machines: machines?.total, tookMs }),
    ...(times.length > 0 && { timed: times.length }),
    snapshots: snapshots.map((s) => ({ name: s.name, version: s.version, takenAt: s.takenAt })),
  }
}

/** `now` is undefined without an inventory of the hub. */
export function planeChanges(
  before: Targets,
  after: Targets,
  now: readonly PlaneNow[] | undefined,
): readonly PlaneChange[] {
  return [
    ...deletions(before, after, now),
    ...versionChanges(before, after, now),
    ...otherChanges(before, after),
    ...restores(before, after, now),
    ...keyChanges(before, after),
  ]
}

/** Everything written to it is deleted with it, and so are its machines. */
function deletions(before: Targets, after: Targets, now: readonly PlaneNow[] | undefined): readonly PlaneChange[] {
  const stays = planesIn(after.get(HUB_TARGET))
  const { pipelines } = bindingHub(before, after)
  return [...planesIn(before.get(HUB_TARGET))].flatMap(([key, old]) => {
    if (stays.has(key) || !takesMachines(old.spec)) return []
    const { name = '', namespace = '' } = old.metadata
    const machines = now?.find((p) => p.name === name && p.namespace === namespace)?.machines ?? 'Unknown'
    const risk = deletionRisk(name, machines)
    const turn = turnOf(pipelines, old, risk === undefined ? [] : [risk])
    const lost = machines === 'Unknown' ? 'all of its machines' : counted(machines, 'machine')
    const what = `deletes cluster/${name} with everything in its control plane and ${lost}`
    const when =
      turn !== undefined
        ? ` ${turn}; until its turn a revert changes nothing, after it a revert makes an empty one`
        : `${pipelines.length === 0 ? '' : '; it is in no stage and stays until it is in one'}; a revert makes an empty one`
    return [{ cluster: HUB_TARGET, what: `${what}${when}`, isOneWay: true }]
  })
}

function versionChanges(before: Targets, after: Targets, now: readonly PlaneNow[] | undefined): readonly PlaneChange[] {
  const olds = planesIn(before.get(HUB_TARGET))
  const { pipelines } = bindingHub(before, after)
  return [...planesIn(after.get(HUB_TARGET))].flatMap(([key, wanted]) => {
    const old = olds.get(key)
    const [from, to] = [old?.spec.version, wanted.spec.version]
    if (old === undefined || from === undefined || to === undefined || from === to) return []
    const { name = '', namespace = '' } = wanted.metadata
    const live = now?.find((p) => p.name === name && p.namespace === namespace)
    const turn = turnOf(pipelines, old, risksOf(name, wanted.spec, { spec: old.spec, machines: live?.machines }))
    const time = now === undefined ? '' : timeText(live)
    const [oldMinor, newMinor] = [minorOf(from), minorOf(to)]
    // The embedded API server keeps its data across any change of its reported version. Within a minor version the old programs can read what the new ones
    // wrote.
    if (wanted.spec.controlPlane?.flavor === 'embedded' || oldMinor === newMinor)
      return turn === undefined
        ? []
        : [
            {
              cluster: HUB_TARGET,
              what: `takes cluster/${name} from ${from} to ${to} ${turn}${time}`,
              isOneWay: false,
            },
          ]
    if (oldMinor === undefined || newMinor === undefined) return []
    const change = newMinor > oldMinor ? forward(wanted, from, to) : back(name, live, { from, to }, now !== undefined)
    const what = turn === undefined ? change.what : `${change.what}; it has its turn ${turn}${time}`
    return [{ cluster: HUB_TARGET, ...change, what }]
  })
}

/** Inventories of older releases have the last one only. */
function timeText({ tookMs, timed = 1 }: Pick<PlaneNow, 'tookMs' | 'timed'> = {}): string {
  if (tookMs === undefined) return '; no such change of it is recorded'
  const took = formatDuration(tookMs)
  return timed === 1 ? `; the only one on record took ${took}` : `; half of the ${timed} on record took at most ${took}`
}

/** They disrupt no machine, and a revert brings back what was declared. */
const OTHERS = ['replicas', 'resources', 'extraArgs'] as const

function otherChanges(before: Targets, after: Targets): readonly PlaneChange[] {
  const olds = planesIn(before.get(HUB_TARGET))
  const { pipelines } = bindingHub(before, after)
  return [...planesIn(after.get(HUB_TARGET))].flatMap(([key, { metadata, spec }]) => {
    const old = olds.get(key)
    const turn = old && turnOf(pipelines, old, [])
    if (old === undefined || turn === undefined) return []
    const fields = [
      ...OTHERS.filter((field) => !jsonEqual(spec.controlPlane?.[field], old.spec.controlPlane?.[field])),
      ...(jsonEqual(spec.addons ?? [], old.spec.addons ?? []) ? [] : ['addons']),
    ]
    if (fields.length === 0) return []
    const what = `changes ${fields.join(', ')} of cluster/${metadata.name ?? ''} ${turn}`
    return [{ cluster: HUB_TARGET, what, isOneWay: false }]
  })
}

/** Its turn in the pipeline, by the cluster's stage before the commit. */
function turnOf(pipelines: BindingHub['pipelines'], old: Cluster, risks: readonly Risk[]): string | undefined {
  const turns = pipelines.flatMap(({ spec: { stages } }) => {
    const at = stages.findIndex((stage) => isInStage(stage, old))
    const stage = stages[at]
    if (stage === undefined) return []
    const isAsked = risks.length > 0 && (riskGate(stage, risks) !== undefined || !mayAsk(stage))
    return [`in stage ${stage.name}, ${at + 1} of ${stages.length}${isAsked ? ', after an approval' : ''}`]
  })
  return turns[0]
}

/** A new one has no snapshot yet. */
function restores(before: Targets, after: Targets, now: readonly PlaneNow[] | undefined): readonly PlaneChange[] {
  const olds = planesIn(before.get(HUB_TARGET))
  return [...planesIn(after.get(HUB_TARGET))].flatMap(([key, { metadata, spec }]) => {
    const old = olds.get(key)
    const restore = spec.controlPlane?.restore
    if (old === undefined || restore === undefined || tokenOf(old) === tokenOf({ spec })) return []
    const { name = '', namespace = '' } = metadata
    const live = now?.find((p) => p.name === name && p.namespace === namespace)
    const taken = live?.snapshots.find((s) => s.name === restore.snapshot)
    const since =
      taken === undefined
        ? `it was taken${live === undefined ? '' : '. The inventory has no such snapshot: the restore waits until there is one'}`
        : taken.takenAt
    return [
      {
        cluster: HUB_TARGET,
        what: `restores snapshot ${restore.snapshot} of cluster/${name}: it loses everything that was written since ${since}`,
        isOneWay: true,
      },
    ]
  })
}

function tokenOf({ spec }: Pick<Cluster, 'spec'>): string | undefined {
  const restore = spec.controlPlane?.restore
  return restore === undefined ? undefined : restoreToken(restore)
}

const ROTATION_FIELDS = Object.keys(ROTATED_KEYS) as readonly RotationField[]

/** A new control plane has its first keys, whatever the number. */
function keyChanges(before: Targets, after: Targets): readonly PlaneChange[] {
  const olds = planesIn(before.get(HUB_TARGET))
  return [...planesIn(after.get(HUB_TARGET))].flatMap(([key, wanted]) => {
    const old = olds.get(key)?.spec.controlPlane
    if (old === undefined) return []
    const numberOf = (plane: ControlPlane | undefined, field: RotationField) => plane?.rotation?.[field] ?? 1
    const changed = ROTATION_FIELDS.map((field) => ({
      called: ROTATED_KEYS[field].called,
      by: numberOf(wanted.spec.controlPlane, field) - numberOf(old, field),
      isFirst: old.rotation?.[field] === undefined && wanted.spec.controlPlane?.rotation?.[field] === 1,
    }))
    const named = (of: readonly { readonly called: string }[]) => of.map(({ called }) => called).join(' and ')
    const [higher, lower] = [changed.filter(({ by }) => by > 0), changed.filter(({ by }) => by < 0)]
    const first = changed.filter(({ isFirst }) => isFirst)
    const cluster = `cluster/${wanted.metadata.name ?? ''}`
    return [
      ...(first.length === 0
        ? []
        : [
            {
              cluster: HUB_TARGET,
              what: `gives ${named(first)} of ${cluster} the number 1, which the first ones have: nothing is replaced; 2 replaces them`,
              isOneWay: false,
            },
          ]),
      ...(higher.length === 0
        ? []
        : [
            {
              cluster: HUB_TARGET,
              what: `replaces ${named(higher)} of ${cluster}, in phases during which it works; a revert does not bring the old back, and copied kubeconfigs end with them`,
              isOneWay: true,
            },
          ]),
      ...(lower.length === 0
        ? []
        : [
            {
              cluster: HUB_TARGET,
              what: `lowers the number of ${named(lower)} of ${cluster}: nothing is replaced, and the newest stays`,
              isOneWay: false,
            },
          ]),
    ]
  })
}

type ChangeOnly = Omit<PlaneChange, 'cluster'>

function forward({ metadata, spec }: Cluster, from: string, to: string): ChangeOnly {
  const soak = spec.controlPlane?.upgrade?.soak ?? '1h'
  return {
    what: `upgrades cluster/${metadata.name ?? ''} from ${from} to ${to}: for ${soak} after the new programs serve a revert brings the old ones back in seconds and loses nothing; after the one-way step a revert needs an approval, restores a snapshot and loses what was written since`,
    isOneWay: true,
  }
}

function back(
  name: string,
  live: PlaneNow | undefined,
  { from, to }: { readonly from: string; readonly to: string },
  isKnown: boolean,
): ChangeOnly {
  const head = `takes cluster/${name} from ${from} back to ${to}`
  const [running, wanted] = [minorOf(live?.version ?? ''), minorOf(to)]
  if (live === undefined || running === undefined)
    return {
      what: `${head}: before the one-way step the old programs return in seconds; after it this needs an approval, restores a snapshot and loses what was written since. ${
        isKnown ? `The inventory has no version of it` : `for which one it is, run kubenode cluster show ${name}`
      }`,
      isOneWay: true,
    }
  const { change, snapshots } = live
  if (change?.wayBack === 'Programs' || (change === undefined && running === wanted))
    return { what: `${head}: the old programs return in seconds, and nothing is lost`, isOneWay: false }
  const snapshot =
    change?.snapshot === undefined
      ? snapshots.findLast((s) => s.version === to)
      : { name: change.snapshot, takenAt: change.since ?? 'then' }
  return {
    what:
      snapshot === undefined
        ? `${head}: it is refused: the one-way step is done, and no snapshot of ${to} is left`
        : `${head}: this needs an approval, restores snapshot ${snapshot.name} and loses what was written since ${snapshot.takenAt}`,
    isOneWay: true,
  }
}

export const planesIn = (target: RenderedTarget | undefined): ReadonlyMap<string, Cluster> =>
  new Map(
    (target?.objects ?? []).flatMap(({ ref, object }) => {
      const cluster = object as Cluster
      const isOurs = ref.group === API_GROUP && ref.kind === clusterKind.kind
      return isOurs && cluster.spec.controlPlane !== undefined
        ? [[`${ref.namespace}/${ref.name}`, cluster] as const]
        : []
    }),
  )
