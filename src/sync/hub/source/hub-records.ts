// The hub stage of commits in the status: what each changed on the hub, when, how it ended, and who approved. Pure. A record belongs to the commit that
// changed the content. Later comparisons of the same content add to it until everything is applied; after that it no longer changes.
import { API_GROUP } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { type FleetSource, MAX_DELETED_CLUSTERS, MAX_HUB_RECORDS } from '#api/kinds/fleet-source.ts'
import { MAX_RECORDED_APPROVERS } from '#api/kinds/release.ts'
import { isDelete } from '#delivery/operation.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import type { ApplyReport } from '../../cluster/apply.ts'
import { DIGEST_OF_NOTHING } from '../../release/tracks.ts'
import type { Commit } from './seen.ts'

type HubRecord = NonNullable<NonNullable<FleetSource['status']>['hub']>[number]

/** One comparison of the hub with a commit. */
export interface HubPass {
  readonly track: string
  /** Of everything that the commit declares for the hub. */
  readonly digest: string
  readonly report: ApplyReport
  /** Why the stage is not done. */
  readonly trouble: { readonly type: string; readonly message: string } | undefined
}

export interface HubPasses {
  readonly before: readonly HubRecord[]
  readonly commit: Pick<Commit, 'id' | 'title'>
  readonly passes: readonly HubPass[]
  /** Who approved deletions, by digest. */
  readonly approved: ReadonlyMap<string, ReadonlySet<string>>
}

/** Newest first. */
export function hubRecords({ before, passes, ...seen }: HubPasses, now: number): readonly HubRecord[] {
  return bounded(passes.reduce((all, pass) => withPass(all, pass, seen, now), before))
}

type About = Omit<HubPasses, 'before' | 'passes'>

function withPass(all: readonly HubRecord[], pass: HubPass, about: About, now: number): readonly HubRecord[] {
  const last = all.find((r) => r.track === pass.track)
  const isSame = last?.digest === pass.digest
  if (isSame && last.phase === 'Succeeded') return all
  // A track that has nothing on the hub, and never had.
  if (last === undefined && pass.digest === DIGEST_OF_NOTHING && (pass.report.result?.pruned ?? 0) === 0) return all
  if (isSame) return all.map((r) => (r === last ? recordOf(r, pass, about, now) : r))
  const others = all.map((r) => (r === last && r.phase !== 'Succeeded' ? supersededBy(r, about.commit.id, now) : r))
  return [recordOf(undefined, pass, about, now), ...others]
}

const supersededBy = (record: HubRecord, commit: string, now: number): HubRecord => ({
  ...record,
  finishedAt: timestamp(now),
  supersededBy: commit,
})

const MOST_CHARS = 512

function recordOf(
  old: HubRecord | undefined,
  { track, digest, report: { plan, result }, trouble }: HubPass,
  { commit, approved }: About,
  now: number,
): HubRecord {
  const at = timestamp(now)
  const deletedClusters = some(
    [...(old?.deletedClusters ?? []), ...(plan?.operations ?? []).filter(isDelete).flatMap(clusterOf)],
    MAX_DELETED_CLUSTERS,
  )
  const people = plan?.approved === undefined ? undefined : approved.get(plan.approved.digest)
  const approvedBy = some([...(old?.approvedBy ?? []), ...(people ?? [])], MAX_RECORDED_APPROVERS)
  return {
    ...(old === undefined ? { commit: commit.id, ...commit.title } : titleOf(old)),
    track,
    digest,
    phase: trouble === undefined ? 'Succeeded' : trouble.type === 'PruneBlocked' ? 'Waiting' : 'Failed',
    startedAt: old?.startedAt ?? at,
    ...(trouble === undefined && { finishedAt: at }),
    applied: (old?.applied ?? 0) + (result?.applied ?? 0),
    deleted: (old?.deleted ?? 0) + (result?.pruned ?? 0),
    ...defined({ deletedClusters, approvedBy }),
    ...(trouble !== undefined && { message: shortened(printableLine(trouble.message), MOST_CHARS) }),
  }
}

const titleOf = ({ commit, subject, author }: HubRecord) => ({ commit, ...defined({ subject, author }) })

const clusterOf = ({ ref }: { readonly ref: { group: string; kind: string; name: string } }): readonly string[] =>
  ref.group === API_GROUP && ref.kind === clusterKind.kind ? [ref.name] : []

function some(all: readonly string[], most: number): readonly string[] | undefined {
  const each = [...new Set(all)].toSorted().slice(0, most)
  return each.length === 0 ? undefined : each
}

/** The newest of each track stays: without it, the same content would count as a change. */
function bounded(all: readonly HubRecord[]): readonly HubRecord[] {
  if (all.length <= MAX_HUB_RECORDS) return all
  const newest = new Set([...new Set(all.map((r) => r.track))].map((track) => all.find((r) => r.track === track)))
  const room = new Set(all.filter((r) => !newest.has(r)).slice(0, Math.max(0, MAX_HUB_RECORDS - newest.size)))
  return all.filter((r) => newest.has(r) || room.has(r)).slice(0, MAX_HUB_RECORDS)
}
