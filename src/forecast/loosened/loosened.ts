// Which gates, soaks, budgets, approvals and signatures a commit removes for later commits. A reviewer must see them, however small the change. Pure.
import { API_GROUP } from '#api/kind.ts'
import type { ApiKind } from '#api/kind.ts'
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type ReleasePipeline, releasePipeline } from '#api/kinds/release-pipeline.ts'
import { HUB_TARGET } from '#api/names.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import { isInStage } from '../stage-members.ts'
import type { Found } from './compare.ts'
import { pipelineFound, stageFound } from './pipeline.ts'
import { policyFound, rolloutFound, sourceFound } from './policies.ts'

export interface Loosened {
  readonly cluster: string
  /** By `refText`. */
  readonly object: string
  readonly what: Found
}

/** `used`: names of the pipelines that tracks go through, from an inventory of the hub; those of sources in the repository are added. */
export function loosenedBy(before: Targets, after: Targets, used?: ReadonlySet<string>): readonly Loosened[] {
  const names = [...before.keys()].filter((name) => after.has(name)).toSorted((a, b) => (a < b ? -1 : 1))
  const found = names.flatMap((name) => {
    const [old, now] = [before.get(name), after.get(name)]
    const here = ranked(name === HUB_TARGET ? 'Hub' : 'Cluster')
    const found = [
      ...(name === HUB_TARGET ? pipelinesIn(old, now, used) : []),
      ...comparedIn<FleetSource>(fleetSource, old, now, (a, b) => sourceFound(a.spec, b.spec)).map(ranked('Source')),
      ...(name === HUB_TARGET ? movesIn(old, now).map(ranked('Binding')) : []),
      ...comparedIn<DefenderPolicy>(defenderPolicy, old, now, (a, b) => policyFound(a.spec, b.spec)).map(here),
      ...comparedIn<MachineComponentSet>(machineComponentSet, old, now, rolloutFound).map(here),
    ]
    return found.map(({ rank, ...f }) => ({ rank, one: { cluster: name, ...f } }))
  })
  // The strictest limits come first: a truncated list must not drop them.
  return found.toSorted((a, b) => RANKS.indexOf(a.rank) - RANKS.indexOf(b.rank)).map(({ one }) => one)
}

/** Pipelines in use; sources; pipelines that may be in use; the rest of the hub; clusters; pipelines without a track or a cluster. */
const RANKS = ['Binding', 'Source', 'MayBind', 'Hub', 'Cluster', 'Unused'] as const
type Rank = (typeof RANKS)[number]

const ranked =
  (rank: Rank) =>
  (found: InCluster): InCluster & { readonly rank: Rank } => ({ rank, ...found })

function pipelinesIn(
  before: RenderedTarget | undefined,
  after: RenderedTarget | undefined,
  used: ReadonlySet<string> | undefined,
): readonly (InCluster & { readonly rank: Rank })[] {
  const declared = [...objectsOf<FleetSource>(fleetSource, before).values()].flatMap(({ spec }) =>
    spec.tracks.map((t) => t.pipelineRef.name),
  )
  const binding = new Set([...(used ?? []), ...declared])
  const clusters = [...objectsOf<Cluster>(cluster, before).values()]
  const old = objectsOf<ReleasePipeline>(releasePipeline, before)
  const rankOf = ({ metadata, spec }: ReleasePipeline): Rank => {
    if (binding.has(metadata.name ?? '')) return 'Binding'
    const reaches = spec.stages.some((s) => s.clusters.hub === true || clusters.some((c) => isInStage(s, c)))
    // Sources that no inventory lists may use it.
    return used === undefined && reaches ? 'MayBind' : 'Unused'
  }
  return comparedIn<ReleasePipeline>(releasePipeline, before, after, (a, b) => pipelineFound(a.spec, b.spec)).map(
    (found) => {
      const pipeline = old.get(found.object)
      return ranked(pipeline === undefined ? 'Unused' : rankOf(pipeline))(found)
    },
  )
}

type InCluster = Omit<Loosened, 'cluster'>

/** Removing these removes a limit. Removing a set or a source leaves nothing unlimited. */
const LIMITING: ReadonlySet<string> = new Set([releasePipeline.kind, defenderPolicy.kind])

function comparedIn<T>(
  kind: ApiKind,
  before: RenderedTarget | undefined,
  after: RenderedTarget | undefined,
  compare: (old: T, now: T) => Found,
): readonly InCluster[] {
  const news = objectsOf<T>(kind, after)
  const wrong = new Set((after?.rejected ?? []).map(({ ref }) => refText(ref)))
  return [...objectsOf<T>(kind, before)].flatMap(([object, old]) => {
    const now = news.get(object)
    if (now === undefined && wrong.has(object)) return []
    const what = now === undefined ? (LIMITING.has(kind.kind) ? ['it is removed'] : []) : compare(old, now)
    return what.length === 0 ? [] : [{ object, what }]
  })
}

const objectsOf = <T>(kind: ApiKind, target: RenderedTarget | undefined): ReadonlyMap<string, T> =>
  new Map(
    (target?.objects ?? [])
      .filter(({ ref }) => ref.group === API_GROUP && ref.kind === kind.kind)
      .map(({ ref, object }) => [refText(ref), applyDefaults(kind.schema, object) as T]),
  )

/**
 * A cluster in another stage gets that stage's gates, whether the commit moves the cluster or changes the stages' selection. What a stage demands of the
 * clusters that stay is reported for the pipeline.
 */
function movesIn(before: RenderedTarget | undefined, after: RenderedTarget | undefined): readonly InCluster[] {
  const [olds, news] = [before, after].map((target) => objectsOf<ReleasePipeline>(releasePipeline, target))
  const clusters = objectsOf<Cluster>(cluster, after)
  return [...objectsOf<Cluster>(cluster, before)].flatMap(([object, old]) => {
    const now = clusters.get(object)
    if (now === undefined) return []
    const what = [...(olds ?? [])].flatMap(([of, { metadata, spec }]) => {
      const later = news?.get(of)
      if (later === undefined) return []
      const from = spec.stages.find((s) => isInStage(s, old))
      const to = later.spec.stages.find((s) => isInStage(s, now))
      if (from === undefined || from.name === to?.name) return []
      if (to === undefined)
        return [
          `it leaves stage ${from.name} of pipeline ${metadata.name ?? ''} and has none: nothing changes there until a commit gives it a stage`,
        ]
      return stageFound(from, to).map((text) => `it moves from stage ${from.name} to ${to.name}: ${text}`)
    })
    return what.length === 0 ? [] : [{ object, what }]
  })
}
