// `kubenode get | describe | why | trace`: shows KubeNode objects on a server, and never changes one.
import { Option } from 'commander'
import type { Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { printable, printableLine, shownLine, shownLines } from '#lib/printable.ts'
import type { Related } from '../inspect/why.ts'
import type { Io } from '../io.ts'
import { outputOption } from '../output.ts'
import { cliErrors } from '../cli-errors.ts'

export interface ServerOptions {
  readonly kubeconfig?: string
  readonly context?: string
}

export const withServer = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'kubeconfig of the cluster; KUBECONFIG when left out, in a pod its own account')
    .option('--context <name>', 'context of the kubeconfig')

export async function connect({ kubeconfig, context }: ServerOptions, io: Io): Promise<KubeClient> {
  const { talkingClientOf, chosenConnection } = await import('../run/connect.ts')
  const { config, warnings } = await chosenConnection({ file: kubeconfig, context, env: io.env })
  for (const w of warnings) io.err(shownLine(w))
  return talkingClientOf(config, (line) => io.err(shownLine(line)))
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
    throw new KubeNodeError(cliErrors.KN1314({ answer: said }))
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
    .action(
      async (
        word: string,
        name: string | undefined,
        options: ServerOptions & { output?: string; selector?: string },
      ) => {
        const { kindCalled } = await import('../inspect/target.ts')
        const { findObject } = await import('../inspect/find-object.ts')
        const { collectionPath, objectPath, qualifiedPlural } = await import('#schema/resource.ts')
        const [kindWord = '', slashName] = word.split('/', 2)
        const type = kindCalled(kindWord)
        const one = name ?? slashName
        const client = await connect(options, io)
        if (options.output === undefined || options.output === 'wide') {
          const path =
            one === undefined
              ? collectionPath(type)
              : objectPath(type, { name: one, namespace: type.namespaced ? 'kubenode-system' : undefined })
          const query = options.selector === undefined ? '' : `?labelSelector=${encodeURIComponent(options.selector)}`
          const table = await getTable(client, `${path}${query}`, options.output === 'wide')
          if (table === undefined) {
            if (one !== undefined) await findObject(client, type, one, kindWord)
            throw new KubeNodeError(cliErrors.KN1315({ kind: qualifiedPlural(type) }))
          }
          if (table === '') io.err(`no ${qualifiedPlural(type)} found\n`)
          io.out(table)
          return
        }
        const items =
          one === undefined
            ? (await client.list(type, options.selector === undefined ? {} : { labelSelector: options.selector })).items
            : [await findObject(client, type, one, kindWord)]
        if (options.output === 'name')
          for (const o of items) io.out(`${qualifiedPlural(type)}/${o.metadata.name ?? ''}\n`)
        else {
          const whole: unknown = one === undefined ? { apiVersion: 'v1', kind: 'List', items } : items[0]
          io.out(
            options.output === 'json' ? `${JSON.stringify(whole, null, 2)}\n` : (await import('yaml')).stringify(whole),
          )
        }
      },
    )

  withServer(program.command('describe'))
    .description('show all about one object: spec, status, events')
    .argument('<what...>', 'kind/name')
    .action(async (words: string[], options: ServerOptions) => {
      const [{ named }, { findObject }, { whyLines }, { stringify }] = await Promise.all([
        import('../inspect/target.ts'),
        import('../inspect/find-object.ts'),
        import('../inspect/why.ts'),
        import('yaml'),
      ])
      const { type, name, noun } = named(words)
      const client = await connect(options, io)
      const object = await findObject(client, type, name, noun)
      const { managedFields: _managed, ...metadata } = object.metadata
      const why = whyLines(object, await relatedTo(client, object, Date.now()), Date.now())
      io.out(printable(stringify({ ...object, metadata })))
      const events = await eventLines(client, object)
      io.out(
        `\nwhy:\n${shownLines(why.map((l) => `  ${l}`))}\nevents:\n${shownLines(events.length === 0 ? ['  none'] : events)}`,
      )
    })

  withServer(program.command('why'))
    .description('explain what an object waits for, since when, and what unblocks it')
    .argument('<what...>', 'kind/name')
    .action(async (words: string[], options: ServerOptions) => {
      const [{ named }, { findObject }, { whyLines }] = await Promise.all([
        import('../inspect/target.ts'),
        import('../inspect/find-object.ts'),
        import('../inspect/why.ts'),
      ])
      const { type, name, noun } = named(words)
      const client = await connect(options, io)
      const object = await findObject(client, type, name, noun)
      io.out(shownLines(whyLines(object, await relatedTo(client, object, Date.now()), Date.now())))
    })

  withServer(program.command('trace'))
    .description('show which commit an object comes from, and who wrote which of its fields')
    .argument('<what...>', 'kind/name')
    .action(async (words: string[], options: ServerOptions) => {
      const [{ named }, { findObject }, { traceLines }] = await Promise.all([
        import('../inspect/target.ts'),
        import('../inspect/find-object.ts'),
        import('../inspect/trace.ts'),
      ])
      const { type, name, noun } = named(words)
      const object = await findObject(await connect(options, io), type, name, noun)
      io.out(shownLines(traceLines(object)))
    })
}
