// Releases with their stages and clusters, and their commits. Pure.
import { commitText } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { newestReleases } from '#explain/newest-releases.ts'
import { isApprovalText } from '#sync/release/gates.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { holdTarget } from '#permits/holds/reach.ts'
import type { ObjectName } from '../../basics.ts'
import type { CommitRow, GateNote, PipelineRow, PlaceRow, ReleaseRow, StageRow } from '../../topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { at, given, holdNotes, pageText, stamp, stampOr0, waitOf } from './parts.ts'

/** Older releases are in git's history; the page shows current and recent ones. */
const MOST_RELEASES = 40

export const releaseName = (cluster: string, { metadata }: Release): ObjectName => ({
  cluster,
  kind: 'Release',
  name: metadata.name ?? '',
  ...given('namespace', metadata.namespace),
})

const idOf = ({ cluster, namespace = '', name }: ObjectName): string => `${cluster}/${namespace}/${name}`

const newestFirst = (a: Release, b: Release): number =>
  (stamp(b.metadata.creationTimestamp) ?? 0) - (stamp(a.metadata.creationTimestamp) ?? 0)

const revertedSubject = (cluster: ClusterState, { revertOf }: Release['spec']): string | undefined =>
  revertOf === undefined ? undefined : cluster.list('releases').find((r) => r.spec.commit === revertOf)?.spec.subject

export function pipelineRows(clusters: readonly ClusterState[], now: number): readonly PipelineRow[] {
  return clusters.flatMap((cluster) => {
    const all = cluster.list('releases')
    const newest = new Set(newestReleases(all))
    return all
      .toSorted(newestFirst)
      .slice(0, MOST_RELEASES)
      .flatMap((r) => rowsOf(cluster, r, newest.has(r), now))
  })
}

function rowsOf(cluster: ClusterState, release: Release, isNewest: boolean, now: number): readonly PipelineRow[] {
  const object = releaseName(cluster.name, release)
  const id = idOf(object)
  const { spec, status = {} } = release
  const { stages = [], clusters: places = [] } = status
  const row: ReleaseRow = {
    id,
    row: 'Release',
    object,
    source: spec.source,
    track: spec.track,
    pipeline: spec.pipeline,
    commit: spec.commit,
    ...given('subject', spec.subject),
    ...given('author', spec.author),
    phase: status.phase ?? 'Pending',
    isNewest,
    ...at('startedAt', status.startedAt),
    ...at('finishedAt', status.finishedAt),
    ...given('revertOf', spec.revertOf),
    ...given('revertedSubject', revertedSubject(cluster, spec)),
    ...given('revertCommit', status.revertCommit),
    ...waitOf(status.waitingFor),
    holds: holdNotes(cluster.list('holds'), [holdTarget('Release', release)], now),
    approvals: approvalsOf(release),
    ...approvedBy(release),
  }
  return [
    row,
    ...stages.map((stage, order) => stageRow(id, stage, order)),
    ...places.map((place) => placeRow(id, place)),
  ]
}

/** More users than a rule asks for; the terminal lists all. */
const MOST_APPROVERS = 10

/** By its record, which outlives the Approvals. */
function approvedBy({ status }: Release): Pick<ReleaseRow, 'approvedBy'> {
  const all = (status?.record ?? []).flatMap((r) => [...(r.approvedBy ?? []), ...(r.deletions?.approvedBy ?? [])])
  const each = [...new Set(all)].toSorted().slice(0, MOST_APPROVERS)
  return each.length === 0 ? {} : { approvedBy: each }
}

/** Approvals the release waits for: a stage's gate, or deletions. */
function approvalsOf(release: Release): ReleaseRow['approvals'] {
  const { stages = [], clusters = [], phase = 'Pending' } = release.status ?? {}
  if (phase !== 'Progressing' && phase !== 'Paused' && phase !== 'Pending') return []
  const isAsked =
    stages.some(
      (s) => s.waitingFor?.predicate === 'ApprovalRequired' || s.waitingFor?.predicate === 'ApprovalMissing',
    ) ||
    clusters.some((c) => c.prune !== undefined && c.prune.permit === undefined) ||
    stages.some((s) => (s.gates ?? []).some((g) => g.phase === 'Waiting' && isApprovalText(g.seen ?? '')))
  if (!isAsked) return []
  return requestsOf({ ...release, kind: 'Release' }).map(({ digest, text }) => ({
    digest,
    text:
      text === undefined
        ? `commit ${commitText(release.spec.commit, release.spec)} of track ${release.spec.track}`
        : pageText(text),
  }))
}

