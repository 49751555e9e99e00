// Finds what people repair by hand again and again: a person cordons a node within an hour after the same condition began on it. What a repair of KubeNode was
// changing, and what lies in a gap, does not count. Keeps only the present state and a bounded number of episodes.
import type { Machine } from '#api/kinds/machine.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { isOfLifecycle } from '#api/node-conditions.ts'
import { JobBook, hasStarted, isOpen } from '#controllers/remedy/repairs/history.ts'
import type { DeedLine } from '#history/deeds/chain.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import type { Node } from '#nodes/objects.ts'
import { type Moment, Past, type PastChange } from '../backtest/past.ts'
import { CORDONED, nodeOfPerson } from '../backtest/recorded.ts'
import { RuleSet, readByRules } from '../backtest/rule-set.ts'

/** A repair by a person. */
export interface Episode {
  readonly node: string
  readonly who: string
  readonly at: number
  /** From the begin of the condition to the cordon. */
  readonly delayMs: number
  readonly isRebooted: boolean
  /** The condition was over when the node was uncordoned. */
  readonly isOver: boolean
}

export interface Handmade {
  readonly type: string
  readonly episodes: readonly Episode[]
  /** How often the condition ended without a repair, and how long that took at most. */
  readonly selfEnded: number
  readonly longestMs: number
  /** Rules in force that read it already. */
  readonly rules: readonly string[]
}

export interface HandworkResult {
  /** In the order of how often, for at least three. */
  readonly found: readonly Handmade[]
  /** No node was recorded. */
  readonly isEmpty: boolean
  /** Rules in force at the end. */
  readonly remediers: readonly NodeRemedier[]
}

const FOLLOWS_WITHIN_MS = 3_600_000
const FEWEST = 3
/** Of one condition; more do not change the draft. */
const MOST_EPISODES = 1_000

interface NodeState {
  uid: string
  /** By type of a condition that means trouble: since when; undefined if it began where nothing was recorded. */
  readonly bad: Map<string, number | undefined>
  /** By type: when it last began. */
  readonly began: Map<string, number>
  atWork:
    | { readonly who: string; readonly at: number; readonly delays: ReadonlyMap<string, number>; isRebooted: boolean }
    | undefined
}

interface Ended {
  times: number
  longestMs: number
}

