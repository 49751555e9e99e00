// Previews by branch. One loop per FleetSource lists the branches of its repository and verifies and renders the commit of each like the followed one.
// It makes a Cluster from the template, applies only to that cluster, and deletes the Cluster with the branch. A preview is not a Release: it has no
// stages and no gates, because nothing comes after it. Its state is in the source's status and on the Cluster. If a Cluster ended while the status still
// lists it, it has expired and is not made again. An unreadable list of branches deletes nothing.
import { titleIn } from '../git/titled-in.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import { parseDuration } from '#lib/duration.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { missingWrites } from '#delivery/writes.ts'
import type { Targets } from '#delivery/desired.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { approvingUsers } from '../hub/approvals.ts'
import { pausedBy } from '../hub/holds.ts'
import { actingUser } from '../hub/source-writes.ts'
import type { HubShared } from '../hub/shared.ts'
import { isOfTheCommit } from '../render/render-errors.ts'
import { standingProblem } from '../sources/scope.ts'
import { isVerified } from '../trust/policy.ts'
import { applyBranch } from './apply.ts'
import {
  folderOf,
  followingBranch,
  previewCluster,
  previewFor,
  previewsOf,
  templateProblem,
  type Previews,
} from './branches.ts'
import { holderOf, planPreviews, shownPreviews, waitsForRoom, type PreviewStatus } from './plan.ts'

/** Requeue delay while a cluster is being created or deleted. */
const BUSY_MS = 2_000
const MAX_MESSAGE = 500
const MAX_IGNORED_CHARS = 250
const WRITE_ATTEMPTS = 5

interface Pass {
  readonly shared: HubShared
  readonly source: FleetSource
  readonly previews: Previews
  readonly signal: AbortSignal
  /** The hub with the source's write access. */
  readonly hub: KubeClient
}

export async function reconcilePreviews(
  shared: HubShared,
  key: string,
  { signal, log }: ReconcileContext,
): Promise<Outcome> {
  const { client, clock } = shared.context
  const source = shared.sources.get(keyFrom(key))
  const own = previewsOf(shared.clusters.list(), key)
  if (source === undefined) return withoutSource(client, key, own, signal)
  if (source.metadata.deletionTimestamp !== undefined) {
    await remove(client, own, signal)
    return done
  }
  const { previews } = source.spec
  if (previews === undefined && own.length === 0 && source.status?.previews === undefined) return done
  const every = requeueAfter(Math.max(BUSY_MS, parseDuration(source.spec.interval)))
  if (pausedBy(shared.holds.list(), source, clock.now()) !== undefined) return every
  const hub = shared.hub.as(actingUser(source)).client
  if (previews === undefined) {
    await remove(hub, own, signal)
    await report(shared, source, [], signal)
    return done
  }
  const pass = { shared, source, previews, signal, hub }
  try {
    const heads = await shared.renders.branches(source, folderOf(previews))
    const { entries, isUnsettled } = await sortOut(pass, heads, own)
    await report(shared, source, entries, signal)
    return isUnsettled || entries.some(isBusy) ? requeueAfter(BUSY_MS) : every
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    // The source reads the same repository, and its own status reports the failure.
    log.warn('branches of previews cannot be read', { detail: messageOf(error) })
    return every
  }
}

/** Also covers a source that was deleted while no sync ran. A stale cache lacks existing sources, so the hub is read before clusters are deleted. */
async function withoutSource(
  client: KubeClient,
  key: string,
  own: readonly Cluster[],
  signal: AbortSignal,
): Promise<Outcome> {
  if (own.length === 0) return done
  const read = await client.get(fleetSource, keyFrom(key), { signal })
  if (read !== undefined) return requeueAfter(BUSY_MS)
  await remove(client, own, signal)
  return done
}

const isBusy = ({ phase }: PreviewStatus): boolean =>
  phase === 'Creating' || phase === 'Applying' || phase === 'Deleting'

interface Sorted {
  readonly entries: readonly PreviewStatus[]
  /** A branch has just moved, is being verified, or its cluster was just declared. Branches that wait for room or a template are polled less often. */
  readonly isUnsettled: boolean
}

async function sortOut(pass: Pass, heads: ReadonlyMap<string, string>, own: readonly Cluster[]): Promise<Sorted> {
  const { shared, source, previews, signal, hub } = pass
  const { namespace = '' } = source.metadata
  const template = shared.clusters.get({ namespace, name: previews.template })
  const plan = planPreviews({
    source,
    heads,
    own,
    problem: problemOf(shared.sources.list(), source, template),
    names: new Set(
      shared.clusters.list().flatMap((c) => (c.metadata.namespace === namespace ? (c.metadata.name ?? '') : [])),
    ),
  })
  await remove(hub, plan.remove, signal)
  const followed = await followedTargets(pass)
  const entries = [...plan.idle]
  const moving: Step[] = []
  const moved = (step: Step): Step => {
    moving.push(step)
    return step
  }
  let { room } = plan
  const holders = own.map(holderOf)
  for (const { branch, commit, cluster } of plan.keep) {
    const { name = '' } = cluster.metadata
    const step = moved(await keepUp(pass, { branch, commit, cluster, followed }))
    entries.push({ branch, commit, cluster: name, ...step })
  }
  for (const begun of plan.begin) {
    const { branch, commit } = begun
    if (room === 0 || template === undefined) entries.push(waitsForRoom(begun, previews.max, holders))
    else {
      const refusal = await refusalOf(pass, branch, commit)
      if (refusal !== undefined) entries.push({ branch, commit, ...moved(refusal) })
      else {
        room--
        holders.push(branch)
        entries.push({ branch, commit, ...moved(await begin(pass, begun, template)) })
      }
    }
  }
  return { entries: shownPreviews(entries), isUnsettled: moving.some(({ phase }) => phase === 'Waiting') }
}

