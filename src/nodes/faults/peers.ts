// How many nodes of a cluster, zone, rack, pool or cohort have a condition, updated node by node. A silent node may have it, and so may a node that
// reports it as Unknown: both count as unknown.
import { assertNever } from '#lib/errors.ts'
import { setOwn } from '#lib/json.ts'
import type { Facts } from '#policy/reading.ts'
import type { Tally } from '#policy/tally.ts'
import { isMass } from './mass.ts'
import type { NodeView } from './node-view.ts'

const GROUPS = ['cluster', 'zone', 'rack', 'pool', 'cohort'] as const
type Group = (typeof GROUPS)[number]

/** Groups that one cause can silence together: through the network of a rack or a zone, or all of it. */
const SILENCED_TOGETHER = ['cluster', 'zone', 'rack'] as const

interface Count {
  total: number
  silent: number
  readonly true: Map<string, number>
  readonly unknown: Map<string, number>
}

/** A node's contribution to the counts, so that exactly that can be subtracted again. */
interface Share {
  /** Of which the keys are made. */
  readonly machine: NodeView['machine']
  readonly keys: readonly string[]
  /** Of which the types are made. */
  readonly conditions: Conditions
  readonly isSilent: boolean
  readonly readiness: keyof Readiness
  readonly types: readonly string[]
  readonly trueTypes: readonly string[]
  readonly unknownTypes: readonly string[]
}

interface Readiness {
  ready: number
  notReady: number
  silent: number
}

export interface Silence {
  readonly group: string
  readonly silent: number
  readonly total: number
}

const NOBODY: Count = { total: 1, silent: 0, true: new Map(), unknown: new Map() }

/** What other nodes' verdicts may see differently since the last look. */
export interface MovedCounts {
  /** Condition types with other counts in some group; undefined: any, because a node came, went, moved or fell silent. */
  readonly types: ReadonlySet<string> | undefined
  readonly readiness: boolean
}

export class Peers {
  #moved = { types: new Set<string>(), isAny: false, readiness: false }
  readonly #counts = new Map<string, Count>()
  readonly #types = new Map<string, number>()
  readonly #shares = new Map<string, Share>()
  readonly #readiness: Readiness = { ready: 0, notReady: 0, silent: 0 }

  constructor(views: readonly NodeView[] = []) {
    for (const view of views) this.put(view)
  }

  /** Replaces the previous view of the same node. */
  put(view: NodeView): void {
    const known = this.#shares.get(view.uid)
    const share = shareOf(view, known)
    if (known !== undefined && isSame(known, share)) return
    this.#note(known, share)
    this.#shares.set(view.uid, share)
    if (known !== undefined && isSamePlace(known, share)) return this.#shift(known, share)
    if (known !== undefined) this.#add(known, -1)
    this.#add(share, 1)
  }

  /** Only the status of conditions changed. */
  #shift(before: Share, now: Share): void {
    this.#readiness[before.readiness]--
    this.#readiness[now.readiness]++
    if (now.isSilent) return
    for (const key of now.keys) {
      const count = this.#counts.get(key)
      if (count === undefined) continue
      shiftCounts(count.true, before.trueTypes, now.trueTypes)
      shiftCounts(count.unknown, before.unknownTypes, now.unknownTypes)
    }
  }

  /** Since the last call. */
  takeMoved(): MovedCounts {
    const { types, isAny, readiness } = this.#moved
    this.#moved = { types: new Set(), isAny: false, readiness: false }
    return { types: isAny ? undefined : types, readiness }
  }

  #note(before: Share | undefined, now: Share | undefined): void {
    if (before?.readiness !== now?.readiness) this.#moved.readiness = true
    if (before === undefined || now === undefined || before.isSilent !== now.isSilent) this.#moved.isAny = true
    else if (!sameList(before.keys, now.keys) || !sameList(before.types, now.types)) this.#moved.isAny = true
    else
      for (const list of ['trueTypes', 'unknownTypes'] as const)
        if (!sameList(before[list], now[list]))
          for (const type of [...before[list], ...now[list]]) this.#moved.types.add(type)
  }

  remove(uid: string): void {
    const known = this.#shares.get(uid)
    if (known === undefined) return
    this.#note(known, undefined)
    this.#shares.delete(uid)
    this.#add(known, -1)
  }

  /** The fact `peers`: without the node itself. */
  of(view: NodeView): Facts {
    const own = new Set(typesThatAre('True', view))
    const ownUnknown = new Set(typesThatAre('Unknown', view))
    const isSilent = view.standing.kind === 'Silent'
    const groups = {}
    for (const group of GROUPS) {
      const { total, silent, true: counts, unknown } = this.#counts.get(groupKey(view, group)) ?? NOBODY
      const tallies = {}
      for (const type of this.#types.keys()) {
        const tally: Tally = {
          total: total - 1,
          unknown: silent + (unknown.get(type) ?? 0) - (isSilent || ownUnknown.has(type) ? 1 : 0),
          count: (counts.get(type) ?? 0) - (!isSilent && own.has(type) ? 1 : 0),
        }
        setOwn(tallies, type, tally)
      }
      setOwn(groups, group, tallies)
    }
    return groups
  }

  get silent(): number {
    return this.#readiness.silent
  }

  /** The fact `cluster`: the health of the whole cluster. */
  cluster(): Facts {
    const { ready, notReady, silent } = this.#readiness
    const nodes = ready + notReady + silent
    return { nodes, ready, notReady, silent, readyPercent: nodes === 0 ? 0 : Math.floor((100 * ready) / nodes) }
  }

  /** The first group of the node in which enough nodes are silent at once to blame the network. */
  massSilence(view: NodeView): Silence | undefined {
    for (const group of SILENCED_TOGETHER) {
      const { total, silent } = this.#counts.get(groupKey(view, group)) ?? NOBODY
      if (!isMass(silent, total)) continue
      // Nodes without a zone or rack count as one group: they may really share one.
      const place = group === 'cluster' ? group : `${group} ${placeOf(view, group) || '(none)'}`
      return { group: place, silent, total }
    }
    return undefined
  }

  #add({ keys, isSilent, readiness, types, trueTypes, unknownTypes }: Share, by: 1 | -1): void {
    this.#readiness[readiness] += by
    for (const type of types) bump(this.#types, type, by)
    for (const key of keys) {
      const count = this.#counts.get(key) ?? { total: 0, silent: 0, true: new Map(), unknown: new Map() }
      this.#counts.set(key, count)
      count.total += by
      if (isSilent) count.silent += by
      else {
        for (const type of trueTypes) bump(count.true, type, by)
        for (const type of unknownTypes) bump(count.unknown, type, by)
      }
      if (count.total === 0) this.#counts.delete(key)
    }
  }
}

