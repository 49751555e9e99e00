// The rules of one side of a comparison: as the history recorded them over time, or as a commit declares them. Read as the remedy controller reads them.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { CompiledRule } from '#policy/rule.ts'
import { pointerTokens } from '#policy/pointer.ts'
import {
  type ActiveRule,
  type ControllerRevision,
  RuleBook,
  type RuleReading,
  remedierOf,
} from '#nodes/faults/active-rule.ts'
import { needsOf, placesOf } from '#controllers/remedy/verdicts/rule-needs.ts'
import { MAX_RULES } from '#policy/limits.ts'

export class RuleSet {
  readonly #book = new RuleBook()
  readonly #remediers = new Map<string, NodeRemedier>()
  readonly #revisions = new Map<string, ControllerRevision>()
  /** The same by the rule that they keep. */
  #revisionsOf: ReadonlyMap<string, readonly ControllerRevision[]> | undefined
  #readings: readonly RuleReading[] | undefined
  #byName: ReadonlyMap<string, RuleReading> = new Map()
  #active: readonly ActiveRule[] = []
  #isCurrent = false
  #remedierList: readonly NodeRemedier[] | undefined

  constructor(remediers: readonly NodeRemedier[] = []) {
    for (const remedier of remediers) this.put(remedier.metadata.name ?? '', remedier)
  }

  put(name: string, remedier: NodeRemedier | undefined): void {
    if (remedier === undefined || remedier.metadata.deletionTimestamp !== undefined) this.#remediers.delete(name)
    else this.#remediers.set(name, remedier)
    this.#remedierList = undefined
    this.#readAgain()
  }

  /** What the controller writes when it has read a good rule, so that a broken one does not replace it. */
  keep(revision: ControllerRevision): void {
    this.#revisions.set(revision.metadata.name ?? '', revision)
    this.#readAgain()
  }

  drop(revision: ControllerRevision): void {
    this.#revisions.delete(revision.metadata.name ?? '')
    this.#readAgain()
  }

  #readAgain(): void {
    this.#revisionsOf = undefined
    this.#readings = undefined
    this.#isCurrent = false
  }

  /** With the statuses that were recorded, which have when a rule was first true. */
  remediers(): readonly NodeRemedier[] {
    this.#remedierList ??= [...this.#remediers.values()]
    return this.#remedierList
  }

  revisionsOf(rules: readonly RuleReading[]): readonly ControllerRevision[] {
    this.#revisionsOf ??= Map.groupBy(this.#revisions.values(), remedierOf)
    const all = this.#revisionsOf
    return rules.flatMap(({ remedier }) => all.get(remedier.metadata.name ?? '') ?? [])
  }

  readings(): readonly RuleReading[] {
    if (this.#readings !== undefined) return this.#readings
    const revisions = [...this.#revisions.values()]
    this.#readings = [...this.#remediers.values()].map((r) => this.#book.read(r, revisions))
    this.#byName = new Map(this.#readings.map((r) => [r.remedier.metadata.name ?? '', r]))
    return this.#readings
  }

  /** Those of the rules with these names, in their order. */
  readingsOf(names: Iterable<string>): readonly RuleReading[] {
    this.readings()
    return [...names].flatMap((name) => this.#byName.get(name) ?? [])
  }

  /** The same list until a rule itself changes, in the order of the controller. */
  active(): readonly ActiveRule[] {
    if (this.#isCurrent) return this.#active
    this.#isCurrent = true
    const next = this.readings()
      .flatMap((r) => r.active ?? [])
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_RULES)
    const before = this.#active
    if (before.length === next.length && next.every((a, n) => a === before[n])) return before
    this.#active = next
    return next
  }
}

/** What rules read of a node. Everything else may change without an evaluation. */
export interface ReadByRules {
  /** Condition types of the node itself or of its peers; undefined: any. */
  readonly types: ReadonlySet<string> | undefined
  /** Condition types of which they read more than the status and its age. */
  readonly details: ReadonlySet<string>
  readonly facts: ReadonlySet<string>
}

export const NOTHING_READ: ReadByRules = { types: new Set(), details: new Set(), facts: new Set() }

export function readByRules(rules: readonly CompiledRule[]): ReadByRules {
  const places = rules.flatMap((rule) => placesOf(rule.root))
  const types = rules.map(needsOf).flatMap(({ conditionTypes, peerTypes }) => [conditionTypes, peerTypes])
  return {
    types: types.includes(undefined) ? undefined : new Set(types.flatMap((of) => [...(of ?? [])])),
    details: new Set(
      places.flatMap(({ fact, path }) =>
        fact === 'conditions' && !STATUS_FIELDS.has(tokenOf(path, 1) ?? '') ? (tokenOf(path, 0) ?? []) : [],
      ),
    ),
    facts: new Set(places.map((p) => p.fact)),
  }
}

const STATUS_FIELDS: ReadonlySet<string> = new Set(['status', 'lastTransitionTime'])

const tokenOf = (path: string, n: number): string | undefined => pointerTokens(path)?.[n]

/** The verdict depends on the jobs of the side, so no other side can share it. */
export const readsRepairs = ({ rule }: ActiveRule): boolean => needsOf(rule).repairs

export const CONDITION = 'status/conditions/'
/** Read by every decision: whether a node is silent. */
const ALWAYS_TYPES: ReadonlySet<string> = new Set(['Ready', 'AgentReachable'])
/** Of a Machine, beside its conditions: place, health and what runs on it. */
const OF_MACHINE =
  /^(exists|metadata\/(deletionTimestamp|labels\/.+)|spec\/(pool|zone|rack|class|channel)|status\/(phase|nodeRef|inServiceSince))$/
const OF_NODE = /^(exists|metadata\/(deletionTimestamp|labels\/.+)|spec\/.+)$/

/** By topic of a Node or a Machine. `isDetail`: of a condition, neither the status nor its time changed. */
export function isReadTopic(
  kind: string,
  topic: string,
  { types, details, facts }: ReadByRules,
  isDetail = false,
): boolean {
  if (topic.startsWith(CONDITION)) {
    const type = topic.slice(CONDITION.length)
    // Why an agent is not reachable shows whether it is joining.
    if (isDetail && type !== 'AgentReachable') return kind === 'Node' && (types === undefined || details.has(type))
    return ALWAYS_TYPES.has(type) || (kind === 'Node' && (types === undefined || types.has(type)))
  }
  if (topic === 'status/conditions') return true
  if (kind === 'Node') {
    if (topic === 'spec/taints') return facts.has('taints')
    if (topic.startsWith('metadata/annotations/')) return facts.has('annotations')
    if (topic === 'status/nodeInfo') return facts.has('versions') || facts.has('system')
    return OF_NODE.test(topic)
  }
  if (topic.startsWith('status/components')) return facts.has('components') || facts.has('peers')
  if (topic.startsWith('status/platform')) return facts.has('platform')
  return OF_MACHINE.test(topic)
}
