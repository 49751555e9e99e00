// Builds the plan of a commit: renders it and its base in the cage, compares them, and predicts from inventories if given. Contacts no cluster.
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { accuracyOf } from '../accuracy/accuracy.ts'
import { releaseApprovals } from '../approvals.ts'
import type { Inventory } from '../inventory.ts'
import { type Loosened, loosenedBy } from '../loosened/loosened.ts'
import { type OneWay, oneWaySteps } from '../one-way.ts'
import { updateProblems } from '../update-problems.ts'
import { createValidator } from '#api/validate.ts'
import { type PlaneChange, planeChanges } from '../plane-changes.ts'
import { predict } from '../predict.ts'
import { type Prunes, type PrunesRequest, prunesOf } from '../prunes.ts'
import { releaseWaits } from '../release-waits.ts'
import { withServedProviders } from '../served-providers.ts'
import { defined } from '#lib/defined.ts'
import { bindingHub } from '../stage-members.ts'
import { hubTurn } from './hub-turn.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { type ClusterDifference, differenceOf } from '#sync/difference.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { planDigest } from '#sync/plan-digest.ts'
import type { Rendered } from '#sync/render/render.ts'
import { renderErrors } from '#sync/render/render-errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'
import { type Outlook, outlookOf, staleInventories } from './outlook.ts'

export interface PlanRequest {
  readonly commit: string
  /** If left out, everything counts as added. */
  readonly base: string | undefined
  readonly cluster?: string | undefined
  readonly inventories?: readonly Inventory[] | undefined
  /** `After` renders the commit; `Before` renders its base. */
  readonly render: (commit: string, side: 'Before' | 'After') => Promise<Rendered>
  /** Called instead of failing if the base has no readable fleet. */
  readonly onNothingBefore?: ((error: unknown) => void) | undefined
  /** Commits before the base, newest first. If the base's code fails, the plan compares with one of these, as for a commit that fixes it. */
  readonly earlier?: ((base: string) => Promise<readonly string[]>) | undefined
  /** Wraps slow work. */
  readonly around?: <T>(what: string, work: Promise<T>) => Promise<T>
}

export interface MadePlan {
  readonly commit: string
  /** The commit it was compared with. */
  readonly base: string | undefined
  readonly before: Targets
  readonly after: Rendered
  readonly isBaseRead: boolean
  readonly shown: readonly ClusterDifference[]
  readonly digest: string
  readonly outlook: Outlook | undefined
  readonly loosened: readonly Loosened[]
  readonly oneWay: readonly OneWay[]
  /** Control planes that can go back to an older version without loss. */
  readonly easyReturns: readonly OneWay[]
  /** Undefined if nothing is deleted. */
  readonly prunes: Prunes | undefined
}

const oneWayOf = ({ cluster, what }: PlaneChange): OneWay => ({ cluster, what })

const asItIs = <T>(_: string, work: Promise<T>): Promise<T> => work

export async function makePlan(request: PlanRequest): Promise<MadePlan> {
  const { commit, cluster, inventories, render, around = asItIs } = request
  const rendered = await render(commit, 'After')
  const old = request.base === undefined ? undefined : await baseOf(request, request.base)
  const base = old?.id ?? request.base
  const before: Targets = old?.rendered.targets ?? new Map()
  const hub = inventories?.find((i) => i.planes !== undefined)
  const now = systemClock.now()
  const known = inventories ?? []
  const stale = new Set(staleInventories(known, now).map((s) => s.cluster))
  const isStale = hub !== undefined && stale.has(hub.cluster)
  const update = { before, after: rendered.targets, planes: hub?.planes, isStale, now }
  const ofRender = withServedProviders(rendered.problems, { after: rendered.targets, inventories: known, stale })
  const problems = [...updateProblems(update, createValidator()), ...ofRender]
  const after: Rendered = { ...rendered, problems }
  const all = differenceOf(before, after.targets)
  const shown = cluster === undefined ? all : all.filter((d) => d.cluster === cluster)
  if (cluster !== undefined && shown.length === 0)
    throw new KubeNodeError(
      syncErrors.KN1002_unknownCluster({ cluster: JSON.stringify(cluster), all: all.map((d) => d.cluster).join(', ') }),
    )
  const planned = { before, after: after.targets, shown, commit }
  const outlook =
    inventories === undefined
      ? undefined
      : await around('predicting what it does to machines', predicted(inventories, planned))
  const names = new Set(shown.map((d) => d.cluster))
  const planes = planeChanges(before, after.targets, hub?.planes).filter((p) => names.has(p.cluster))
  return {
    commit,
    base,
    before,
    after,
    isBaseRead: old !== undefined,
    shown,
    digest: planDigest(before, after.targets),
    outlook,
    loosened: loosenedBy(before, after.targets, usedPipelines(inventories)).filter((l) => names.has(l.cluster)),
    oneWay: oneWaySteps(shown, before, after.targets, planes),
    easyReturns: planes.filter((p) => !p.isOneWay).map(oneWayOf),
    prunes: prunesIn(shown, { inventories: inventories ?? [], before, after: after.targets, commit }),
  }
}

