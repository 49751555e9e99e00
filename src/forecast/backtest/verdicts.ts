// Which rules of both sides are true for which nodes, by the remedy controller's own book. A rule that both sides have is evaluated once.
import type { Machine } from '#api/kinds/machine.ts'
import { jsonEqual } from '#lib/json.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { VerdictBook } from '#controllers/remedy/verdicts/verdict-book.ts'
import type { NodeSeen, RuleCounts } from '#controllers/remedy/seen.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import { type NodeView, nodeView } from '#nodes/faults/node-view.ts'
import type { Node } from '#nodes/objects.ts'
import type { Facts } from '#policy/reading.ts'
import type { Subject } from '#history/store/names.ts'
import type { TopicPlace } from './live-object.ts'
import type { PastChange } from './past.ts'
import { NOTHING_READ, type ReadByRules, isReadTopic, readByRules, readsRepairs } from './rule-set.ts'

export const SIDES = ['base', 'change'] as const
export type Side = (typeof SIDES)[number]
type Part = 'shared' | Side

export interface SideOfRules {
  readonly active: readonly ActiveRule[]
  readonly remediers: readonly NodeRemedier[]
  readonly repairsOf: (uid: string, now: number) => Facts
}

interface BookPart {
  readonly book: VerdictBook
  active: readonly ActiveRule[]
  read: ReadByRules
  readonly due: Set<string>
  /** Its rules changed. */
  isStale: boolean
  changesAt: number
}

/** What one side decides about. */
export interface SideVerdicts {
  readonly nodes: readonly NodeSeen[]
  readonly counts: ReadonlyMap<string, RuleCounts>
}

/** What the Defender reads of a Machine, beside what rules read. */
const OF_HEALTH = /^status\/(components|conditions\/Ready)/

const MAX_TOPICS = 50_000

const NO_SLEEP = { sleep: async () => undefined }

export class Verdicts {
  readonly #nodes = new Map<string, Node>()
  readonly #machines = new Map<string, Machine>()
  /** Node UID → names of the Machines that claim it. */
  readonly #claims = new Map<string, Set<string>>()
  readonly #views = new Map<string, NodeView>()
  readonly #parts: Readonly<Record<Part, BookPart>> = { shared: emptyPart(), base: emptyPart(), change: emptyPart() }
  /** How often a repair changed what rules of the side read. */
  readonly #repairs: Record<Side, number> = { base: 0, change: 0 }
  #seen: Partial<Record<Side, { readonly version: number; readonly verdicts: SideVerdicts }>> = {}
  #faults: { readonly version: number; readonly nodes: readonly NodeSeen[] } | undefined
  #sides: Readonly<Record<Side, readonly ActiveRule[]>> | undefined
  /** Until the rules change. */
  #read = new WeakMap<TopicPlace, boolean>()
  #detailRead = new WeakMap<TopicPlace, boolean>()
  /** By kind, then topic: the parts with a rule that reads it. Until the rules change. */
  readonly #readers = new Map<string, Map<string, readonly BookPart[]>>()
  readonly #allObjects: () => readonly PastChange[]

  /** `allObjects`: every Node and Machine as it is now, for rules that read what no rule read before. */
  constructor(allObjects: () => readonly PastChange[]) {
    this.#allObjects = allObjects
  }

  view(node: string): NodeView | undefined {
    return this.#views.get(node)
  }

  get views(): Iterable<NodeView> {
    return this.#views.values()
  }

  /** `place`: of this kind alone. */
  isRead(kind: string, place: TopicPlace, isDetail: boolean): boolean {
    if (kind !== 'Node' && kind !== 'Machine') return true
    const answers = isDetail ? this.#detailRead : this.#read
    const known = answers.get(place)
    if (known !== undefined) return known
    const isRead = this.#isReadNow(kind, place.topic, isDetail)
    answers.set(place, isRead)
    return isRead
  }

