// The form of a state machine shared by several programs: one row per transition, and one function that reads the rows. An unreadable precondition counts as
// false: unknown blocks.
import type { FieldManager } from './managers.ts'

export interface Row<State extends string, Event extends string, Pre extends string> {
  readonly from: State
  readonly event: Event
  readonly to: State
  /** All must be known to hold. */
  readonly when: readonly Pre[]
}

export interface Table<State extends string, Event extends string, Pre extends string> {
  readonly name: string
  /** The field with the state, and the only manager that writes it. */
  readonly field: string
  readonly writer: FieldManager
  /** Each state with its sentence, from the catalogue. */
  readonly states: Readonly<Record<State, string>>
  readonly initial: State
  /** Final states. */
  readonly terminal: readonly State[]
  /** A description of each precondition. */
  readonly preconditions: Readonly<Record<Pre, string>>
  readonly rows: readonly Row<State, Event, Pre>[]
}

/** What was read before the step; a missing or undefined entry is unknown. */
type Facts<Pre extends string> = { readonly [P in Pre]?: boolean | undefined }

type AnyTable = Table<string, string, string>
export type StateOf<T extends AnyTable> = keyof T['states'] & string
export type EventOf<T extends AnyTable> = T['rows'][number]['event']
export type FactsOf<T extends AnyTable> = Facts<keyof T['preconditions'] & string>

type Refusal<State extends string, Event extends string, Pre extends string> =
  | { readonly reason: 'NoSuchStep'; readonly state: State; readonly event: Event }
  | { readonly reason: 'NotTheWriter'; readonly writer: FieldManager }
  | { readonly reason: 'False' | 'Unknown'; readonly predicate: Pre; readonly message: string }

export type Step<State extends string, Event extends string, Pre extends string> =
  | { readonly ok: true; readonly state: State }
  | { readonly ok: false; readonly refusal: Refusal<State, Event, Pre> }

type TableDefinition<State extends string, Event extends string, Pre extends string> = Table<State, Event, Pre> & {
  /** Rows from every state that is not terminal; they come last. */
  readonly fromOpen?: readonly Omit<Row<State, Event, Pre>, 'from'>[]
}

export function defineTable<const State extends string, const Event extends string, const Pre extends string>({
  fromOpen = [],
  ...table
}: TableDefinition<State, Event, Pre>): Table<State, Event, Pre> {
  const open = (Object.keys(table.states) as State[]).filter((state) => !table.terminal.includes(state))
  return { ...table, rows: [...table.rows, ...fromOpen.flatMap((row) => rowsFrom(open, row))] }
}

export interface Attempt<State extends string, Event extends string, Pre extends string> {
  readonly state: State
  readonly event: Event
  readonly facts: Facts<Pre>
  readonly by: FieldManager
}

export function nextState<State extends string, Event extends string, Pre extends string>(
  table: Table<State, Event, Pre>,
  { state, event, facts, by }: Attempt<State, Event, Pre>,
): Step<State, Event, Pre> {
  if (by !== table.writer) return { ok: false, refusal: { reason: 'NotTheWriter', writer: table.writer } }
  const row = table.rows.find((r) => r.from === state && r.event === event)
  if (row === undefined) return { ok: false, refusal: { reason: 'NoSuchStep', state, event } }
  const missing = row.when.find((p) => facts[p] !== true)
  if (missing === undefined) return { ok: true, state: row.to }
  const reason = facts[missing] === false ? 'False' : 'Unknown'
  return { ok: false, refusal: { reason, predicate: missing, message: table.preconditions[missing] } }
}

/** The next state when the table's writer acts. */
export const nextIn =
  <State extends string, Event extends string, Pre extends string>(table: Table<State, Event, Pre>) =>
  (state: State, event: Event, facts: Facts<Pre>): Step<State, Event, Pre> =>
    nextState(table, { state, event, facts, by: table.writer })

/** Several rows at once: the same event and preconditions from many states. */
export const rowsFrom = <const State extends string, const Event extends string, const Pre extends string>(
  states: readonly State[],
  row: Omit<Row<State, Event, Pre>, 'from'>,
): readonly Row<State, Event, Pre>[] => states.map((from) => ({ from, ...row }))
