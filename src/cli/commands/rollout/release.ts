// `kubenode release …`: a commit's progress through the stages, and requests on a release.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, withServer } from '../../fleet/connect.ts'
import { nameOfKind } from '../../fleet/name-word.ts'
import { withWait } from '../../follow/waiting.ts'
import { WHOLE_FORMS } from '../../get/whole.ts'
import { outputOption } from '../../output.ts'
import type { RequestOptions } from './requests.ts'
import type { FormOptions, StatusOptions } from './show-release.ts'

const withRelease = (command: Command): Command =>
  withServer(command).argument('<name>', 'name of the release', nameOfKind('release'))

/** A user's request on a release, kept for a while. */
const withRequest = (command: Command): Command =>
  withRelease(command)
    .requiredOption('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long the request is kept', '4h')

export function register(program: Command, io: Io): void {
  const release = program.command('release').description('commits in the stages of the fleet')
  withWait(withServer(release.command('status')))
    .description('show stages, clusters, and what they wait for')
    .argument(
      '[name]',
      'name of a release, or of a track for its newest; the newest of each track when left out',
      nameOfKind('release'),
    )
    .addOption(outputOption(WHOLE_FORMS))
    .action(async (name: string | undefined, options: StatusOptions) =>
      (await import('./show-release.ts')).showStatus(name, options, io),
    )

  withRequest(release.command('retry'))
    .description('try the failed clusters of a release again, with new deadlines')
    .action(async (name: string, options: RequestOptions) =>
      (await import('./requests.ts')).retryRelease(name, options, io),
    )

  withRequest(release.command('promote'))
    .description(
      'end the soak of the stage that is in progress; gates, windows, holds and the next stage stay as they are',
    )
    .action(async (name: string, options: RequestOptions) =>
      (await import('./requests.ts')).promoteRelease(name, options, io),
    )

  withServer(release.command('history'))
    .description('list the releases of each track, the newest first')
    .argument('[name]', 'a track, or a release of it; every track when left out', nameOfKind('release'))
    .addOption(outputOption(WHOLE_FORMS))
    .action(async (name: string | undefined, options: FormOptions) =>
      (await import('./show-release.ts')).showHistory(name, options, io),
    )

  withRelease(release.command('diff'))
    .description('show the clusters to which two releases give different objects, and the plan between them')
    .argument('[other]', 'the release to compare with; the one before when left out', nameOfKind('release'))
    .action(async (name: string, other: string | undefined, options: ServerOptions) =>
      (await import('./show-release.ts')).showDiff(name, other, options, io),
    )

  withRelease(release.command('abort'))
    .description(
      'let a release go to no further cluster, and print the commit to revert; to continue, kubenode resume release/NAME',
    )
    .requiredOption('--reason <why>', 'why, shown to everyone who meets the hold')
    .option('--for <duration>', 'how long; expires automatically', '24h')
    .action(async (name: string, options: RequestOptions) =>
      (await import('./requests.ts')).abortRelease(name, options, io),
    )
}
