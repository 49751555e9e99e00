// `kubenode pause | resume | rollback | rollout | canary`: temporary commands become holds that expire, and lasting changes become a commit that a user makes.
import { listAll } from '#kube/list-all.ts'
import type { Command } from 'commander'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { weakCageOption } from '../weak-cage.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { systemClock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { type ServerOptions, connect, withServer } from '../commands/inspect.ts'
import { printable, printableLine, shownLine } from '#lib/printable.ts'
import { type EvenIfAbsent, withEvenIfAbsent } from '../inspect/even-if-absent.ts'
import { alignedRows } from '../get/rows.ts'
import type { Io } from '../io.ts'
import type { SetChange } from './commit.ts'
import type { HoldWish } from './holds.ts'
import { rolloutErrors } from './rollout-errors.ts'

interface HoldOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
}

interface ResumeOptions extends ServerOptions, EvenIfAbsent {
  readonly all?: boolean
}

interface RollbackOptions extends ServerOptions {
  readonly to?: string
  readonly now?: boolean
  readonly reason?: string
  readonly for: string
  readonly repo?: string
  readonly path: string
  readonly cluster?: string
  readonly weakCage: 'allow' | 'refuse'
}

export function register(program: Command, io: Io): void {
  registerHolds(program, io)
  registerRollback(program, io)
  registerCanary(program, io)
}

const ofSet = (command: Command): Command => withServer(command.argument('<set>', 'name of the set', nameAfter('set')))
const ofCanary = (command: Command, name = 'name of the canary'): Command =>
  withServer(command.argument('<name>', name, nameAfter('canary')))

const withReason = (command: Command, length: string): Command =>
  withEvenIfAbsent(withServer(command))
    .requiredOption('--reason <text>', 'why, shown to everyone who meets the hold')
    .option('--for <duration>', 'how long; expires automatically', length)

function registerHolds(program: Command, io: Io): void {
  withReason(
    program
      .command('pause')
      .alias('suspend')
      .description(
        'start nothing new of set/NAME, canary/NAME, machine/NAME, machineset/NAME, remedier/NAME, job/NAME, or on the hub source/NAME, release/NAME',
      )
      .argument('<what>', 'what to pause'),
    '4h',
  ).action(async (what: string, options: HoldOptions) => {
    const { heldTarget } = await import('./holds.ts')
    const hold = await place(options, io, what, { target: heldTarget(what), effect: 'Pause', ...options })
    say(io, `${what} is paused until ${hold.spec.until} by ${hold.spec.author}: ${hold.spec.reason}`)
    io.err(`running operations finish; to continue, run kubenode resume ${what}\n`)
  })

  withEvenIfAbsent(
    withServer(
      program
        .command('resume')
        .description('remove your pause or pin of an object')
        .argument('<what>', 'what was paused')
        .option('--all', 'remove the pauses and pins of all users'),
    ),
  ).action(async (what: string, options: ResumeOptions) => {
    const [{ heldTarget, liftHolds }, { findHeld }] = await Promise.all([
      import('./holds.ts'),
      import('../inspect/find-object.ts'),
    ])
    const target = heldTarget(what)
    const client = await connect(options, io)
    const { removed, left } = await liftHolds(client, what, options.all === true, systemClock.now())
    if (removed.length === 0 && options.evenIfAbsent !== true) await findHeld(client, target, what)
    say(io, removed.length === 0 ? `${what} has no hold created by you` : `resumed: ${removed.join(', ')}`)
    for (const { metadata, spec } of left)
      io.err(
        shownLine(
          `still held: operationalhold/${metadata.name} (${spec.effect}) until ${spec.until} by ${spec.author}: ${spec.reason}`,
        ),
      )
  })
}

/** Reverts that were tested and render exactly the goal; else a patch that does; else the components to write. */
async function printWayBack(
  set: MachineComponentSet,
  change: SetChange,
  revision: number,
  { repo = '.', path, cluster, weakCage }: RollbackOptions,
  io: Io,
): Promise<void> {
  const [{ prepareWayBack }, { wayBackLines }] = await Promise.all([
    import('./prepare-way-back.ts'),
    import('./way-back-text.ts'),
  ])
  const { resolve } = await import('node:path')
  const env = { PATH: io.env['PATH'] ?? '', ...(io.env['HOME'] === undefined ? {} : { HOME: io.env['HOME'] }) }
  const wish = { set: change.set, now: set.spec.components, wanted: change.components, path, cluster, env, weakCage }
  io.err('searching for the commits to revert: rendering commits and trying reverts in a copy of the repository\n')
  const found = await prepareWayBack({ ...wish, folder: resolve(io.cwd, repo) }).catch((error: unknown) => ({
    error: messageOf(error),
  }))
  const { out, err } = wayBackLines(change, revision, found)
  // Git reads the patch: it is printed unchanged.
  io.out('way' in found && found.way.kind === 'Patch' ? out : printable(out))
  io.err(printable(err))
}

