// What a revert is exempt from. Uses the pipeline from before the reverted commit, so that neither that commit nor the revert can exempt itself.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import type { Targets } from '#delivery/desired.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { isSameContent } from '../plan-digest.ts'
import { chainOf, releasesIn } from '../release/chain.ts'
import { splitByTrack } from '../release/tracks.ts'
import type { Exemption } from '../revert/policy.ts'
import { pausedBy } from './holds.ts'
import type { Work } from './release-work.ts'
import type { HubShared } from './shared.ts'
import type { Commit } from './source/seen.ts'

export async function exemptionsOf(
  pipelinesBefore: HubShared['pipelinesBefore'],
  { release, source }: Pick<Work, 'release' | 'source'>,
  chain: readonly Release[],
): Promise<ReadonlySet<Exemption>> {
  const { revertOf } = release.spec
  const reverted = revertOf === undefined ? undefined : chain.findLast((r) => r.spec.commit === revertOf)
  const policy = reverted === undefined ? undefined : await pipelinesBefore.revertPolicy(source, reverted)
  return policy?.exempt ?? new Set()
}

/** Effects that stop a release and still apply. */
const bindingOf = (exempt: ReadonlySet<Exemption>): readonly ('Pause' | 'Freeze')[] => [
  ...(exempt.has('Holds') ? [] : (['Pause'] as const)),
  ...(exempt.has('Freezes') ? [] : (['Freeze'] as const)),
]

export interface HoldsOver {
  readonly paused?: string
  /** The hold that the Release is exempt from, because it only restores healthy content. */
  readonly passed?: string
}

export function holdsOf(
  holds: readonly OperationalHold[],
  { release, source }: Work,
  now: number,
  exempt: ReadonlySet<Exemption>,
  returns: ReadonlySet<string>,
): HoldsOver {
  const isReturn = Object.keys(release.spec.digests).every((name) => returns.has(name))
  const by = (effects: Parameters<typeof pausedBy>[3]) =>
    pausedBy(holds, release, now, effects) ?? pausedBy(holds, source, now, effects)
  const paused = by(bindingOf(isReturn ? exempt : new Set()))
  if (paused !== undefined) return { paused }
  const passed = by(undefined)
  return passed === undefined ? {} : { passed }
}

/** A finished Release is exempt from nothing: its revert is done, and a hold applies again. */
export const isHeldNow = (holds: readonly OperationalHold[], { release, source }: Work, now: number): boolean =>
  pausedBy(holds, release, now) !== undefined || pausedBy(holds, source, now) !== undefined

/** Whether a held source must be read at all: usually its pipelines exempt no revert. */
export const mayExemptReverts = (pipelines: HubShared['pipelines'], { metadata, spec }: FleetSource): boolean =>
  spec.tracks.some(({ pipelineRef }) => {
    const live = pipelines.get({ namespace: metadata.namespace ?? '', name: pipelineRef.name })
    return live?.spec.revert?.exempt?.some((each) => each === 'Holds' || each === 'Freezes') === true
  })

type ExemptTools = Pick<HubShared, 'context' | 'holds' | 'releases' | 'renders' | 'pipelinesBefore'>

/**
 * A held source follows only one kind of commit: a revert of what its tracks roll out, exempt from the hold by the pipeline of each of those tracks,
 * that renders to exactly what was followed before the reverted commit. The commit was already verified where that is required. It changes nothing in
 * the other tracks, because their pipelines were not checked.
 */
export async function isExemptRevert(
  { context, holds, releases, renders, pipelinesBefore }: ExemptTools,
  source: FleetSource,
  { id, revertOf }: Commit,
): Promise<boolean> {
  if (revertOf === undefined) return false
  const { namespace, name = '' } = source.metadata
  const all = releasesIn(releases.list(), namespace)
  const newest = source.spec.tracks.flatMap(({ name: track }) => chainOf(all, { source: name, track }).at(-1) ?? [])
  // After the first pass the revert itself is the newest of them.
  const reverted = newest.flatMap((r) => {
    if (r.spec.commit !== id) return [r]
    return chainOf(all, { source: name, track: r.spec.track }).findLast((e) => e.spec.commit === revertOf) ?? []
  })
  const changed = reverted.filter((r) => r.spec.commit === revertOf)
  const [first] = changed
  const after = first?.spec.after
  if (first === undefined || after === undefined) return false
  const now = context.clock.now()
  for (const each of changed) {
    const policy = await pipelinesBefore.revertPolicy(source, each)
    if (policy === undefined || pausedBy(holds.list(), source, now, bindingOf(policy.exempt)) !== undefined)
      return false
  }
  const { rendered } = source.status ?? {}
  if (rendered === undefined) return false
  try {
    const [before, own] = [await renders.render(source, after), await renders.renderNewest(source, id)]
    if (own === undefined || !isSameContent(before.targets, own.targets)) return false
    const current = await renders.render(source, rendered)
    return isSameOutside(source, new Set(changed.map((r) => r.spec.track)), current.targets, own.targets)
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    return false
  }
}

/** Whether the unnamed tracks have the same objects, including those on the hub. */
function isSameOutside({ spec }: FleetSource, named: ReadonlySet<string>, a: Targets, b: Targets): boolean {
  const [before, after] = [splitByTrack(a, spec.tracks).tracks, splitByTrack(b, spec.tracks).tracks]
  const of = (tracks: typeof before, name: string): Targets => tracks.get(name) ?? new Map()
  return spec.tracks.every(({ name }) => named.has(name) || isSameContent(of(before, name), of(after, name)))
}
