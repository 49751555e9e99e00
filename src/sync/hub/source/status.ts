// The status of a FleetSource, also when a step failed. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { commitText, type CommitTitle, shortCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import type { HeldPrune } from '#delivery/plan.ts'
import type { ApplyReport } from '../../cluster/apply.ts'
import { chainOf } from '../../release/chain.ts'
import { pruneText } from '../../release/cluster-trouble.ts'
import { HUB } from '../../release/tracks.ts'
import { hubRecords } from './hub-records.ts'
import { type ReleasePlan, revertOfOne, type SourceAction, type SourcePlan } from './plan.ts'
import type { Commit, Seen } from './seen.ts'
import { signerOf, type Trust } from './trust-seen.ts'

export interface TrackResult {
  readonly track: string
  /** Undefined: the hub was not due. */
  readonly report: ApplyReport | undefined
  readonly release: ReleasePlan
  /** What the commit declares for the hub; undefined where it was not due. */
  readonly digest?: string
}

/** Skips tracks whose actions were not all carried out. */
export const trackResults = (
  { tracks }: SourcePlan,
  results: readonly ActionResult<SourceAction, ApplyReport | undefined>[],
): readonly TrackResult[] =>
  tracks.flatMap(({ track, release, hub }) => {
    const outcomes = results.filter((r) => r.action.track === track).map((r) => r.outcome)
    const reports = outcomes.flatMap((o) => (o.kind === 'Applied' ? [o.object] : []))
    if (reports.length < outcomes.length) return []
    return [
      { track, report: reports.find((report) => report !== undefined), release, ...defined({ digest: hub?.digest }) },
    ]
  })

type Condition = Omit<WantedCondition, 'observedGeneration'>
/** A message may quote a commit or a server, and other programs print it too. */
const condition =
  (status: 'True' | 'False') =>
  (type: string, reason: string, message: string): Condition => ({
    type,
    status,
    reason,
    message: printableLine(message),
  })
const good = condition('True')
const bad = condition('False')

export function conditionsOf(seen: Seen, results: readonly TrackResult[]): readonly Condition[] {
  const waits = hubWaits(seen, results)
  const all = readAndApplied(seen, results, waits)
  return [...all, overall(all, waits)]
}

const readAndApplied = (seen: Seen, results: readonly TrackResult[], waits: HubWait | undefined) => [
  ...readConditions(seen),
  ...appliedConditions(seen, results, waits),
]

/** For a held source, only a revert that its pipelines exempt is rendered. */
const pausedCondition = (paused: string, followed: Commit | undefined): Condition =>
  followed === undefined
    ? good('Paused', 'HoldPause', paused)
    : good(
        'Paused',
        'ExemptRevert',
        `${paused}; commit ${commitText(followed.id, followed.title ?? {})} is followed, a revert exempt from the hold`,
      )

function readConditions({ paused, commit, declared, trust }: Seen): readonly Condition[] {
  if (paused !== undefined) return [pausedCondition(paused, declared === undefined ? undefined : commit)]
  const out: Condition[] = [bad('Paused', 'AsDeclared', 'not paused')]
  const fetched = trust?.head ?? commit?.id
  if (fetched !== undefined) {
    out.push(fetchedCondition(fetched, commit))
    out.push(trustCondition(trust, commit))
  }
  if (declared === undefined) return out
  if (declared.kind === 'Failed') return [...out, bad(declared.type, declared.reason, declared.message)]
  const { problems, objects, targets, isCageWeak, note } = declared
  const weak = isCageWeak ? '; in a weak cage: no namespaces on this machine' : ''
  const [first] = problems
  const text =
    first === undefined
      ? `${objects} objects for ${targets} targets${weak}${note === undefined ? '' : `; ${note}`}`
      : `${problems.length} of ${objects + problems.length} objects are not used: ${first}`
  return [...out, first === undefined ? good('Rendered', 'AsDeclared', text) : bad('Rendered', 'InvalidSpec', text)]
}

