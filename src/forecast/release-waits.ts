// What delays a commit's release regardless of its machines: a hold on the source, and the windows of stages. Pure.
import { HUB_TARGET } from '#api/names.ts'
import type { Targets } from '#delivery/desired.ts'
import { endOfHold } from '#permits/holds/names.ts'
import { holdOver } from '#permits/holds/reach.ts'
import { timestamp } from '#lib/clock.ts'
import { openingOf } from '#permits/windows.ts'
import type { Inventory } from './inventory.ts'
import { type BindingHub, bindingHub, isInStage, type Stage } from './stage-members.ts'

export interface ReleaseWait {
  readonly is: 'Hold' | 'Window'
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
    : [...sourceHolds(request), ...closedWindows(request, bindingHub(request.before, request.after))]

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