function bump(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function shiftCounts(counts: Map<string, number>, before: readonly string[], now: readonly string[]): void {
  for (const type of before) if (!now.includes(type)) bump(counts, type, -1)
  for (const type of now) if (!before.includes(type)) bump(counts, type, 1)
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((item, i) => item === b[i]))

const isSamePlace = (a: Share, b: Share): boolean =>
  a.isSilent === b.isSilent && sameList(a.keys, b.keys) && sameList(a.types, b.types)

const isSame = (a: Share, b: Share): boolean =>
  a.readiness === b.readiness &&
  isSamePlace(a, b) &&
  sameList(a.trueTypes, b.trueTypes) &&
  sameList(a.unknownTypes, b.unknownTypes)

/** Runs for each change of each node: what `before` has is not made again. */
function shareOf(view: NodeView, before: Share | undefined): Share {
  const isSilent = view.standing.kind === 'Silent'
  const conditions = conditionsOf(view)
  const { types, trueTypes, unknownTypes } =
    (before === undefined ? undefined : typesAfter(before, conditions)) ?? typesOf(conditions)
  return {
    machine: view.machine,
    keys:
      before !== undefined && before.machine === view.machine
        ? before.keys
        : GROUPS.map((group) => groupKey(view, group)),
    conditions,
    isSilent,
    readiness: isSilent ? 'silent' : trueTypes.includes('Ready') ? 'ready' : 'notReady',
    types,
    trueTypes,
    unknownTypes,
  }
}

type Types = Pick<Share, 'types' | 'trueTypes' | 'unknownTypes'>

function typesOf(conditions: Conditions): Types {
  const typesThatAre = (status: string) => conditions.flatMap((c) => (c.status === status ? c.type : []))
  return {
    types: conditions.map((c) => c.type),
    trueTypes: typesThatAre('True'),
    unknownTypes: typesThatAre('Unknown'),
  }
}

/** A node changes one condition at a time, of dozens: only those are read that are not the same objects. Undefined: other types are listed. */
function typesAfter(before: Share, conditions: Conditions): Types | undefined {
  if (before.conditions.length !== conditions.length) return undefined
  let { trueTypes, unknownTypes } = before
  for (let n = 0; n < conditions.length; n++) {
    const was = before.conditions[n]
    const is = conditions[n]
    if (was === is || was === undefined || is === undefined) continue
    if (was.type !== is.type) return undefined
    if (was.status === is.status) continue
    trueTypes = moved(trueTypes, is.type, was.status === 'True', is.status === 'True')
    unknownTypes = moved(unknownTypes, is.type, was.status === 'Unknown', is.status === 'Unknown')
  }
  return { types: before.types, trueTypes, unknownTypes }
}

function moved(types: readonly string[], type: string, wasIn: boolean, isIn: boolean): readonly string[] {
  if (wasIn === isIn) return types
  return isIn ? [...types, type] : types.toSpliced(types.indexOf(type), 1)
}

type Conditions = NonNullable<NonNullable<NodeView['node']['status']>['conditions']>

const NONE: Conditions = []
const conditionsOf = ({ node }: NodeView): Conditions => node.status?.conditions ?? NONE
const typesThatAre = (status: string, view: NodeView): readonly string[] =>
  conditionsOf(view).flatMap((c) => (c.status === status ? c.type : []))
const placeOf = ({ machine }: NodeView, group: 'zone' | 'rack' | 'pool'): string => machine?.spec[group] ?? ''

function groupKey(view: NodeView, group: Group): string {
  switch (group) {
    case 'cluster':
      return 'cluster'
    case 'cohort': {
      const components = view.machine?.status?.components ?? []
      return `cohort\n${components
        .map((c) => `${c.name} ${c.version ?? ''}`)
        .toSorted()
        .join('\n')}`
    }
    case 'zone':
    case 'rack':
    case 'pool':
      return `${group}\n${placeOf(view, group)}`
    default:
      return assertNever(group)
  }
}
