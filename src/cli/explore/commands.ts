// `kubenode events | tree | watch | reconcile`: what happened to objects, what belongs to them, how a rollout continues, and a request to read the repository now.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLines } from '#lib/printable.ts'
import {
  type NamespaceOptions,
  type ServerOptions,
  connectionTo,
  withNamespace,
  withServer,
} from '../commands/inspect.ts'
import type { Io } from '#lib/terminal/io.ts'
import { exploreErrors } from './explore-errors.ts'
import type { ReconcileOptions } from './reconcile.ts'

interface Options extends ServerOptions, NamespaceOptions {}

interface WatchOptions extends Options {
  readonly untilDone?: boolean
  readonly timeout?: string
}

interface EventsOptions extends Options {
  readonly for?: string
  readonly types?: readonly string[]
  readonly watch?: boolean
  readonly allNamespaces?: boolean
}

export function register(program: Command, io: Io): void {
  withNamespace(withServer(program.command('events')))
    .description('list what happened to objects, newest last; of all KubeNode objects and Nodes when none is named')
    .argument('[what...]', 'kind/name; several')
    .option('--for <kind/name>', 'as the argument')
    .option('-A, --all-namespaces', 'of all namespaces, as when none is named')
    .addOption(new Option('--types <types>', 'of these types only: Normal, Warning').argParser(eventTypes))
    .option('-w, --watch', 'then show each new event, until Ctrl-C')
    .action((words: string[], options: EventsOptions) => events(words, options, io))

  withNamespace(withServer(program.command('tree')))
    .description('show what belongs to machine/NAME, node/NAME, release/NAME or set/NAME')
    .argument('<what...>', 'kind/name')
    .action((words: string[], options: Options) => tree(words, options, io))

  withNamespace(withServer(program.command('watch')))
    .description('follow rollouts or releases until Ctrl-C; in a pipe one line for each change')
    .argument('[what...]', 'set/NAME or release/NAME; all sets and the newest releases when left out')
    .option('--until-done', 'end when nothing is in progress: 0, or 1 when something failed')
    .option('--timeout <duration>', 'with --until-done: how long at most; then 1, and the rollout continues')
    .action((words: string[], options: WatchOptions) => watch(words, options, io))

  withServer(program.command('reconcile'))
    .description('let sync read the repository of a source now, and report what it found: 0, or 1 when it refused it')
    .argument('[what]', 'source/NAME on the hub; every source when left out; now, for the only one')
    .option('--no-wait', 'ask only')
    .option('--timeout <duration>', 'how long to wait for sync', '2m')
    .action(async (what: string | undefined, options: ReconcileOptions) =>
      (await import('./reconcile.ts')).reconcile(what, options, io),
    )
}

async function placeOf(options: Options, io: Io) {
  const { shownNamespace } = await import('../inspect/find-object.ts')
  const { client, namespace } = await connectionTo(options, io)
  return { client, namespace: shownNamespace(options.namespace, namespace) }
}

const TYPES = ['Normal', 'Warning']

function eventTypes(text: string): readonly string[] {
  const types = text.split(',').map((word) => TYPES.find((t) => t.toLowerCase() === word.trim().toLowerCase()) ?? '')
  if (types.includes('')) throw new InvalidArgumentError(`Allowed types are ${TYPES.join(', ')}.`)
  return types
}

async function events(words: readonly string[], options: EventsOptions, io: Io): Promise<void> {
  const [{ namedAll }, { withKinds }, { findObject }, { showEvents }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/by-name.ts'),
    import('../inspect/find-object.ts'),
    import('./follow-events.ts'),
  ])
  const all = [...words, ...(options.for === undefined ? [] : [options.for])]
  if (options.allNamespaces === true && all.length > 0)
    throw new KubeNodeError(exploreErrors.KN1624({ what: all.join(' ') }))
  const asked = all.length === 0 ? undefined : namedAll(all)
  const { client, namespace } = await placeOf(options, io)
  const wanted = asked && (await withKinds(asked, { client, namespace, command: 'events', withNode: true }))
  const objects =
    wanted && (await Promise.all(wanted.map((w) => findObject(client, w.type, { name: w.name, namespace }, w.noun))))
  const { types, watch: isFollowed = false } = options
  await showEvents(client, { objects, types, isFollowed }, io)
}

async function tree(words: readonly string[], options: Options, io: Io): Promise<void> {
  const [{ namedOne }, { withKinds }, { findObject }, { branchesOf }, { treeLines }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/by-name.ts'),
    import('../inspect/find-object.ts'),
    import('./branches.ts'),
    import('./tree.ts'),
  ])
  const asked = namedOne(words)
  if (asked.type !== undefined && !['Machine', 'Node', 'Release', 'MachineComponentSet'].includes(asked.type.kind))
    throw new KubeNodeError(exploreErrors.KN1620({ what: `${asked.noun}/${asked.name}` }))
  const { client, namespace } = await placeOf(options, io)
  const search = { client, namespace, command: 'tree', nouns: ['machine', 'node', 'set', 'release'] }
  const [wanted] = await withKinds([asked], search)
  if (wanted === undefined) return
  const { type, name, noun } = wanted
  const object = await findObject(client, type, { name, namespace }, noun)
  const branches = await branchesOf(client, { ...object, kind: type.kind }, systemClock.now())
  io.out(shownLines(treeLines(branches, io.width?.())))
}

async function watch(words: readonly string[], options: WatchOptions, io: Io): Promise<void> {
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout)
  if (timeoutMs !== undefined && options.untilDone !== true) throw new KubeNodeError(exploreErrors.KN1623())
  const [{ namedAll }, { withKinds }, { followRollouts }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../inspect/by-name.ts'),
    import('./follow.ts'),
  ])
  const asked = words.length === 0 ? [] : namedAll(words)
  const other = asked.find(
    (one) => one.type !== undefined && one.type.kind !== 'MachineComponentSet' && one.type.kind !== 'Release',
  )
  if (other?.type !== undefined) throw new KubeNodeError(exploreErrors.KN1621({ what: `${other.noun}/${other.name}` }))
  const { client, namespace } = await placeOf(options, io)
  const wanted = await withKinds(asked, { client, namespace, command: 'watch', nouns: ['set', 'release'] })
  const until = { isUntilDone: options.untilDone === true, ...(timeoutMs !== undefined && { timeoutMs }) }
  await followRollouts(client, { wanted, namespace, ...until }, io)
}
