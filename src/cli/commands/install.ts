// `kubenode install | check | upgrade | uninstall`: KubeNode in a cluster, from the checks before it to the last object of it.
import { agentIdentityIn } from '#install/agent-identity.ts'
import { Option, type Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { InstallContext } from '#install/context.ts'
import type { SettingFlags, Values } from '#install/load.ts'
import type { Finding } from '#install/checks/finding.ts'
import type { InstallPlan } from '#install/plan.ts'
import type { Release } from '#install/release.ts'
import { Exit, EXIT_DIFFERENT } from '#lib/terminal/exit.ts'
import { countOption } from '../counted-option.ts'
import type { Io } from '#lib/terminal/io.ts'
import { liveBlock, waitScreen } from '../wait-screen.ts'
import { outputOption } from '../output.ts'
import { connectionTo, type ServerOptions, withServer } from './inspect.ts'
import { installErrors } from '#install/install-errors.ts'

interface Waiting {
  readonly timeout: string
}

export interface InstallFlags extends ServerOptions, SettingFlags, Waiting {
  readonly export?: boolean
  readonly dryRun?: string
  readonly diff?: boolean
  readonly wait: boolean
  readonly ignore?: string
  readonly rename?: boolean
  readonly yes?: boolean
  /** The same run makes it follow a repository. */
  readonly isFollowing?: boolean
}

interface CheckFlags extends ServerOptions, SettingFlags {
  readonly pre?: boolean
  readonly output?: string
}

interface UninstallFlags extends ServerOptions, Waiting {
  readonly dryRun?: boolean
  readonly deleteCrds?: boolean
  readonly keepNamespace?: boolean
  readonly keepAgents?: boolean
  readonly now?: boolean
  readonly yes?: string
}

export const withSettings = (command: Command): Command =>
  command
    .option('--values <file>', 'settings of the installation, as YAML; see docs/install.md')
    .option('--cluster <name>', 'name of the cluster in the fleet')
    .option('--roles <roles>', 'hub, business, or both, separated by commas')
    .option('--image <reference>', 'image of the programs, by digest: NAME@sha256:…')
    .option('--registry <prefix>', 'registry and path that replace those of the image')
    .addOption(countOption('--replicas <count>', 'pods of each program'))

export const withTimeout = (command: Command, length: string): Command =>
  command.option('--timeout <duration>', 'how long to wait for each step', length)

export function register(program: Command, io: Io): void {
  for (const isUpgrade of [false, true]) {
    const command = program
      .command(isUpgrade ? 'upgrade' : 'install')
      .description(
        isUpgrade
          ? 'bring the KubeNode of a cluster to the version of this program; running rollouts continue'
          : 'install KubeNode in a cluster; running it again changes nothing, or finishes what was begun',
      )
    withTimeout(withSettings(withServer(command)), '5m')
      .option('--export', 'print the objects as YAML; needs no cluster')
      .addOption(
        new Option('--dry-run [where]', 'try everything on the API server and write nothing')
          .choices(['server'])
          .preset('server'),
      )
      .option('--diff', 'show what would change and write nothing')
      .option('--no-wait', 'do not wait until the programs work')
      .option('--ignore <checks>', 'names of checks that may fail, separated by commas')
      .option('--rename', 'give a cluster that is installed the other name that the settings have')
      .option('-y, --yes', 'do not ask')
      .action(async (options: InstallFlags) => void (await install(options, isUpgrade, io)))
  }
  withSettings(withServer(program.command('check')))
    .description('check whether KubeNode can be installed in a cluster, or works there')
    .option('--pre', 'before an installation')
    .addOption(outputOption(['json']))
    .action((options: CheckFlags) => check(options, io))
  withTimeout(withServer(program.command('uninstall')), '10m')
    .description('take KubeNode off a cluster; pods of others keep running, and hosts keep what runs on them')
    .option('--dry-run', 'show what would be done')
    .option('--delete-crds', 'delete the definitions as well, and with them all objects of KubeNode')
    .option('--keep-namespace', 'keep the namespaces of KubeNode')
    .option('--keep-agents', 'leave the agents on their hosts instead of handing the hosts back first')
    .option('--now', 'do not wait for running operations, and leave the agents on their hosts')
    .option('--yes <cluster>', 'the name of the cluster, instead of being asked for it')
    .action((options: UninstallFlags) => takeOff(options, io))
}

export async function contextOf(options: ServerOptions & Partial<Waiting>, io: Io): Promise<InstallContext> {
  const timeoutMs = durationMs(options.timeout ?? '5m')
  if (timeoutMs === undefined)
    throw new KubeNodeError(
      installErrors.KN1421({
        flag: `--timeout ${options.timeout}`,
        why: 'write a duration such as 5m',
        command: 'install',
      }),
    )
  const [{ client, server }, { ResourceTypes }] = await Promise.all([
    connectionTo(options, io),
    import('#delivery/resource-types.ts'),
  ])
  const screen = waitScreen(io)
  return {
    client,
    server,
    types: new ResourceTypes(client, () => systemClock.monotonic()),
    clock: systemClock,
    say: screen.say,
    ...(screen.isTerminal && liveBlock(screen, systemClock)),
    timeoutMs,
  }
}

/** Nothing where no setting is chosen at all. */
export async function chosenValues(
  options: SettingFlags,
  io: Io,
  context?: InstallContext,
): Promise<Values | undefined> {
  const [{ mergedValues, storedValues, valuesFile }, { withHostServer }, { withProviderKeys }] = await Promise.all([
    import('#install/load.ts'),
    import('#install/host-server.ts'),
    import('#install/provider-keys.ts'),
  ])
  const own = options.values === undefined ? undefined : valuesFile(options.values, io.cwd)
  const stored = context === undefined ? {} : await storedValues(context.client)
  const chosenHere = mergedValues(own ?? stored, options)
  if (Object.keys(chosenHere).length === 0) return undefined
  const merged = { ...options.defaults, ...chosenHere }
  const { values, chosen, unusable } = withHostServer(merged, stored, context?.server)
  if (chosen !== undefined)
    io.err(
      shownLine(
        `hosts reach the API server at ${chosen}, as this kubeconfig does; apiServer.url in --values names another`,
      ),
    )
  const { cluster: before } = stored
  const { cluster: now } = values
  if (typeof before === 'string' && typeof now === 'string' && now !== before)
    io.err(shownLine(`this cluster is installed as ${before}; these settings call it ${now}`))
  if (unusable !== undefined)
    io.err(
      shownLine(`this kubeconfig names ${unusable}, where hosts do not reach the API server; apiServer.url is needed`),
    )
  // Without a cluster nothing would keep them for the next time.
  return context === undefined ? values : withProviderKeys(values, stored, context.clock.now())
}

async function loaded(options: SettingFlags, io: Io, context?: InstallContext): Promise<Release> {
  const { releaseOf } = await import('#install/load.ts')
  return releaseOf((await chosenValues(options, io, context)) ?? {})
}

/** Without settings, a check is about what every installation needs. */
async function checkedRelease(options: SettingFlags, io: Io, context: InstallContext): Promise<Release> {
  const values = await chosenValues(options, io, context)
  if (values === undefined) return (await import('#install/release-without-settings.ts')).releaseWithoutSettings()
  return (await import('#install/load.ts')).releaseOf(values)
}

/** One that is ended gives its turn back, so that the next run need not wait for it. */
async function untilInterrupted<T>(context: InstallContext, run: (context: InstallContext) => Promise<T>): Promise<T> {
  const { untilEnded } = await import('#runtime/until-ended.ts')
  const ended = untilEnded()
  try {
    return await run({ ...context, signal: ended.signal })
  } catch (error) {
    if (!ended.signal.aborted) throw error
    context.say('ended; the same command continues from here')
    throw new Exit(ended.exitCode())
  } finally {
    ended.dispose()
  }
}

/** False where nothing was installed: it was only shown, or the user said no. */
export async function install(options: InstallFlags, isUpgrade: boolean, io: Io): Promise<boolean> {
  if (options.export === true) {
    const { yamlOf } = await import('#install/export.ts')
    io.out(yamlOf(await loaded(options, io)))
    return false
  }
  const ignored = await ignoredChecks(options.ignore)
  const context = await contextOf(options, io)
  if (isUpgrade) await refuseAbsent(context)
  const values = (await chosenValues(options, io, context)) ?? {}
  const { releaseOf } = await import('#install/load.ts')
  const release = await releaseOf(values)
  const [{ observeInstalled }, { planInstall }, { runInstall }, { nextSteps }] = await Promise.all([
    import('#install/observe.ts'),
    import('#install/plan.ts'),
    import('#install/install.ts'),
    import('#install/next-steps.ts'),
  ])
  if (options.diff === true || options.dryRun !== undefined) {
    const { diffOf } = await import('#install/diff.ts')
    const lines = await diffOf(context, planInstall(await observeInstalled(context), release))
    for (const line of lines) io.out(shownLine(line))
    io.err(lines.length === 0 ? 'nothing would change\n' : 'nothing was written\n')
    return false
  }
  if (!(await mayRename(values, options, context, io))) return false
  const isDone = await untilInterrupted(context, (run) =>
    runInstall(run, release, {
      isUpgrade,
      wait: options.wait,
      ignored,
      needsSigner: agentIdentityIn(release.objects) === 'certificate',
      confirm: (plan) => agreed(plan, options.yes === true, io),
      show: (findings) => showProblems(findings, io),
    }),
  )
  if (!isDone) return false
  const artifactsCa = await servedAuthority(context)
  for (const line of nextSteps(release, {
    isReady: options.wait,
    artifactsCa,
    isFollowing: options.isFollowing === true,
  }))
    io.out(shownLine(line))
  return true
}

/** Only for the user to see: an installation does not fail without it. */
async function servedAuthority({ client }: InstallContext): Promise<string | undefined> {
  const { ownAuthority } = await import('#artifacts/own-authority.ts')
  return ownAuthority(client).catch(() => undefined)
}

/** Settings of another cluster, applied with the wrong context, would point its hosts elsewhere: `--yes` does not answer for that. */
async function mayRename(values: Values, options: InstallFlags, context: InstallContext, io: Io): Promise<boolean> {
  const { storedValues } = await import('#install/load.ts')
  const [before, now] = [(await storedValues(context.client)).cluster, String(values['cluster'])]
  if (typeof before !== 'string' || before === now || options.rename === true) return true
  if (io.ask === undefined) throw new KubeNodeError(installErrors.KN1448({ before, now }))
  return isYes(await io.ask(`Is ${before} to be called ${now} from now on? [y/N] `))
}

const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim())