  /** Whether a changed condition of a node may be left for later: no rule that reads it is near to being true for the node, nor comes nearer. */
  isIdle({ kind, name, uid }: Subject, { topic, item }: TopicPlace, status: unknown): boolean {
    if (kind !== 'Node' || item === undefined || this.#views.get(name)?.uid !== uid) return false
    return this.#readersOf(kind, topic).every(
      ({ book, due, isStale }) => !isStale && !due.has(name) && book.isIdleChange(name, item, status),
    )
  }

  #readersOf(kind: string, topic: string): readonly BookPart[] {
    const known = this.#readers.get(kind)?.get(topic)
    if (known !== undefined) return known
    const ofKind = this.#readers.get(kind) ?? new Map<string, readonly BookPart[]>()
    this.#readers.set(kind, ofKind)
    if (ofKind.size >= MAX_TOPICS) ofKind.clear()
    const readers = Object.values(this.#parts).filter((part) => isReadTopic(kind, topic, part.read))
    ofKind.set(topic, readers)
    return readers
  }

  #isReadNow(kind: string, topic: string, isDetail: boolean): boolean {
    if (kind === 'Machine' && OF_HEALTH.test(topic)) return true
    return Object.values(this.#parts).some((part) => isReadTopic(kind, topic, part.read, isDetail))
  }

