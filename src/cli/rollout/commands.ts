// `kubenode pause | resume | rollback | rollout | canary`: temporary commands become holds that expire, and lasting changes become a commit that a user makes.
import { listAll } from '#kube/list-all.ts'
import { type Command, InvalidArgumentError } from 'commander'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type ServerOptions, calledBeside, connect, withServer } from '../commands/inspect.ts'
import { printable, printableLine, shownLine } from '#lib/printable.ts'
import { type EvenIfAbsent, withEvenIfAbsent } from '../inspect/even-if-absent.ts'
import { type WaitOptions, waitOf, withWait } from '../explore/waiting.ts'
import { alignedRows } from '../get/rows.ts'
import { WHOLE_FORMS, type WholeForm, printWhole } from '../get/whole.ts'
import { withoutManagers } from '../get/without-managers.ts'
import type { Io } from '#lib/terminal/io.ts'
import { kindOf, nameOfKind } from '../inspect/name-word.ts'
import { named } from '../inspect/target.ts'
import { outputOption } from '../output.ts'
import { place } from './place.ts'
import { type CopyOptions, withCopy } from './propose.ts'
import { canaryNamed, holdsOver, setAndRevisions, setsOfMachines } from './read.ts'
import { rolloutErrors } from './rollout-errors.ts'
import { rollback, type RollbackOptions } from './rollback.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

interface HoldOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
}

interface ResumeOptions extends ServerOptions, EvenIfAbsent {
  readonly all?: boolean
}

interface StatusOptions extends ServerOptions, Omit<WaitOptions, 'output'> {
  readonly output?: WholeForm
}

interface PromoteOptions extends ServerOptions, CopyOptions {}

interface HistoryOptions extends ServerOptions {
  readonly output?: WholeForm
  readonly revision?: string
}

export function register(program: Command, io: Io): void {
  registerHolds(program, io)
  registerRollback(program, io)
  registerCanary(program, io)
}

const ofSet = (command: Command): Command => withServer(command.argument('<set>', 'name of the set', nameOfKind('set')))
const ofCanary = (command: Command, name = 'name of the canary'): Command =>
  withServer(command.argument('<name>', name, nameOfKind('canary')))

const withReason = (command: Command, length: string): Command =>
  withEvenIfAbsent(withServer(command))
    .requiredOption('--reason <why>', 'why, shown to everyone who meets the hold')
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
  ).action((what: string, options: HoldOptions) => pause(what, options, io))

  withEvenIfAbsent(
    withServer(
      program
        .command('resume')
        .description('remove your pause or pin of an object')
        .argument('<what>', 'what was paused')
        .option('--all', 'remove the pauses and pins of all users'),
    ),
  ).action((what: string, options: ResumeOptions) => resume(what, options, io))
}

/** Other tools roll back releases. */
function setToRollBack(what: string): string {
  if (what.includes('/') && kindOf(what.split('/', 1)[0] ?? '') === 'Release')
    throw new InvalidArgumentError(
      'To undo a release, type git revert COMMIT; to stop one, kubenode release abort NAME --reason WHY.',
    )
  return nameOfKind('set')(what)
}