type Status = NonNullable<Release['status']>

function stageRow(release: string, stage: NonNullable<Status['stages']>[number], order: number): StageRow {
  const gates = (stage.gates ?? []).map((g): GateNote => ({
    name: g.name,
    when: g.when,
    phase: g.phase,
    since: stampOr0(g.since),
    ...given('seen', g.seen && pageText(g.seen)),
    ...given('figure', figureOf(g.seen)),
  }))
  return {
    id: `${release}/${stage.name}`,
    row: 'Stage',
    release,
    name: stage.name,
    order,
    phase: stage.phase,
    ...at('startedAt', stage.startedAt),
    ...at('finishedAt', stage.finishedAt),
    ...(stage.phase === 'Soaking' && {
      ...at('soakFrom', stage.waitingFor?.since),
      ...at('soakUntil', stage.soakUntil),
    }),
    healthy: stage.healthy ?? 0,
    failed: stage.failed ?? 0,
    offline: stage.offline ?? 0,
    total: stage.total ?? 0,
    gates,
    ...waitOf(stage.waitingFor),
  }
}

/** `3 of 5 machines are Ready, 98% are needed`; with several clusters, the first is the one that the gate waits for. */
const FIGURE = /\b(\d{1,9}) of (\d{1,9})\b/
const NEEDED = /\b(\d{1,3})% (?:is|are) needed/

export function figureOf(seen = ''): GateNote['figure'] {
  const [, have, of] = FIGURE.exec(seen) ?? []
  if (have === undefined || of === undefined) return undefined
  const needed = NEEDED.exec(seen)?.[1]
  return { have: Number(have), of: Number(of), ...given('needed', needed === undefined ? undefined : Number(needed)) }
}

function placeRow(release: string, place: NonNullable<Status['clusters']>[number]): PlaceRow {
  return {
    id: `${release}/${place.stage}/${place.name}`,
    row: 'Place',
    release,
    stage: place.stage,
    cluster: place.name,
    phase: place.phase,
    since: stampOr0(place.since),
    ...given('message', place.message && pageText(place.message)),
    oldFailures: place.failures?.before ?? 0,
    newFailures: place.failures?.new ?? 0,
    ...waitOf(place.waitingFor),
  }
}

export function commitRows(clusters: readonly ClusterState[]): readonly CommitRow[] {
  return clusters.flatMap((cluster) => {
    const all = cluster.list('releases').toSorted(newestFirst).slice(0, MOST_RELEASES)
    const byCommit = Map.groupBy(all, (r) => `${r.spec.source} ${r.spec.commit}`)
    return [...byCommit.values()].flatMap((releases) => {
      const [first] = releases
      return first === undefined ? [] : [commitRow(cluster, first, releases)]
    })
  })
}

function commitRow(cluster: ClusterState, { spec }: Release, releases: readonly Release[]): CommitRow {
  const seen = releases.flatMap((r) => stamp(r.metadata.creationTimestamp) ?? [])
  return {
    id: `${cluster.name}/${spec.source}/${spec.commit}`,
    commit: spec.commit,
    ...given('subject', spec.subject),
    ...given('author', spec.author),
    source: spec.source,
    ...(seen.length > 0 && { firstSeen: Math.min(...seen) }),
    ...given('signer', spec.signer),
    ...given('revertOf', spec.revertOf),
    ...given('revertedSubject', revertedSubject(cluster, spec)),
    releases: releases.map((r) => ({
      object: releaseName(cluster.name, r),
      track: r.spec.track,
      phase: r.status?.phase ?? 'Pending',
      clusters: countedBy((r.status?.clusters ?? []).map((c) => c.phase)),
    })),
  }
}

function countedBy(phases: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const phase of phases) counts[phase] = (counts[phase] ?? 0) + 1
  return counts
}
