// `kubenode get | describe | why | trace`: shows KubeNode objects on a server, and never changes one.
import { Option } from 'commander'
import type { Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { printable, printableLine, shownLine, shownLines } from '#lib/printable.ts'
import type { Related } from '../inspect/why.ts'
import type { Io } from '../io.ts'
import { outputOption } from '../output.ts'
import { inspectErrors } from '../inspect/inspect-errors.ts'

export interface ServerOptions {
  readonly kubeconfig?: string
  readonly context?: string
}

export const withServer = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'kubeconfig of the cluster; KUBECONFIG when left out, in a pod its own account')
    .option('--context <name>', 'context of the kubeconfig')

export const connect = async (options: ServerOptions, io: Io): Promise<KubeClient> =>
  (await connectionTo(options, io)).client

export async function connectionTo(
  { kubeconfig, context }: ServerOptions,
  io: Io,
): Promise<{ readonly client: KubeClient; readonly server: string }> {
  const { talkingClientOf, chosenConnection } = await import('../run/connect.ts')
  const { config, warnings } = await chosenConnection({ file: kubeconfig, context, env: io.env })
  for (const w of warnings) io.err(shownLine(w))
  return { client: talkingClientOf(config, (line) => io.err(shownLine(line))), server: config.server }
}

interface GetOptions extends ServerOptions {
  readonly output?: string
  readonly selector?: string
}

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[]
  readonly rows: readonly { readonly cells: readonly unknown[] }[]
}

const isTable = (v: unknown): v is Table => isObject(v) && v['kind'] === 'Table' && Array.isArray(v['rows'])

/** Columns as wide as their widest cell. */
export function alignedRows(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((r) => r[i]?.length ?? 0)))
  return rows
    .map((r) =>
      r
        .map((cell, i) => (i === r.length - 1 ? cell : cell.padEnd((widths[i] ?? 0) + 3)))
        .join('')
        .trimEnd(),
    )
    .join('\n')
}

async function getTable(client: KubeClient, path: string, isWide: boolean): Promise<string | undefined> {
  const { status, text } = await client.raw({
    method: 'GET',
    path,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
  })
  const answer: unknown = JSON.parse(text)
  if (status !== 200 || !isTable(answer)) {
    const said = isObject(answer) && typeof answer['message'] === 'string' ? answer['message'] : `${status} to ${path}`
    if (status === 404) return undefined
    throw new KubeNodeError(inspectErrors.KN1314({ answer: said }))
  }
  const shown = answer.columnDefinitions.map((c, i) => ({ ...c, i })).filter((c) => isWide || (c.priority ?? 0) === 0)
  const rows = answer.rows.map((r) => shown.map(({ i }) => printableLine(String(r.cells[i] ?? ''))))
  return rows.length === 0 ? '' : `${alignedRows([shown.map((c) => c.name.toUpperCase()), ...rows])}\n`
}

/** Objects related to an object: its jobs, the slices it is in, its machine. */
async function relatedTo(client: KubeClient, object: KubeObject, now: number): Promise<readonly Related[]> {
  if (object.kind !== 'Machine' && object.kind !== 'Node') return []
  const [{ machine }, { machineComponentSet }, { remedyOperationJob }, { recentRepairs }] = await Promise.all([
    import('#api/kinds/machine.ts'),
    import('#api/kinds/machine-component-set.ts'),
    import('#api/kinds/remedy-operation-job.ts'),
    import('../inspect/repair-story.ts'),
  ])
  const name = object.metadata.name ?? ''
  const [machines, sets, jobs] = await Promise.all([
    client.list(machine),
    client.list(machineComponentSet),
    client.list(remedyOperationJob),
  ])
  const own = machines.items.find((m) => m.status?.nodeRef?.name === name || m.metadata.name === name)
  const repairs = jobs.items.filter((j) =>
    own === undefined ? j.spec.node.name === name : j.spec.machine === own.metadata.name,
  )
  const isIn = (s: (typeof sets.items)[number]) =>
    (s.status?.slices ?? []).some((w) => w.machines.includes(own?.metadata.name ?? name))
  return [
    ...(object.kind === 'Node' && own !== undefined ? [{ label: 'Machine:', object: own }] : []),
    ...sets.items.filter(isIn).map((s) => ({ label: 'In a slice of', object: s })),
    ...repairs.filter((j) => j.status?.phase !== 'Done').map((j) => ({ label: 'Being repaired by', object: j })),
    ...recentRepairs(repairs, now).map((j) => ({ label: 'Repaired by', object: j })),
  ]
}

const eventType: ResourceType = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

async function eventLines(client: KubeClient, object: KubeObject): Promise<readonly string[]> {
  const { items } = await client.list(eventType, { fieldSelector: `involvedObject.uid=${object.metadata.uid ?? ''}` })
  return items.map(
    (e) =>
      `  ${String(e['lastTimestamp'] ?? e.metadata.creationTimestamp ?? '')}  ${String(e['type'] ?? '')}  ${String(e['reason'] ?? '')}  ${String(e['message'] ?? '')}`,
  )
}

