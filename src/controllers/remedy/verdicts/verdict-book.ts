// The verdicts of all rules on all nodes, kept between reconciles. Only what changed is evaluated again. Everything can be rebuilt from the caches.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { Clock } from '#lib/clock.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import { type NodeView, isAskable } from '#nodes/faults/node-view.ts'
import { FutureStamps } from '#nodes/faults/future-stamps.ts'
import { type MovedCounts, Peers } from '#nodes/faults/peers.ts'
import { judge } from '#nodes/faults/since.ts'
import { evaluate } from '#policy/evaluate.ts'
import type { Facts } from '#policy/reading.ts'
import { type Ruleset, createRuleset } from '#policy/ruleset.ts'
import { whyNoRescue } from '#nodes/faults/rescue.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { type IsIdleChange, idleChanges } from './idle-changes.ts'
import { type RuleNeeds, needsOf, nextChangeOf } from './rule-needs.ts'
import type { NodeSeen, RuleCounts } from '../seen.ts'

/** Nodes evaluated in one go. Other work runs in between, so that ten thousand nodes at startup block nothing. */
const AT_ONCE = 200

/** The rules to evaluate, and where to read a node's repairs. */
export interface Question {
  readonly active: readonly ActiveRule[]
  readonly remediers: readonly NodeRemedier[]
  readonly repairsOf: (uid: string, now: number) => Facts
  /** Called for each rule that became true for a node evaluated before, with the recorded time. */
  readonly onTrue?: (rule: string, since: number) => void
}

interface Entry {
  readonly view: NodeView
  /** Without other nodes' silence. */
  readonly seen: NodeSeen
  readonly askedAt: number
  readonly matches: ReadonlyMap<string, number>
  /** When a true rule was first observed true, whatever its conditions' times are. */
  readonly firstSeen: ReadonlyMap<string, number>
  /** Positions of the rules whose selector matches it. */
  readonly selectedBy: readonly number[]
  /** Whether some rule could be true, by the index. */
  readonly hasCandidates: boolean
  readonly isTimed: boolean
  /** Before this time nothing changes unless its facts do. */
  readonly changesAt: number
  readonly asksOthers: Others | undefined
  /** False if the rules were replaced since: it is in no count. */
  readonly isCounted: boolean
}

/** What its rules read of other nodes. */
interface Others {
  /** Undefined: any. */
  readonly types: ReadonlySet<string> | undefined
  readonly cluster: boolean
}

interface Counted {
  selected: number
  silent: number
  joining: number
  bad: number
}

const noneCounted = (): Counted => ({ selected: 0, silent: 0, joining: 0, bad: 0 })
const isJoining = ({ standing }: NodeView): boolean => standing.kind === 'Silent' && standing.isJoining === true

