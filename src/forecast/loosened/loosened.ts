// Which gates, soaks, budgets, approvals and signatures a commit takes away from later commits. A reviewer must see it, however small the change is. Pure.
import { API_GROUP } from '#api/kind.ts'
import type { ApiKind } from '#api/kind.ts'
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type ReleasePipeline, releasePipeline } from '#api/kinds/release-pipeline.ts'
import { HUB_TARGET } from '#api/names.ts'
import { applyDefaults } from '#schema/default.ts'
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

export function loosenedBy(before: Targets, after: Targets): readonly Loosened[] {
  // What all clusters pass comes first: a list that is cut must not end in its harmless part.
  const names = [...before.keys()]
    .filter((name) => after.has(name))
    .toSorted((a, b) => Number(b === HUB_TARGET) - Number(a === HUB_TARGET) || (a < b ? -1 : 1))
  return names.flatMap((name) => {
    const [old, now] = [before.get(name), after.get(name)]
    const found = [
      ...comparedIn<ReleasePipeline>(releasePipeline, old, now, (a, b) => pipelineFound(a.spec, b.spec)),
      ...comparedIn<FleetSource>(fleetSource, old, now, (a, b) => sourceFound(a.spec, b.spec)),
      ...comparedIn<DefenderPolicy>(defenderPolicy, old, now, (a, b) => policyFound(a.spec, b.spec)),
      ...comparedIn<MachineComponentSet>(machineComponentSet, old, now, rolloutFound),
      ...(name === HUB_TARGET ? movesIn(old, now) : []),
    ]
    return found.map((f) => ({ cluster: name, ...f }))
  })
}

type InCluster = Omit<Loosened, 'cluster'>

/** Without them nothing is limited; a set or a source that is removed limits nothing that is left. */
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

/** A cluster in another stage has the gates of that stage. By the stages after the commit: how these changed is said of the pipeline. */
function movesIn(before: RenderedTarget | undefined, after: RenderedTarget | undefined): readonly InCluster[] {
  const pipelines = [...objectsOf<ReleasePipeline>(releasePipeline, after).values()]
  const news = objectsOf<Cluster>(cluster, after)
  return [...objectsOf<Cluster>(cluster, before)].flatMap(([object, old]) => {
    const now = news.get(object)
    if (now === undefined) return []
    const what = pipelines.flatMap(({ metadata, spec }) => {
      const [from, to] = [old, now].map((c) => spec.stages.find((s) => isInStage(s, c)))
      if (from === undefined || from.name === to?.name) return []
      if (to === undefined) return [`it leaves stage ${from.name} of pipeline ${metadata.name ?? ''} and has none`]
      const less = stageFound(from, to)
      return less.map((text) => `it moves from stage ${from.name} to ${to.name}: ${text}`)
    })
    return what.length === 0 ? [] : [{ object, what }]
  })
}