function registerRollback(program: Command, io: Io): void {
  withCopy(
    withServer(
      program
        .command('rollback')
        .description(
          'print the git command, or a patch, that returns a set to an earlier revision; with --now its machines switch at once',
        )
        .argument('<set>', 'name of the set', setToRollBack)
        .option(
          '--to <revision>',
          'number or name, as kubenode rollout history shows them; the last one whose rollout completed when left out',
        )
        .option('--cluster <name>', 'name of the cluster in the fleet; where the set declares the same when left out')
        .option('--now', 'pin the set to that revision until the commit is there')
        .option('--reason <why>', 'why; needed with --now')
        .option('--for <duration>', 'how long --now holds; it ends by itself', '24h'),
    ),
  ).action((name: string, options: RollbackOptions) => rollback(name, options, io))

  const rollout = program.command('rollout').description('the rollout and revisions of a set')
  withWait(ofSet(rollout.command('status').description('show the progress of a set and what it waits for')))
    .addOption(outputOption(WHOLE_FORMS))
    .action((name: string, options: StatusOptions) => rolloutStatus(name, options, io))
  ofSet(rollout.command('history').description('list the revisions that a set can return to'))
    .option('--revision <revision>', 'one of them, by number or name')
    .addOption(outputOption(WHOLE_FORMS))
    .action((name: string, options: HistoryOptions) => rolloutHistory(name, options, io))
  withReason(
    rollout
      .command('retry')
      .description('retry a failed revision')
      .argument('<set>', 'name of the set', nameOfKind('set')),
    '4h',
  ).action((name: string, options: HoldOptions) => retry(name, options, io))
}

function registerCanary(program: Command, io: Io): void {
  const canary = program.command('canary').description('versions that run on a few machines first')
  ofCanary(canary.command('status').description('show the state of each machine')).action(
    (name: string, options: ServerOptions) => canaryStatus(name, options, io),
  )
  withCopy(
    ofCanary(
      canary.command('promote').description('print the edit that sets its versions in the sets of its machines'),
      'name of the canary that has passed',
    ),
  ).action((name: string, options: PromoteOptions) => promoteCanary(name, options, io))
  withReason(
    canary
      .command('abort')
      .description('abort a canary; its machines return to the versions of their sets')
      .argument('<name>', 'name of the canary', nameOfKind('canary')),
    '1h',
  ).action((name: string, options: HoldOptions) => abortCanary(name, options, io))
}

async function heldCalled(command: string, what: string, options: ServerOptions, io: Io): Promise<string> {
  const [{ HOLDABLE }, { withItsKind }] = await Promise.all([import('./holds.ts'), import('../hold/named-thing.ts')])
  return withItsKind(what, { command, nouns: HOLDABLE.nouns }, options, io)
}

async function pause(typed: string, options: HoldOptions, io: Io): Promise<void> {
  const what = await heldCalled('pause', typed, options, io)
  const { heldTarget } = await import('./holds.ts')
  const hold = await place(options, io, what, { target: heldTarget(what), effect: 'Pause', ...options })
  say(io, `${what} is paused until ${hold.spec.until} by ${hold.spec.author}: ${hold.spec.reason}`)
  io.err(`running operations finish; to continue, run kubenode resume ${what}\n`)
  const { kind, name = '' } = hold.spec.target
  if (kind === 'Release') await warnOfContinuing(name, options, io)
}

/** Without the right to read the release the hold is there all the same. */
async function warnOfContinuing(name: string, options: ServerOptions, io: Io): Promise<void> {
  const [{ release }, { lookUp }, { continuingLines }, { isApiError }] = await Promise.all([
    import('#api/kinds/release.ts'),
    import('../inspect/find-object.ts'),
    import('../release/status.ts'),
    import('#kube/errors.ts'),
  ])
  const client = await connect(options, io)
  const found = await lookUp(client, release, name).catch((error: unknown) => {
    if (isApiError(error)) return undefined
    throw error
  })
  for (const line of continuingLines(found?.status ?? {})) io.err(shownLine(`warning: ${line}`))
}

async function resume(typed: string, options: ResumeOptions, io: Io): Promise<void> {
  const what = await heldCalled('resume', typed, options, io)
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
}

async function rolloutStatus(name: string, options: StatusOptions, io: Io): Promise<void> {
  const wait = waitOf(options)
  const { setLines } = await import('./status.ts')
  const client = await connect(options, io)
  const { set } = await setAndRevisions(client, name)
  if (wait !== undefined) {
    const { followRollouts } = await import('../explore/follow.ts')
    const followed = { wanted: [named([`set/${name}`])], namespace: SYSTEM_NAMESPACE, isUntilDone: true, ...wait }
    await followRollouts(client, followed, io)
    return
  }
  if (options.output !== undefined) {
    await printWhole(io, options.output, withoutManagers(set))
    return
  }
  io.out(shownInWindow(io, setLines(set, await holdsOver(client, 'MachineComponentSet', name))))
}

