// Reads the inputs for a FleetSource's decisions: fetches and renders its commit, and finds the tracks that it no longer has.
import { titleIn } from '../../git/titled-in.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { type Inventory, inventory } from '#api/kinds/inventory.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { placedText } from '#delivery/desired.ts'
import type { LocalRepository } from '../../git/local-repository.ts'
import { revertedCommit } from '../../git/revision.ts'
import { retiredTracks } from '../../release/retired-tracks.ts'
import { HUB, splitByTrack } from '../../release/tracks.ts'
import { versionNote } from '../../render/written-for.ts'
import { refuseImpossible } from '../../render/problems.ts'
import { standingProblem, withinScope } from '../../sources/scope.ts'
import { syncErrors } from '../../sync-errors.ts'
import { wholeRange } from '../../trust/history.ts'
import { isVerified } from '../../trust/policy.ts'
import { Malformed } from '../../trust/ssh-wire.ts'
import { releasesIn } from '../../release/chain.ts'
import { approvingUsers } from '../approvals.ts'
import { pausedBy } from '../holds.ts'
import { actingUser } from '../source-writes.ts'
import type { TrustMetrics } from '../metrics.ts'
import type { HubShared } from '../shared.ts'
import { linksWithin } from './links-within.ts'
import { commitText, commitTitle } from '#api/protocol/commit-title.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { messagesOf, plansOf, refuseOtherPlan } from './planned.ts'
import { isExemptRevert, mayExemptReverts } from '../exempt-revert.ts'
import { renderReason } from '../render-reason.ts'
import { type Commit, type Declared, type Failure, type HubDone, type Seen, isHubDue } from './seen.ts'
import type { Trust } from './trust-seen.ts'

/** The loop's dependencies: the shared ones, and its own memory. */
export interface SourceLoop extends HubShared {
  readonly trustMetrics: TrustMetrics
  /** By source and track: the last completed state of the hub. */
  readonly hubDone: Map<string, HubDone>
  /** Sources whose hub got a commit in this pass: their Releases are made in the next one. */
  readonly hubPassed: Set<string>
}

export async function observe(loop: SourceLoop, source: FleetSource, signal: AbortSignal): Promise<Seen> {
  const now = loop.context.clock.now()
  const paused = pausedBy(loop.holds.list(), source, now)
  const { namespace } = source.metadata
  const seen: Seen = {
    source,
    ...defined({ paused }),
    releases: releasesIn(loop.releases.list(), namespace),
    pipelines: loop.pipelines,
    clusters: loop.clusters,
    approved: approvingUsers(loop.approvals.list(), now),
    hubDone: loop.hubDone,
  }
  // A hold stops everything except a revert that is exempt from it.
  if (paused !== undefined && !mayExemptReverts(loop.pipelines, source)) return seen
  // Of two sources that could overwrite each other, only one is followed.
  const standing = standingProblem(source, loop.sources.list())
  if (standing !== undefined && paused !== undefined) return seen
  if (standing !== undefined) return { ...seen, declared: failure('Rendered', 'InvalidSpec', numbered(standing)) }
  const fetched = await fetch(loop.renders, source)
  if ('kind' in fetched) return paused === undefined ? { ...seen, declared: fetched } : seen
  const trust = await judged(loop, source, fetched, signal)
  const judgedSeen = trust === undefined ? seen : { ...seen, trust }
  if (trust !== undefined && trust.kind !== 'Verified') return paused === undefined ? judgedSeen : seen
  const commit = await read(source, fetched)
  if ('kind' in commit) return paused === undefined ? { ...judgedSeen, declared: commit } : seen
  if (paused !== undefined && !(await isExemptRevert(loop, source, commit))) return seen
  const declared = await render(loop, source, { repository: fetched.repository, commit }, signal)
  if (declared === undefined) {
    signal.throwIfAborted()
    return observe(loop, source, signal)
  }
  const staged = declared.kind === 'Declared' ? await stagedTracks(loop.pipelinesBefore, source, declared) : undefined
  return { ...judgedSeen, commit, declared, ...defined({ staged }) }
}

/** Tracks whose declarations for the hub wait for a stage. */
async function stagedTracks(
  pipelinesBefore: HubShared['pipelinesBefore'],
  source: FleetSource,
  { commit, retired: old }: Declared,
) {
  const staged = new Set<string>()
  const own = source.spec.tracks.map(({ name, pipelineRef }) => ({ track: name, pipeline: pipelineRef.name }))
  const left = old.flatMap(({ name, pipeline }) => (pipeline === undefined ? [] : [{ track: name, pipeline }]))
  for (const each of [...own, ...left])
    if (await pipelinesBefore.isHubStaged(source, { ...each, commit: commit.id })) staged.add(each.track)
  return staged
}

const failure = (type: Failure['type'], reason: string, message: string): Failure => ({
  kind: 'Failed',
  type,
  reason,
  message,
})

/** Any other failure is a FetchError. */
const FETCH_REASONS: Readonly<Record<string, string>> = {
  [syncErrors.KN1664_read.code]: 'RefMissing',
  [syncErrors.KN7049.code]: 'RefMissing',
  [syncErrors.KN1666_fetched.code]: 'ShallowRepository',
  [syncErrors.KN7046.code]: 'RepositoryTooLarge',
  [syncErrors.KN7057.code]: 'RepositoryTooLarge',
}

/** Commits between two polls; a longer path from one commit to the next is not searched. */
const MAX_BETWEEN = 5_000
/** Total size of these commits with messages: twenty times the usual size. */
const MAX_BETWEEN_BYTES = 64 * 1024 * 1024

