// Carries out an installation plan phase by phase. A run may stop after any step: the next run repeats that step and continues.
import { PhaseCounter } from './phase-bars.ts'
import { API_GROUP } from '#api/kind.ts'
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { counted } from '#lib/counted.ts'
import { inParallel } from '#lib/pool.ts'
import { isObject } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { answerOf } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { carryOut } from '#delivery/carry-out.ts'
import { refsBefore } from '#delivery/inventory.ts'
import { type InventoryRef, refOf, refText } from '#delivery/object-ref.ts'
import { inventoryWrite, releaseId } from '#delivery/release-plan.ts'
import { ifServed, type InstallContext } from './context.ts'
import { awaitDefinitionEnd } from './definition-end.ts'
import { installErrors } from './install-errors.ts'
import { INSTALL_INVENTORY, objectsOf, refsTogether } from './inventory.ts'
import type { Installed } from './observe.ts'
import { roleOf } from './phases.ts'
import type { InstallPlan, Phase } from './plan.ts'
import { prune } from './prune.ts'
import {
  awaitEstablished,
  awaitLeaders,
  awaitWebhook,
  awaitWorkload,
  LED_ROLES,
  WEBHOOK_SERVICE,
  webhookConfigurationType,
} from './ready.ts'
import type { Release } from './release.ts'
import { rewriteStored } from './rewrite.ts'
import { isOvertaken } from './turn.ts'
import { UNINSTALL_HOLD, withoutMark } from './uninstall/mark.ts'
import { writeReleased } from './write.ts'

/** Requests in flight. */
export const PARALLEL = 8

export interface ActOptions {
  /** Whether each workload must be ready before the next one changes. */
  readonly wait: boolean
}

export async function actInstall(
  context: InstallContext,
  release: Release,
  seen: Installed,
  plan: InstallPlan,
  options: ActOptions,
): Promise<void> {
  try {
    await act(context, release, seen, plan, options)
  } catch (error) {
    // Another run took over: record what this one wrote, so that the next one finds it.
    if (isOvertaken(context)) await unlessOvertaken(context, refsBefore(seen.inventory, plan.delivery), undefined)
    throw error
  }
}

async function act(
  context: InstallContext,
  release: Release,
  seen: Installed,
  plan: InstallPlan,
  { wait }: ActOptions,
): Promise<void> {
  const uids = new Map<string, string>()
  const progress = new PhaseCounter(plan.phases, context.showPhases)
  for (const d of seen.definitions.filter(isBeingDeleted)) await awaitDefinitionEnd(context, d)
  for (const rewrite of plan.rewrites) await rewriteStored(context, rewrite)
  const run = { uids, progress }
  const [first, rest] = [plan.phases.filter(isBeforeInventory), plan.phases.filter((p) => !isBeforeInventory(p))]
  for (const phase of first) await actPhase(context, phase, run)
  let noted = seen.inventoryObject
  await carryOut<never>(plan.delivery, seen.inventory, {
    applied: () => uids,
    record: async (refs, when) => {
      const commit = when === 'Before' ? seen.inventoryObject?.spec.commit : releaseId(objectsOf(release))
      noted = await note(context, noted, refs, commit)
      return undefined
    },
    apply: async () => {
      for (const phase of rest)
        if (phase.name === 'Workloads') {
          await endUninstall(context)
          await actWorkloads(context, phase, run, wait)
        } else await actPhase(context, phase, run)
      if (wait) await awaitAnswers(context, release)
      if (!hasWebhook(release)) await endWebhook(context)
      return undefined
    },
    remove: (operation) => prune(context, operation),
  })
  for (const { ref } of unreadableIn(plan)) context.print(`${refText(ref)} could not be removed: it cannot be read`)
}

/** The Inventory needs its definition. After that, each object is recorded in it before it is created. */
const isBeforeInventory = ({ name }: Phase): boolean => name === 'Namespaces' || name === 'Definitions'

const unreadableIn = ({ delivery }: InstallPlan) =>
  delivery.operations.filter((o) => o.kind === 'Defer').filter((o) => o.reason === 'Unreadable')

/** Runs before this run's turn, which is a Lease in one of these namespaces. */
export async function makeNamespaces(context: InstallContext, { phases }: InstallPlan): Promise<void> {
  if ((await context.client.get(namespaceType, { name: SYSTEM_NAMESPACE })) !== undefined) return
  // The phase itself reports progress.
  const silent = { ...context, say: () => undefined, showWait: () => undefined }
  for (const phase of phases)
    if (phase.name === 'Namespaces')
      await actPhase(silent, phase, { uids: new Map(), progress: new PhaseCounter([], undefined) })
}

/** An abandoned uninstall left the cluster frozen and the Defender's webhook disabled. */
async function endUninstall(context: InstallContext): Promise<void> {
  await withoutMark(context)
  await context.client.delete(operationalHold, { name: UNINSTALL_HOLD })
}

/** The settings turned the webhook off. Remove it before its Service: without an answer, API servers reject guarded deletions and approvals. */
async function endWebhook({ client, print }: InstallContext): Promise<void> {
  const found = await client.get(webhookConfigurationType, { name: API_GROUP })
  if (found === undefined) return
  await deleteExactly(client, webhookConfigurationType, found)
  print(`webhook: removed, since these settings have none`)
}

