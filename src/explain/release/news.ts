// The news to notify about: the current event of a Release or a FleetSource, in words, if there is one. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { type CommitTitle, shortCommit, titledCommit } from '#api/protocol/commit-title.ts'
import { stagePart } from '#api/protocol/part.ts'
import { printableLine } from '#lib/printable.ts'
import type { NewsFound, NewsReader, NotifyEvent } from '#sync/notify/news.ts'
import { waitText } from '../wait.ts'

/** A gate that opens by itself within this time is not news. */
const WAITING_MS = 60_000
const MAX_KEY = 160
const MAX_MESSAGE = 300

/** Waits for users; other waits end by themselves. */
const FOR_PEOPLE: ReadonlySet<string> = new Set(['GateClosed', 'PruneGuard', 'RevertedBefore'])

/** `releases`: used to find the title of the reverting commit. */
function newsOfRelease(release: Release, releases: readonly Release[], now: number): NewsFound {
  const { metadata, spec, status } = release
  if (status?.phase === undefined || status.phase === 'Pending') return {}
  const waits = waitingOf(status)
  const lateMs = waits === undefined ? 0 : Date.parse(waits.since) + WAITING_MS - now
  const { event, stage, message, next } = stateOf(status, releases, waits !== undefined && !(lateMs > 0))
  const name = metadata.name ?? ''
  const facts = {
    event,
    source: spec.source,
    release: name,
    track: spec.track,
    commit: shortCommit(spec.commit),
    ...titleFacts(spec),
    stage,
    phase: status.phase,
    message: printableLine(message).slice(0, MAX_MESSAGE),
    next: printableLine(next ?? `kubenode release status ${name}`),
  }
  // A retry starts over: a new failure is news again.
  const round = status.retries?.length ?? 0
  const about = event === 'Waiting' ? (waits?.predicate ?? '') : event === 'Reverted' ? (status.revertCommit ?? '') : ''
  const key = [event, stage, about, round === 0 ? '' : `retry ${round}`].filter(Boolean).join(' ').slice(0, MAX_KEY)
  const isLast = ['Succeeded', 'Failed', 'Reverted', 'Superseded'].includes(status.phase)
  return { news: { event, key, commit: spec.commit, facts, isLast }, ...(lateMs > 0 && { againMs: lateMs }) }
}

const titleFacts = ({ subject = '', author = '' }: CommitTitle = {}) => ({
  subject: printableLine(subject),
  author: printableLine(author),
})

interface State {
  readonly event: NotifyEvent
  readonly stage: string
  readonly message: string
  readonly next?: string | undefined
}

function waitingOf({ phase, waitingFor }: ReleaseStatus): ReleaseStatus['waitingFor'] {
  return phase === 'Progressing' && FOR_PEOPLE.has(waitingFor?.predicate ?? '') ? waitingFor : undefined
}

function stateOf(status: ReleaseStatus, releases: readonly Release[], isWaitNews: boolean): State {
  const { phase, stages = [], waitingFor, revertCommit, revert } = status
  const failed = stages.find((s) => s.phase === 'Failed')
  const done = stages.findLast((s) => s.phase === 'Succeeded')
  const open = stages.find((s) => s.phase !== 'Succeeded')
  if (phase === 'Reverted' || (revertCommit !== undefined && phase !== 'Succeeded')) {
    const where = revert?.branch === undefined ? '' : ` on branch ${revert.branch}`
    return {
      event: 'Reverted',
      stage: failed?.name ?? '',
      message: `by commit ${titledCommit(revertCommit ?? '', releases)}${where}`,
    }
  }
  if (phase === 'Succeeded') return { event: 'Succeeded', stage: '', message: 'all stages succeeded' }
  if (phase === 'Superseded') return { event: 'Superseded', stage: '', message: 'a newer commit replaced it' }
  const waits = { message: waitingFor === undefined ? '' : waitText(waitingFor), next: waitingFor?.unblock }
  if (phase === 'Failed' || failed !== undefined)
    return {
      event: 'Failed',
      stage: failed?.name ?? '',
      message: failed?.waitingFor === undefined ? waits.message : waitText(failed.waitingFor),
      next: failed?.waitingFor?.unblock ?? waits.next,
    }
  if (phase === 'Paused') return { event: 'Paused', stage: open?.name ?? '', ...waits }
  if (isWaitNews) return { event: 'Waiting', stage: open?.name ?? '', ...waits }
  return done === undefined
    ? { event: 'Started', stage: open?.name ?? '', message: 'the first stage has begun' }
    : {
        event: 'StageSucceeded',
        stage: done.name,
        message: open === undefined ? 'no stage is left' : `${stagePart(open.name)} is next`,
      }
}

/** Only reports that the newest commit is not followed: its Releases report the rest. */
function newsOfSource({ metadata, status }: FleetSource): NewsFound {
  const conditionOf = (type: string) => status?.conditions?.find((c) => c.type === type && c.status === 'False')
  const refused = status?.refused
  const broken = conditionOf('Rendered')
  const commit = refused?.commit ?? status?.commit
  const reason = refused?.reason ?? broken?.reason
  if (commit === undefined || reason === undefined) return {}
  const name = metadata.name ?? ''
  const facts = {
    event: 'Refused',
    source: name,
    release: '',
    track: '',
    commit: shortCommit(commit),
    // The content of a refused commit is not read.
    ...titleFacts(refused === undefined ? status : undefined),
    stage: '',
    phase: '',
    message: printableLine(refused?.message ?? broken?.message ?? '').slice(0, MAX_MESSAGE),
    next: `kubenode why fleetsource/${name}`,
  }
  const key = `Refused ${shortCommit(commit)} ${reason}`
  return { news: { event: 'Refused', key, commit, facts, isLast: true } }
}

/** For sync, which sends the notifications. */
export const newsReader: NewsReader = { ofRelease: newsOfRelease, ofSource: newsOfSource }
