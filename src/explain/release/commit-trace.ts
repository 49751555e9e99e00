// What happened to a commit: each track's Release, by stage and cluster, with times, digests, who signed, who approved, and what reverted it. Pure.
import { commitText, shortCommit, titledCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { stagePart } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { approversOfRelease, type ApprovalsSeen, type ApprovedBy } from '#sync/release/recorded-approvers.ts'

type Status = NonNullable<Release['status']>
type Stage = NonNullable<Status['stages']>[number]
type Cluster = NonNullable<Status['clusters']>[number]

/** Full or abbreviated, as git shows it. */
export const isCommit = (word: string): boolean => /^[0-9a-f]{7,40}$/.test(word)

export interface CommitTrace extends ApprovalsSeen {
  readonly commit: string
}

export const releasesOf = (commit: string, releases: readonly Release[]): readonly Release[] =>
  releases.filter((r) => r.spec.commit.startsWith(commit))

export function commitLines({ commit, releases, approvals }: CommitTrace): readonly string[] {
  const own = releasesOf(commit, releases)
  const reverting = releases.filter((r) => r.spec.revertOf?.startsWith(commit) === true)
  if (own.length === 0)
    return [
      `commit ${commit} has no release: it changed no objects of a cluster, was not followed, or its releases were deleted`,
    ]
  const commits = [...new Set(own.map((r) => r.spec.commit))]
  if (commits.length > 1) return [`commit ${commit} is the start of ${counted(commits.length, 'commit')}:`, ...commits]
  return own.flatMap((release) => [
    ...headLines(release, releases),
    ...approversOfRelease(release, { approvals, releases }).map(approvalLine),
    ...stageLines(release),
    ...revertLines(release, reverting, releases),
  ])
}

function headLines({ metadata, spec, status }: Release, all: readonly Release[]): readonly string[] {
  const { phase = 'Pending', startedAt, finishedAt } = status ?? {}
  return [
    `release/${metadata.name ?? ''} of track ${spec.track}: ${phase}`,
    `  commit ${spec.commit}${spec.after === undefined ? '' : `, after ${titledCommit(spec.after, all)}`}`,
    ...(spec.subject === undefined ? [] : [`  ${commitText(spec.commit, spec)}`]),
    ...(spec.signer === undefined ? [] : [`  signed by ${spec.signer}`]),
    ...(spec.revertOf === undefined ? [] : [`  reverts ${titledCommit(spec.revertOf, all)}`]),
    ...(startedAt === undefined ? [] : [`  ${spanOf(startedAt, finishedAt)}`]),
  ]
}

const spanOf = (from: string, to: string | undefined): string => `${from} to ${to ?? 'now'}`

const approvalLine = ({ by, at, reason }: ApprovedBy): string =>
  `  approved by ${by}${at === undefined ? '' : ` at ${at}`}${reason === undefined ? '' : `: ${reason}`}`

const stageLines = ({ spec, status }: Release): readonly string[] =>
  (status?.stages ?? []).flatMap((stage) => [
    `  ${stagePart(stage.name)}: ${stage.phase}${stage.startedAt === undefined ? '' : `, ${spanOf(stage.startedAt, stage.finishedAt)}`}`,
    ...waitLines(stage),
    ...(status?.clusters ?? []).filter((c) => c.stage === stage.name).map((c) => clusterLine(c, spec.digests[c.name])),
  ])

const waitLines = ({ waitingFor }: Stage): readonly string[] =>
  waitingFor === undefined ? [] : [`    ${waitingFor.predicate} since ${waitingFor.since}: ${waitingFor.seen ?? ''}`]

function clusterLine(
  { name, phase, since, digest, healthySince, message }: Cluster,
  declared: string | undefined,
): string {
  const content = digest ?? declared
  return [
    `    ${name}: ${phase} since ${healthySince ?? since}`,
    ...(content === undefined ? [] : [`digest ${shortCommit(content)}${digest === undefined ? ' declared' : ''}`]),
    ...(message === undefined ? [] : [message]),
  ].join(', ')
}

function revertLines(
  { spec, status }: Release,
  reverting: readonly Release[],
  all: readonly Release[],
): readonly string[] {
  const { revertCommit, revert } = status ?? {}
  const followed = reverting.find((r) => r.spec.track === spec.track)
  const by = revertCommit ?? followed?.spec.commit
  if (by === undefined) return revert?.problem === undefined ? [] : [`  not reverted: ${revert.problem}`]
  const branch = revert?.branch === undefined ? '' : `, by sync on branch ${revert.branch}`
  const release = followed === undefined ? ', which is not followed yet' : `, release/${followed.metadata.name ?? ''}`
  return [`  reverted by ${titledCommit(by, all)}${branch}${release}`]
}

/** Clusters whose objects differ between two Releases, and the plan command that shows the differences. */
export function differenceLines(from: Release, to: Release): readonly string[] {
  const names = [...new Set([...Object.keys(from.spec.digests), ...Object.keys(to.spec.digests)])].toSorted()
  const digest = (id: string | undefined) => (id === undefined ? 'nothing' : shortCommit(id))
  const changed = names.filter((name) => from.spec.digests[name] !== to.spec.digests[name])
  const rows = changed.map((name) => `  ${name}: ${digest(from.spec.digests[name])} → ${digest(to.spec.digests[name])}`)
  return [
    `${changed.length} of ${counted(names.length, 'cluster')} ${changed.length === 1 ? 'differs' : 'differ'} between release/${from.metadata.name ?? ''} and release/${to.metadata.name ?? ''}`,
    ...rows,
    ...(changed.length === 0 ? [] : [`kubenode plan ${shortCommit(from.spec.commit)}..${shortCommit(to.spec.commit)}`]),
  ]
}