export class VerdictBook {
  readonly #clock: Pick<Clock, 'sleep'>
  /** Every node in its current state. */
  readonly #views = new Map<string, NodeView>()
  /** Nodes to evaluate. A node is removed only when its verdict is stored. */
  readonly #due = new Set<string>()
  readonly #entries = new Map<string, Entry>()
  readonly #bad = new Set<string>()
  readonly #timed = new Set<string>()
  /** Timed ones that change without an event, as long as no clock is set back. */
  readonly #changing = new Set<string>()
  readonly #askOthers = new Set<string>()
  readonly #joining = new Set<string>()
  readonly #peers = new Peers()
  readonly #stamps = new FutureStamps()
  readonly #recorded = new WeakMap<NodeRemedier, ReadonlyMap<string, number>>()
  #active: readonly ActiveRule[] = []
  /** Positions of the rules with a selector. */
  #selective: readonly number[] = []
  #ruleset: Ruleset = createRuleset([])
  #isIdleChange: IsIdleChange = () => false
  #speaksOf = { repairs: false, cluster: false }
  #counts: Counted[] = []
  #version = 0

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock
  }

  /** `changed` maps names of nodes to their new state; undefined for a deleted node. */
  async update(changed: ReadonlyMap<string, NodeView | undefined>, question: Question, now: number): Promise<void> {
    // All peers first: a rule's verdict on one node may depend on any other.
    for (const [name, view] of changed) this.#place(name, view)
    if (this.#setRules(question.active)) for (const name of this.#views.keys()) this.#due.add(name)
    this.#addDue(changed.size > 0, now)
    let asked = 0
    for (const name of this.#due) {
      if (++asked % AT_ONCE === 0) await this.#clock.sleep(0)
      const view = this.#views.get(name)
      if (view !== undefined) this.#enter(name, await this.#ask(view, this.#entries.get(name), question, now), question)
      this.#due.delete(name)
    }
  }

  /**
   * Whether the verdicts on the node stay as they are when a condition of it gets this status, at a time that is not in the future. Then a caller may leave
   * the change out until something else of the node changes.
   */
  isIdleChange(node: string, type: string, status: unknown): boolean {
    const entry = this.#entries.get(node)
    if (entry === undefined || entry.hasCandidates || !entry.isCounted) return false
    // A silent node hides what its conditions say, and a settled timestamp lasts until its condition changes.
    if (entry.view.standing.kind === 'Silent' || this.#stamps.hasSettled(entry.view.uid)) return false
    return !this.#due.has(node) && this.#isIdleChange(type, status)
  }

  /** Nodes for which some rule is true. */
  bad(): readonly NodeSeen[] {
    return [...this.#bad].flatMap((name) => {
      const entry = this.#entries.get(name)
      if (entry === undefined) return []
      // The number of silent nodes depends on all of them, so it is evaluated in each reconcile.
      const silence = entry.view.standing.kind === 'Silent' ? this.#peers.massSilence(entry.view) : undefined
      return [silence === undefined ? entry.seen : { ...entry.seen, silence }]
    })
  }

  counts(): ReadonlyMap<string, RuleCounts> {
    const all = this.#all()
    return new Map(
      this.#active.map(({ name, spec }, position) => {
        const { bad, ...own } = this.#counts[position] ?? noneCounted()
        return [name, { ...(spec.nodeSelector === undefined ? all : own), bad }]
      }),
    )
  }

  /** Increases whenever `bad` or `counts` may have changed. */
  get version(): number {
    return this.#version
  }

  /** The next time at which a verdict can change although nothing happens; undefined: never. */
  get changesAt(): number | undefined {
    let next = Infinity
    for (const name of this.#changing) next = Math.min(next, this.#entries.get(name)?.changesAt ?? Infinity)
    return next === Infinity ? undefined : next
  }

  /** Whether a node must be evaluated again even if nothing happens. */
  get isTimed(): boolean {
    return this.#timed.size > 0
  }

  #all(): Omit<RuleCounts, 'bad'> {
    return { selected: this.#views.size, silent: this.#peers.silent, joining: this.#joining.size }
  }

  /** Returns whether the rules changed. When a rule became true is remembered by its name. */
  #setRules(active: readonly ActiveRule[]): boolean {
    if (active.length === this.#active.length && active.every((a, i) => a === this.#active[i])) return false
    this.#version++
    this.#active = active
    this.#selective = active.flatMap(({ spec }, position) => (spec.nodeSelector === undefined ? [] : [position]))
    this.#ruleset = createRuleset(active.map((a) => a.rule))
    this.#isIdleChange = idleChanges(this.#ruleset.rules, this.#ruleset.index)
    const needs = active.map((a) => needsOf(a.rule))
    this.#speaksOf = { repairs: needs.some((n) => n.repairs), cluster: needs.some((n) => n.cluster) }
    this.#counts = active.map(noneCounted)
    for (const [name, entry] of this.#entries) this.#entries.set(name, { ...entry, isCounted: false })
    return true
  }

  #place(name: string, view: NodeView | undefined): void {
    const before = this.#views.get(name)
    if (before !== undefined && before.uid !== view?.uid) this.#peers.remove(before.uid)
    if ((before === undefined) !== (view === undefined)) this.#version++
    this.#joining.delete(name)
    if (view === undefined) {
      this.#views.delete(name)
      this.#leave(name)
      return
    }
    this.#views.set(name, view)
    this.#peers.put(view)
    if (isJoining(view)) this.#joining.add(name)
    this.#due.add(name)
  }

  #addDue(isChanged: boolean, now: number): void {
    if (isChanged && this.#askOthers.size > 0) {
      const moved = this.#peers.takeMoved()
      for (const name of this.#askOthers) if (isMoved(moved, this.#entries.get(name)?.asksOthers)) this.#due.add(name)
    }
    for (const name of this.#timed) {
      const { askedAt = 0, changesAt = 0 } = this.#entries.get(name) ?? {}
      if (now < askedAt || now >= changesAt) this.#due.add(name)
    }
  }

  async #ask(view: NodeView, before: Entry | undefined, question: Question, now: number): Promise<Entry> {
    const { labels } = view.node.metadata
    const selectedBy = this.#selective.filter((position) => this.#active[position]?.selects(labels))
    if (before?.view.uid === view.uid)
      this.#stamps.correct(
        view.uid,
        before.view.node.status?.conditions,
        view.node.status?.conditions,
        Math.min(before.askedAt, now),
      )
    const plain = this.#plainFacts(view, question, now)
    const indexed = this.#ruleset.index.candidates(plain)
    const candidates = indexed
      .flatMap((position) => this.#active[position] ?? [])
      .filter((a) => isAskable(view, a.rule) && a.selects(labels))
    const needs = candidates.map((a) => needsOf(a.rule))
    const facts = needs.some((n) => n.peers) ? { ...plain, peers: this.#peers.of(view) } : plain
    const fired = candidates.length === 0 ? [] : (await evaluate(this.#ruleset, facts, now)).fired
    const known = before?.view.uid === view.uid ? before.firstSeen : undefined
    const matches = new Map<string, number>()
    const firstSeen = new Map<string, number>()
    for (const { name, rule } of candidates) {
      if (!fired.includes(name)) continue
      const { since, isDated } = judge(rule.root, facts, now)
      const first = Math.min(
        known?.get(name) ?? now,
        before === undefined ? this.#recordedAt(question, name, view) : now,
      )
      firstSeen.set(name, first)
      matches.set(name, isDated && since !== undefined ? since : Math.max(since ?? 0, first))
    }
    return {
      view,
      seen: seenOf(view, matches),
      askedAt: now,
      matches,
      firstSeen,
      selectedBy,
      hasCandidates: indexed.length > 0,
      isTimed: needs.some((n) => n.time),
      changesAt: Math.min(...candidates.map((a) => nextChangeOf(a.rule, facts, now) ?? Infinity)),
      asksOthers: othersOf(needs),
      isCounted: true,
    }
  }

  /** All facts that the index may read. Facts about peers are tallies, which no index covers. */
  #plainFacts(view: NodeView, { repairsOf }: Question, now: number): Facts {
    const { repairs, cluster } = this.#speaksOf
    const facts = this.#stamps.settle(view.uid, view.facts, now, view.node.status?.conditions)
    if (!repairs && !cluster) return facts
    return {
      ...facts,
      ...(repairs && { repairs: repairsOf(view.uid, now) }),
      ...(cluster && { cluster: this.#peers.cluster() }),
    }
  }

  /**
   * From before this process: afterwards a record is older than what was observed, and would hide that the rule was false for a while. It has no UIDs, so
   * what is older than the Node is about another one of its name.
   */
  #recordedAt({ remediers }: Question, rule: string, { name, node }: NodeView): number {
    const remedier = remediers.find((r) => r.metadata.name === rule)
    if (remedier === undefined) return Infinity
    const known = this.#recorded.get(remedier) ?? recordedTimes(remedier)
    this.#recorded.set(remedier, known)
    const at = known.get(name)
    return at === undefined || at < Date.parse(node.metadata.creationTimestamp ?? '') ? Infinity : at
  }

  #enter(name: string, entry: Entry, { onTrue }: Pick<Question, 'onTrue'>): void {
    const before = this.#entries.get(name)
    // For a new node or rule, it is unknown when the match would have been noticed.
    if (onTrue !== undefined && before?.isCounted === true && before.view.uid === entry.view.uid)
      for (const [rule, since] of entry.matches) if (!before.matches.has(rule)) onTrue(rule, since)
    const version = this.#version
    this.#leave(name)
    this.#entries.set(name, entry)
    this.#count(entry, 1)
    this.#version = isSameToDecisions(before, entry) ? version : version + 1
    if (entry.matches.size > 0) this.#bad.add(name)
    if (entry.isTimed) this.#timed.add(name)
    if (entry.changesAt !== Infinity) this.#changing.add(name)
    if (entry.asksOthers !== undefined) this.#askOthers.add(name)
  }

  #leave(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#version++
    this.#count(entry, -1)
    this.#entries.delete(name)
    this.#bad.delete(name)
    this.#timed.delete(name)
    this.#changing.delete(name)
    this.#askOthers.delete(name)
  }

  #count({ view, matches, selectedBy, isCounted }: Entry, by: 1 | -1): void {
    if (!isCounted) return
    const isSilent = view.standing.kind === 'Silent'
    for (const position of selectedBy) {
      const counted = this.#counts[position]
      if (counted === undefined) continue
      counted.selected += by
      if (isSilent) counted.silent += by
      if (isJoining(view)) counted.joining += by
    }
    for (const rule of matches.keys()) {
      const counted = this.#counts[this.#ruleset.positions.get(rule) ?? -1]
      if (counted !== undefined) counted.bad += by
    }
  }
}