export async function rolloutHistory(name: string, options: HistoryOptions, io: Io): Promise<void> {
  const [{ historyRows }, { revisionCalled }] = await Promise.all([import('./status.ts'), import('./revisions.ts')])
  const client = await connect(options, io)
  const { set, revisions: all } = await setAndRevisions(client, name)
  const revisions = options.revision === undefined ? all : [revisionCalled(set, all, options.revision, '--revision')]
  if (options.output !== undefined) {
    await printWhole(io, options.output, revisions)
    return
  }
  const called = await calledBeside(
    client,
    revisions.flatMap((r) => r.commit ?? []),
    options,
    io,
  )
  printRows(io, ['REVISION', 'NAME', 'STATE', 'COMMIT', 'COMPONENTS'], historyRows(set, revisions, called))
  for (const r of revisions) for (const line of r.failed) io.err(shownLine(`revision ${r.number} failed: ${line}`))
}

async function retry(name: string, options: HoldOptions, io: Io): Promise<void> {
  const { refuseUnlessFailed } = await import('./status.ts')
  const target = { kind: 'MachineComponentSet', name } as const
  const wish = { target, effect: 'Retry', ...options } as const
  const hold = await place(options, io, `set/${name}`, wish, (set) => refuseUnlessFailed(set as MachineComponentSet))
  say(io, `retrying the failed revision of set/${name} (operationalhold/${hold.metadata.name})`)
}

async function canaryStatus(name: string, options: ServerOptions, io: Io): Promise<void> {
  const { canaryLines, canaryRows } = await import('./status.ts')
  const found = await canaryNamed(await connect(options, io), name)
  io.out(shownInWindow(io, canaryLines(found)))
  const rows = canaryRows(found)
  if (rows.length > 0) printRows(io, ['MACHINE', 'COMPONENT', 'STATE', 'HEALTHY SINCE', 'MESSAGE'], rows)
}

async function promoteCanary(name: string, options: PromoteOptions, io: Io): Promise<void> {
  const [{ changeText, promotion }, { machineComponentSet }, { proposeVersions }] = await Promise.all([
    import('./commit.ts'),
    import('#api/kinds/machine-component-set.ts'),
    import('./propose-versions.ts'),
  ])
  const client = await connect(options, io)
  const found = await canaryNamed(client, name)
  const sets = await setsOfMachines(client, found, await listAll(client, machineComponentSet))
  const changes = promotion(found, sets)
  if (!(await proposeVersions(client, { sets, changes }, options, io))) {
    if (options.write === true) throw new KubeNodeError(rolloutErrors.KN1384({ what: `canary/${name}` }))
    for (const change of changes) io.out(printable(changeText(change)))
    io.err('write these components where the fleet declares the sets, and commit\n')
  }
  io.err('machines that already run these versions count as updated\n')
}

async function abortCanary(name: string, options: HoldOptions, io: Io): Promise<void> {
  const target = { kind: 'ComponentCanary', name } as const
  await place(options, io, `canary/${name}`, { target, effect: 'Abort', ...options })
  say(io, `canary/${name} aborted: ${options.reason}`)
  io.err('to try again, remove it from the fleet by a commit or rename it\n')
}

const say = (io: Io, text: string): void => io.out(shownInWindow(io, [text]))

function printRows(io: Io, head: readonly string[], rows: readonly (readonly string[])[]): void {
  io.out(
    `${alignedRows(
      [head, ...rows].map((row) => row.map(printableLine)),
      io.width?.(),
    )}\n`,
  )
}
