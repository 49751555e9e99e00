// The commits that reached the fleet or one cluster, newest first: when, through which gates, who approved, and how each ended. Pure.
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { createdMs } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { someOf } from '#lib/some-of.ts'
import { DIGEST_OF_LEAVING } from '#sync/release/tracks.ts'
import { hubHistory } from './hub-history.ts'
import { tookText } from './took.ts'
import { approversOfRelease, type ApprovalsSeen } from '#sync/release/recorded-approvers.ts'

type Status = NonNullable<Release['status']>
type Stage = NonNullable<Status['stages']>[number]
type Rows = readonly (readonly string[])[]

/** More than a user reads; older ones are in git. */
const MAX_ROWS = 200
const SHORT = 12

/** Releases of the whole fleet, or of one cluster. */
export const releasesOf = (cluster: string | undefined, all: readonly Release[]): readonly Release[] =>
  newestFirst(cluster === undefined ? all : all.filter((r) => Object.hasOwn(r.spec.digests, cluster)))

export const FLEET_HEAD = [
  'STARTED',
  'TOOK',
  'COMMIT',
  'TRACK',
  'CHANGED',
  'RESULT',
  'CLUSTERS',
  'GATES',
  'APPROVED-BY',
]

export interface FleetHistory extends ApprovalsSeen {
  /** Their statuses have the hub stage of each commit. */
  readonly sources?: readonly FleetSource[]
}

/** The hub stage of a commit is a row of its own, before that of its Release. */
export function fleetHistoryRows(seen: FleetHistory): Rows {
  const ofReleases = releasesOf(undefined, seen.releases).map((release) => ({
    at: createdMs(release),
    row: releaseRow(release, seen),
  }))
  return [...ofReleases, ...hubHistory(seen.sources ?? [])]
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_ROWS)
    .map(({ row }) => row)
}

function releaseRow(release: Release, seen: ApprovalsSeen): readonly string[] {
  const { spec, status = {} } = release
  const { startedAt, finishedAt, stages = [], clusters = [] } = status
  const healthy = clusters.filter((c) => c.phase === 'Healthy' || c.phase === 'Unchanged').length
  return [
    startedAt ?? '-',
    tookText(startedAt, finishedAt),
    commitText(spec.commit, spec),
    spec.track,
    changedText(release, previousOf(release, seen.releases)),
    resultText(release, seen.releases),
    `${healthy}/${Object.keys(spec.digests).length}`,
    gatesText(stages),
    approversText(release, seen),
  ]
}

export const CLUSTER_HEAD = [
  'SINCE',
  'COMMIT',
  'TRACK',
  'CHANGED',
  'STAGE',
  'CLUSTER-IS',
  'RELEASE-IS',
  'DIGEST',
  'GATES',
  'APPROVED-BY',
]

/** From the Releases that include the cluster, even while it waits for its stage. */
export const clusterHistoryRows = (cluster: string, seen: ApprovalsSeen): Rows =>
  releasesOf(cluster, seen.releases).map((release) => {
    const { spec, status } = release
    const own = status?.clusters?.find((c) => c.name === cluster)
    const stages = (status?.stages ?? []).filter((s) => s.name === own?.stage)
    return [
      own?.healthySince ?? own?.since ?? '-',
      commitText(spec.commit, spec),
      spec.track,
      isChangedText(cluster, release, previousOf(release, seen.releases)),
      own?.stage ?? '-',
      own?.phase ?? 'Waiting',
      resultText(release, seen.releases),
      (own?.digest ?? spec.digests[cluster] ?? '').slice(0, SHORT),
      gatesText(stages),
      approversText(release, seen),
    ]
  })

const newestFirst = (all: readonly Release[]): readonly Release[] =>
  all.toSorted((a, b) => createdMs(b) - createdMs(a) || (a.spec.track < b.spec.track ? -1 : 1)).slice(0, MAX_ROWS)

/** Undefined: the first of its track, or its predecessor was deleted. */
const previousOf = ({ metadata, spec }: Release, all: readonly Release[]): Release | undefined =>
  spec.previous === undefined
    ? undefined
    : all.find((r) => r.metadata.name === spec.previous && r.metadata.namespace === metadata.namespace)

const MOST_NAMED = 3

/** The clusters that got other objects, `hub` among them where the pipeline has a stage for it. */
function changedText({ spec }: Release, previous: Release | undefined): string {
  if (previous === undefined && spec.previous !== undefined)
    return spec.changed === undefined ? '-' : counted(spec.changed, 'cluster')
  const before = previous?.spec.digests ?? {}
  const changed = Object.keys(spec.digests).filter((name) => before[name] !== spec.digests[name])
  // A cluster whose deletion an earlier commit began is no change of this one.
  const left = Object.keys(before).filter(
    (name) => spec.digests[name] === undefined && before[name] !== DIGEST_OF_LEAVING,
  )
  const shown = changed
    .toSorted()
    .map((name) => (spec.digests[name] === DIGEST_OF_LEAVING ? `${name} (deleted)` : name))
  const names = [...shown, ...left.toSorted().map((name) => `${name} (left)`)]
  return names.length === 0 ? 'none' : someOf(names, MOST_NAMED)
}

function isChangedText(cluster: string, { spec }: Release, previous: Release | undefined): string {
  if (previous === undefined && spec.previous !== undefined) return '-'
  return previous?.spec.digests[cluster] === spec.digests[cluster] ? 'no' : 'yes'
}

function resultText({ spec, status }: Release, all: readonly Release[]): string {
  const phase = status?.phase ?? 'Pending'
  const by = status?.revertCommit === undefined ? '' : ` by ${titledCommit(status.revertCommit, all)}`
  const of = spec.revertOf === undefined ? '' : `, reverts ${titledCommit(spec.revertOf, all)}`
  return `${phase}${phase === 'Reverted' ? by : ''}${of}`
}

/** A gate's name alone means that it passed. */
function gatesText(stages: readonly Stage[]): string {
  const all = stages
    .flatMap((s) => s.gates ?? [])
    .map((g) => (g.phase === 'Passed' ? g.name : `${g.name} (${g.phase})`))
  return all.length === 0 ? '-' : [...new Set(all)].join(', ')
}

function approversText(release: Release, seen: ApprovalsSeen): string {
  const by = new Set(approversOfRelease(release, seen).map((a) => a.by))
  return by.size === 0 ? '-' : [...by].toSorted().join(', ')
}
