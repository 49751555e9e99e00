// One run of install or upgrade: reads, checks, plans, acts. Running it again changes nothing, or finishes an earlier run.
import { KubeNodeError } from '#lib/errors.ts'
import { actInstall, makeNamespaces } from './act.ts'
import { failures, withIgnored, type Finding } from './checks/finding.ts'
import { judge } from './checks/judge.ts'
import type { Wanted } from './checks/judging.ts'
import { observeChecks } from './checks/observe.ts'
import type { InstallContext } from './context.ts'
import { installErrors } from './install-errors.ts'
import { observeInstalled, observeUpgrade, type Installed } from './observe.ts'
import { planInstall, type InstallPlan } from './plan.ts'
import type { Release } from './release.ts'
import { takeTurn, type Turn } from './turn.ts'
import { defined } from '#lib/defined.ts'
import { fieldAt } from '#lib/fields.ts'
import { servedPlanes } from './checks/flavors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { accessModesOf } from './checks/storage.ts'

export interface InstallOptions {
  /** An upgrade changes the version, and requires an installed one. */
  readonly isUpgrade: boolean
  readonly wait: boolean
  readonly ignored: ReadonlySet<string>
  readonly needsSigner: boolean
  /** Shows the findings; false ends the run before anything is written. */
  readonly confirm: (plan: InstallPlan) => Promise<boolean>
  readonly show: (findings: readonly Finding[]) => Promise<void> | void
}

const claimNames = (workload: KubeObject): readonly string[] => {
  const volumes = fieldAt(workload, 'spec', 'template', 'spec', 'volumes')
  return (Array.isArray(volumes) ? volumes : []).flatMap((v: unknown) => {
    const name = fieldAt(v, 'persistentVolumeClaim', 'claimName')
    return typeof name === 'string' ? [name] : []
  })
}

const replicasOf = (workload: KubeObject): number => {
  const replicas = fieldAt(workload, 'spec', 'replicas')
  return typeof replicas === 'number' ? replicas : 1
}

/** The volumes that a release's pods mount, and which of them the release creates. Only the installer needs them: sync does not wait for pods. */
function claimsOf(release: Release): Wanted['claims'] {
  const { objects } = release
  const made = objects.filter((o) => o.kind === 'PersistentVolumeClaim')
  const mounted = [...new Set(objects.flatMap(claimNames))].map((name) => {
    const own = made.find((o) => o.metadata.name === name)
    const storageClass = fieldAt(own, 'spec', 'storageClassName')
    const modes = accessModesOf(own)
    const pods = objects.filter((o) => claimNames(o).includes(name)).reduce((sum, o) => sum + replicasOf(o), 0)
    return { name, pods, modes, isMade: own !== undefined, ...(typeof storageClass === 'string' && { storageClass }) }
  })
  return [...mounted, ...planeClaims(release)]
}

/** The claims that role cluster makes for each control plane of Kubernetes whose Cluster names no storage class. */
function planeClaims(release: Release): Wanted['claims'] {
  const served = servedPlanes(release)
  if (served?.flavors.includes('kubernetes') !== true) return []
  const { storageClass } = served
  const claim = { name: 'of control planes', isMade: true, modes: ['ReadWriteOnce'], pods: 1 }
  return [{ ...claim, ...defined({ storageClass }) }]
}

export async function checkCluster(
  context: InstallContext,
  release: Release,
  options: { readonly isInstalled: boolean; readonly needsSigner: boolean },
): Promise<readonly Finding[]> {
  const seen = await observeChecks(context, release, options)
  return judge(seen, { release, claims: claimsOf(release) })
}

/** False if the user declined. */
export async function runInstall(context: InstallContext, release: Release, options: InstallOptions): Promise<boolean> {
  const first = await prepared(context, release, options)
  if (first === undefined) return false
  const turn = await turnIn(context, first.plan, options.isUpgrade ? 'upgrade' : 'install')
  return turn.during(async () => {
    // If another run changed the cluster meanwhile, check, plan and confirm again.
    const isStale = turn.hasWaited || (await isChanged(turn.context, first.seen))
    const current = isStale ? await prepared(turn.context, release, options) : first
    if (current === undefined) return false
    await actInstall(turn.context, release, current.seen, current.plan, options)
    return true
  })
}

/** An uninstall that finishes first also deletes the namespaces. */
async function turnIn(context: InstallContext, plan: InstallPlan, verb: string): Promise<Turn> {
  for (;;) {
    await makeNamespaces(context, plan)
    const turn = await takeTurn(context, verb, 'Wait')
    if (turn !== undefined) return turn
  }
}

interface Prepared {
  readonly seen: Installed
  readonly plan: InstallPlan
}

async function prepared(
  context: InstallContext,
  release: Release,
  { isUpgrade, ignored, needsSigner, confirm, show }: InstallOptions,
): Promise<Prepared | undefined> {
  refuseVersion(await observeInstalled(context), release, isUpgrade)
  const findings = withIgnored(await checkCluster(context, release, { isInstalled: false, needsSigner }), ignored)
  await show(findings)
  const wrong = failures(findings)
  if (wrong.length > 0)
    throw new KubeNodeError(installErrors.KN1417({ names: [...new Set(wrong.map((f) => f.check))].join(', ') }))
  // Read again: checks take a while, and the plan must match the current state.
  const seen = await observeUpgrade(context, release)
  const plan = planInstall(seen, release)
  return (await confirm(plan)) ? { seen, plan } : undefined
}

/** Another run started and finished while the user was deciding. */
async function isChanged(context: InstallContext, before: Installed): Promise<boolean> {
  const now = await observeInstalled(context)
  const versionOf = ({ inventoryObject }: Installed) => inventoryObject?.metadata.resourceVersion
  return now.installed !== before.installed || versionOf(now) !== versionOf(before)
}

function refuseVersion({ installed }: Installed, { version }: Release, isUpgrade: boolean): void {
  if (isUpgrade && installed === undefined) throw new KubeNodeError(installErrors.KN1422())
  if (!isUpgrade && installed !== undefined && installed !== version)
    throw new KubeNodeError(installErrors.KN1428({ version: installed, own: version }))
}