export class Handwork {
  readonly #past = new Past(
    (kind, { topic }) =>
      kind === 'RemedyOperationJob' ||
      kind === 'NodeRemedier' ||
      (kind === 'Node' && /^(exists|status\/conditions)/.test(topic)) ||
      (kind === 'Machine' && topic === 'status/bootID'),
  )
  readonly #rules = new RuleSet()
  readonly #jobs = new JobBook()
  readonly #nodes = new Map<string, NodeState>()
  readonly #boots = new Map<string, string>()
  readonly #episodes = new Map<string, Episode[]>()
  readonly #ended = new Map<string, Ended>()
  #isFirst = true
  #hasNodes = false

  take(line: Exclude<HistoryLine, { readonly line: 'head' }>): void {
    const moment = this.#past.take(line)
    if (moment !== undefined) this.#moment(moment)
  }

  end(): HandworkResult {
    const last = this.#past.end()
    if (last !== undefined) this.#moment(last)
    for (const [name, state] of this.#nodes) this.#finish(name, state)
    const rules = this.#rules.active().map(({ name, rule }) => ({ name, types: readByRules([rule]).types }))
    const found = [...this.#episodes]
      .filter(([, episodes]) => episodes.length >= FEWEST)
      .map(([type, episodes]): Handmade => {
        const { times, longestMs } = this.#ended.get(type) ?? { times: 0, longestMs: 0 }
        return {
          type,
          episodes: episodes.toSorted((a, b) => a.at - b.at || (a.node < b.node ? -1 : 1)),
          selfEnded: times,
          longestMs,
          rules: rules.filter((r) => r.types?.has(type) !== false).map((r) => r.name),
        }
      })
      .toSorted((a, b) => b.episodes.length - a.episodes.length || (a.type < b.type ? -1 : 1))
    return { found, isEmpty: !this.#hasNodes, remediers: this.#rules.remediers() }
  }

  #moment({ at, changes, gaps, deeds }: Moment): void {
    if (gaps.length > 0) this.#forget()
    // First what happened to nodes, then what people did, whatever the order of rows of one time.
    // Repairs come before the nodes that they change.
    const ordered = changes.toSorted((a, b) => b.subject.kind.localeCompare(a.subject.kind, 'en'))
    for (const change of ordered) this.#takeChange(change, at)
    for (const deed of deeds.toSorted((a, b) => a.n - b.n)) this.#takeDeed(deed, at)
    this.#isFirst = false
  }

  /** What happened in a gap is unknown, so that nothing from before it is continued. */
  #forget(): void {
    for (const state of this.#nodes.values()) {
      state.atWork = undefined
      state.began.clear()
      for (const type of state.bad.keys()) state.bad.set(type, undefined)
    }
  }

  #takeChange({ subject, object }: PastChange, at: number): void {
    const { kind, name } = subject
    if (kind === 'NodeRemedier') this.#rules.put(name, object as NodeRemedier | undefined)
    if (kind === 'RemedyOperationJob') this.#jobs.put(name, object as RemedyOperationJob | undefined)
    if (kind === 'Node') this.#takeNode(name, object, at)
    if (kind === 'Machine' && object !== undefined) this.#takeBoot(object as Machine)
  }

  #takeNode(name: string, node: Node | undefined, at: number): void {
    if (node === undefined) {
      const gone = this.#nodes.get(name)
      if (gone !== undefined) this.#finish(name, gone)
      this.#nodes.delete(name)
      return
    }
    this.#hasNodes = true
    const state = this.#of(name)
    state.uid = node.metadata.uid ?? ''
    const bad = new Set(
      (node.status?.conditions ?? []).flatMap(({ type, status }) =>
        status === (type === 'Ready' ? 'False' : 'True') && !isOfLifecycle(type) ? [type] : [],
      ),
    )
    for (const [type, since] of state.bad) {
      if (bad.has(type)) continue
      state.bad.delete(type)
      if (since !== undefined && state.atWork === undefined && !this.#isRepaired(state.uid))
        this.#noteEnd(type, at - since)
    }
    for (const type of bad) {
      if (state.bad.has(type)) continue
      state.bad.set(type, this.#isFirst ? undefined : at)
      if (!this.#isFirst) state.began.set(type, at)
    }
  }

  #takeBoot({ metadata, status }: Machine): void {
    const { bootID, nodeRef } = status ?? {}
    const name = metadata.name ?? ''
    const before = this.#boots.get(name)
    if (bootID === undefined || bootID === before) return
    this.#boots.set(name, bootID)
    const work = this.#nodes.get(nodeRef?.name ?? '')?.atWork
    if (before !== undefined && work !== undefined) work.isRebooted = true
  }

  #takeDeed(deed: DeedLine, at: number): void {
    const name = nodeOfPerson(deed)
    const state = name === undefined ? undefined : this.#nodes.get(name)
    if (name === undefined || state === undefined) return
    if (deed.what === 'uncordoned') return this.#finish(name, state)
    if (deed.what !== CORDONED || state.atWork !== undefined || this.#isRepaired(state.uid)) return
    const delays = new Map([...state.began].map(([type, since]) => [type, at - since] as const))
    for (const [type, ms] of delays) if (ms > FOLLOWS_WITHIN_MS) delays.delete(type)
    if (delays.size > 0) state.atWork = { who: deed.who, at, delays, isRebooted: false }
  }

  #finish(node: string, state: NodeState): void {
    const { atWork } = state
    state.atWork = undefined
    if (atWork === undefined) return
    const { who, at, delays, isRebooted } = atWork
    for (const [type, delayMs] of delays) {
      const episodes = this.#episodes.get(type) ?? []
      this.#episodes.set(type, episodes)
      if (episodes.length < MOST_EPISODES)
        episodes.push({ node, who, at, delayMs, isRebooted, isOver: !state.bad.has(type) })
    }
  }

  #noteEnd(type: string, ms: number): void {
    const ended = this.#ended.get(type) ?? { times: 0, longestMs: 0 }
    this.#ended.set(type, { times: ended.times + 1, longestMs: Math.max(ended.longestMs, ms) })
  }

  #isRepaired(uid: string): boolean {
    return this.#jobs.ofNode(uid).some((job) => isOpen(job) && hasStarted(job) && !job.spec.dryRun)
  }

  #of(name: string): NodeState {
    const known = this.#nodes.get(name) ?? { uid: '', bad: new Map(), began: new Map(), atWork: undefined }
    this.#nodes.set(name, known)
    return known
  }
}
