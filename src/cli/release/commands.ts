// `kubenode release status | retry | promote | history | abort`: how far a commit has come through the stages, and what users ask of it.
import type { Command } from 'commander'
import { systemClock } from '#lib/clock.ts'
import { printableLine, shownLine, shownLines } from '#lib/printable.ts'
import { type ServerOptions, connect, withServer } from '../commands/inspect.ts'
import type { Io } from '../io.ts'
import type { RequestOptions } from './requests.ts'

const withRelease = (command: Command): Command => withServer(command).argument('<name>', 'name of the release')

/** What a person asks of a release, kept for some time. */
const withRequest = (command: Command): Command =>
  withRelease(command)
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option('--for <duration>', 'how long the request is kept', '4h')

export function register(program: Command, io: Io): void {
  const release = program.command('release').description('commits in the stages of the fleet')
  withServer(release.command('status'))
    .description('show stages, clusters, and what they wait for')
    .argument('[name]', 'name of the release; the newest of each track when left out')
    .action((name: string | undefined, options: ServerOptions) => showStatus(name, options, io))

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
    .argument('[name]', 'a release whose track is listed; every track when left out')
    .action((name: string | undefined, options: ServerOptions) => showHistory(name, options, io))

  withRelease(release.command('diff'))
    .description('show the clusters to which two releases give different objects, and the plan between them')
    .argument('[other]', 'the release to compare with; the one before when left out')
    .action((name: string, other: string | undefined, options: ServerOptions) => showDiff(name, other, options, io))

  withRelease(release.command('abort'))
    .description(
      'stop a release where it is, and print the commit to revert; to continue, kubenode resume release/NAME',
    )
    .requiredOption('--reason <text>', 'why, shown to everyone who meets the hold')
    .option('--for <duration>', 'how long; expires automatically', '24h')
    .action(async (name: string, options: RequestOptions) =>
      (await import('./requests.ts')).abortRelease(name, options, io),
    )
}

async function showStatus(name: string | undefined, options: ServerOptions, io: Io): Promise<void> {
  const [{ newestReleases, releaseLines }, { releaseCalled, releasesOn }] = await Promise.all([
    import('./status.ts'),
    import('./find-release.ts'),
  ])
  const client = await connect(options, io)
  const found = name === undefined ? newestReleases(await releasesOn(client)) : [await releaseCalled(client, name)]
  if (found.length === 0) io.err('no releases yet; the first rendered commit creates one\n')
  io.out(found.map((r) => shownLines(releaseLines(r, systemClock.now()))).join('\n'))
}

async function showHistory(name: string | undefined, options: ServerOptions, io: Io): Promise<void> {
  const [{ historyRows }, { alignedRows }, { releaseCalled, releasesOn }] = await Promise.all([
    import('./history.ts'),
    import('../get/rows.ts'),
    import('./find-release.ts'),
  ])
  const client = await connect(options, io)
  const one = name === undefined ? undefined : await releaseCalled(client, name)
  const rows = historyRows(await releasesOn(client), one?.spec.track, systemClock.now())
  if (rows.length === 0) {
    io.err('no releases yet; the first rendered commit creates one\n')
    return
  }
  const head = ['TRACK', 'RELEASE', 'COMMIT', 'PHASE', 'AGE', 'REVERTS']
  io.out(
    `${alignedRows(
      [head, ...rows].map((r) => r.map(printableLine)),
      io.width?.(),
    )}\n`,
  )
}

async function showDiff(name: string, other: string | undefined, options: ServerOptions, io: Io): Promise<void> {
  const [{ differenceLines }, { releaseCalled }] = await Promise.all([
    import('./commit-trace.ts'),
    import('./find-release.ts'),
  ])
  const client = await connect(options, io)
  const to = await releaseCalled(client, name)
  const from = other ?? to.spec.previous
  if (from === undefined) {
    io.err(shownLine(`release/${name} is the first of its track; give another one to compare with`))
    return
  }
  io.out(shownLines(differenceLines(await releaseCalled(client, from), to)))
}
