// `kubenode history` and `kubenode release …`: which commits reached what, how far a commit has come through the stages, and what users ask of it.
import type { Command } from 'commander'
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import { type ServerOptions, connect, withServer } from '../commands/inspect.ts'
import { type WaitOptions, waitOf, withWait } from '../explore/waiting.ts'
import { WHOLE_FORMS, type WholeForm, listOf, printWhole } from '../get/whole.ts'
import { withoutManagers } from '../get/without-managers.ts'
import { nameOfKind } from '../inspect/name-word.ts'
import type { Named } from '../inspect/target.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../output.ts'
import { rolloutErrors } from '../rollout/rollout-errors.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import type { RequestOptions } from './requests.ts'

const withRelease = (command: Command): Command =>
  withServer(command).argument('<name>', 'name of the release', nameOfKind('release'))

/** What a person asks of a release, kept for some time. */
const withRequest = (command: Command): Command =>
  withRelease(command)
    .requiredOption('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long the request is kept', '4h')

interface FormOptions extends ServerOptions {
  readonly output?: WholeForm
}

interface StatusOptions extends FormOptions, Omit<WaitOptions, 'output'> {}

export function register(program: Command, io: Io): void {
  withServer(program.command('history'))
    .description('list the commits that reached the fleet, a cluster or a set: when, gates, who approved, how it ended')
    .argument('[what]', 'cluster/NAME on the hub, or set/NAME in its cluster; the whole fleet when left out')
    .addOption(outputOption(WHOLE_FORMS))
    .action((what: string | undefined, options: FormOptions) => showFleetHistory(what, options, io))

  const release = program.command('release').description('commits in the stages of the fleet')
  withWait(withServer(release.command('status')))
    .description('show stages, clusters, and what they wait for')
    .argument(
      '[name]',
      'name of a release, or of a track for its newest; the newest of each track when left out',
      nameOfKind('release'),
    )
    .addOption(outputOption(WHOLE_FORMS))
    .action((name: string | undefined, options: StatusOptions) => showStatus(name, options, io))

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
    .action((name: string | undefined, options: FormOptions) => showHistory(name, options, io))

  withRelease(release.command('diff'))
    .description('show the clusters to which two releases give different objects, and the plan between them')
    .argument('[other]', 'the release to compare with; the one before when left out', nameOfKind('release'))
    .action((name: string, other: string | undefined, options: ServerOptions) => showDiff(name, other, options, io))

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

async function sayNone(client: KubeClient, io: Io): Promise<void> {
  const { withHubHint } = await import('../inspect/hub-hint.ts')
  io.err(`${await withHubHint(client, 'no releases', 'no releases yet; the first rendered commit creates one')}\n`)
}

async function showStatus(name: string | undefined, options: StatusOptions, io: Io): Promise<void> {
  const wait = waitOf(options)
  const [{ newestReleases }, { releaseLines }, { releaseOrNewestOf, releasesOn }] = await Promise.all([
    import('#explain/newest-releases.ts'),
    import('./status.ts'),
    import('./find-release.ts'),
  ])
  const client = await connect(options, io)
  const all = await releasesOn(client)
  const found = name === undefined ? newestReleases(all) : [await releaseOrNewestOf(client, name)]
  if (options.output !== undefined) {
    const [one] = found
    const isOne = name !== undefined && one !== undefined
    await printWhole(io, options.output, isOne ? withoutManagers(one) : listOf(found))
    return
  }
  if (found.length === 0) await sayNone(client, io)
  else if (wait !== undefined) await follow(found, client, wait, io)
  else {
    const [{ endOfHoldOver, unreleasedAfter }, { linesOf }, { holdsOn }] = await Promise.all([
      import('#explain/read-why.ts'),
      import('#explain/told.ts'),
      import('../explore/follow.ts'),
    ])
    const now = systemClock.now()
    const holds = await holdsOn(client)
    const whole = await Promise.all(
      found.map(async (r) => {
        const end = endOfHoldOver({ ...r, kind: 'Release' }, holds, now)
        const continued = end === undefined ? [] : [`to continue: ${end}`]
        return [...releaseLines(r, now, all), ...continued, ...(await unreleasedAfter(client, r, now)).flatMap(linesOf)]
      }),
    )
    io.out(whole.map((lines) => shownInWindow(io, lines)).join('\n'))
  }
}

async function follow(found: readonly Release[], client: KubeClient, wait: { timeoutMs?: number }, io: Io) {
  const [{ named }, { followRollouts }] = await Promise.all([
    import('../inspect/target.ts'),
    import('../explore/follow.ts'),
  ])
  const wanted = found.map((r) => named([`release/${r.metadata.name ?? ''}`]))
  await followRollouts(client, { wanted, namespace: SYSTEM_NAMESPACE, isUntilDone: true, ...wait }, io)
}

async function showHistory(name: string | undefined, options: FormOptions, io: Io): Promise<void> {
  const [{ HISTORY_HEAD, historyOf, historyRow }, { alignedRows }, { releaseOrNewestOf, releasesOn }] =
    await Promise.all([import('./history.ts'), import('../get/rows.ts'), import('./find-release.ts')])
  const client = await connect(options, io)
  const one = name === undefined ? undefined : await releaseOrNewestOf(client, name)
  const releases = historyOf(await releasesOn(client), one?.spec.track)
  if (options.output !== undefined) {
    await printWhole(io, options.output, listOf(releases))
    return
  }
  if (releases.length === 0) {
    await sayNone(client, io)
    return
  }
  const rows = [HISTORY_HEAD, ...releases.map((r) => historyRow(r, releases, systemClock.now()))]
  io.out(
    `${alignedRows(
      rows.map((r) => r.map(printableLine)),
      io.width?.(),
    )}\n`,
  )
}

/** A name alone is that of a cluster on the hub, of a set elsewhere. */
async function withHistory(name: string, options: ServerOptions, io: Io): Promise<Named | undefined> {
  const { withKinds } = await import('../inspect/by-name.ts')
  const search = { client: await connect(options, io), namespace: SYSTEM_NAMESPACE, command: 'history' }
  const [only] = await withKinds([{ name }], { ...search, nouns: ['cluster', 'set'] })
  return only
}

async function showFleetHistory(what: string | undefined, options: FormOptions, io: Io): Promise<void> {
  const { named, namedOne } = await import('../inspect/target.ts')
  const asked = what === undefined ? undefined : namedOne([what])
  const isName = asked !== undefined && asked.type === undefined
  const target = isName ? await withHistory(asked.name, options, io) : what === undefined ? undefined : named([what])
  if (target?.type.kind === 'MachineComponentSet')
    return (await import('../rollout/commands.ts')).rolloutHistory(target.name, options, io)
  if (target !== undefined && target.type.kind !== 'Cluster')
    throw new KubeNodeError(rolloutErrors.KN1650({ what: JSON.stringify(what) }))
  const [history, { approvalsOn, releasesOn }, { alignedRows }] = await Promise.all([
    import('./cluster-history.ts'),
    import('./find-release.ts'),
    import('../get/rows.ts'),
  ])
  const client = await connect(options, io)
  const [releases, approvals] = await Promise.all([releasesOn(client), approvalsOn(client)])
  const seen = { releases, approvals }
  if (options.output !== undefined) {
    await printWhole(io, options.output, listOf(history.releasesOf(target?.name, releases)))
    return
  }
  const rows = target === undefined ? history.fleetHistoryRows(seen) : history.clusterHistoryRows(target.name, seen)
  if (rows.length === 0) {
    // Releases may name a cluster that was deleted; one that neither knows is a typing error.
    if (target !== undefined) {
      const { findObject } = await import('../inspect/find-object.ts')
      await findObject(client, target.type, target.name, target.noun)
    }
    await sayNone(client, io)
    return
  }
  const head = target === undefined ? history.FLEET_HEAD : history.CLUSTER_HEAD
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
  io.out(shownInWindow(io, differenceLines(await releaseCalled(client, from), to)))
}