/** Undefined without an inventory of the hub, which lists the tracks. */
function usedPipelines(inventories: readonly Inventory[] = []): ReadonlySet<string> | undefined {
  const sources = inventories.flatMap((i) => i.sources ?? [])
  return sources.length === 0
    ? undefined
    : new Set(sources.flatMap(({ tracks }) => tracks.map((t) => t.pipelineRef.name)))
}

interface Base {
  readonly id: string
  readonly rendered: Rendered
}

async function baseOf(request: PlanRequest, base: string): Promise<Base | undefined> {
  try {
    return { id: base, rendered: await request.render(base, 'Before') }
  } catch (error) {
    const earlier = isOfItsCode(error) ? await earlierBase(request, base) : undefined
    if (earlier !== undefined) return earlier
    if (request.onNothingBefore === undefined) throw error
    request.onNothingBefore(error)
    return undefined
  }
}

/** No cluster gets what a broken commit declares. Clusters have the newest earlier commit that renders. */
async function earlierBase(request: PlanRequest, base: string): Promise<Base | undefined> {
  for (const id of (await request.earlier?.(base)) ?? []) {
    const rendered = await request.render(id, 'Before').catch(undefinedIfOfItsCode)
    if (rendered !== undefined) return { id, rendered }
  }
  return undefined
}

const OF_CODE: ReadonlySet<string> = new Set([
  renderErrors.KN7102_syntax.code,
  renderErrors.KN7102.code,
  renderErrors.KN7103.code,
])
const isOfItsCode = (error: unknown): boolean => isKubeNodeError(error) && OF_CODE.has(error.code)

function undefinedIfOfItsCode(error: unknown): undefined {
  if (!isOfItsCode(error)) throw error
}

/** Renders from a copy of the repository with extra commits, such as a work tree's edits. */
export const rendersFrom =
  (before: GitRepository, after: GitRepository, render: (id: string, from: GitRepository) => Promise<Rendered>) =>
  (id: string, side: 'Before' | 'After'): Promise<Rendered> =>
    render(id, side === 'After' ? after : before)

interface Planned {
  readonly before: Targets
  readonly after: Targets
  readonly shown: readonly ClusterDifference[]
  readonly commit: string
}

/** What a commit declares, but not validly, stays as the base has it. */
export function predictedSides(
  before: RenderedTarget | undefined,
  after: RenderedTarget | undefined,
): { readonly before: readonly KubeObject[]; readonly after: readonly KubeObject[] } {
  const olds = before?.objects ?? []
  const invalid = new Set((after?.rejected ?? []).map(({ ref }) => refText(ref)))
  const kept = olds.filter(({ ref }) => invalid.has(refText(ref)))
  return {
    before: olds.map((o) => o.object),
    after: [...(after?.objects ?? []), ...kept].map((o) => o.object),
  }
}

async function predicted(
  inventories: readonly Inventory[],
  { before, after, shown, commit }: Planned,
): Promise<Outlook> {
  const wanted = new Set(shown.map((d) => d.cluster))
  const predictions = []
  for (const inventory of inventories.filter((i) => wanted.has(i.cluster)))
    predictions.push(
      await predict({
        inventory,
        ...predictedSides(before.get(inventory.cluster), after.get(inventory.cluster)),
        commit,
        pause: () => new Promise((resolve) => setImmediate(resolve)),
      }),
    )
  const changed = shown.filter((d) => d.changes.length > 0).map((d) => d.cluster)
  const now = systemClock.now()
  const ofRelease = releaseApprovals({ before, after, inventories, now })
  const outlook = outlookOf(predictions, bindingHub(before, after), changed, ofRelease)
  const used = inventories.filter((i) => wanted.has(i.cluster))
  const waits = releaseWaits({ before, after, clusters: changed, inventories, now })
  const hub = hubTurn(shown, bindingHub(before, after))
  // Of all clusters: they have the same components, and one alone has few rollouts.
  const earlier = accuracyOf(inventories.flatMap((i) => i.revisions))
  return { ...outlook, ...defined({ hub }), stale: staleInventories(used, now), waits, earlier }
}

function prunesIn(
  shown: readonly ClusterDifference[],
  of: Pick<PrunesRequest, 'inventories' | 'before' | 'after' | 'commit'>,
): Prunes | undefined {
  const clusters = shown.filter((d) => d.removed > 0).map((d) => d.cluster)
  return clusters.length === 0 ? undefined : prunesOf({ ...of, clusters, now: systemClock.now() })
}
