// `kubenode freeze | thaw`: stops every disruption in a cluster at once, or of one object in it, and permits it again. With a node's folder, on that node
// alone and without any server.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printable, printableLine, shownLine } from '#lib/printable.ts'
import { type EvenIfAbsent, withEvenIfAbsent } from '../inspect/even-if-absent.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'
import { holdErrors } from '../hold/hold-errors.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

interface FreezeOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
  readonly nodeFolder?: string
}

interface ThawOptions extends ServerOptions, EvenIfAbsent {
  readonly all?: boolean
  readonly nodeFolder?: string
}

/** A file on a node freezes that node until it is removed. */
function refuseBeside(isGiven: boolean, what: string): void {
  if (!isGiven) return
  throw new KubeNodeError(holdErrors.KN1337({ what }))
}

export function register(program: Command, io: Io): void {
  const freezing = program
    .command('freeze')
    .description(
      'stop every disruption: in the whole cluster, or of machine/NAME, node/NAME, set/NAME, remedier/NAME, cluster/NAME',
    )
    .argument('[what]', 'what to freeze; the whole cluster when left out')
    .requiredOption('--reason <why>', 'why, shown to everyone who meets the freeze')
    .option('--for <duration>', 'how long; expires automatically', '4h')
    .option('--node-folder <folder>', 'freeze only the node with this agent folder, by a file in it; needs no server')
  withEvenIfAbsent(withServer(freezing)).action((what: string | undefined, options: FreezeOptions) =>
    options.nodeFolder === undefined
      ? freeze(what, options, io)
      : freezeFolder(options.nodeFolder, {
          what,
          reason: options.reason,
          isForGiven: freezing.getOptionValueSource('for') !== 'default',
          io,
        }),
  )

  const thawing = program
    .command('thaw')
    .description('lift a freeze')
    .argument('[what]', 'the frozen object; the whole cluster when left out')
    .option('--all', 'lift every freeze, including those of other users')
    .option('--node-folder <folder>', 'thaw only the node with this agent folder, by its file; needs no server')
  withEvenIfAbsent(withServer(thawing)).action((what: string | undefined, options: ThawOptions) =>
    options.nodeFolder === undefined
      ? thaw(what, options, io)
      : thawFolder(options.nodeFolder, { what, isAll: options.all === true, io }),
  )
}

interface FolderFreeze {
  readonly what: string | undefined
  readonly reason: string
  readonly isForGiven: boolean
  readonly io: Io
}

async function freezeFolder(folder: string, { what, reason, isForGiven, io }: FolderFreeze): Promise<void> {
  refuseBeside(what !== undefined, `${what}`)
  refuseBeside(isForGiven, '--for: the file stays until it is taken away')
  const { freezeNode } = await import('../hold/node-file.ts')
  const author = io.env['SUDO_USER'] ?? io.env['USER'] ?? 'unknown'
  const file = await freezeNode(folder, { reason, author }, systemClock.now())
  io.out(shownInWindow(io, [`frozen: ${file}`]))
  io.err(
    'running components continue; nothing is switched or repaired until kubenode thaw or until the file is removed\n',
  )
}

/** `n-1` is `machine/n-1`. */
async function frozenCalled(
  command: string,
  what: string | undefined,
  options: ServerOptions,
  io: Io,
): Promise<string | undefined> {
  if (what === undefined) return undefined
  const [{ withItsKind }, { FREEZABLE_BY_NAME: nouns }] = await Promise.all([
    import('../hold/named-thing.ts'),
    import('../hold/freeze.ts'),
  ])
  return withItsKind(what, { command, nouns }, options, io)
}

async function freeze(typed: string | undefined, options: FreezeOptions, io: Io): Promise<void> {
  const what = await frozenCalled('freeze', typed, options, io)
  const [{ freezeHold, freezeTarget, refuseEmpty }, { findHeld }, { placeHold }, { authorOf }] = await Promise.all([
    import('../hold/freeze.ts'),
    import('../inspect/find-object.ts'),
    import('../hold/placing.ts'),
    import('../who-am-i.ts'),
  ])
  const wish = { what, reason: options.reason, for: options.for }
  // A mistyped argument is reported before any request.
  freezeHold({ ...wish, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  if (options.evenIfAbsent !== true)
    await (what === undefined ? refuseEmpty(client) : findHeld(client, freezeTarget(what), what))
  const author = await authorOf(client, io)
  const { metadata, spec } = await placeHold(client, freezeHold({ ...wish, author }, systemClock.now()))
  io.out(
    shownInWindow(io, [
      `frozen until ${spec.until} by ${spec.author}: ${spec.reason} (operationalhold/${metadata.name})`,
    ]),
  )
  io.err(
    `granted permits that have not started are revoked; running operations finish; to continue, run kubenode thaw${what === undefined ? '' : ` ${what}`}\n`,
  )
}

interface FolderThaw {
  readonly what: string | undefined
  readonly isAll: boolean
  readonly io: Io
}

async function thawFolder(folder: string, { what, isAll, io }: FolderThaw): Promise<void> {
  refuseBeside(what !== undefined, `${what}`)
  refuseBeside(isAll, '--all')
  const { thawNode } = await import('../hold/node-file.ts')
  const file = await thawNode(folder)
  io.out(file === undefined ? 'this node is not frozen by a file\n' : shownLine(`thawed: ${file}`))
}

async function thaw(typed: string | undefined, options: ThawOptions, io: Io): Promise<void> {
  const what = await frozenCalled('thaw', typed, options, io)
  const [{ freezeTarget, thaw: lift }, { findHeld }] = await Promise.all([
    import('../hold/freeze.ts'),
    import('../inspect/find-object.ts'),
  ])
  const target = freezeTarget(what)
  const client = await connect(options, io)
  const { removed, left } = await lift(client, what, options.all === true, systemClock.now())
  // A deleted object may have left its freeze behind; without any freeze the name may be a mistake.
  if (removed.length === 0 && what !== undefined && options.evenIfAbsent !== true) await findHeld(client, target, what)
  io.out(
    removed.length === 0
      ? shownLine(`${what ?? 'the cluster'} is not frozen`)
      : `thawed: ${removed.map(printableLine).join(', ')}\n`,
  )
  for (const { metadata, spec } of left)
    io.err(
      printable(
        `still frozen: operationalhold/${metadata.name} until ${spec.until} by ${spec.author}: ${spec.reason}\n`,
      ),
    )
}