/** State shared by the phases of one run. */
interface Run {
  readonly uids: Map<string, string>
  readonly progress: PhaseCounter
}

async function actPhase(context: InstallContext, { name, groups }: Phase, { uids, progress }: Run): Promise<void> {
  for (const group of groups)
    await inParallel(group, PARALLEL, async (object) => {
      await write(context, object, uids)
      progress.oneDone(name)
    })
  if (name === 'Definitions') await inParallel(groups.flat(), PARALLEL, (d) => awaitEstablished(context, d))
  context.print(`${name.toLowerCase()}: ${counted(groups.flat().length, 'object')} applied`)
}

async function write(context: InstallContext, object: KubeObject, uids: Map<string, string>): Promise<KubeObject> {
  const written = await writeReleased(context, object)
  uids.set(refText(refOf(object)), written.metadata.uid ?? '')
  return written
}

async function actWorkloads(
  context: InstallContext,
  { name: phase, groups }: Phase,
  { uids, progress }: Run,
  wait: boolean,
): Promise<void> {
  for (const workload of groups.flat()) {
    const { name, namespace = '' } = workload.metadata
    const why = await tryPod(context, workload)
    if (why !== undefined)
      throw new KubeNodeError(installErrors.KN1413({ workload: `deployment ${name}`, why, namespace }))
    const written = await write(context, workload, uids)
    if (wait) await awaitWorkload(context, written)
    progress.oneDone(phase)
    context.print(`${roleOf(workload)}: ${wait ? 'ready' : 'applied'}`)
  }
}

const podType = coreKind('Pod')
const namespaceType = coreKind('Namespace')

/** Why the cluster would refuse its pods. A Deployment is always accepted; its pods are refused later, out of sight. */
export async function tryPod({ client }: InstallContext, workload: KubeObject): Promise<string | undefined> {
  const template = isObject(workload['spec']) ? workload['spec']['template'] : undefined
  if (!isObject(template)) return undefined
  const metadata = isObject(template['metadata']) ? template['metadata'] : {}
  const name = `${workload.metadata.name}-trial`
  const { namespace = '' } = workload.metadata
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name, namespace },
    spec: template['spec'],
  } as KubeObject
  const outcome = await outcomeOf(() => client.create(podType, pod, { dryRun: true }))
  if (outcome.kind !== 'Denied') return undefined
  return answerOf(outcome.error)
}

export const ledRolesOf = ({ objects }: Release): readonly string[] => {
  const roles = objects.filter((o) => o.kind === 'Deployment').map(roleOf)
  return LED_ROLES.filter((r) => roles.includes(r))
}

export const hasWebhook = ({ objects }: Release): boolean =>
  objects.some((o) => o.kind === 'Service' && o.metadata.name === WEBHOOK_SERVICE)

async function awaitAnswers(context: InstallContext, release: Release): Promise<void> {
  const roles = ledRolesOf(release)
  if (roles.length === 0) return
  await awaitLeaders(context, roles)
  context.print(`leaders: ${roles.join(', ')}`)
  if (!hasWebhook(release)) return
  await awaitWebhook(context)
  context.print('webhook: answers')
}

async function note(
  context: InstallContext,
  found: Inventory | undefined,
  refs: readonly InventoryRef[],
  commit: string | undefined,
): Promise<Inventory | undefined> {
  const { client, clock } = context
  const input = inventoryWrite(INSTALL_INVENTORY, found, refs, commit, clock.now())
  if (input === undefined) return unlessOvertaken(context, refs, commit)
  const { resourceVersion } = found?.metadata ?? {}
  const metadata = { ...input.metadata, ...defined({ resourceVersion }) }
  const outcome = await outcomeOf(() => client.apply(inventory, { ...input, metadata }, AS_INSTALLER))
  if (outcome.kind === 'Applied') return outcome.object
  if (OVERTAKEN.has(outcome.kind)) return unlessOvertaken(context, refs, commit)
  throw outcome.error
}

const AS_INSTALLER = { fieldManager: FIELD_MANAGERS.install, force: true } as const
/** Another run wrote the Inventory, or deleted it. */
const OVERTAKEN: ReadonlySet<string> = new Set(['Conflict', 'Stale', 'Exists'])

/** The Inventory, if it is as wanted. Otherwise two runs met: keep what each wrote, so that the next one deletes what its release does not have. */
async function unlessOvertaken(
  { client, clock }: InstallContext,
  refs: readonly InventoryRef[],
  commit: string | undefined,
): Promise<Inventory> {
  const other = await ifServed(async () => client.get(inventory, { name: INSTALL_INVENTORY }))
  // Nothing to write, or the reply to this run's write was lost.
  if (other !== undefined && inventoryWrite(INSTALL_INVENTORY, other, refs, commit, clock.now()) === undefined)
    return other
  const both = refsTogether(refs, other?.spec.refs ?? [])
  const input = inventoryWrite(INSTALL_INVENTORY, other, both, other?.spec.commit, clock.now())
  if (input !== undefined) await ifServed(() => client.apply(inventory, { ...input }, AS_INSTALLER))
  throw new KubeNodeError(installErrors.KN1449({ why: 'another run changed this installation at the same time' }))
}
