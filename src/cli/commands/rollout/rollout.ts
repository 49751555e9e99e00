// `kubenode pause | resume | rollback | rollout | canary`: temporary commands create holds that expire; a lasting change is a commit that the user makes.
import { type Command, InvalidArgumentError } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, withServer } from '../../fleet/connect.ts'
import { withEvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { kindOf, nameOfKind } from '../../fleet/name-word.ts'
import { withCopy } from '../../fleet/copy-options.ts'
import { withWait } from '../../follow/waiting.ts'
import { WHOLE_FORMS } from '../../get/whole.ts'
import { outputOption } from '../../output.ts'
import type { HoldOptions, ResumeOptions } from './holding.ts'
import type { PromoteOptions } from './promote-canary.ts'
import type { RollbackOptions } from './rollback.ts'
import type { HistoryOptions, StatusOptions } from './show-rollout.ts'

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
  ).action(async (what: string, options: HoldOptions) => (await import('./holding.ts')).pause(what, options, io))

  withEvenIfAbsent(
    withServer(
      program
        .command('resume')
        .description('remove your pause or pin of an object')
        .argument('<what>', 'what was paused')
        .option('--all', 'remove the pauses and pins of all users'),
    ),
  ).action(async (what: string, options: ResumeOptions) => (await import('./holding.ts')).resume(what, options, io))
}

/** Users of other tools try to roll back a release; here only a set rolls back. */
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
  ).action(async (name: string, options: RollbackOptions) =>
    (await import('./rollback.ts')).rollback(name, options, io),
  )

  const rollout = program.command('rollout').description('the rollout and revisions of a set')
  withWait(ofSet(rollout.command('status').description('show the progress of a set and what it waits for')))
    .addOption(outputOption(WHOLE_FORMS))
    .action(async (name: string, options: StatusOptions) =>
      (await import('./show-rollout.ts')).rolloutStatus(name, options, io),
    )
  ofSet(rollout.command('history').description('list the revisions that a set can return to'))
    .option('--revision <revision>', 'one of them, by number or name')
    .addOption(outputOption(WHOLE_FORMS))
    .action(async (name: string, options: HistoryOptions) =>
      (await import('./show-rollout.ts')).rolloutHistory(name, options, io),
    )
  withReason(
    rollout
      .command('retry')
      .description('retry a failed revision')
      .argument('<set>', 'name of the set', nameOfKind('set')),
    '4h',
  ).action(async (name: string, options: HoldOptions) => (await import('./holding.ts')).retry(name, options, io))
}

function registerCanary(program: Command, io: Io): void {
  const canary = program.command('canary').description('versions that run on a few machines first')
  ofCanary(canary.command('status').description('show the state of each machine')).action(
    async (name: string, options: ServerOptions) => (await import('./show-rollout.ts')).canaryStatus(name, options, io),
  )
  withCopy(
    ofCanary(
      canary.command('promote').description('print the edit that sets its versions in the sets of its machines'),
      'name of the canary that has passed',
    ),
  ).action(async (name: string, options: PromoteOptions) =>
    (await import('./promote-canary.ts')).promoteCanary(name, options, io),
  )
  withReason(
    canary
      .command('abort')
      .description('abort a canary; its machines return to the versions of their sets')
      .argument('<name>', 'name of the canary', nameOfKind('canary')),
    '1h',
  ).action(async (name: string, options: HoldOptions) => (await import('./holding.ts')).abortCanary(name, options, io))
}