/** Needed only for the report of ignored objects. */
async function followedTargets({ shared, source }: Pass): Promise<Targets | undefined> {
  const { rendered } = source.status ?? {}
  if (rendered === undefined) return undefined
  try {
    return (await shared.renders.render(source, rendered)).targets
  } catch (error) {
    if (isKubeNodeError(error)) return undefined
    throw error
  }
}

function problemOf(
  all: readonly FleetSource[],
  source: FleetSource,
  template: Cluster | undefined,
): string | undefined {
  const standing = standingProblem(source, all)
  if (standing !== undefined) return numbered(standing)
  const { namespace = '' } = source.metadata
  const ref = { group: 'kubenode.io', kind: clusterKind.kind, namespace, name: 'preview' }
  const missing = missingWrites(source.spec.writes, ref)
  if (missing.length > 0) return `spec.writes of the source lacks ${missing.join(' and ')}`
  return templateProblem(source, template)
}

type Step = Pick<PreviewStatus, 'phase' | 'message' | 'cluster' | 'ignored'>

/** Fetched and verified like the followed commit; undefined when the branch may be used. */
async function refusalOf({ shared, source, signal }: Pass, branch: string, listed: string): Promise<Step | undefined> {
  const own = followingBranch(source, branch)
  const { repository, commit } = await shared.renders.fetch(own)
  // It moved since it was listed: the next pass judges the newer commit.
  if (commit !== listed) return { phase: 'Waiting', message: 'the branch has just moved' }
  if (!isVerified(source)) return undefined
  const now = shared.context.clock.now()
  const approved = approvingUsers(shared.approvals.list(), now)
  const trust = await shared.verification.judge({ source: own, repository, head: commit, approved, now, signal })
  if (trust.kind === 'Verified') return undefined
  return trust.kind === 'Running'
    ? { phase: 'Waiting', message: `verified ${trust.done} of ${trust.total} commits` }
    : { phase: 'Refused', message: trust.message }
}

interface Kept {
  readonly branch: string
  readonly commit: string
  readonly cluster: Cluster
  readonly followed: Targets | undefined
}

/** A branch that cannot be used now must not stop the others; its cluster stays as it is. */
async function keepUp(pass: Pass, { branch, commit, cluster, followed }: Kept): Promise<Step> {
  try {
    const refusal = await refusalOf(pass, branch, commit)
    if (refusal !== undefined) return refusal
    const { repository } = await pass.shared.renders.fetch(followingBranch(pass.source, branch))
    const title = await titleIn(repository, commit)
    const source = followingBranch(pass.source, branch)
    const { template } = pass.previews
    return await applyBranch(pass.shared, { source, followed, template, commit, title, cluster }, pass.signal)
  } catch (error) {
    if (pass.signal.aborted || !isKubeNodeError(error)) throw error
    return { phase: isOfTheCommit(error.code) ? 'Refused' : 'Applying', message: messageOf(error) }
  }
}

async function begin(
  { shared, source, previews, hub, signal }: Pass,
  { branch, commit }: { readonly branch: string; readonly commit: string },
  template: Cluster,
): Promise<Step> {
  const wanted = previewCluster(source, previewFor(previews, branch, commit), template)
  const { name = '' } = wanted.metadata
  try {
    const options = { fieldManager: FIELD_MANAGERS.sync, signal }
    shared.clusters.assume(await hub.create(clusterKind, wanted as Cluster, options))
    return { cluster: name, phase: 'Creating', message: 'its cluster was declared' }
  } catch (error) {
    // The answer to an earlier create was lost, or the watch is stale: the next pass finds the owner.
    if (isAlreadyExists(error)) return { phase: 'Waiting', message: `Cluster ${name} exists` }
    if (signal.aborted || !isKubeNodeError(error)) throw error
    return { phase: 'Waiting', message: messageOf(error) }
  }
}

/** A Cluster that was written since it was read is deleted in the next pass. */
async function remove(client: KubeClient, clusters: readonly Cluster[], signal: AbortSignal): Promise<void> {
  for (const each of clusters) {
    if (each.metadata.deletionTimestamp !== undefined) continue
    const outcome = await deleteExactly(client, clusterKind, each, { signal })
    if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
  }
}

/** The source's own loop writes the other fields. */
async function report(
  { context: { client }, sources }: HubShared,
  source: FleetSource,
  entries: readonly PreviewStatus[],
  signal: AbortSignal,
): Promise<void> {
  const previews = entries.map(printed)
  let now: FleetSource | undefined = source
  for (let attempt = 1; now !== undefined; attempt++) {
    const { previews: _, ...rest }: NonNullable<FleetSource['status']> = now.status ?? {}
    const status = { ...rest, ...(previews.length > 0 && { previews }) }
    const own = { client, type: fleetSource, fieldManager: FIELD_MANAGERS.sync, cache: sources, signal }
    const outcome = await writeStatus({ ...own, object: now, status })
    if (outcome?.kind !== 'Conflict' || attempt === WRITE_ATTEMPTS) return void writtenOrThrow(outcome)
    const read: FleetSource | undefined = await client.get(fleetSource, keyFrom(namespacedName(source)), { signal })
    now = read?.metadata.uid === source.metadata.uid ? read : undefined
  }
}

/** The texts may quote commits and servers. */
const printed = (entry: PreviewStatus): PreviewStatus => ({
  ...entry,
  message: shortened(printableLine(entry.message), MAX_MESSAGE),
  ...(entry.ignored !== undefined && {
    ignored: entry.ignored.map((line) => shortened(printableLine(line), MAX_IGNORED_CHARS)),
  }),
})
