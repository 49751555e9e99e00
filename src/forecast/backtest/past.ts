// Follows a stream of recorded lines as moments: all rows with one time of observation change the cluster at once. Keeps only the present state.
import type { KubeObject } from '#api/schema/object.ts'
import type { DeedLine } from '#history/deeds/chain.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import type { GapLine, HistoryLine } from '#history/lines/line.ts'
import type { Subject } from '#history/store/names.ts'
import { assertNever } from '#lib/errors.ts'
import { CONDITION } from './rule-set.ts'
import { LiveObject, ParsedValues, type TopicPlace, placeOfTopic } from './live-object.ts'

/** What decisions about repairs and their permits read. */
const KINDS: ReadonlySet<string> = new Set([
  'Node',
  'Machine',
  'NodeRemedier',
  'RemedyOperationJob',
  'OperationalHold',
  'MaintenanceEvent',
  'DefenderPolicy',
  'OperationPermit',
  'Approval',
])

export interface PastChange {
  readonly subject: Subject
  /** Undefined: it was deleted. */
  readonly object: KubeObject | undefined
  readonly topics: ReadonlySet<string>
}

export interface Moment {
  readonly at: number
  readonly changes: readonly PastChange[]
  readonly gaps: readonly GapLine[]
  readonly deeds: readonly DeedLine[]
  readonly rows: number
}

type Line = Exclude<HistoryLine, { readonly line: 'head' }>

function timeOf(line: Line): number | undefined {
  if (line.line === 'row') return line.observed
  if (line.line === 'gap') return line.starts
  return line.line === 'deed' ? line.deed.observed : undefined
}

/** Whether a change of this topic can matter to anyone now. The value is kept either way. */
export type IsRead = (kind: string, place: TopicPlace, isDetail: boolean) => boolean

/** Whether a condition of the object may get this status later, with the next change that is read. Asked for what is read. */
export type IsIdle = (subject: Subject, place: TopicPlace, status: unknown) => boolean

/** Whether anyone can ever read this topic. */
export type IsKept = (kind: string, topic: string) => boolean

/** One object, and the topics of its kind. */
interface Followed {
  readonly live: LiveObject
  readonly topics: Map<string, TopicPlace>
}

export class Past {
  readonly #live = new Map<number, Followed>()
  readonly #values = new ParsedValues()
  readonly #topics = new Map<string, Map<string, TopicPlace>>()
  readonly #conditionTypes = new Set<string>()
  readonly #isRead: IsRead
  readonly #isKept: IsKept
  readonly #isIdle: IsIdle
  readonly #changed = new Map<LiveObject, Set<string>>()
  #gaps: GapLine[] = []
  #deeds: DeedLine[] = []
  #rows = 0
  #at: number | undefined
  #pending: Line | undefined

  constructor(isRead: IsRead, isKept: IsKept = () => true, isIdle: IsIdle = () => false) {
    this.#isRead = isRead
    this.#isKept = isKept
    this.#isIdle = isIdle
  }

  /**
   * Returns the moment that this line ends. The line itself takes effect with the next call, so that every reader has the ended moment. Moments before `wakeAt`
   * that change nothing are passed over; their rows count in the next one.
   */
  take(line: Line, wakeAt = -Infinity): Moment | undefined {
    this.#catchUp()
    const at = timeOf(line)
    const ended = at === undefined ? undefined : this.#turnTo(at, wakeAt)
    if (ended === undefined) this.#apply(line)
    else this.#pending = line
    return ended
  }

  /** The last moment. */
  end(): Moment | undefined {
    this.#catchUp()
    return this.#turnTo(undefined)
  }

  #catchUp(): void {
    if (this.#pending !== undefined) this.#apply(this.#pending)
    this.#pending = undefined
  }

