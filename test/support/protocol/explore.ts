// Walks every state that a model can reach, breadth first, so that the first counterexample is a shortest one. The order of moves is the
// model's own: the same model gives the same answer.
import { defined } from '#lib/defined.ts'
import { canonicalJson } from '#lib/json.ts'

export interface Move<S> {
  readonly name: string
  readonly to: S
}

export interface Model<S> {
  readonly initial: S
  moves(state: S): readonly Move<S>[]
  /** States with the same key are one state to the walk: they must differ only in what no move and no check reads any more. */
  key?(state: S): string
  /** What must never be true of a state, in words. */
  broken(state: S): string | undefined
  /** What must never be true of a step. */
  brokenMove?(from: S, move: Move<S>): string | undefined
  /** Whether it is well to stay here for ever. */
  isEnd(state: S): boolean
}

interface Violation {
  readonly message: string
  /** Names of the moves that lead there. */
  readonly trail: readonly string[]
}

export interface Exploration<S> {
  readonly states: readonly S[]
  readonly moves: number
  readonly violation?: Violation
}

/** A model with more states than this has to be cut down. */
const DEFAULT_MAX_STATES = 200_000

interface Seen<S> {
  readonly state: S
  readonly before: number
  readonly by: string
  readonly next: number[]
}

/** All states, or the shortest way to something broken, to a dead end, or to a place from which no end can be reached. */
export function explore<S>(model: Model<S>, { maxStates = DEFAULT_MAX_STATES } = {}): Exploration<S> {
  const keyOf = (state: S): string => model.key?.(state) ?? canonicalJson(state)
  const seen: Seen<S>[] = [{ state: model.initial, before: -1, by: '', next: [] }]
  const index = new Map([[keyOf(model.initial), 0]])
  let moves = 0
  const result = (violation?: Violation): Exploration<S> => ({
    states: seen.map((s) => s.state),
    moves,
    ...defined({ violation }),
  })
  for (let i = 0; i < seen.length; i++) {
    const here = seen[i]
    if (here === undefined) break
    const wrong = model.broken(here.state)
    if (wrong !== undefined) return result({ message: wrong, trail: trail(seen, i) })
    const steps = model.moves(here.state)
    if (steps.length === 0 && !model.isEnd(here.state)) return result({ message: 'a dead end', trail: trail(seen, i) })
    for (const step of steps) {
      moves++
      const bad = model.brokenMove?.(here.state, step)
      if (bad !== undefined) return result({ message: bad, trail: [...trail(seen, i), step.name] })
      const key = keyOf(step.to)
      let to = index.get(key)
      if (to === undefined) {
        to = seen.length
        if (to >= maxStates) return result({ message: `more than ${maxStates} states`, trail: [] })
        index.set(key, to)
        seen.push({ state: step.to, before: i, by: step.name, next: [] })
      }
      here.next.push(to)
    }
  }
  const trapped = firstTrapped(seen, model)
  return trapped === undefined
    ? result()
    : result({ message: 'no end can be reached from here', trail: trail(seen, trapped) })
}

function trail<S>(seen: readonly Seen<S>[], i: number): readonly string[] {
  const names: string[] = []
  for (let at = seen[i]; at !== undefined && at.before >= 0; at = seen[at.before]) names.push(at.by)
  return names.toReversed()
}

/** The first state from which no end is reachable, looking from the ends backwards. */
function firstTrapped<S>(seen: readonly Seen<S>[], model: Model<S>): number | undefined {
  const before: number[][] = seen.map(() => [])
  seen.forEach((s, i) => s.next.forEach((n) => before[n]?.push(i)))
  const open = seen.flatMap((s, i) => (model.isEnd(s.state) ? [i] : []))
  const free = new Set(open)
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const b of before[at] ?? [])
      if (!free.has(b)) {
        free.add(b)
        open.push(b)
      }
  const trapped = seen.findIndex((_, i) => !free.has(i))
  return trapped === -1 ? undefined : trapped
}
