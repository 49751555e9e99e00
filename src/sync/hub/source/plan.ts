// Decides, for each track, which part of a commit is applied on the hub, and which Release it becomes. Pure.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release, ReleaseInput } from '#api/kinds/release.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { commitText } from '#api/protocol/commit-title.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import type { ApplyOrder } from '../../cluster/apply.ts'
import { chainOf, releaseName, releasesToForget, sameDigests } from '../../release/chain.ts'
import {
  declaredRefs,
  HUB,
  isInFleet,
  LEAVING,
  leavingOf,
  targetDigest,
  trackOf,
  withEmptied,
  withoutGone,
} from '../../release/tracks.ts'
import { returnsOf } from '../../revert/known-bad.ts'
import { hasHadTurn, ofHub, type OfHub, withTurns } from '../../release/turns.ts'
import { clusterConfig } from '../source-writes.ts'
import { type Declared, type Seen, isHubDue } from './seen.ts'
import { signerOf } from './trust-seen.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import type { Plan } from '#runtime/reconcile-with.ts'

/** Without the time: the pass over the hub sets it. */
export interface HubOrder extends Pick<
  ApplyOrder,
  'target' | 'owner' | 'config' | 'declaredIn' | 'elsewhere' | 'skips' | 'approved' | 'needs'
> {
  readonly commit: string
  readonly track: string
  /** Identifies the completed state; while it is fresh, the hub is not compared again. */
  readonly stamp: string
  /** Of everything that the commit declares for the hub. */
  readonly digest: string
}

export type ReleasePlan =
  | { readonly kind: 'Create'; readonly release: ReleaseInput }
  /** The newest Release already has these objects; old Releases are deleted. */
  | { readonly kind: 'Keep'; readonly forget: readonly Release[] }
  | { readonly kind: 'NoPipeline'; readonly pipeline: string }
  /** The hub does not have what the commit declares for it yet: clusters come after it. */
  | { readonly kind: 'AwaitsHub' }
  /** A track that had objects only on the hub. */
  | { readonly kind: 'None' }

interface TrackPlan {
  readonly track: string
  /** Undefined: the hub was compared with this commit recently. */
  readonly hub: HubOrder | undefined
  readonly release: ReleasePlan
  /** The source no longer has this track. */
  readonly isRetired: boolean
}

interface OfTrack {
  readonly track: string
  readonly reason: string
  /** Acts only if the source is still the one that was read: otherwise a track that was just added would look like a removed one. */
  readonly isRetired: boolean
}

export type SourceAction =
  | (OfTrack & { readonly kind: 'ApplyToHub'; readonly order: HubOrder })
  | (OfTrack & { readonly kind: 'CreateRelease'; readonly release: ReleaseInput })
  | (OfTrack & { readonly kind: 'DeleteReleases'; readonly releases: readonly Release[] })

export interface SourcePlan extends Plan<SourceAction> {
  readonly tracks: readonly TrackPlan[]
}

export const hubKey = (source: FleetSource, track: string): string => `${namespacedName(source)}/${track}`

export function plan(seen: Seen, monotonic: number): SourcePlan {
  const { source, declared } = seen
  const again = { notices: [], requeueAfter: againMs(seen) }
  if (declared?.kind !== 'Declared') return { tracks: [], actions: [], ...again }
  const taken = new Set(seen.releases.map((r) => r.metadata.name ?? ''))
  const isHubReady = hasHub(seen, declared.commit.id)
  const planOf = (track: string, pipeline: string | undefined, isRetired: boolean): TrackPlan => {
    const content = contentOf(seen, declared, track, pipeline)
    const hub = hubOrder(seen, declared, { track, pipeline, content }, monotonic)
    const release =
      pipeline === undefined
        ? { kind: 'None' as const }
        : releasePlan(seen, declared, { content, pipeline, taken, isHubReady })
    if (release.kind === 'Create') taken.add(release.release.metadata.name ?? '')
    return { track, hub, release, isRetired }
  }
  const tracks = [
    ...source.spec.tracks.map(({ name, pipelineRef }) => planOf(name, pipelineRef.name, false)),
    ...declared.retired.map(({ name, pipeline }) => planOf(name, pipeline, true)),
  ]
  return { tracks, actions: tracks.flatMap(actionsOf), ...again }
}

const stampOf = ({ metadata }: FleetSource, commit: string): string => `${commit} ${metadata.generation ?? 0}`