export function register(program: Command, io: Io): void {
  withServer(program.command('get'))
    .description('list or show KubeNode objects')
    .argument('<kind>', 'kind, plural or short name')
    .argument('[name]', 'name of one object')
    .addOption(outputOption(['wide', 'json', 'yaml', 'name']))
    .addOption(new Option('-l, --selector <labels>', 'filter by labels'))
    .action((word: string, name: string | undefined, options: GetOptions) => get(word, name, options, io))

  withServer(program.command('describe'))
    .description('show all about one object: spec, status, events')
    .argument('<what...>', 'kind/name')
    .action((words: string[], options: ServerOptions) => describe(words, options, io))

  withServer(program.command('why'))
    .description('explain what an object waits for, since when, and what unblocks it')
    .argument('<what...>', 'kind/name')
    .action((words: string[], options: ServerOptions) => why(words, options, io))

  withServer(program.command('trace'))
    .description('show which commit an object comes from, and who wrote which of its fields')
    .argument('<what...>', 'kind/name')
    .action((words: string[], options: ServerOptions) => trace(words, options, io))
}

/** What `get` is to show: objects of a kind, or one of them. */
interface Wanted {
  readonly type: ResourceType
  readonly kindWord: string
  readonly name: string | undefined
  readonly selector: string | undefined
}

async function get(word: string, given: string | undefined, options: GetOptions, io: Io): Promise<void> {
  const { kindCalled } = await import('../inspect/target.ts')
  const [kindWord = '', slashName] = word.split('/', 2)
  const wanted: Wanted = {
    type: kindCalled(kindWord),
    kindWord,
    name: given ?? slashName,
    selector: options.selector,
  }
  const client = await connect(options, io)
  if (options.output === undefined || options.output === 'wide')
    return showTable(client, wanted, { isWide: options.output === 'wide', io })
  await showObjects(client, wanted, { output: options.output, io })
}

async function showTable(
  client: KubeClient,
  { type, kindWord, name, selector }: Wanted,
  { isWide, io }: { readonly isWide: boolean; readonly io: Io },
): Promise<void> {
  const { findObject } = await import('../inspect/find-object.ts')
  const { collectionPath, objectPath, qualifiedPlural } = await import('#schema/resource.ts')
  const path =
    name === undefined
      ? collectionPath(type)
      : objectPath(type, { name, namespace: type.namespaced ? SYSTEM_NAMESPACE : undefined })
  const query = selector === undefined ? '' : `?labelSelector=${encodeURIComponent(selector)}`
  const table = await getTable(client, `${path}${query}`, isWide)
  if (table === undefined) {
    if (name !== undefined) await findObject(client, type, name, kindWord)
    throw new KubeNodeError(inspectErrors.KN1315({ kind: qualifiedPlural(type) }))
  }
  if (table === '') io.err(`no ${qualifiedPlural(type)} found\n`)
  io.out(table)
}

async function showObjects(
  client: KubeClient,
  { type, kindWord, name, selector }: Wanted,
  { output, io }: { readonly output: string; readonly io: Io },
): Promise<void> {
  const { findObject } = await import('../inspect/find-object.ts')
  const { qualifiedPlural } = await import('#schema/resource.ts')
  const items =
    name === undefined
      ? (await client.list(type, selector === undefined ? {} : { labelSelector: selector })).items
      : [await findObject(client, type, name, kindWord)]
  if (output === 'name') {
    for (const o of items) io.out(`${qualifiedPlural(type)}/${o.metadata.name ?? ''}\n`)
    return
  }
  const whole: unknown = name === undefined ? { apiVersion: 'v1', kind: 'List', items } : items[0]
  io.out(output === 'json' ? `${JSON.stringify(whole, null, 2)}\n` : (await import('yaml')).stringify(whole))
}

interface Found {
  readonly client: KubeClient
  readonly object: KubeObject
}

/** Words are read before any request. */
async function find(words: readonly string[], options: ServerOptions, io: Io): Promise<Found> {
  const [{ named }, { findObject }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/find-object.ts'),
  ])
  const { type, name, noun } = named(words)
  const client = await connect(options, io)
  return { client, object: await findObject(client, type, name, noun) }
}

async function linesWhy({ client, object }: Found): Promise<readonly string[]> {
  const { whyLines } = await import('../inspect/why.ts')
  return whyLines(object, await relatedTo(client, object, Date.now()), Date.now())
}

async function describe(words: readonly string[], options: ServerOptions, io: Io): Promise<void> {
  const found = await find(words, options, io)
  const { client, object } = found
  const { stringify } = await import('yaml')
  const { managedFields: _managed, ...metadata } = object.metadata
  const lines = await linesWhy(found)
  io.out(printable(stringify({ ...object, metadata })))
  const events = await eventLines(client, object)
  io.out(
    `\nwhy:\n${shownLines(lines.map((l) => `  ${l}`))}\nevents:\n${shownLines(events.length === 0 ? ['  none'] : events)}`,
  )
}

async function why(words: readonly string[], options: ServerOptions, io: Io): Promise<void> {
  io.out(shownLines(await linesWhy(await find(words, options, io))))
}

async function trace(words: readonly string[], options: ServerOptions, io: Io): Promise<void> {
  const { traceLines } = await import('../inspect/trace.ts')
  const { object } = await find(words, options, io)
  io.out(shownLines(traceLines(object)))
}