/** Without verification, a branch that was reset is followed. The condition shows the reset until the next commit. */
function fetchedCondition(commit: string, { title = {}, rewritten, note }: Partial<Commit> = {}): Condition {
  if (rewritten === undefined)
    return good('Fetched', 'UpToDate', `at commit ${commitText(commit, title)}${note === undefined ? '' : `; ${note}`}`)
  const text = `at commit ${commitText(commit, title)}, which does not contain ${commitText(rewritten.id, rewritten.title)}, followed before: the history was rewritten (reset or force-push); if that was not intended, push ${shortCommit(rewritten.id)} again; with spec.verify sync refuses it`
  return good('Fetched', 'HistoryRewritten', text)
}

/** Without verification, the condition reports that. */
function trustCondition(trust: Trust | undefined, read: Commit | undefined): Condition {
  if (trust === undefined)
    return good('SourceVerified', 'VerificationOff', 'spec.verify.mode is Off: any commit is followed')
  switch (trust.kind) {
    case 'Verified': {
      const { commit, principal, key } = trust.verified
      const by = principal === undefined ? 'is the anchor' : `is signed by ${principal} (${key ?? ''})`
      return good(
        'SourceVerified',
        'CommitVerified',
        `commit ${commitText(commit, read?.id === commit ? (read.title ?? {}) : {})} ${by}`,
      )
    }
    case 'Running': {
      const text = `verified ${trust.done} of ${trust.total} commits up to ${shortCommit(trust.head)}`
      return bad('SourceVerified', 'VerificationRunning', text)
    }
    case 'Refused':
      return bad('SourceVerified', refusedBecause(trust.reason), trust.message)
    default:
      return assertNever(trust)
  }
}

function refusedBecause(reason: Extract<Trust, { kind: 'Refused' }>['reason']): string {
  if (reason === 'HistoryRewritten') return reason
  if (reason === 'ApprovalsMissing') return reason
  return reason === 'InvalidPolicy' ? 'InvalidSpec' : 'UnverifiedCommit'
}

/** A Release whose change to the hub has not passed its stage yet. */
interface HubWait {
  readonly release: string
  readonly condition: Condition
}

const IS_ON_HUB: ReadonlySet<string> = new Set(['Verifying', 'Healthy', 'Unchanged'])

/** The first track that waits, including the Releases of this pass. */
function hubWaits({ source, staged, releases }: Seen, results: readonly TrackResult[]): HubWait | undefined {
  for (const track of staged ?? []) {
    const planned = results.find((r) => r.track === track)?.release
    const created = planned?.kind === 'Create' ? planned.release : undefined
    const newest = chainOf(releases, { source: source.metadata.name ?? '', track }).at(-1)
    const { metadata, spec } = created ?? newest ?? {}
    const status = created === undefined ? newest?.status : undefined
    const phase = status?.clusters?.find((c) => c.name === HUB)?.phase
    if (spec?.digests[HUB] === undefined || IS_ON_HUB.has(phase ?? '')) continue
    const release = `release/${metadata?.name ?? ''}`
    const { predicate = 'Progressing', seen } = status?.waitingFor ?? {}
    const text = `the hub waits for ${release}${seen === undefined ? '' : `: ${seen}`}`
    return { release, condition: bad('Applied', predicate, text) }
  }
  return undefined
}

