// The loops. Each round costs as much as on the real server, so that no list is walked for free.
import { assertNever } from '#lib/errors.ts'
import { sortedKeys } from './equal.ts'
import type { Eval, Run } from './functions.ts'
import type { Fold, FoldKind, Node } from './node.ts'
import { BuiltMap, CelError, CelList, CelMap, type CelValue } from './values.ts'

/** What the loop itself costs: each round, each round that adds to the result, and at the end. */
interface LoopCost {
  readonly round: number
  readonly hit: number
  readonly end: number
}

const COSTS: Readonly<Record<FoldKind, LoopCost>> = {
  all: { round: 3, hit: 0, end: 1 },
  exists: { round: 4, hit: 0, end: 1 },
  existsOne: { round: 1, hit: 1, end: 2 },
  map: { round: 1, hit: 11, end: 11 },
  filter: { round: 1, hit: 12, end: 11 },
  transformList: { round: 1, hit: 11, end: 11 },
  transformMap: { round: 1, hit: 2, end: 31 },
  transformMapEntry: { round: 1, hit: 2, end: 31 },
}

type Loop = (rounds: Rounds, run: Run) => CelValue

/** Walks a range; each round puts the variables into their slots. */
interface Rounds {
  readonly count: number
  /** Sets the variables of round i; a failing element is an error. */
  enter(i: number): CelValue
  key(i: number): CelValue
}

type Plan = (node: Node) => Eval

export function planFold(fold: Fold, plan: Plan): Eval {
  const range = plan(fold.range)
  const loop = planLoop(fold, plan)
  const { end } = COSTS[fold.kind]
  return (run) => {
    const value = range(run)
    if (value instanceof CelError) return value
    const rounds = roundsOf(value, fold, run)
    if (rounds === undefined) return new CelError(`unsupported comprehension range type`)
    const result = loop(rounds, run)
    run.spend(end)
    return result
  }
}

function roundsOf(range: CelValue, { slot, slot2 }: Fold, run: Run): Rounds | undefined {
  const { slots } = run
  if (range instanceof CelList) {
    return {
      count: range.length,
      key: (i) => BigInt(i),
      enter(i) {
        const element = range.at(i)
        slots[slot] = slot2 === undefined ? element : BigInt(i)
        if (slot2 !== undefined) slots[slot2] = element
        return element
      },
    }
  }
  if (!(range instanceof CelMap)) return undefined
  const keys = sortedKeys(range)
  return {
    count: keys.length,
    key: (i) => keys[i] ?? null,
    enter(i) {
      const key = keys[i] ?? null
      slots[slot] = key
      if (slot2 !== undefined) slots[slot2] = range.get(key) ?? null
      return key
    },
  }
}

function planLoop(fold: Fold, plan: Plan): Loop {
  const predicate = fold.predicate === undefined ? undefined : plan(fold.predicate)
  const transform = fold.transform === undefined ? undefined : plan(fold.transform)
  const always: Eval = () => true
  switch (fold.kind) {
    case 'all':
      return quantifier(predicate ?? always, false, COSTS.all.round)
    case 'exists':
      return quantifier(predicate ?? always, true, COSTS.exists.round)
    case 'existsOne':
      return one(predicate ?? always)
    case 'filter':
      return collect(predicate ?? always, undefined, COSTS.filter)
    case 'map':
    case 'transformList':
      return collect(predicate ?? always, transform, COSTS.map)
    case 'transformMap':
    case 'transformMapEntry':
      return collectMap(predicate ?? always, transform ?? always, fold.kind === 'transformMapEntry')
    default:
      return assertNever(fold.kind)
  }
}

/** Ends with the first element that decides; errors count only when none does. */
function quantifier(predicate: Eval, decisive: boolean, cost: number): Loop {
  return (rounds, run) => {
    let error: CelError | undefined
    for (let i = 0; i < rounds.count; i++) {
      run.spend(cost)
      rounds.enter(i)
      const value = predicate(run)
      if (value === decisive) return decisive
      if (typeof value !== 'boolean') error ??= asError(value)
    }
    return error ?? !decisive
  }
}

const asError = (v: CelValue): CelError => (v instanceof CelError ? v : new CelError('no such overload'))

function one(predicate: Eval): Loop {
  return (rounds, run) => {
    let hits = 0
    for (let i = 0; i < rounds.count; i++) {
      run.spend(COSTS.existsOne.round)
      rounds.enter(i)
      const value = predicate(run)
      if (typeof value !== 'boolean') return asError(value)
      if (value) {
        run.spend(COSTS.existsOne.hit)
        hits++
      }
    }
    return hits === 1
  }
}

function collect(predicate: Eval, transform: Eval | undefined, cost: LoopCost): Loop {
  return (rounds, run) => {
    const items: CelValue[] = []
    for (let i = 0; i < rounds.count; i++) {
      run.spend(cost.round)
      const element = rounds.enter(i)
      const wanted = predicate(run)
      if (typeof wanted !== 'boolean') return asError(wanted)
      if (!wanted) continue
      run.spend(cost.hit)
      const item = transform === undefined ? element : transform(run)
      if (item instanceof CelError) return item
      items.push(item)
    }
    return CelList.of(items)
  }
}

function collectMap(predicate: Eval, transform: Eval, entries: boolean): Loop {
  return (rounds, run) => {
    const map = new BuiltMap()
    for (let i = 0; i < rounds.count; i++) {
      run.spend(COSTS.transformMap.round)
      rounds.enter(i)
      const wanted = predicate(run)
      if (typeof wanted !== 'boolean') return asError(wanted)
      if (!wanted) continue
      run.spend(COSTS.transformMap.hit)
      const value = transform(run)
      if (value instanceof CelError) return value
      const problem = entries ? addEntries(map, value) : addEntry(map, rounds.key(i), value)
      if (problem !== undefined) return problem
    }
    return map
  }
}

const addEntry = (map: BuiltMap, key: CelValue, value: CelValue): CelError | undefined =>
  map.add(key, value) ? undefined : new CelError(`insert failed: key ${String(key)} already exists`)

function addEntries(map: BuiltMap, more: CelValue): CelError | undefined {
  if (!(more instanceof CelMap)) return new CelError('no such overload')
  for (const key of more.keys()) {
    const value = more.get(key)
    const problem = value === undefined ? undefined : addEntry(map, key, value)
    if (problem !== undefined) return problem
  }
  return undefined
}