/** Before settings are asked for, which an installation that is there would bring. */
async function refuseAbsent(context: InstallContext): Promise<void> {
  const { observeInstalled } = await import('#install/observe.ts')
  const { installed } = await observeInstalled(context)
  if (installed === undefined) throw new KubeNodeError(installErrors.KN1422())
}

async function ignoredChecks(names = ''): Promise<ReadonlySet<string>> {
  const [{ CHECKS }, { mayIgnore }] = await Promise.all([
    import('#install/checks/judge.ts'),
    import('#install/checks/finding.ts'),
  ])
  const ignored = new Set(names.split(',').flatMap((c) => c.trim() || []))
  const never = [...ignored].find((name) => CHECKS.includes(name) && !mayIgnore(name))
  if (never !== undefined) throw new KubeNodeError(installErrors.KN1435({ name: never }))
  const [unknown] = ignored.difference(new Set<string>(CHECKS))
  if (unknown !== undefined)
    throw new KubeNodeError(
      installErrors.KN1434({ name: JSON.stringify(unknown), known: CHECKS.filter(mayIgnore).join(', ') }),
    )
  return ignored
}

async function showProblems(findings: readonly Finding[], io: Io): Promise<void> {
  const { lineOf } = await import('#install/checks/finding.ts')
  for (const f of findings) if (f.verdict !== 'Passed') io.err(`${lineOf(f)}\n`)
}