/** Reports nothing about steps that were not tried. */
function appliedConditions(
  { source, declared }: Seen,
  results: readonly TrackResult[],
  waits: HubWait | undefined,
): readonly Condition[] {
  if (declared?.kind !== 'Declared') return []
  const { name = '' } = source.metadata
  const found = results.flatMap((r) => [
    ...(r.report === undefined ? [] : hubConditions(r.report, name)),
    ...(r.release.kind === 'NoPipeline' ? [withoutPipeline(r, r.release.pipeline)] : []),
  ])
  const failed = found.find((c) => c.type === 'Applied')
  const blocked = found.find((c) => c.type === 'PruneBlocked')
  return [
    failed ??
      waits?.condition ??
      (results.some(isNext) && blocked === undefined
        ? bad('Applied', 'Progressing', 'the hub is up to date; the Releases come next')
        : good('Applied', 'UpToDate', 'the hub is up to date, and every change has a Release')),
    blocked ?? bad('PruneBlocked', 'AsDeclared', 'no deletions pending'),
  ]
}

/** The hub stage comes first; another pass follows at once, and makes the Release. */
const isNext = ({ release }: TrackResult): boolean => release.kind === 'AwaitsHub'

/** The first commit brings its own pipeline, which only the next pass can read. */
function withoutPipeline({ track, report }: TrackResult, pipeline: string): Condition {
  const text = `track ${track}: ReleasePipeline ${pipeline}`
  return (report?.result?.applied ?? 0) > 0
    ? bad('Applied', 'Progressing', `${text} was not there before this commit was applied to the hub`)
    : bad('Applied', 'ReferenceMissing', `${text} not found`)
}

function hubConditions({ answer, plan }: ApplyReport, source: string): readonly Condition[] {
  const out: Condition[] = []
  if (answer.kind === 'Unreachable') out.push(bad('Applied', answer.because, `hub: ${answer.message}`))
  else if (answer.failures[0] !== undefined) out.push(bad('Applied', 'ApplyFailed', `hub: ${answer.failures[0]}`))
  const blocked = plan?.blocked
  if (blocked !== undefined) {
    const text = `hub: ${pruneText(blocked)}; to allow it: kubenode approve source/${source} (digest ${blocked.digest})`
    out.push(good('PruneBlocked', 'PruneGuard', text))
  }
  return out
}

/** The hub matches the commit, and no deletion is blocked. */
export const isHubDone = (report: ApplyReport): boolean => hubConditions(report, '').length === 0

/** Lists in a status are short: the first entries are enough to start with. */
const MAX_ERRORS = 10
const MAX_ERROR_CHARS = 1_024

/** `releases`: those in the namespace, including the ones just created. */
export function statusOf(
  seen: Seen,
  results: readonly TrackResult[],
  { releases, now }: { readonly releases: readonly Release[]; readonly now: number },
): NonNullable<FleetSource['status']> {
  const { source, commit: fetched } = seen
  const { generation } = source.metadata
  const before = source.status
  const wanted = conditionsOf(seen, results).map((c) =>
    generation === undefined ? c : { ...c, observedGeneration: generation },
  )
  const commit = fetched?.id ?? before?.commit
  const isNew = fetched !== undefined && fetched.id !== before?.commit
  const prunes = prunesOf(results)
  const errors = errorsOf(seen)
  return {
    ...defined({ observedGeneration: generation, commit }),
    ...titleOf(seen),
    ...renderedOf(seen),
    ...onHubOf(seen, results),
    ...revertOf(seen, results),
    ...(isNew ? { fetchedAt: timestamp(now) } : before?.fetchedAt === undefined ? {} : { fetchedAt: before.fetchedAt }),
    ...(results.some(isNext) && prunes.length === 0 && results.every(isHubFine) ? keptRequest(seen) : handledOf(seen)),
    ...trustStatus(seen),
    ...(fetched?.rewritten !== undefined && { rewritten: { from: fetched.rewritten.id, to: fetched.id } }),
    ...(fetched === undefined && before?.rewritten !== undefined && { rewritten: before.rewritten }),
    tracks: tracksOf(seen, releases),
    ...hubOf(seen, results, now),
    ...(prunes.length === 0 ? {} : { prunes }),
    // Other loops write these two fields.
    ...defined({ previews: before?.previews, notified: before?.notified }),
    ...(errors.length === 0 ? {} : { renderErrors: errors.map((e) => printableLine(e).slice(0, MAX_ERROR_CHARS)) }),
    conditions: setConditions(before?.conditions, wanted, now),
  }
}