/** The previously followed commit, if the same branch or tag no longer contains it. Reports nothing when unknown. */
async function rewrittenFrom(
  { metadata, status }: FleetSource,
  repository: LocalRepository,
  id: string,
): Promise<Commit['rewritten']> {
  const before = status?.commit
  if (before === undefined || status?.observedGeneration !== metadata.generation) return undefined
  if (before === id) {
    const { from, to } = status?.rewritten ?? {}
    return from === undefined || to !== id ? undefined : { id: from, title: await titleIn(repository, from) }
  }
  try {
    const range = await wholeRange(before, id, linksWithin(repository, MAX_BETWEEN_BYTES), MAX_BETWEEN)
    return range.kind === 'Unrelated' ? { id: before, title: await titleIn(repository, before) } : undefined
  } catch (error) {
    // A new copy may lack the earlier commit, and the commits in between may be unreadable or too large to read.
    if (isKubeNodeError(error) || error instanceof Malformed) return undefined
    throw error
  }
}

interface FetchedCommit {
  readonly repository: LocalRepository
  readonly id: string
  readonly note?: string
}

/** Reads nothing of the commit's content, which any user with push access can write. */
const fetch = (renders: HubShared['renders'], source: FleetSource): Promise<FetchedCommit | Failure> =>
  orFailure(async () => {
    const { repository, commit: id, note } = await renders.fetch(source)
    return { repository, id, ...defined({ note }) }
  })

/** Reads its message, and whether it continues the followed commit. Only for a commit that may be followed. */
const read = (source: FleetSource, { repository, id, note }: FetchedCommit): Promise<Commit | Failure> =>
  orFailure(async () => {
    const messages = await messagesOf(repository, id, source.status?.rendered)
    const revertOf = [messages.own, ...messages.merged].map(revertedCommit).find((reverted) => reverted !== undefined)
    const rewritten = await rewrittenFrom(source, repository, id)
    const { message, author, parents } = await repository.commit(id)
    return {
      id,
      title: commitTitle(message, author),
      parents,
      plans: plansOf(messages),
      ...defined({ revertOf, rewritten, note }),
    }
  })

async function orFailure<T>(work: () => Promise<T>): Promise<T | Failure> {
  try {
    return await work()
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    return failure('Fetched', FETCH_REASONS[error.code] ?? 'FetchError', messageOf(error))
  }
}

/** Undefined where commits are not verified. */
async function judged(
  { context, approvals, verification, trustMetrics }: SourceLoop,
  source: FleetSource,
  { repository, id }: FetchedCommit,
  signal: AbortSignal,
): Promise<Trust | undefined> {
  if (!isVerified(source)) return undefined
  const now = context.clock.now()
  const approved = approvingUsers(approvals.list(), now)
  const trust = await verification.judge({ source, repository, head: id, approved, now, signal })
  trustMetrics.judged(namespacedName(source), trust)
  return trust
}

/** Undefined: a newer commit arrived, of which nothing is known yet. */
async function render(
  loop: SourceLoop,
  source: FleetSource,
  { repository, commit }: { readonly repository: LocalRepository; readonly commit: Commit },
  signal: AbortSignal,
): Promise<Declared | Failure | undefined> {
  try {
    const result = await loop.renders.renderNewest(source, commit.id)
    if (result === undefined) return undefined
    refuseImpossible(commitText(commit.id, commit.title ?? {}), result)
    const { targets: all, cage, writtenFor } = result
    await refuseOtherPlan(loop.renders, { source, repository, commit, targets: all })
    const own = loop.context.config.version
    const isOther = own !== undefined && writtenFor !== undefined && writtenFor !== own
    const targets = withinScope(all, source)
    const { tracks, unmatched } = splitByTrack(targets, source.spec.tracks)
    const problems = [
      ...[...targets].flatMap(([target, t]) => t.rejected.map((r) => `${target}: ${placedText(r)}: ${r.problem}`)),
      ...unmatched.map((u) => `${u}: no track of the source matches it`),
    ]
    const hub = targets.get(HUB)
    return {
      kind: 'Declared',
      commit,
      tracks,
      ...defined({ hub }),
      targets: targets.size,
      objects: [...targets.values()].reduce((n, t) => n + t.objects.length, 0),
      problems,
      isCageWeak: !cage.includes('namespaces'),
      ...(isOther && { note: versionNote(writtenFor, own) }),
      ...(await retired(loop, source, signal)),
    }
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    return failure('Rendered', renderReason(error), messageOf(error))
  }
}

/** The declared tracks do not wait for a hub that cannot list the objects of earlier tracks. */
async function retired(
  loop: SourceLoop,
  source: FleetSource,
  signal: AbortSignal,
): Promise<Pick<Declared, 'retired' | 'retiredUnread'>> {
  try {
    return { retired: retiredTracks(source, loop.releases.list(), await shardsOnHub(loop, source, signal)) }
  } catch (retiredUnread) {
    return { retired: [], retiredUnread }
  }
}

/** Read when the source changed, and otherwise as often as the hub is compared: a removed track leaves objects until they are deleted. */
async function shardsOnHub(
  { context: { clock }, hub, hubDone }: SourceLoop,
  source: FleetSource,
  signal: AbortSignal,
): Promise<readonly Inventory[]> {
  const [done, stamp] = [`${namespacedName(source)}/`, String(source.metadata.generation ?? 0)]
  if (!isHubDue(hubDone.get(done), stamp, clock.monotonic())) return []
  const shards = await listAll(hub.as(actingUser(source)).program, inventory, { signal })
  if (retiredTracks(source, [], shards).length === 0) hubDone.set(done, { stamp, at: clock.monotonic() })
  return shards
}
