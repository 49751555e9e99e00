// Prints the results of `kubenode get`: tables, names, or whole objects.
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { type ResourceType, collectionPath, objectPath, qualifiedKind, qualifiedPlural } from '#api/schema/resource.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { listAll } from '#kube/list-all.ts'
import type { Io } from '#lib/terminal/io.ts'
import { hasColors, paintOf, toneOf } from '#lib/terminal/paint.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { placeOf } from '#explain/objects/place.ts'
import { clustersHint, withHubHint } from '#explain/objects/hub-hint.ts'
import { kindCalled } from '../fleet/target.ts'
import { eachOf } from '../fleet/missed.ts'
import { type Asked, forReader, listOptions, objectsOf } from './asked.ts'
import { notReady, shownPhase } from '#explain/cluster-phase.ts'
import { CLUSTER_HEAD, clusterCells, expiresText } from '#explain/cluster-columns.ts'
import { dataText } from './data-text.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { shortCommits } from './short-commits.ts'
import { type Table, type TableShape, tableAt } from './table.ts'
import type { Wanted } from './wanted.ts'
import { withoutManagers } from './without-managers.ts'

const CLUSTERS = kindCalled('cluster')
const HUB_KINDS: ReadonlySet<string> = new Set(['Cluster', 'FleetSource', 'Release', 'ReleasePipeline'])

export function shapeOf({ type }: Pick<Wanted, 'type'>, asked: Asked, isOneKind = true): TableShape {
  const { form, namespace, options } = asked
  return {
    isWide: form.kind === 'table' && form.isWide,
    showsNamespace: type.namespaced && namespace === undefined,
    showsLabels: options.showLabels === true,
    labelColumns: options.labelColumns ?? [],
    prefix: isOneKind && options.showKind !== true ? '' : `${qualifiedKind(type)}/`,
  }
}

