// `kubenode events | tree | watch | reconcile`: what happened to objects, what belongs to them, how a rollout continues, and a request to read the repository now.
import type { Command } from 'commander'
import { systemClock, timestamp } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine, shownLines } from '#lib/printable.ts'
import {
  type NamespaceOptions,
  type ServerOptions,
  connect,
  connectionTo,
  withNamespace,
  withServer,
} from '../commands/inspect.ts'
import type { Io } from '../io.ts'
import { exploreErrors } from './explore-errors.ts'

interface Options extends ServerOptions, NamespaceOptions {}

interface WatchOptions extends Options {
  readonly untilDone?: boolean
}

export function register(program: Command, io: Io): void {
  withNamespace(withServer(program.command('events')))
    .description('list what happened to objects, newest last; of all KubeNode objects and Nodes when none is named')
    .argument('[what...]', 'kind/name; several')
    .action((words: string[], options: Options) => events(words, options, io))

  withNamespace(withServer(program.command('tree')))
    .description('show what belongs to machine/NAME, node/NAME, release/NAME or set/NAME')
    .argument('<what...>', 'kind/name')
    .action((words: string[], options: Options) => tree(words, options, io))

  withNamespace(withServer(program.command('watch')))
    .description('follow rollouts or releases until Ctrl-C; in a pipe one line for each change')
    .argument('[what...]', 'set/NAME or release/NAME; all sets and the newest releases when left out')
    .option('--until-done', 'end when nothing is in progress: 0, or 1 when something failed')
    .action((words: string[], options: WatchOptions) => watch(words, options, io))

  withServer(program.command('reconcile'))
    .description('let sync read the repository of a source now instead of at its next interval')
    .argument('[what]', 'source/NAME on the hub; every source when left out')
    .action((what: string | undefined, options: ServerOptions) => reconcile(what, options, io))
}

async function placeOf(options: Options, io: Io) {
  const { shownNamespace } = await import('../inspect/find-object.ts')
  const { client, namespace } = await connectionTo(options, io)
  return { client, namespace: shownNamespace(options.namespace, namespace) }
}

async function events(words: readonly string[], options: Options, io: Io): Promise<void> {
  const [{ namedAll }, { findObject }, { eventRows, eventsOf }, { alignedRows }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/find-object.ts'),
    import('./events.ts'),
    import('../get/rows.ts'),
  ])
  const wanted = words.length === 0 ? undefined : namedAll(words)
  const { client, namespace } = await placeOf(options, io)
  const objects =
    wanted && (await Promise.all(wanted.map((w) => findObject(client, w.type, { name: w.name, namespace }, w.noun))))
  const rows = eventRows(await eventsOf(client, objects), systemClock.now())
  if (rows.length === 0) io.err('no events; the server keeps them for about an hour\n')
  else io.out(`${alignedRows([['LAST SEEN', 'TYPE', 'OBJECT', 'REASON', 'MESSAGE'], ...rows], io.width?.())}\n`)
}

async function tree(words: readonly string[], options: Options, io: Io): Promise<void> {
  const [{ named }, { findObject }, { branchesOf }, { treeLines }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/find-object.ts'),
    import('./branches.ts'),
    import('./tree.ts'),
  ])
  const { type, name, noun } = named(words)
  if (!['Machine', 'Node', 'Release', 'MachineComponentSet'].includes(type.kind))
    throw new KubeNodeError(exploreErrors.KN1620({ what: `${noun}/${name}` }))
  const { client, namespace } = await placeOf(options, io)
  const object = await findObject(client, type, { name, namespace }, noun)
  io.out(shownLines(treeLines(await branchesOf(client, { ...object, kind: type.kind }, systemClock.now()))))
}

async function watch(words: readonly string[], options: WatchOptions, io: Io): Promise<void> {
  const [{ namedAll }, { followRollouts }] = await Promise.all([import('../inspect/target.ts'), import('./follow.ts')])
  const wanted = words.length === 0 ? [] : namedAll(words)
  const other = wanted.find(({ type }) => type.kind !== 'MachineComponentSet' && type.kind !== 'Release')
  if (other !== undefined) throw new KubeNodeError(exploreErrors.KN1621({ what: `${other.noun}/${other.name}` }))
  const { client, namespace } = await placeOf(options, io)
  await followRollouts(client, { wanted, namespace, isUntilDone: options.untilDone === true }, io)
}

async function reconcile(what: string | undefined, options: ServerOptions, io: Io): Promise<void> {
  const [{ findObject }, { listAll }, { fleetSource }, { ANNOTATIONS, SYSTEM_NAMESPACE }] = await Promise.all([
    import('../inspect/find-object.ts'),
    import('#kube/list-all.ts'),
    import('#api/kinds/fleet-source.ts'),
    import('#api/names.ts'),
  ])
  const [noun, name, ...rest] = (what ?? 'source').split('/')
  if (!['source', 'fleetsource'].includes(noun ?? '') || rest.length > 0 || (what !== undefined && (name ?? '') === ''))
    throw new KubeNodeError(exploreErrors.KN1622({ what: JSON.stringify(what) }))
  const client = await connect(options, io)
  const sources =
    name === undefined
      ? await listAll(client, fleetSource, { namespace: SYSTEM_NAMESPACE })
      : [await findObject(client, fleetSource, name, 'source')]
  if (sources.length === 0) io.err('no sources on this server; use the kubeconfig of the hub\n')
  for (const { metadata } of sources) {
    const value = { metadata: { annotations: { [ANNOTATIONS.reconcile]: timestamp(systemClock.now()) } } }
    const key = { name: metadata.name ?? '', namespace: metadata.namespace }
    await client.patch(fleetSource, key, { type: 'merge', value })
    io.out(shownLine(`source/${key.name}: sync was asked to read it now`))
    io.err(shownLine(`kubenode why source/${key.name}`))
  }
}
