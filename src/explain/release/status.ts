// How far a Release has come: stages, clusters, what they wait for, what failed, and the command that continues it. Pure.
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { stagePart } from '#api/protocol/part.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { shellWord } from '#lib/shell-word.ts'
import { findCondition } from '#kube/conditions.ts'
import { isAtWork } from '#sync/release/cluster-phase.ts'
import { nextRevertAt } from '#sync/revert/decide.ts'
import { someOf } from '#lib/some-of.ts'
import { causeOf, type Finding, notesOf, type Story } from '../finding.ts'
import { type Moment, sinceText, waitCell, waitFindings } from '../wait.ts'

type Status = NonNullable<Release['status']>
type ClusterStatus = NonNullable<Status['clusters']>[number]
type StageStatus = NonNullable<Status['stages']>[number]

export const healthyText = ({ healthy = 0, total = 0 }: Pick<StageStatus, 'healthy' | 'total'>): string =>
  total === 0 ? 'no clusters' : `${healthy} of ${counted(total, 'cluster')} healthy`

interface Around extends Moment {
  /** Used for the titles of commits. */
  readonly all?: readonly Release[]
  /** What other objects report about it. */
  readonly more?: readonly Finding[]
}

/** Clusters that only wait for their stage are counted, not listed. */
export function releaseStory(release: Release, around: Around): Story {
  const { metadata, spec, status = {} } = release
  const word = `release/${metadata.name ?? ''}`
  const { phase = 'Pending', stages = [], clusters = [] } = status
  return {
    object: word,
    text: `${word} is ${phase}: commit ${commitText(spec.commit, spec)} of track ${spec.track}`,
    below: [
      ...held(status, around, word),
      ...stages.map((stage): Finding => ({
        text: `${stagePart(stage.name)}: ${stage.phase}, ${healthyText(stage)}`,
        below: [
          ...waitFindings(stage.waitingFor, { now: around.now }, word),
          ...notesOf((stage.gates ?? []).map(gateText)),
          ...clusters.filter((c) => c.stage === stage.name).flatMap((c) => ofCluster(c, around)),
        ],
      })),
      ...reverted(status, around.all ?? []),
      ...(status.notified ?? []).flatMap(({ name: target, problem }) =>
        problem === undefined ? [] : [{ text: `notification ${target} failed: ${problem}` }],
      ),
      ...(around.more ?? []),
    ],
    ...nextOf(metadata.name ?? '', status),
  }
}

const gateText = ({ name, when, phase, seen }: NonNullable<StageStatus['gates']>[number]): string =>
  `gate ${name} (${when.toLowerCase()}): ${phase}${seen === undefined ? '' : `, ${seen}`}`

/** A user's hold, even if a stage failed too: it explains why a retry does nothing. */
function held(status: Status, { holdEnds }: Moment, word: string): readonly Finding[] {
  const paused = findCondition(status.conditions, 'Paused')
  if (paused?.status === 'True')
    return [
      {
        text: `paused: ${paused.message}`,
        cause: causeOf(word, paused.reason),
        urgency: 'Waiting',
        below: notesOf(continuingLines(status)),
        ...holdEnds,
      },
    ]
  return holdEnds === undefined ? [] : [{ text: 'held: sync has not reported it yet', urgency: 'Waiting', ...holdEnds }]
}

/** A hold on the hub does not apply in the clusters: a cluster that already has the objects keeps rolling them out to its machines. */
export function continuingLines({ clusters = [] }: Status): readonly string[] {
  const names = clusters.filter((c) => isAtWork(c) && c.name !== HUB_TARGET).map((c) => c.name)
  if (names.length === 0) return []
  const has = names.length === 1 ? 'has' : 'have'
  return [
    `${someOf(names, MOST_NAMED)} ${has} the objects already and continue${names.length === 1 ? 's' : ''} with the machines: to stop these, run kubenode pause set/NAME or kubenode freeze there (--context ${names[0]})`,
  ]
}

const MOST_NAMED = 5

function reverted({ revertCommit, revert }: Status, all: readonly Release[]): readonly Finding[] {
  if (revertCommit !== undefined) {
    const commit = titledCommit(revertCommit, all)
    return notesOf([
      revert?.branch === undefined ? `reverted by ${commit}` : `revert: on branch ${revert.branch}, commit ${commit}`,
    ])
  }
  if (revert?.problem === undefined) return []
  const { problem, attempts = 1 } = revert
  const next = nextRevertAt({ revert })
  const again = next === undefined || Number.isNaN(next) ? '' : `, the next one at ${timestamp(next)}`
  return [{ text: `not reverted: ${problem}`, below: notesOf([`${counted(attempts, 'attempt')}${again}`]) }]
}