  /** Returns the names of the nodes that changed. */
  take(changes: readonly PastChange[]): ReadonlySet<string> {
    const touched = new Set<string>()
    for (const change of changes) {
      const names = change.subject.kind === 'Node' ? [this.#takeNode(change)] : []
      if (change.subject.kind === 'Machine') names.push(...this.#takeMachine(change))
      const { kind } = change.subject
      for (const name of names) {
        touched.add(name)
        if (change.topics.size === 0) for (const part of Object.values(this.#parts)) part.due.add(name)
        for (const topic of change.topics) for (const part of this.#readersOf(kind, topic)) part.due.add(name)
      }
    }
    for (const name of touched) this.#place(name)
    return touched
  }

  /** `sides`: when its rules are the same lists as before, nothing but the changed nodes is evaluated. */
  async update(sides: Readonly<Record<Side, SideOfRules>>, now: number): Promise<void> {
    this.#setRules(sides)
    for (const part of ['shared', ...SIDES] as const) {
      const held = this.#parts[part]
      const { book, active, due } = held
      if (active.length === 0 && !held.isStale) due.clear()
      if (!held.isStale && (active.length === 0 || (due.size === 0 && held.changesAt > now))) continue
      const side = sides[part === 'change' ? 'change' : 'base']
      const { remediers, repairsOf } = side
      await book.update(
        new Map([...due].map((name) => [name, this.#views.get(name)])),
        { active, remediers, repairsOf },
        now,
      )
      due.clear()
      held.isStale = false
      held.changesAt = book.changesAt ?? Infinity
    }
  }

  /** A repair of the node changed a fact that rules read. */
  noteRepair(side: Side, node: string): void {
    if (!this.#parts[side].active.some(readsRepairs)) return
    this.#parts[side].due.add(node)
    this.#repairs[side]++
  }

  of(side: Side): SideVerdicts {
    const version = this.versionOf(side)
    const known = this.#seen[side]
    if (known?.version === version) return known.verdicts
    const [shared, own] = [this.#parts.shared, this.#parts[side]]
    const verdicts: SideVerdicts = {
      nodes: own.active.length === 0 ? shared.book.bad() : merged(shared.book.bad(), own.book.bad()),
      counts: new Map([...shared.book.counts(), ...own.book.counts()]),
    }
    this.#seen[side] = { version, verdicts }
    return verdicts
  }

  /** Nodes for which a rule of either side is true: the same faults, whichever side is asked. */
  faults(): readonly NodeSeen[] {
    const version = this.faultsVersion
    if (this.#faults?.version === version) return this.#faults.nodes
    const isOneSided = this.#parts.base.active.length === 0
    const change = this.of('change').nodes
    const nodes = isOneSided ? change : merged(change, this.of('base').nodes)
    this.#faults = { version, nodes }
    return nodes
  }

  get faultsVersion(): number {
    const { shared, base, change } = this.#parts
    return shared.book.version + base.book.version + change.book.version
  }

  /** Increases with each change of what `of` returns, and with each repair that may change it. */
  versionOf(side: Side): number {
    return this.#parts.shared.book.version + this.#parts[side].book.version + this.#repairs[side]
  }

  /** When a verdict can change although nothing happens. */
  get changesAt(): number {
    const { shared, base, change } = this.#parts
    return Math.min(shared.changesAt, base.changesAt, change.changesAt)
  }

  #setRules(sides: Readonly<Record<Side, SideOfRules>>): void {
    const now = { base: sides.base.active, change: sides.change.active }
    const before = this.#sides
    if (before?.base === now.base && before.change === now.change) return
    this.#sides = now
    const shared = now.base.filter((a) => !readsRepairs(a) && now.change.some((b) => isSameRule(a, b)))
    const names = new Set(shared.map((a) => a.name))
    const wanted: Readonly<Record<Part, readonly ActiveRule[]>> = {
      shared,
      base: now.base.filter((a) => !names.has(a.name)),
      change: now.change.filter((a) => !names.has(a.name)),
    }
    for (const part of ['shared', ...SIDES] as const) {
      const held = this.#parts[part]
      const isSame = held.active.length === wanted[part].length && held.active.every((a, n) => a === wanted[part][n])
      if (isSame) continue
      held.active = wanted[part]
      held.isStale = true
      held.read = held.active.length === 0 ? NOTHING_READ : readByRules(held.active.map((a) => a.rule))
    }
    this.#read = new WeakMap()
    this.#detailRead = new WeakMap()
    this.#readers.clear()
    // Changes that no rule read were not followed.
    this.take(this.#allObjects())
    for (const part of Object.values(this.#parts))
      if (part.isStale) for (const name of this.#views.keys()) part.due.add(name)
  }

  #takeNode({ subject, object }: PastChange): string {
    if (object === undefined) {
      if (this.#nodes.get(subject.name)?.metadata.uid === subject.uid) this.#nodes.delete(subject.name)
    } else this.#nodes.set(subject.name, object)
    return subject.name
  }

  #takeMachine({ subject, object }: PastChange): readonly string[] {
    const before = this.#machines.get(subject.name)
    if (object === undefined && before?.metadata.uid !== subject.uid) return []
    const now = object as Machine | undefined
    if (now === undefined) this.#machines.delete(subject.name)
    else this.#machines.set(subject.name, now)
    const refs = [before?.status?.nodeRef, now?.status?.nodeRef]
    if (refs[0]?.uid !== undefined && refs[0].uid !== refs[1]?.uid) this.#claims.get(refs[0].uid)?.delete(subject.name)
    if (refs[1]?.uid !== undefined)
      this.#claims.set(refs[1].uid, (this.#claims.get(refs[1].uid) ?? new Set()).add(subject.name))
    return refs.flatMap((ref) => ref?.name ?? [])
  }

  /** Two Machines of one Node: the first by name, as the controller chooses. */
  #place(name: string): void {
    const node = this.#nodes.get(name)
    if (node === undefined) {
      this.#views.delete(name)
      return
    }
    const claims = this.#claims.get(node.metadata.uid ?? '')
    const [owner] = claims === undefined ? [] : claims.size < 2 ? claims : [...claims].toSorted()
    this.#views.set(
      name,
      nodeView(node, owner === undefined ? undefined : this.#machines.get(owner), this.#views.get(name)),
    )
  }
}

const emptyPart = (): BookPart => ({
  book: new VerdictBook(NO_SLEEP),
  active: [],
  read: NOTHING_READ,
  due: new Set(),
  isStale: false,
  changesAt: Infinity,
})

export const isSameRule = (a: ActiveRule, b: ActiveRule): boolean => a.name === b.name && jsonEqual(a.spec, b.spec)

function merged(shared: readonly NodeSeen[], own: readonly NodeSeen[]): readonly NodeSeen[] {
  if (own.length === 0) return shared
  const byName = new Map(shared.map((n) => [n.name, n]))
  for (const node of own) {
    const other = byName.get(node.name)
    byName.set(
      node.name,
      other === undefined ? node : { ...other, matches: new Map([...other.matches, ...node.matches]) },
    )
  }
  return [...byName.values()]
}
