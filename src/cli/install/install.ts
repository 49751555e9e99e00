// One run of install or upgrade: reads, checks, plans, acts. Running it again changes nothing, or finishes what an earlier run began.
import { KubeNodeError } from '#lib/errors.ts'
import { actInstall } from './act.ts'
import { failures, withIgnored, type Finding } from './checks/finding.ts'
import { judge } from './checks/judge.ts'
import { observeChecks } from './checks/observe.ts'
import { claimsOf } from './claims.ts'
import type { InstallContext } from './context.ts'
import { installErrors } from './install-errors.ts'
import { observeInstalled, type Installed } from './observe.ts'
import { planInstall, type InstallPlan } from './plan.ts'
import type { Release } from './release.ts'

export interface InstallOptions {
  /** An upgrade changes the version, and needs one to change. */
  readonly isUpgrade: boolean
  readonly wait: boolean
  readonly ignored: ReadonlySet<string>
  readonly needsSigner: boolean
  /** Shows what was found; false ends the run before anything is written. */
  readonly confirm: (plan: InstallPlan) => Promise<boolean>
  readonly show: (findings: readonly Finding[]) => Promise<void> | void
}

export async function checkCluster(
  context: InstallContext,
  release: Release,
  options: { readonly isInstalled: boolean; readonly needsSigner: boolean },
): Promise<readonly Finding[]> {
  const seen = await observeChecks(context, release, options)
  return judge(seen, { release, claims: claimsOf(release) })
}

/** False when the user said no. */
export async function runInstall(
  context: InstallContext,
  release: Release,
  { isUpgrade, wait, ignored, needsSigner, confirm, show }: InstallOptions,
): Promise<boolean> {
  refuseVersion(await observeInstalled(context), release, isUpgrade)
  const findings = withIgnored(await checkCluster(context, release, { isInstalled: false, needsSigner }), ignored)
  await show(findings)
  const wrong = failures(findings)
  if (wrong.length > 0)
    throw new KubeNodeError(installErrors.KN1417({ names: [...new Set(wrong.map((f) => f.check))].join(', ') }))
  // Read again: checks take a while, and the plan must be about the current state.
  const seen = await observeInstalled(context)
  const plan = planInstall(seen, release)
  if (!(await confirm(plan))) return false
  await actInstall(context, release, seen, plan, { wait })
  return true
}

function refuseVersion({ installed }: Installed, { version }: Release, isUpgrade: boolean): void {
  if (isUpgrade && installed === undefined) throw new KubeNodeError(installErrors.KN1422())
  if (!isUpgrade && installed !== undefined && installed !== version)
    throw new KubeNodeError(installErrors.KN1428({ version: installed, own: version }))
}