  #apply(line: Line): void {
    switch (line.line) {
      case 'subject':
        if (KINDS.has(line.kind)) this.#addSubject(line)
        return
      case 'gap':
        this.#gaps.push(line)
        return
      case 'deed':
        this.#deeds.push(line.deed)
        return
      case 'row': {
        this.#rows++
        const followed = this.#live.get(line.subject)
        if (followed === undefined) return
        const place = followed.topics.get(line.topic) ?? this.#addPlace(followed, line.topic)
        // Most rows end here.
        if (!place.isKept) return
        const { live } = followed
        const isDetail = live.take(place, line.value, line.reported)
        if (!this.#isRead(live.shape.type.kind, place, isDetail)) return
        // A time in the future counts from now on, so it is never left for later.
        const isDated = place.list?.time !== undefined && (line.reported ?? Infinity) <= (this.#at ?? 0)
        if (isDated && line.value !== undefined && this.#isIdle(live.subject, place, live.statusOf(place))) return
        const topics = this.#changed.get(live)
        if (topics === undefined) this.#changed.set(live, new Set([line.topic]))
        else topics.add(line.topic)
        return
      }
      default:
        assertNever(line)
    }
  }

  /** All objects of a kind as they are now. */
  all(kind: string): readonly PastChange[] {
    return [...this.#live.values()]
      .map(({ live }) => live)
      .filter((live) => live.shape.type.kind === kind && live.exists)
      .map((live) => changeOf(live, new Set()))
  }

  /** Types of conditions that Nodes have or had. */
  get conditionTypes(): ReadonlySet<string> {
    return this.#conditionTypes
  }

  uidOf(subject: number): string | undefined {
    return this.#live.get(subject)?.live.subject.uid
  }

  #addSubject({ id, kind, namespace, name, uid }: Subject): void {
    const shape = shapeOfKind(kind)
    if (shape === undefined) return
    const topics = this.#topics.get(kind) ?? new Map<string, TopicPlace>()
    this.#topics.set(kind, topics)
    this.#live.set(id, { live: new LiveObject({ id, kind, namespace, name, uid }, shape, this.#values), topics })
  }

  #addPlace({ live: { shape }, topics }: Followed, topic: string): TopicPlace {
    if (topics.size >= MAX_TOPICS) topics.clear()
    if (shape.type.kind === 'Node' && topic.startsWith(CONDITION) && this.#conditionTypes.size < MAX_TOPICS)
      this.#conditionTypes.add(topic.slice(CONDITION.length))
    const place = placeOfTopic(topic, shape, this.#isKept(shape.type.kind, topic))
    topics.set(topic, place)
    return place
  }

  /** Lines of a file are in the order of observation. A line that is not counts as observed with the one before it. */
  #turnTo(at: number | undefined, wakeAt = -Infinity): Moment | undefined {
    const before = this.#at
    if (before === undefined || (at !== undefined && at <= before)) {
      this.#at ??= at
      return undefined
    }
    if (this.#changed.size === 0 && this.#gaps.length === 0 && this.#deeds.length === 0) {
      if (before < wakeAt && at !== undefined) {
        this.#at = at
        return undefined
      }
      const quiet = { at: before, changes: NO_CHANGES, gaps: NO_GAPS, deeds: NO_DEEDS, rows: this.#rows }
      this.#rows = 0
      this.#at = at
      return quiet
    }
    const changes = [...this.#changed].map(([live, topics]) => changeOf(live, topics))
    for (const [live] of this.#changed) if (!live.exists) this.#live.delete(live.subject.id)
    const moment = { at: before, changes, gaps: this.#gaps, deeds: this.#deeds, rows: this.#rows }
    this.#changed.clear()
    this.#gaps = []
    this.#deeds = []
    this.#rows = 0
    this.#at = at
    return moment
  }
}

/** Most moments change nothing that anyone reads. */
const NO_CHANGES: readonly PastChange[] = []
const NO_GAPS: readonly GapLine[] = []
const NO_DEEDS: readonly DeedLine[] = []

/** Topics of one kind: conditions, labels, and one for each node that a rule matched. */
const MAX_TOPICS = 50_000

const changeOf = (live: LiveObject, topics: ReadonlySet<string>): PastChange => ({
  subject: live.subject,
  object: live.object(),
  topics,
})
