// Prints what `kubenode get` found: tables, columns of one's own, names, or whole objects.
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { type ResourceType, collectionPath, objectPath, qualifiedPlural } from '#schema/resource.ts'
import type { Io } from '../io.ts'
import { hasColors, paintOf, toneOf } from '../paint.ts'
import { inspectErrors } from '../inspect/inspect-errors.ts'
import { findObject } from '../inspect/find-object.ts'
import { type Asked, forReader, listOptions, objectsOf } from './asked.ts'
import { columnCells, dataText, withoutManagers } from './data-text.ts'
import { alignedRows } from './rows.ts'
import { type Table, type TableShape, tableAt } from './table.ts'
import type { Wanted } from './wanted.ts'

export function shapeOf({ type }: Pick<Wanted, 'type'>, asked: Asked, isOneKind = true): TableShape {
  const { form, namespace, options } = asked
  return {
    isWide: form.kind === 'table' && form.isWide,
    showsNamespace: type.namespaced && namespace === undefined,
    showsLabels: options.showLabels === true,
    prefix: isOneKind ? '' : `${prefixOf(type)}/`,
  }
}

/** As kubectl: the kind in the singular, with its group. */
const prefixOf = ({ kind, group }: ResourceType): string =>
  group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`

export function listPath(type: ResourceType, asked: Asked): string {
  const { namespace, labelSelector, fieldSelector } = listOptions(asked, type.namespaced)
  const query = new URLSearchParams({
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  })
  const path = collectionPath(type, namespace)
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** Names of one kind are rows of one table. */
export async function showTables(wanted: readonly Wanted[], asked: Asked): Promise<void> {
  const groups = [...Map.groupBy(wanted, ({ type }) => type.kind).values()]
  let isFirst = true
  for (const group of groups) {
    const table = await tableOfKind(group, asked, groups.length === 1)
    if (table.rows.length === 0) asked.io.err(nothingText(group, asked))
    else {
      if (!isFirst) asked.io.out('\n')
      printTable(table, asked)
      isFirst = false
    }
  }
}

async function tableOfKind(group: readonly Wanted[], asked: Asked, isOneKind: boolean): Promise<Table> {
  if (asked.form.kind === 'columns') return ownColumns(group, asked)
  const [first] = group
  const tables = await Promise.all(group.map((w) => serverTable(w, asked, shapeOf(w, asked, isOneKind))))
  const { head = [], resourceVersion = '' } = tables[0] ?? {}
  return { head: first === undefined ? [] : head, rows: tables.flatMap((t) => t.rows), resourceVersion }
}

async function ownColumns(group: readonly Wanted[], asked: Asked): Promise<Table> {
  const { form } = asked
  const columns = form.kind === 'columns' ? form.columns : []
  const objects = (await Promise.all(group.map((w) => objectsOf(w, asked)))).flat()
  const rows = objects.map((o) => columnCells(columns, withoutManagers(o)).map(printableLine))
  return { head: columns.map((c) => printableLine(c.head)), rows, resourceVersion: '' }
}

async function serverTable({ type, noun, name }: Wanted, asked: Asked, shape: TableShape): Promise<Table> {
  const { client, namespace } = asked
  const path =
    name === undefined
      ? listPath(type, asked)
      : objectPath(type, { name, namespace: type.namespaced ? namespace : undefined })
  const table = await tableAt(client, path, shape)
  if (table !== undefined) return table
  if (name !== undefined) await findObject(client, type, { name, namespace }, noun)
  throw new KubeNodeError(inspectErrors.KN1315({ kind: qualifiedPlural(type) }))
}

/** Kubectl's habit is to look into one namespace: the others are one option away. */
function nothingText([first]: readonly Wanted[], { namespace }: Asked): string {
  if (first === undefined) return ''
  const { type } = first
  const where =
    !type.namespaced || namespace === undefined
      ? ''
      : ` in namespace ${printableLine(namespace)}; -A lists all namespaces`
  return `no ${qualifiedPlural(type)} found${where}\n`
}

function printTable({ head, rows }: Table, { options, io }: Asked): void {
  const all = options.headers ? [head, ...rows] : rows
  io.out(`${alignedRows(all, io.width?.(), { paint: painterOf(head, io) })}\n`)
}

/** Words of states, below the heads that have them. */
export function painterOf(head: readonly string[], io: Io): (column: number, text: string) => string {
  const paint = paintOf(hasColors(io))
  return (i, text) => paint(toneOf(head[i] ?? '', text), text)
}

export async function showData(wanted: readonly Wanted[], asked: Asked): Promise<void> {
  const { form, io, options } = asked
  const found = await Promise.all(wanted.map(async (w) => ({ w, objects: await objectsOf(w, asked) })))
  if (form.kind === 'name') {
    for (const { w, objects } of found)
      for (const o of objects) io.out(`${qualifiedPlural(w.type)}/${printableLine(o.metadata.name ?? '')}\n`)
    return
  }
  const objects = found.flatMap((f) => f.objects)
  const shown = options.showManagedFields === true ? objects : objects.map(withoutManagers)
  const isOne = wanted.length === 1 && wanted[0]?.name !== undefined
  io.out(forReader(io, dataText(form, shown, isOne)))
}