function registerRollback(program: Command, io: Io): void {
  withServer(
    program
      .command('rollback')
      .description(
        'print the git command, or a patch, that returns a set to an earlier revision; with --now its machines switch at once',
      )
      .argument('<set>', 'name of the set', nameAfter('set'))
      .option(
        '--to <revision>',
        'number or name, as kubenode rollout history shows them; the last one whose rollout completed when left out',
      )
      .option('--repo <dir>', 'the repository of the fleet; the one around the current folder when left out')
      .option('--path <dir>', 'folder of the fleet in the repository', '.')
      .addOption(weakCageOption())
      .option('--cluster <name>', 'name of the cluster in the fleet; where the set declares the same when left out')
      .option('--now', 'pin the set to that revision until the commit is there')
      .option('--reason <text>', 'why; needed with --now')
      .option('--for <duration>', 'how long --now holds; it ends by itself', '24h'),
  ).action(async (name: string, options: RollbackOptions) => {
    const [{ rollbackChange }, { revisionCalled, warningsOf }] = await Promise.all([
      import('./commit.ts'),
      import('./revisions.ts'),
    ])
    const { reason, now: isNow = false } = options
    if (isNow && reason === undefined) throw new KubeNodeError(rolloutErrors.KN1376())
    // A mistyped argument is reported before the server is asked.
    const [{ holdFor }, target] = [await import('./holds.ts'), { kind: 'MachineComponentSet', name } as const]
    holdFor(
      { target, effect: 'Pin', to: name, reason: reason ?? '', for: options.for, author: 'unknown' },
      systemClock.now(),
    )
    const client = await connect(options, io)
    const { set, revisions } = await setAndRevisions(client, name)
    const to = revisionCalled(set, revisions, options.to)
    for (const line of warningsOf(set, to)) io.err(shownLine(line))
    const change = rollbackChange(set, to)
    if (change.changes.length === 0) io.err(`set/${name} declares revision ${to.number} already\n`)
    else await printWayBack(set, change, to.number, options, io)
    if (!isNow || reason === undefined) return
    const hold = await placeWith(client, io, { target, effect: 'Pin', to: to.name, reason, for: options.for })
    io.err(shownLine(`set/${name} goes to revision ${to.number} now, until ${hold.spec.until}; commit before that`))
  })

  const rollout = program.command('rollout').description('the rollout and revisions of a set')
  ofSet(rollout.command('status').description('show the progress of a set and what it waits for')).action(
    async (name: string, options: ServerOptions) => {
      const { setLines } = await import('./status.ts')
      const client = await connect(options, io)
      const { set } = await setAndRevisions(client, name)
      const lines = setLines(set, await holdsOver(client, 'MachineComponentSet', name))
      io.out(`${lines.map(printableLine).join('\n')}\n`)
    },
  )
  ofSet(rollout.command('history').description('list the revisions that a set can return to')).action(
    async (name: string, options: ServerOptions) => {
      const { historyRows } = await import('./status.ts')
      const { set, revisions } = await setAndRevisions(await connect(options, io), name)
      printRows(io, ['REVISION', 'NAME', 'STATE', 'COMMIT', 'COMPONENTS'], historyRows(set, revisions))
      for (const r of revisions) for (const line of r.failed) io.err(shownLine(`revision ${r.number} failed: ${line}`))
    },
  )
  withReason(
    rollout
      .command('retry')
      .description('retry a failed revision')
      .argument('<set>', 'name of the set', nameAfter('set')),
    '4h',
  ).action(async (name: string, options: HoldOptions) => {
    const target = { kind: 'MachineComponentSet', name } as const
    const hold = await place(options, io, `set/${name}`, { target, effect: 'Retry', ...options })
    say(io, `retrying the failed revision of set/${name} (operationalhold/${hold.metadata.name})`)
  })
}

