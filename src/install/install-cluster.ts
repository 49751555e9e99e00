// Installs or upgrades KubeNode interactively: shows the plan, asks, writes, and prints the next steps.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { ownAuthority } from '#artifacts/own-authority.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { agentIdentityIn } from './agent-identity.ts'
import { type Finding, lineOf, mayIgnore } from './checks/finding.ts'
import { CHECKS } from './checks/judge.ts'
import { chosenValues } from './chosen-values.ts'
import type { InstallContext } from './context.ts'
import { diffOf } from './diff.ts'
import { installErrors } from './install-errors.ts'
import { runInstall } from './install.ts'
import { type Values, releaseOf, storedValues } from './load.ts'
import { nextSteps } from './next-steps.ts'
import { observeInstalled, observeUpgrade } from './observe.ts'
import { type InstallPlan, planInstall } from './plan.ts'
import { untilInterrupted } from './until-interrupted.ts'
import type { InstallOptions } from './install-options.ts'
import { stringify } from 'yaml'
import { groupsOf, PHASES } from './phases.ts'
import { objectsOf } from './inventory.ts'
import type { Release } from './release.ts'

/** A release as one file for any tool: namespaces and definitions first, workloads last. */
const yamlOf = (release: Release): string =>
  PHASES.flatMap((phase) => groupsOf(objectsOf(release), phase).flat())
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')

/** False if nothing was installed: the plan was only shown, or the user declined. */
export async function installCluster(
  options: InstallOptions,
  io: Io,
  reach: () => Promise<InstallContext>,
): Promise<boolean> {
  const { isUpgrade } = options
  if (options.export === true) {
    io.out(yamlOf(await releaseOf((await chosenValues(options, io)) ?? {})))
    return false
  }
  const ignored = ignoredChecks(options.ignore)
  const context = await reach()
  if (isUpgrade) await refuseAbsent(context)
  const values = (await chosenValues(options, io, context)) ?? {}
  const release = await releaseOf(values)
  if (options.diff === true || options.dryRun !== undefined) {
    const lines = await diffOf(context, planInstall(await observeUpgrade(context, release), release))
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
    isFollowing: options.isFollowing === true || (await followsGit(context)),
  }))
    io.out(shownLine(line))
  return true
}

/** Only informational, as the next one: an installation does not fail without it. */
const servedAuthority = ({ client }: InstallContext): Promise<string | undefined> =>
  ownAuthority(client).catch(() => undefined)

const followsGit = ({ client }: InstallContext): Promise<boolean> =>
  client.list(fleetSource, { limit: 1 }).then(
    ({ items }) => items.length > 0,
    () => false,
  )

/** Settings of another cluster, applied with the wrong context, would point its hosts elsewhere. `--yes` does not cover that. */
async function mayRename(values: Values, options: InstallOptions, context: InstallContext, io: Io): Promise<boolean> {
  const [before, now] = [(await storedValues(context.client)).cluster, String(values['cluster'])]
  if (typeof before !== 'string' || before === now || options.rename === true) return true
  if (io.ask === undefined) throw new KubeNodeError(installErrors.KN1448({ before, now }))
  return isYes(await io.ask(`Is ${before} to be called ${now} from now on? [y/N] `))
}

const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim())

/** Check before asking for settings, which an existing installation would provide. */
async function refuseAbsent(context: InstallContext): Promise<void> {
  const { installed } = await observeInstalled(context)
  if (installed === undefined) throw new KubeNodeError(installErrors.KN1422())
}

function ignoredChecks(names = ''): ReadonlySet<string> {
  const ignored = new Set(names.split(',').flatMap((c) => c.trim() || []))
  const never = [...ignored].find((name) => CHECKS.includes(name) && !mayIgnore(name))
  if (never !== undefined) throw new KubeNodeError(installErrors.KN1435({ name: never }))
  const [unknown] = ignored.difference(new Set<string>(CHECKS))
  if (unknown !== undefined)
    throw new KubeNodeError(
      installErrors.KN1002_check({ name: JSON.stringify(unknown), known: CHECKS.filter(mayIgnore).join(', ') }),
    )
  return ignored
}

function showProblems(findings: readonly Finding[], io: Io): void {
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
