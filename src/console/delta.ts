// Applies what the stream sends to a snapshot, and computes it: the page and the memory of the server use the same code. Pure; runs in browsers.
import { MACHINE_COLUMNS } from './machine-columns.ts'
import type { Delta, MachineCells, MachinesDelta, MachinesTopic, Rows, RowsDelta, Snapshot } from './protocol.ts'

type AnyRows = Rows<object, { readonly id: string }>

export const isMachines = (snapshot: Snapshot): snapshot is MachinesTopic => 'columns' in snapshot

const isOfMachines = (delta: Delta): delta is MachinesDelta => 'machines' in delta

/** Undefined: nothing changed. */
export function rowsDelta(before: AnyRows, after: AnyRows): RowsDelta | undefined {
  const old = new Map(before.rows.map((row) => [row.id, row]))
  const ids = new Set(after.rows.map(({ id }) => id))
  const set = after.rows.filter((row) => !isSame(old.get(row.id), row))
  const gone = before.rows.flatMap(({ id }) => (ids.has(id) ? [] : [id]))
  const isHeadSame = isSame(before.head, after.head)
  if (isHeadSame && set.length === 0 && gone.length === 0) return undefined
  return { topic: after.topic, ...(!isHeadSame && { head: after.head }), set, gone }
}

/** Rows are small and made by the same code each time, so that their keys have one order. */
const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/** The snapshot after the delta. A delta of another kind of topic is not applied. */
export function applied<T extends Snapshot>(snapshot: T, delta: Delta, revision: string, at: number): T {
  if (isMachines(snapshot))
    return isOfMachines(delta) ? ({ ...appliedMachines(snapshot, delta), revision, at } as T) : snapshot
  if (isOfMachines(delta)) return snapshot
  const changed = new Map(delta.set.map((row) => [row.id, row]))
  const gone = new Set(delta.gone)
  const rows: readonly { readonly id: string }[] = snapshot.rows
  const known = new Set(rows.map(({ id }) => id))
  return {
    ...snapshot,
    revision,
    at,
    ...(delta.head !== undefined && { head: delta.head }),
    rows: [
      ...rows.filter(({ id }) => !gone.has(id)).map((row) => changed.get(row.id) ?? row),
      ...delta.set.filter(({ id }) => !known.has(id)),
    ],
  }
}

function appliedMachines(before: MachinesTopic, { words, machines, gone }: MachinesDelta): MachinesTopic {
  const names = [...before.names]
  const columns = MACHINE_COLUMNS.map((column) => [...before.columns[column]])
  const places = new Map(names.map((name, place) => [name, place]))
  for (const [name, cells] of machines) {
    const place = places.get(name) ?? names.push(name) - 1
    places.set(name, place)
    columns.forEach((column, c) => (column[place] = cells[c] ?? 0))
  }
  for (const name of gone) {
    const place = places.get(name)
    if (place === undefined) continue
    // The last machine takes its place: no other one moves.
    const last = names.length - 1
    const moved = names[last] ?? name
    names[place] = moved
    for (const column of columns) column[place] = column[last] ?? 0
    names.pop()
    for (const column of columns) column.pop()
    places.set(moved, place)
    places.delete(name)
  }
  return {
    ...before,
    words: words.length === 0 ? before.words : [...before.words, ...words],
    names,
    columns: Object.fromEntries(
      MACHINE_COLUMNS.map((name, c) => [name, columns[c]]),
    ) as unknown as MachinesTopic['columns'],
  }
}

/** The cells of the machine at a place, in the order of the columns. */
export const cellsAt = ({ columns }: MachinesTopic, place: number): MachineCells =>
  MACHINE_COLUMNS.map((column) => columns[column][place] ?? 0)