async function agreed({ from, to, prunes }: InstallPlan, isAgreed: boolean, io: Io): Promise<boolean> {
  if (isAgreed || io.ask === undefined) return true
  const what =
    from === undefined
      ? `install KubeNode ${to}`
      : from === to
        ? `apply KubeNode ${to} again`
        : `go from KubeNode ${from} to ${to}`
  return isYes(await io.ask(`${what}${prunes.length > 0 ? `, removing ${prunes.length} objects` : ''}? [y/N] `))
}

async function check(options: CheckFlags, io: Io): Promise<void> {
  const context = await contextOf(options, io)
  const [{ checkCluster }, { failures, lineOf }] = await Promise.all([
    import('#install/install.ts'),
    import('#install/checks/finding.ts'),
  ])
  const release = await checkedRelease(options, io, context)
  const needsSigner =
    (agentIdentityIn(release.objects) ?? (options.pre === true ? 'certificate' : undefined)) === 'certificate'
  const findings = await checkCluster(context, release, { isInstalled: options.pre !== true, needsSigner })
  if (options.output === 'json') io.out(`${JSON.stringify(findings, undefined, 2)}\n`)
  else for (const f of findings) io.out(`${lineOf(f)}\n`)
  if (failures(findings).length > 0) throw new Exit(EXIT_DIFFERENT)
}

async function takeOff(options: UninstallFlags, io: Io): Promise<void> {
  const context = await contextOf(options, io)
  const [{ uninstall }, { clusterName }, { authorOf }] = await Promise.all([
    import('#install/uninstall/uninstall.ts'),
    import('../inspect/installed-cluster-name.ts'),
    import('../who-am-i.ts'),
  ])
  const name = await clusterName(context, options, io)
  const dryRun = options.dryRun === true
  const author = await authorOf(context.client, io)
  await untilInterrupted(context, (run) =>
    uninstall(run, {
      dryRun,
      deleteDefinitions: options.deleteCrds === true,
      keepNamespace: options.keepNamespace === true,
      keepAgents: options.keepAgents === true,
      now: options.now === true,
      author,
      confirm: async (lines, isNeeded) => {
        for (const line of lines) io.err(shownLine(line))
        if (!dryRun && isNeeded) await confirmName(name, options.yes, io)
      },
    }),
  )
  if (!dryRun) io.out(shownLine(`KubeNode is uninstalled from ${name}`))
}

async function confirmName(name: string, given: string | undefined, io: Io): Promise<void> {
  if (given === undefined && io.ask === undefined) throw new KubeNodeError(installErrors.KN1423({ name }))
  const answer = given ?? (await io.ask?.(`type the name of the cluster, ${name}, to uninstall KubeNode: `)) ?? ''
  if (answer.trim() !== name)
    throw new KubeNodeError(installErrors.KN1424({ given: JSON.stringify(answer.trim()), name }))
}