/** Most changes of a node change no verdict. Then nothing needs to be decided again. */
function isSameToDecisions(before: Entry | undefined, now: Entry): boolean {
  if (before?.isCounted !== true || before.view.uid !== now.view.uid) return false
  const [was, is] = [before.view.standing.kind, now.view.standing.kind]
  if (was !== is || isJoining(before.view) !== isJoining(now.view)) return false
  if (before.selectedBy.length !== now.selectedBy.length) return false
  if (before.selectedBy.some((position, n) => position !== now.selectedBy[n])) return false
  if (before.matches.size === 0 && now.matches.size === 0) return true
  return jsonEqual(comparable(before.seen), comparable(now.seen))
}

const comparable = ({ matches, ...seen }: NodeSeen) => ({ ...seen, matches: [...matches] })

function othersOf(needs: readonly RuleNeeds[]): Others | undefined {
  const asking = needs.filter((n) => n.peers || n.cluster)
  if (asking.length === 0) return undefined
  const types = asking.filter((n) => n.peers).map((n) => n.peerTypes)
  return {
    types: types.includes(undefined) ? undefined : new Set(types.flatMap((t) => [...(t ?? [])])),
    cluster: asking.some((n) => n.cluster),
  }
}

function isMoved(moved: MovedCounts, asked: Others | undefined): boolean {
  if (asked === undefined) return false
  if (asked.cluster && moved.readiness) return true
  if (asked.types?.size === 0) return false
  if (moved.types === undefined) return true
  return asked.types === undefined ? moved.types.size > 0 : !asked.types.isDisjointFrom(moved.types)
}

const seenOf = (view: NodeView, matches: ReadonlyMap<string, number>): NodeSeen => ({
  name: view.name,
  uid: view.uid,
  machine: view.machine?.metadata.name,
  machineUid: view.machine?.metadata.uid,
  ...(view.machine?.spec.channel === 'Observe' && { isObserved: true }),
  // Only nodes with a fault are rescued.
  ...(matches.size > 0 && defined({ noRescue: whyNoRescue(view.machine) })),
  labels: view.node.metadata.labels,
  standing: view.standing,
  matches,
})

/** Node → first time, as in the rule's status. */
function recordedTimes({ status }: NodeRemedier): ReadonlyMap<string, number> {
  return new Map(
    (status?.matching ?? []).flatMap(({ node, since }) => {
      const ms = Date.parse(since)
      return Number.isNaN(ms) ? [] : [[node, ms] as const]
    }),
  )
}
