// What delays a commit's release regardless of its machines: a hold on the source, the windows of stages, and clusters in no stage. Pure.
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import { HUB_TARGET } from '#api/names.ts'
import { declaredOnHub } from '#delivery/declared-on-hub.ts'
import type { Targets } from '#delivery/desired.ts'
import { endOfHold } from '#permits/holds/names.ts'
import { holdOver } from '#permits/holds/reach.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { someOf } from '#lib/some-of.ts'
import { jsonEqual } from '#lib/json.ts'
import { openingOf } from '#permits/windows.ts'
import type { Inventory } from './inventory.ts'
import { type BindingHub, bindingHub, isInStage, type Stage } from './stage-members.ts'

export interface ReleaseWait {
  readonly is: 'Hold' | 'Window' | 'NoStage'
  readonly what: string
}

export interface ReleaseWaitsRequest {
  readonly before: Targets
  readonly after: Targets
  /** Clusters that change. */
  readonly clusters: readonly string[]
  readonly inventories: readonly Inventory[]
  readonly now: number
}

export const releaseWaits = (request: ReleaseWaitsRequest): readonly ReleaseWait[] =>
  request.clusters.length === 0
    ? []
    : [
        ...sourceHolds(request),
        ...closedWindows(request, bindingHub(request.before, request.after)),
        ...stageless(request, bindingHub(request.before, request.after)),
      ]

/** Sync applies nothing there. A cluster that the commit adds, or gives a stage, is in the stage that the commit names. */
function stageless(
  { clusters, after }: ReleaseWaitsRequest,
  { pipelines, clusters: all }: BindingHub,
): readonly ReleaseWait[] {
  if (pipelines.length === 0) return []
  const wanted = new Map(declaredOnHub(cluster, after).map((c) => [c.metadata.name, c]))
  const isChanged = (c: Cluster): boolean => {
    const now = wanted.get(c.metadata.name)
    return clusters.includes(c.metadata.name ?? '') || (now !== undefined && !jsonEqual(now.spec, c.spec))
  }
  const isStaged = (c: Cluster) => pipelines.some(({ spec }) => spec.stages.some((stage) => isInStage(stage, c)))
  const lost = all
    .filter(isChanged)
    .filter((c) => ![c, wanted.get(c.metadata.name)].some((each) => each !== undefined && isStaged(each)))
    .map(({ metadata: { name = '' } }) => name)
  if (lost.length === 0) return []
  const are = `${counted(lost.length, 'cluster')} in no stage of a pipeline: ${someOf(lost, MOST_NAMED)}`
  return [
    {
      is: 'NoStage',
      what: `${are}; nothing changes there until a commit gives ${lost.length === 1 ? 'it' : 'each'} a stage`,
    },
  ]
}

const MOST_NAMED = 3

/** A held source follows no new commit, so sync applies nothing from it. */
function sourceHolds({ inventories, now }: ReleaseWaitsRequest): readonly ReleaseWait[] {
  return inventories.flatMap(({ holds, sources = [] }) =>
    sources.flatMap(({ source }): readonly ReleaseWait[] => {
      const [namespace = '', name = ''] = source.split('/')
      // The commit's Release has no name yet: only a hold on all Releases covers it.
      const targets = [
        { kind: 'FleetSource', name, namespace, labels: 'Unknown' },
        { kind: 'Release', name: '', namespace, labels: 'Unknown' },
      ] as const
      const hold = holdOver(holds, { effects: ['Pause', 'Freeze'], targets, now })
      if (hold === undefined) return []
      const { author, reason, until } = hold.spec
      const stops = hold.spec.target.kind === 'Release' ? `releases of source ${source}` : `source ${source}`
      return [
        {
          is: 'Hold',
          what: `${HUB_TARGET}: ${stops}: ${author} holds it until ${until}: ${reason}; nothing of the commit is applied before it ends: ${endOfHold(hold)}`,
        },
      ]
    }),
  )
}

function closedWindows(
  { clusters, now }: ReleaseWaitsRequest,
  { pipelines, clusters: all }: BindingHub,
): readonly ReleaseWait[] {
  const changed = new Set(clusters)
  const reached = all.filter((c) => changed.has(c.metadata.name ?? ''))
  const isReached = (stage: Stage) =>
    stage.clusters.hub === true ? changed.has(HUB_TARGET) : reached.some((c) => isInStage(stage, c))
  const stages = pipelines.flatMap((p) => p.spec.stages).filter(isReached)
  return stages.flatMap((stage) => windowWait(stage, now))
}

function windowWait({ name, windows = [] }: Stage, now: number): readonly ReleaseWait[] {
  if (windows.length === 0) return []
  const opening = openingOf(windows, now)
  const { isOpen } = opening
  const [problem, nextAt] = isOpen ? [undefined, undefined] : [opening.problem, opening.nextAt]
  const when = isOpen
    ? 'one is open now'
    : problem !== undefined
      ? `none can open: ${problem}`
      : nextAt === undefined
        ? 'none opens again'
        : `the next one opens at ${timestamp(nextAt)}`
  return [
    {
      is: 'Window',
      what: `stage ${name} starts in its maintenance windows only (${when}); the predicted times do not include that wait`,
    },
  ]
}
