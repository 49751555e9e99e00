// How a topic was at a moment, what changed between two, and the life of one object: from the memory of this console, and before it from a recorded history.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { purposeOfPermit } from '#api/protocol/part.ts'
import { type Happening, happeningsOf } from '#explain/past/timeline.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import { defined } from '#lib/defined.ts'
import type { Steps } from '#lib/steps.ts'
import type { ChangesAnswer, LifeAnswer, PastAnswer, RecordedAnswer, Snapshot, Topic } from '../protocol.ts'
import type { Fleet } from './fleet.ts'
import { changesBetween } from './questions.ts'
import type { Recorded } from './recorded.ts'
import { Refused } from './request.ts'
import type { Readable } from './rights.ts'
import type { TopicName } from './topics.ts'
import { pageText } from './views/parts.ts'

export interface PastAsked {
  readonly fleet: Fleet
  /** Undefined without a history. */
  readonly recorded: Recorded | undefined
  readonly readable: Readable
  readonly query: URLSearchParams
  readonly now: number
}

/** Lines of a life; the newest are kept. */
const MOST_LINES = 500
const MOST_STATES = 2_000
const MOST_MS = 400 * 86_400_000
/** The page also asks for fractions. */
const MILLISECONDS = /^\d{1,16}(?:\.\d+)?$/

export function* pastAnswer(asked: PastAsked, name: TopicName, topic: Topic): Steps<PastAnswer | ChangesAnswer> {
  const { query, now } = asked
  const isChange = query.has('from')
  const at = yield* stateAt(asked, { name, topic }, momentIn(query, isChange ? 'to' : 'at'))
  const span = { begins: at.begins, ends: now }
  if (!isChange) return { ...span, snapshot: at.snapshot }
  const from = yield* stateAt(asked, { name, topic }, momentIn(query, 'from'))
  return { ...span, delta: changesBetween(from.snapshot, at.snapshot) }
}

interface State {
  /** Since when anything is known. */
  readonly begins: number
  readonly snapshot: Snapshot
}

/** The memory knows every change; a history may have gaps. */
function* stateAt(
  { fleet, recorded, readable }: PastAsked,
  { name, topic }: { readonly name: TopicName; readonly topic: Topic },
  moment: number,
): Steps<State> {
  const kept = fleet.past(name, topic, readable, moment)
  const recordedSince = recorded === undefined ? undefined : yield* recorded.begins(name, readable)
  if (recorded !== undefined && recordedSince !== undefined && (kept === undefined || moment < kept.begins)) {
    const snapshot = yield* recorded.snapshot(name, topic, readable, Math.max(recordedSince, moment))
    if (snapshot !== undefined) return { begins: recordedSince, snapshot }
  }
  if (kept === undefined) throw new Refused(404, 'NotFound', `the past of ${topic} is not kept`)
  return { ...kept, begins: Math.min(kept.begins, recordedSince ?? kept.begins) }
}

export function recordedAnswer({ recorded, readable, query, now }: PastAsked): RecordedAnswer {
  return { gaps: recorded?.gaps(readable, momentIn(query, 'at'), now) ?? [] }
}

export function* lifeAnswer({ fleet, recorded, readable, query, now }: PastAsked): Steps<LifeAnswer> {
  const given = (key: string): string => query.get(key) ?? ''
  const of = { cluster: given('cluster'), kind: given('kind'), name: given('name') }
  const to = Math.min(now, query.has('to') ? momentIn(query, 'to') : now)
  const from = Math.max(query.has('from') ? momentIn(query, 'from') : 0, to - MOST_MS)
  if (from > to) throw new Refused(400, 'BadTime', 'from is after to, or in the future')
  const life = recorded === undefined ? undefined : yield* recorded.life(readable, of, { from, to })
  if (life === undefined)
    throw new Refused(
      404,
      'NotFound',
      `nothing is recorded of ${of.kind.toLowerCase()} "${of.name}" in ${of.cluster}, or you may not read it`,
    )
  const { range, lanes, gaps, deeds } = life
  const lines = yield* happeningsOf(life)
  const permits =
    readable.get(of.cluster)?.kinds.has('permits') === true ? fleet.cluster(of.cluster)?.list('permits') : []
  const said = withPurposes(permits ?? [])
  return {
    ...of,
    from: range.from,
    to: range.to,
    lanes: lanes.map(({ name, states }) => ({ name, states: states.slice(-MOST_STATES) })),
    gaps: gaps.map(({ starts, ends, why, kind }) => ({
      cluster: of.cluster,
      starts,
      ...defined({ ends }),
      why: GAP_REASONS[why],
      kinds: kind === undefined ? [] : [kind],
    })),
    marks: deeds.slice(-MOST_STATES).map(({ observed }) => observed),
    lines: lines.slice(-MOST_LINES).map(({ at, text, tone }: Happening) => ({ at, text: said(pageText(text)), tone })),
    cut: Math.max(0, lines.length - MOST_LINES) + life.leftOut,
    command: `kubenode history ${of.kind.toLowerCase()}/${of.name} --cluster ${of.cluster}`,
  }
}

/** Permits that still exist are named by what they are for. */
export function withPurposes(permits: readonly OperationPermit[]): (text: string) => string {
  const purposes = new Map(permits.map(({ metadata, spec }) => [metadata.name ?? '', purposeOfPermit(spec)]))
  return (text) =>
    text.replaceAll(/\bpermit ([a-z0-9.-]+)/g, (whole: string, name: string) => {
      const purpose = purposes.get(name)
      return purpose === undefined ? whole : `permit for ${purpose}`
    })
}

function momentIn(query: URLSearchParams, key: string): number {
  const text = query.get(key) ?? ''
  const at = Number(text)
  if (!MILLISECONDS.test(text)) throw new Refused(400, 'BadTime', `${key} is not a time in milliseconds`)
  return at
}