/** The hub stage of a commit: everything that its tracks declare for the hub is applied. A track with a stage of its own for the hub has a Release for that. */
const hasHub = ({ source, staged, hubDone }: Seen, commit: string): boolean =>
  source.spec.tracks.every(
    ({ name }) => staged?.has(name) === true || hubDone.get(hubKey(source, name))?.stamp === stampOf(source, commit),
  )

/** Even a failure that only a commit can fix needs polling, because a commit causes no event. */
const AT_LEAST_MS = 1_000

/** Verifying many commits takes several passes. */
const againMs = ({ source, trust }: Seen): number =>
  trust?.kind === 'Running' ? AT_LEAST_MS : Math.max(AT_LEAST_MS, parseDuration(source.spec.interval))

function actionsOf({ track, hub, release: planned, isRetired }: TrackPlan): readonly SourceAction[] {
  const of = { track, isRetired }
  const actions: SourceAction[] = []
  if (hub !== undefined)
    actions.push({ kind: 'ApplyToHub', ...of, order: hub, reason: 'the hub is due for a comparison' })
  if (planned.kind === 'Create') {
    const { release } = planned
    const reason = `commit ${commitText(release.spec.commit, release.spec)} changes objects`
    actions.push({ kind: 'CreateRelease', ...of, release, reason })
  }
  if (planned.kind === 'Keep' && planned.forget.length > 0)
    actions.push({ kind: 'DeleteReleases', ...of, releases: planned.forget, reason: 'the pipeline keeps fewer' })
  return actions
}

interface HubOf {
  readonly track: string
  readonly pipeline: string | undefined
  readonly content: Content
}

function hubOrder(seen: Seen, declared: Declared, of: HubOf, monotonic: number): HubOrder | undefined {
  const { track } = of
  const { source, hubDone, approved } = seen
  const { commit, tracks } = declared
  const stamp = stampOf(source, commit.id)
  // Objects that wait for a stage are applied by their Release.
  if (seen.staged?.has(track) === true) return undefined
  if (!isHubDue(hubDone.get(hubKey(source, track)), stamp, monotonic)) return undefined
  const others = [...tracks].filter(([name]) => name !== track)
  const { target, skips } = hubNow(seen, of)
  return {
    track,
    commit: commit.id,
    stamp,
    digest: targetDigest(of.content.targets.get(HUB) ?? NOTHING),
    target,
    skips,
    owner: { source: namespacedName(source), track, target: 'Hub' },
    declaredIn: (cluster) => (cluster === undefined ? new Set() : declaredRefs(tracks, cluster)),
    config: { ...clusterConfig(source, commit.id), ...(seen.paused !== undefined && { hold: 'Drift' as const }) },
    elsewhere: new Set(others.flatMap(([, t]) => (t.get(HUB)?.objects ?? []).map((o) => refText(o.ref)))),
    approved: new Set(approved.keys()),
    needs: { machines: false, repairs: false },
  }
}

/** What the hub gets now. Clusters wait for the end of their turn in the Release with this content, except for new ones. */
function hubNow({ source, clusters }: Seen, { content }: HubOf): OfHub {
  const { namespace = '' } = source.metadata
  const { targets, digests, chain } = content
  const newest = chain.at(-1)
  return ofHub(
    targets,
    namespace,
    (name) => clusters.get({ namespace, name }) === undefined || hasHadTurn(newest, name, digests[name]),
  )
}

const NOTHING: RenderedTarget = { objects: [], rejected: [] }

interface ReleaseOf {
  readonly content: Content
  readonly pipeline: string
  readonly taken: ReadonlySet<string>
  readonly isHubReady: boolean
}