function ofCluster(cluster: ClusterStatus, { now }: Moment): readonly Finding[] {
  const { name, phase, message, failures, prune, waitingFor } = cluster
  const { before = 0, new: fresh = 0 } = failures ?? {}
  const isPlain = phase === 'Waiting' || ((phase === 'Healthy' || phase === 'Unchanged') && before === 0)
  if (isPlain && fresh === 0) return []
  const old = before === 0 ? '' : `; ${counted(before, 'older failure')} not counted`
  return [
    {
      text: `${name}: ${phase}${sinceText(cluster.since, now)}, ${counted(fresh, 'new failure')}${old}`,
      below: notesOf([
        ...(message === undefined ? [] : [message]),
        // The stage's finding names what ends it.
        ...(waitingFor?.seen === undefined ? [] : [waitCell(waitingFor)]),
        ...(prune === undefined || prune.permit !== undefined ? [] : [`digest to approve: ${prune.digest}`]),
      ]),
    },
  ]
}

type Prune = NonNullable<ClusterStatus['prune']>

/** Deletions in one cluster that the guard blocks, or blocked until they were approved. */
export function deletionText(cluster: string, { count, allowed, first, machines = 0, permit, digest }: Prune): string {
  const lost = machines === 0 ? '' : `${counted(machines, 'machine')} and `
  const text = `${cluster}: deletes ${lost}${counted(count, 'object')} (limit ${allowed}), the first is ${first}; digest sha256:${digest}`
  return permit === undefined ? text : `${text}; approved`
}

/** What a user types next. */
function nextOf(name: string, { clusters = [], stages = [], phase }: Status): Pick<Finding, 'command'> {
  const types = (line: string, does: string) => ({ command: { line, does } })
  if (soakingStage({ status: { stages } }) !== undefined)
    return types(`kubenode release promote ${name} --reason WHY`, 'end the soak')
  const pruning = clusters.filter((c) => c.prune !== undefined)
  if (pruning.some((c) => c.prune?.permit === undefined))
    return types(`kubenode approve release/${name} --reason WHY`, 'approve its deletions')
  const [asked] = pruning
  if (asked?.prune?.permit !== undefined) {
    // The permit is in the cluster, but the reader is on the hub.
    const place = asked.name === HUB_TARGET ? '' : ` --context ${shellWord(asked.name)}`
    return types(`kubenode why operationpermit/${asked.prune.permit}${place}`, 'see what the deletions wait for')
  }
  return canBeRetried({ clusters, stages, ...(phase && { phase }) })
    ? types(`kubenode release retry ${name} --reason WHY`, 'retry the failed clusters and gates')
    : {}
}

/** Only a soak just takes time, and can be ended early. */
export const soakingStage = ({ status }: Pick<Release, 'status'>): StageStatus | undefined =>
  status?.stages?.find((s) => s.phase === 'Soaking' && s.waitingFor?.predicate === 'MinSuccessTime')

/** For a message about the release. */
export function stateText({ status }: Release): string {
  const { phase = 'Pending', waitingFor } = status ?? {}
  if (waitingFor === undefined) return `it is ${phase}`
  const { predicate, seen } = waitingFor
  return `it waits for ${predicate}${seen === undefined ? '' : ` (${seen})`}`
}

const ENDED: ReadonlySet<string> = new Set(['Superseded', 'Reverted', 'Failed'])

/** No part of it can be stopped any more. */
export const isOver = ({ phase }: Pick<Status, 'phase'>): boolean => ENDED.has(phase ?? '') || phase === 'Succeeded'

/** Failed clusters and gates are retried, and a release that does not start because its objects failed before. */
export const canBeRetried = ({
  clusters = [],
  stages = [],
  phase,
  waitingFor,
}: Pick<Status, 'clusters' | 'stages' | 'phase' | 'waitingFor'>): boolean =>
  !ENDED.has(phase ?? '') &&
  (waitingFor?.predicate === 'RevertedBefore' ||
    clusters.some((c) => c.phase === 'Failed') ||
    failedGates(stages).length > 0)

export const failedGates = (stages: NonNullable<Status['stages']>): readonly string[] =>
  stages.flatMap(({ name, gates = [] }) =>
    gates.filter((g) => g.phase === 'Failed').map((g) => `gate ${g.name} of ${stagePart(name)}`),
  )