export function listPath(type: ResourceType, asked: Asked): string {
  const { namespace, labelSelector, fieldSelector } = listOptions(asked, type.namespaced)
  const query = new URLSearchParams(defined({ labelSelector, fieldSelector }))
  const path = collectionPath(type, namespace)
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

/** Names of one kind share a table. */
export async function showTables(wanted: readonly Wanted[], asked: Asked): Promise<void> {
  const groups = [...Map.groupBy(wanted, ({ type }) => type.kind).values()]
  let isFirst = true
  for (const group of groups) {
    const before = asked.missed.length
    const table = await tableOfKind(group, asked, groups.length === 1)
    // The missing ones are reported with their reasons.
    if (table.rows.length === 0 && asked.missed.length > before) continue
    const isIgnored = asked.options.ignoreNotFound === true && group.some((w) => w.name !== undefined)
    if (table.rows.length === 0) asked.io.err(isIgnored ? '' : await nothingText(group, asked))
    else {
      if (!isFirst) asked.io.out('\n')
      printTable(table, asked)
      isFirst = false
    }
  }
}

async function tableOfKind(group: readonly Wanted[], asked: Asked, isOneKind: boolean): Promise<Table> {
  const [first] = group
  const tables = await eachOf(
    group.map((w) => serverTable(w, asked, shapeOf(w, asked, isOneKind))),
    asked.missed,
  )
  // A missing object has no table header.
  const { head = [], resourceVersion = '' } = tables.find((t) => t.head.length > 0) ?? {}
  const table = { head: first === undefined ? [] : head, rows: tables.flatMap((t) => t.rows), resourceVersion }
  if (first === undefined) return table
  return first.type.kind === CLUSTERS.kind ? withClusters(table, asked, isOneKind) : table
}

/** A member cluster has no Releases, and some users may not list them. Then only the server's columns remain. */
async function withClusters(table: Table, asked: Asked, isOneKind: boolean): Promise<Table> {
  const { client, namespace, options } = asked
  const [{ release }, { cluster }] = await Promise.all([
    import('#api/kinds/release.ts'),
    import('#api/kinds/cluster.ts'),
  ])
  const where = namespace === undefined ? {} : { namespace }
  const [all, known] = await Promise.all([
    listAll(client, release, where).catch(() => undefined),
    listAll(client, cluster, where).catch(() => []),
  ])
  if (all === undefined) return table
  const cellsOf = clusterCells(all, systemClock.now())
  const objects = new Map(known.map((c) => [namespacedName(c), c]))
  const { showsNamespace, prefix } = shapeOf({ type: CLUSTERS }, asked, isOneKind)
  const ofLabels = (options.labelColumns?.length ?? 0) + (options.showLabels === true ? 1 : 0)
  const before = table.head.length - ofLabels
  // With -o wide the server has a column of the same name, with less information.
  const doubled = table.head.findIndex((title) => CLUSTER_HEAD.some((own) => own === title))
  const joined = (row: readonly string[], cells: readonly string[]) =>
    row.toSpliced(before, 0, ...cells).filter((_, i) => i !== doubled)
  const expires = table.head.indexOf('EXPIRES')
  const phase = table.head.indexOf('PHASE')
  const rows = table.rows.map((row) => {
    const [first = '', second = ''] = row
    const [of, shown] = showsNamespace ? [first, second] : [namespace ?? '', first]
    const name = shown.slice(prefix.length)
    const object = objects.get(`${of}/${name}`)
    // A server with older definitions lacks this column.
    const own = expires < 0 ? row : row.with(expires, expiresText(object?.status, systemClock.now()))
    const phased =
      phase >= 0 && notReady(object?.status) !== undefined ? own.with(phase, shownPhase(object?.status) ?? '') : own
    return joined(phased, cellsOf({ namespace: of, name }, object).map(printableLine))
  })
  return { ...table, head: joined(table.head, CLUSTER_HEAD), rows }
}

async function serverTable({ type, noun, name }: Wanted, asked: Asked, shape: TableShape): Promise<Table> {
  const { client, namespace, options } = asked
  const path =
    name === undefined
      ? listPath(type, asked)
      : objectPath(type, { name, namespace: type.namespaced ? namespace : undefined })
  const table = await tableAt(client, path, shape)
  if (table !== undefined) return table
  if (name !== undefined && options.ignoreNotFound === true) return { head: [], rows: [], resourceVersion: '' }
  if (name !== undefined) await findObject(client, type, { name, namespace }, noun)
  throw new KubeNodeError(inspectErrors.KN1315({ kind: qualifiedPlural(type) }))
}

/** Like kubectl, this reads one namespace; mention the option for the others. */
async function nothingText([first]: readonly Wanted[], asked: Asked): Promise<string> {
  const { client, namespace } = asked
  if (first === undefined) return ''
  const { type } = first
  const unmatched = await unmatchedText(type, asked)
  if (unmatched !== undefined) return `${unmatched}\n`
  const nothing = `no ${qualifiedPlural(type)} found`
  if (!type.namespaced) {
    return `${nothing} in ${placeOf(client)}${await clustersHint(client)}\n`
  }
  const where = namespace === undefined ? '' : ` in namespace ${printableLine(namespace)}; -A lists all namespaces`
  const text = `${nothing}${where}`
  return `${HUB_KINDS.has(type.kind) ? await withHubHint(client, nothing, text) : text}\n`
}

const MOST_NAMED = 5
/** How many objects to read for the list of labels. */
const MOST_READ = 100

/** Objects exist, but none matches: most often the label has another key. */
async function unmatchedText(type: ResourceType, { client, namespace, options }: Asked): Promise<string | undefined> {
  const asked = [
    ...(options.selector === undefined ? [] : [`-l ${options.selector}`]),
    ...(options.fieldSelector === undefined ? [] : [`--field-selector ${options.fieldSelector}`]),
  ].map(printableLine)
  if (asked.length === 0) return undefined
  const where = type.namespaced && namespace !== undefined ? { namespace } : {}
  const all = await client.list(type, { limit: MOST_READ, ...where }).catch(() => undefined)
  if (all === undefined || all.items.length === 0) return undefined
  const keys = [...new Set(all.items.flatMap(({ metadata }) => Object.keys(metadata.labels ?? {})))].toSorted()
  const more = keys.length > MOST_NAMED ? ', …' : ''
  const labels = keys.length === 0 ? 'no labels' : `the labels ${keys.slice(0, MOST_NAMED).join(', ')}${more}`
  const hint = options.selector === undefined ? '' : `; they have ${printableLine(labels)}`
  return `no ${qualifiedPlural(type)} match ${asked.join(' ')}${hint}`
}

function printTable({ head, rows }: Table, { options, io, form }: Asked): void {
  const width = io.width?.()
  const shown = rows.map(shortCommits(head, { form, width }))
  const all = options.headers ? [head, ...shown] : shown
  io.out(`${alignedRows(all, width, { paint: painterOf(head, io), hasHead: options.headers })}\n`)
}

/** Colors state words in columns with these headers. */
export function painterOf(head: readonly string[], io: Io): (column: number, text: string) => string {
  const paint = paintOf(hasColors(io))
  return (i, text) => paint(toneOf(head[i] ?? '', text), text)
}

export async function showData(wanted: readonly Wanted[], asked: Asked): Promise<void> {
  const { form, io, options } = asked
  const found = await eachOf(
    wanted.map(async (w) => ({ w, objects: await objectsOf(w, asked) })),
    asked.missed,
  )
  if (form.kind === 'name') {
    for (const { w, objects } of found)
      for (const o of objects) io.out(`${qualifiedKind(w.type)}/${printableLine(o.metadata.name ?? '')}\n`)
    return
  }
  const objects = found.flatMap((f) => f.objects)
  const shown = options.showManagedFields === true ? objects : objects.map(withoutManagers)
  const isOne = wanted.length === 1 && wanted[0]?.name !== undefined
  // Print nothing for a missing object, not an empty list.
  if ((isOne || asked.missed.length > 0) && objects.length === 0) return
  io.out(forReader(io, dataText(form, shown, isOne)))
}