function registerCanary(program: Command, io: Io): void {
  const canary = program.command('canary').description('versions that run on a few machines first')
  ofCanary(canary.command('status').description('show the state of each machine')).action(
    async (name: string, options: ServerOptions) => {
      const { canaryLines, canaryRows } = await import('./status.ts')
      const found = await canaryNamed(await connect(options, io), name)
      io.out(`${canaryLines(found).map(printableLine).join('\n')}\n`)
      const rows = canaryRows(found)
      if (rows.length > 0) printRows(io, ['MACHINE', 'COMPONENT', 'STATE', 'HEALTHY SINCE', 'MESSAGE'], rows)
    },
  )
  ofCanary(
    canary.command('promote').description('print the commit that sets its versions in the sets of its machines'),
    'name of the canary that has passed',
  ).action(async (name: string, options: ServerOptions) => {
    const [{ changeText, promotion }, { machineComponentSet }] = await Promise.all([
      import('./commit.ts'),
      import('#api/kinds/machine-component-set.ts'),
    ])
    const client = await connect(options, io)
    const found = await canaryNamed(client, name)
    const sets = await setsOfMachines(client, found, await listAll(client, machineComponentSet))
    for (const change of promotion(found, sets)) io.out(printable(changeText(change)))
    io.err('commit this; machines that already run these versions count as updated\n')
  })
  withReason(
    canary
      .command('abort')
      .description('abort a canary; its machines return to the versions of their sets')
      .argument('<name>', 'name of the canary', nameAfter('canary')),
    '1h',
  ).action(async (name: string, options: HoldOptions) => {
    await place(options, io, `canary/${name}`, {
      target: { kind: 'ComponentCanary', name },
      effect: 'Abort',
      ...options,
    })
    say(io, `canary/${name} aborted: ${options.reason}`)
    io.err('to try again, remove it from the fleet by a commit or rename it\n')
  })
}

/** Accept `set/base` here too, as in `pause set/base`. */
const nameAfter =
  (noun: string) =>
  (what: string): string =>
    what.startsWith(`${noun}/`) ? what.slice(noun.length + 1) : what

const say = (io: Io, text: string): void => io.out(shownLine(text))

function printRows(io: Io, head: readonly string[], rows: readonly (readonly string[])[]): void {
  io.out(`${alignedRows([head, ...rows].map((row) => row.map(printableLine)))}\n`)
}

type Wish = Omit<HoldWish, 'author'>

async function place(
  options: ServerOptions & EvenIfAbsent,
  io: Io,
  what: string,
  wish: Wish,
): Promise<OperationalHold> {
  const [{ holdFor }, { findHeld }] = await Promise.all([import('./holds.ts'), import('../inspect/find-object.ts')])
  // A mistyped argument is reported before any request.
  holdFor({ ...wish, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  if (options.evenIfAbsent !== true) await findHeld(client, wish.target, what)
  return placeWith(client, io, wish)
}

async function placeWith(client: KubeClient, io: Io, wish: Wish): Promise<OperationalHold> {
  const [{ holdFor }, { placeHold }, { authorOf }] = await Promise.all([
    import('./holds.ts'),
    import('../hold/placing.ts'),
    import('../who-am-i.ts'),
  ])
  const author = await authorOf(client, io)
  return placeHold(client, holdFor({ ...wish, author }, systemClock.now()))
}

async function setAndRevisions(client: KubeClient, name: string) {
  const [{ machineComponentSet }, { revisionType, revisionsOf }, { SYSTEM_NAMESPACE }, { findObject }] =
    await Promise.all([
      import('#api/kinds/machine-component-set.ts'),
      import('./revisions.ts'),
      import('#api/names.ts'),
      import('../inspect/find-object.ts'),
    ])
  const set = await findObject(client, machineComponentSet, name, 'set')
  return { set, revisions: revisionsOf(set, await listAll(client, revisionType, { namespace: SYSTEM_NAMESPACE })) }
}

async function canaryNamed(client: KubeClient, name: string): Promise<ComponentCanary> {
  const [{ componentCanary }, { findObject }] = await Promise.all([
    import('#api/kinds/component-canary.ts'),
    import('../inspect/find-object.ts'),
  ])
  return findObject(client, componentCanary, name, 'canary')
}

async function holdsOver(client: KubeClient, kind: string, name: string): Promise<readonly OperationalHold[]> {
  const [{ operationalHold }, { isInForce, readable }] = await Promise.all([
    import('#api/kinds/operational-hold.ts'),
    import('#holds/in-force.ts'),
  ])
  const now = systemClock.now()
  return (await listAll(client, operationalHold)).map(readable).filter((h) => {
    const { target } = h.spec
    return target.kind === kind && (target.name === undefined || target.name === name) && isInForce(h, now)
  })
}

/** Those whose selector matches a machine of the canary. */
async function setsOfMachines(
  client: KubeClient,
  { status }: ComponentCanary,
  sets: readonly MachineComponentSet[],
): Promise<readonly MachineComponentSet[]> {
  const [{ machine }, { matchesLabels }] = await Promise.all([
    import('#api/kinds/machine.ts'),
    import('#kube/selector.ts'),
  ])
  const found = await Promise.all((status?.machines ?? []).map((name) => client.get(machine, { name })))
  return sets.filter((s) => found.some((m) => m !== undefined && matchesLabels(s.spec.selector, m.metadata.labels)))
}