/** A Release, if the objects differ from the newest Release's. Planning it twice gives the same Release. */
function releasePlan(
  seen: Seen,
  { commit }: Declared,
  { content, pipeline, taken, isHubReady }: ReleaseOf,
): ReleasePlan {
  const { source, pipelines, clusters } = seen
  const { track, digests, chain } = content
  const { namespace = '', name: sourceName = '' } = source.metadata
  const newest = chain.at(-1)
  const known = pipelines.get({ namespace, name: pipeline })
  const isThere = (name: string) => clusters.get({ namespace, name }) !== undefined
  const before = newest && withoutGone(newest.spec.digests, isThere)
  if (before === undefined ? Object.keys(digests).length === 0 : sameDigests(before, digests)) {
    const keep = known?.spec.keep
    return { kind: 'Keep', forget: keep === undefined ? [] : releasesToForget(chain, keep) }
  }
  if (known === undefined) return { kind: 'NoPipeline', pipeline: `${namespace}/${pipeline}` }
  const signer = signerOf(seen.trust)
  // Also covers a deleted Release of this commit: the new one passes the same gates.
  const after = followedBefore(source, commit.id, newest?.spec.commit)
  const changed = Object.keys(digests).filter((name) => before?.[name] !== digests[name])
  const release: ReleaseInput = {
    apiVersion: API_GROUP_VERSION,
    kind: 'Release',
    metadata: { name: releaseName(track, commit.id, (n) => taken.has(n)), namespace },
    spec: {
      source: sourceName,
      track,
      pipeline,
      commit: commit.id,
      ...commit.title,
      digests,
      changed: changed.length,
      ...defined({
        signer,
        after,
        revert: revertTo(after, commit.parents, newest),
        revertOf: commit.revertOf,
        previous: newest?.metadata.name,
      }),
    },
  }
  return isHubReady || isReturn(chain, release as Release, changed)
    ? { kind: 'Create', release }
    : { kind: 'AwaitsHub' }
}

/**
 * The commit that was followed before: a commit that never reached the hub completely does not count. If this one was fetched before and rendered only
 * now, the status already names it.
 */
function followedBefore({ status = {} }: FleetSource, commit: string, newest: string | undefined): string | undefined {
  const { onHub, onHubBefore, rendered, renderedBefore } = status
  const [followed, before] = onHub === undefined ? [rendered ?? status.commit, renderedBefore] : [onHub, onHubBefore]
  return followed === commit ? (before ?? newest) : followed
}

/** How git reverts the commit with these parents, if that alone goes back to `after`. */
export function revertOfOne(
  after: string | undefined,
  [first, ...merged]: readonly string[] = [],
): Release['spec']['revert'] {
  if (after === undefined || first !== after) return undefined
  return merged.length === 0 ? 'Commit' : 'Merge'
}

/** A revert of the commit alone leaves what the earlier commits of its push changed, and what an unfinished Release has not applied yet. */
function revertTo(
  after: string | undefined,
  parents: readonly string[] | undefined,
  newest: Release | undefined,
): Release['spec']['revert'] {
  return newest?.status?.phase === 'Succeeded' ? revertOfOne(after, parents) : undefined
}

/** A revert that only restores content that was healthy is safe, whatever is wrong on the hub. */
function isReturn(chain: readonly Release[], release: Release, changed: readonly string[]): boolean {
  const returns = returnsOf([...chain, release], release)
  return changed.length > 0 && changed.every((name) => returns.has(name))
}

interface Content {
  readonly track: string
  /** The objects, with each Cluster in the content of its own cluster. */
  readonly targets: Targets
  readonly digests: Readonly<Record<string, string>>
  /** The track's Releases, oldest first. */
  readonly chain: readonly Release[]
}

/** What a commit declares for a track. Digests of thousands of objects: computed once for the hub and the Release. */
function contentOf(seen: Seen, { tracks, hub }: Declared, track: string, pipeline = ''): Content {
  const { source, clusters, pipelines, releases, staged } = seen
  const { namespace = '', name: sourceName = '' } = source.metadata
  const chain = chainOf(releases, { source: sourceName, track })
  const before = chain.at(-1)?.spec.digests ?? {}
  const targets = withTurns(tracks.get(track) ?? new Map(), { namespace, had: (name) => before[name] !== undefined })
  const isStaged = staged?.has(track) === true
  const isStill = (name: string) =>
    name === HUB ||
    isInFleet(name, { declared: hub, live: clusters.get({ namespace, name }), source: namespacedName(source) })
  const all = new Map(withEmptied(targets, before, isStill))
  // Without a pipeline there is no turn: the hub's prune guard decides alone.
  if (pipelines.get({ namespace, name: pipeline }) !== undefined)
    for (const name of leavingOf(before, {
      declared: hub,
      live: (name) => clusters.get({ namespace, name }),
      source: namespacedName(source),
      isOwn: (cluster) => trackOf(source.spec.tracks, cluster) === track,
    }))
      all.set(name, LEAVING)
  const digests = Object.fromEntries(
    [...all].filter(([target]) => target !== HUB || isStaged).map(([name, t]) => [name, targetDigest(t)] as const),
  )
  return { track, targets: all, digests, chain }
}
