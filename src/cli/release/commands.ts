// `kubenode release status | retry | history | abort`: how far a commit has come through the stages, and the request to retry what failed.
import type { Command } from 'commander'
import type { Release } from '#api/kinds/release.ts'
import { systemClock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { rolloutErrors } from '../rollout/rollout-errors.ts'
import { type ServerOptions, connect, withServer } from '../commands/inspect.ts'
import { printableLine, shownLine, shownLines } from '#lib/printable.ts'
import type { Io } from '../io.ts'

interface RetryOptions extends ServerOptions {
  readonly reason: string
  readonly for: string
}

export function register(program: Command, io: Io): void {
  const release = program.command('release').description('commits in the stages of the fleet')
  withServer(
    release
      .command('status')
      .description('show stages, clusters, and what they wait for')
      .argument('[name]', 'name of the release; the newest of each track when left out'),
  ).action(async (name: string | undefined, options: ServerOptions) => {
    const { newestReleases, releaseLines } = await import('./status.ts')
    const client = await connect(options, io)
    const found = name === undefined ? newestReleases(await releasesOn(client)) : [await releaseCalled(client, name)]
    if (found.length === 0) io.err('no releases yet; the first rendered commit creates one\n')
    io.out(found.map((r) => shownLines(releaseLines(r, systemClock.now()))).join('\n'))
  })

  withServer(
    release
      .command('retry')
      .description('try the failed clusters of a release again, with new deadlines')
      .argument('<name>', 'name of the release')
      .requiredOption('--reason <text>', 'why, for the audit trail')
      .option('--for <duration>', 'how long the request is kept', '4h'),
  ).action(async (word: string, options: RetryOptions) => {
    const [{ canBeRetried }, { holdFor }, { placeHold }, { authorOf }, { SYSTEM_NAMESPACE }] = await Promise.all([
      import('./status.ts'),
      import('../rollout/holds.ts'),
      import('../hold/placing.ts'),
      import('../who-am-i.ts'),
      import('#api/names.ts'),
    ])
    const name = nameIn(word)
    const target = { kind: 'Release', namespace: SYSTEM_NAMESPACE, name } as const
    const wish = { target, effect: 'Retry', reason: options.reason, for: options.for } as const
    // A mistyped argument is reported before the server is asked.
    holdFor({ ...wish, author: 'unknown' }, systemClock.now())
    const client = await connect(options, io)
    const { status = {} } = await releaseCalled(client, name)
    if (!canBeRetried(status)) throw new KubeNodeError(rolloutErrors.KN1398({ name, phase: status.phase ?? 'Pending' }))
    const hold = await placeHold(client, holdFor({ ...wish, author: await authorOf(client, io) }, systemClock.now()))
    const failed = (status.clusters ?? []).filter((c) => c.phase === 'Failed').map((c) => c.name)
    io.out(shownLine(`retrying ${failed.join(', ')} of release/${name} (operationalhold/${hold.metadata.name})`))
    io.err(`kubenode release status ${name}\n`)
  })

  withServer(
    release
      .command('history')
      .description('list the releases of each track, the newest first')
      .argument('[name]', 'a release whose track is listed; every track when left out'),
  ).action((name: string | undefined, options: ServerOptions) => showHistory(name, options, io))

  withServer(
    release
      .command('abort')
      .description(
        'stop a release where it is, and print the commit to revert; to continue, kubenode resume release/NAME',
      )
      .argument('<name>', 'name of the release')
      .requiredOption('--reason <text>', 'why, shown to everyone who meets the hold')
      .option('--for <duration>', 'how long; expires automatically', '24h'),
  ).action((name: string, options: RetryOptions) => abortRelease(name, options, io))
}

async function showHistory(name: string | undefined, options: ServerOptions, io: Io): Promise<void> {
  const [{ historyRows }, { alignedRows }] = await Promise.all([import('./history.ts'), import('../get/rows.ts')])
  const client = await connect(options, io)
  const one = name === undefined ? undefined : await releaseCalled(client, name)
  const rows = historyRows(await releasesOn(client), one?.spec.track, systemClock.now())
  if (rows.length === 0) io.err('no releases yet; the first rendered commit creates one\n')
  else
    io.out(
      `${alignedRows(
        [['TRACK', 'RELEASE', 'COMMIT', 'PHASE', 'AGE', 'REVERTS'], ...rows].map((r) => r.map(printableLine)),
        io.width?.(),
      )}\n`,
    )
}

async function abortRelease(word: string, options: RetryOptions, io: Io): Promise<void> {
  const [{ isOver }, { holdFor }, { placeHold }, { authorOf }, { SYSTEM_NAMESPACE }] = await Promise.all([
    import('./status.ts'),
    import('../rollout/holds.ts'),
    import('../hold/placing.ts'),
    import('../who-am-i.ts'),
    import('#api/names.ts'),
  ])
  const name = nameIn(word)
  const target = { kind: 'Release', namespace: SYSTEM_NAMESPACE, name } as const
  const wish = { target, effect: 'Pause', reason: options.reason, for: options.for } as const
  // A mistyped argument is reported before the server is asked.
  holdFor({ ...wish, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  const { spec, status = {} } = await releaseCalled(client, name)
  if (isOver(status)) throw new KubeNodeError(rolloutErrors.KN1378({ name, phase: status.phase ?? 'Pending' }))
  const hold = await placeHold(client, holdFor({ ...wish, author: await authorOf(client, io) }, systemClock.now()))
  io.out(
    shownLine(`release/${name} stops where it is until ${hold.spec.until} (operationalhold/${hold.metadata.name})`),
  )
  io.err(
    shownLine(`to take it back: git revert ${spec.commit.slice(0, 12)}; to continue: kubenode resume release/${name}`),
  )
}

/** Both `fleet-1` and `release/fleet-1`. */
const nameIn = (word: string): string => word.replace(/^release\//, '')

async function releasesOn(client: KubeClient): Promise<readonly Release[]> {
  const [{ release }, { SYSTEM_NAMESPACE }] = await Promise.all([
    import('#api/kinds/release.ts'),
    import('#api/names.ts'),
  ])
  return (await client.list(release, { namespace: SYSTEM_NAMESPACE })).items
}

async function releaseCalled(client: KubeClient, word: string): Promise<Release> {
  const [{ release }, { findObject }] = await Promise.all([
    import('#api/kinds/release.ts'),
    import('../inspect/find-object.ts'),
  ])
  return findObject(client, release, nameIn(word), 'release')
}