/** What commits changed on the hub. */
function hubOf({ source, commit, approved }: Seen, results: readonly TrackResult[], now: number): Pick<Status, 'hub'> {
  const passes = results.flatMap(({ track, digest, report }) =>
    digest === undefined || report === undefined
      ? []
      : [{ track, digest, report, trouble: hubConditions(report, '')[0] }],
  )
  const before = source.status?.hub ?? []
  const hub = commit === undefined ? before : hubRecords({ before, commit, passes, approved }, now)
  return hub.length === 0 ? {} : { hub }
}

/** Title of the commit in the status. */
function titleOf({ source, commit }: Seen): CommitTitle {
  if (commit !== undefined) return commit.title ?? {}
  const { subject, author } = source.status ?? {}
  return defined({ subject, author })
}

const isHubFine = ({ report }: TrackResult): boolean => report === undefined || isHubDone(report)

/** The user who asks is answered when the Releases exist. */
const keptRequest = ({ source }: Seen): { readonly lastHandledReconcileAt?: string } =>
  defined({ lastHandledReconcileAt: source.status?.lastHandledReconcileAt })

const MAX_REQUEST_CHARS = 64

/** A request counts as handled after the repository was read, whatever the result. A paused source is not read. */
function handledOf({ source, paused }: Seen): { readonly lastHandledReconcileAt?: string } {
  const asked = source.metadata.annotations?.[ANNOTATIONS.reconcile]
  const handled =
    paused === undefined && asked !== undefined
      ? printableLine(asked).slice(0, MAX_REQUEST_CHARS)
      : source.status?.lastHandledReconcileAt
  return handled === undefined ? {} : { lastHandledReconcileAt: handled }
}

/** The next commit never starts from one that was refused or failed to render. */
function renderedOf({ source: { status = {} }, declared }: Seen): Pick<Status, 'rendered' | 'renderedBefore'> {
  const own = declared?.kind === 'Declared' ? declared.commit.id : status.rendered
  const before = own === status.rendered ? status.renderedBefore : status.rendered
  return defined({ rendered: own, renderedBefore: before })
}

/** The next commit goes back to one that the hub had completely. */
function onHubOf(seen: Seen, results: readonly TrackResult[]): Pick<Status, 'onHub' | 'onHubBefore'> {
  const { source, declared, staged } = seen
  const { onHub, onHubBefore, rendered, renderedBefore } = source.status ?? {}
  const isOn = source.spec.tracks.every(({ name }) => {
    const own = results.find((r) => r.track === name)
    return staged?.has(name) === true || (own !== undefined && isHubFine(own))
  })
  if (declared?.kind !== 'Declared' || !isOn || declared.commit.id === onHub) return defined({ onHub, onHubBefore })
  // A status from before this field.
  const earlier = onHub ?? (rendered === declared.commit.id ? renderedBefore : rendered)
  return { onHub: declared.commit.id, ...defined({ onHubBefore: earlier }) }
}

/** The way back from a commit that is not followed: it does not render, or the hub does not have all of it. */
function revertOf(seen: Seen, results: readonly TrackResult[]): Pick<Status, 'revert'> {
  const { source, commit, declared } = seen
  if (commit === undefined || declared === undefined) return defined({ revert: source.status?.revert })
  const followed = declared.kind === 'Failed' ? source.status?.rendered : onHubOf(seen, results).onHub
  return defined({ revert: revertOfOne(followed, commit.parents) })
}

type Status = NonNullable<FleetSource['status']>

/** Kept while nothing is known about the newest commit, for example while the server is unavailable. */
function trustStatus({ source, commit, trust, paused }: Seen): Partial<NonNullable<FleetSource['status']>> {
  const { signer, verified, seen, refused } = source.status ?? {}
  if (trust === undefined) {
    if (paused === undefined && commit !== undefined) return {}
    return defined({ signer, verified, seen, refused })
  }
  if (trust.kind === 'Verified') {
    const shown = signerOf(trust)
    return { ...defined({ signer: shown }), verified: trust.verified }
  }
  return {
    ...defined({ signer, verified: trust.verified }),
    seen: trust.seen,
    ...(trust.kind === 'Refused' && { refused: refusedOf(trust) }),
  }
}

type Refused = NonNullable<NonNullable<FleetSource['status']>['refused']>

const refusedOf = ({ head, reason, message, digest }: Extract<Trust, { kind: 'Refused' }>): Refused => ({
  commit: head,
  reason,
  message: printableLine(message).slice(0, MAX_ERROR_CHARS),
  ...defined({ digest }),
})

/** Deletions on the hub that the guard blocks. */
const prunesOf = (results: readonly TrackResult[]): readonly { readonly name: string; readonly held: HeldPrune }[] =>
  results.flatMap(({ track, report }) => (report?.plan?.blocked ? [{ name: track, held: report.plan.blocked }] : []))

function errorsOf({ source, commit, declared }: Seen): readonly string[] {
  if (commit === undefined || declared === undefined) return source.status?.renderErrors ?? []
  return declared.kind === 'Failed' ? [declared.message] : declared.problems.slice(0, MAX_ERRORS)
}

const MUST_HOLD: ReadonlySet<string> = new Set(['Fetched', 'SourceVerified', 'Rendered', 'Applied'])
/** Objects that wait for a stage are their Release's concern, on the hub as in a cluster. */
const troubleIn = (conditions: readonly Condition[], waits: HubWait | undefined): Condition | undefined =>
  conditions.find((c) => c.status === 'False' && MUST_HOLD.has(c.type) && c !== waits?.condition)

/** What prevents the source from being Ready. */
export function troubleOf(seen: Seen, results: readonly TrackResult[]): Condition | undefined {
  const waits = hubWaits(seen, results)
  return troubleIn(readAndApplied(seen, results, waits), waits)
}

function overall(conditions: readonly Condition[], waits: HubWait | undefined): Condition {
  const trouble = troubleIn(conditions, waits)
  if (trouble !== undefined) return bad('Ready', trouble.reason, trouble.message)
  const paused = conditions.find((c) => c.type === 'Paused' && c.status === 'True')
  const text = 'the newest commit is rendered and has its Releases'
  return paused === undefined
    ? good('Ready', 'UpToDate', waits === undefined ? text : `${text}; the hub waits for ${waits.release}`)
    : bad('Ready', paused.reason, paused.message)
}

type TrackStatus = NonNullable<NonNullable<FleetSource['status']>['tracks']>[number]

const newestOf = ({ spec, metadata }: Release): Pick<TrackStatus, 'commit' | 'release'> => ({
  commit: spec.commit,
  release: metadata.name ?? '',
})

function tracksOf({ source, declared }: Seen, releases: readonly Release[]): readonly TrackStatus[] {
  const { name: sourceName = '' } = source.metadata
  return source.spec.tracks.map(({ name }) => {
    const chain = chainOf(releases, { source: sourceName, track: name })
    const newest = chain.at(-1)
    const last = chain.findLast((r) => r.status?.phase === 'Succeeded')
    const targets = declared?.kind === 'Declared' ? declared.tracks.get(name) : undefined
    const before = source.status?.tracks?.find((t) => t.name === name)?.objects
    const objects = targets === undefined ? before : [...targets.values()].reduce((n, t) => n + t.objects.length, 0)
    return {
      name,
      ...(newest === undefined ? {} : newestOf(newest)),
      ...(last === undefined ? {} : { appliedCommit: last.spec.commit }),
      ...defined({ objects }),
    }
  })
}
