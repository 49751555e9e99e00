// Removes KubeNode from a cluster in an order where no step waits for a stopped program: stop new disruptions, let running ones finish, remove the webhook and
// policies, stop the programs, free objects and Nodes, and only then delete. Each step reads the current state, so a run after a kill continues.
import { API_GROUP_VERSION, API_GROUP } from '#api/kind.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import { isObject } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { keyOfRef } from '#delivery/object-ref.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { until, type InstallContext } from '../context.ts'
import { endOfDefinition } from '../definition-end.ts'
import { ownDefinitions } from '../definitions.ts'
import { installErrors } from '../install-errors.ts'
import { INSTALL_INVENTORY } from '../inventory.ts'
import { BY_LABEL, definitionType, deploymentType, observeInstalled, type Installed } from '../observe.ts'
import { abandonedLines, handBackHosts } from './hand-back.ts'
import { agentLines, lossLines, observeLosses, servedTypes, type Losses } from './losses.ts'
import { takeTurn, TURN_LEASE } from '../turn.ts'
import { UNINSTALL_HOLD, withMark, withoutMark } from './mark.ts'
import { isInside, namespacesIn, remainsOf } from './remains.ts'
import { remove, removeRef, removeRefs } from './remove.ts'
import { cleanNodes, deleteTraces, dropFinalizers } from './traces.ts'

export interface UninstallOptions {
  readonly dryRun: boolean
  readonly deleteDefinitions: boolean
  readonly keepNamespace: boolean
  /** Do not wait for running operations. */
  readonly now: boolean
  /** Leave agents on their hosts. */
  readonly keepAgents: boolean
  readonly author: string
  /**
   * Shows what would be lost; throws unless the user types this cluster's name. Without `isNeeded` nothing can be lost, and the name may no longer be known.
   */
  readonly confirm: (lines: readonly string[], isNeeded: boolean) => Promise<void>
}

const podType = coreKind('Pod')
const namespaceType = coreKind('Namespace')
const clusterRoleType = coreKind('ClusterRole')
const webhookType = coreKind('ValidatingWebhookConfiguration')
const webhookKey = { name: API_GROUP }

/** Longer than an uninstall takes; an abandoned one does not freeze the cluster forever. */
const HOLD_MS = 4 * 3_600_000

export async function uninstall(context: InstallContext, options: UninstallOptions): Promise<void> {
  const seen = await observe(context, options)
  await confirm(context, seen, options)
  if (options.dryRun) return dryRun(context, seen.installed, options)
  const turn = await takeTurn(context, 'uninstall', 'None')
  // The namespace may be missing because another uninstall just finished.
  if (turn === undefined) return takeOff(context, await observedAgain(context, seen, options), options)
  await turn.during(async () => {
    const now = turn.hasWaited ? await observedAgain(turn.context, seen, options) : seen
    await takeOff(turn.context, now, options, turn.stop)
  })
}

/** If another run changed the cluster meanwhile, ask for confirmation again. */
async function observedAgain(context: InstallContext, before: Seen, options: UninstallOptions): Promise<Seen> {
  const now = await observe(context, options)
  if (consequences(now, options).join() !== consequences(before, options).join()) await confirm(context, now, options)
  return now
}

const confirm = async (context: InstallContext, seen: Seen, options: UninstallOptions): Promise<void> =>
  options.confirm(consequences(seen, options), !(await isDone(context, seen.installed, options)))

const consequences = (
  { installed, losses, strange, keepsAgents }: Seen,
  { deleteDefinitions: withDefinitions }: UninstallOptions,
): readonly string[] => [
  ...absence(installed, losses),
  ...lossLines(losses, withDefinitions, keepsAgents),
  ...strange.map((d) => `kept, as it is not of KubeNode: customresourcedefinition ${d.metadata.name}`),
]

interface Seen {
  readonly installed: Installed
  /** Other projects' definitions in KubeNode's API group. */
  readonly strange: readonly KubeObject[]
  readonly losses: Losses
  readonly keepsAgents: boolean
}

async function observe(context: InstallContext, options: UninstallOptions): Promise<Seen> {
  const found = await observeInstalled(context)
  const installed = { ...found, definitions: ownDefinitions(found.definitions, releaseManifests().kinds) }
  const removed = options.keepNamespace ? [] : namespacesIn(await remainsOf(context, installed))
  return {
    installed,
    strange: found.definitions.filter((d) => !installed.definitions.includes(d)),
    losses: await observeLosses(context, installed, removed),
    keepsAgents: options.keepAgents || options.now || !isServed(installed, machineType.plural),
  }
}

async function takeOff(
  context: InstallContext,
  { installed, losses, keepsAgents }: Seen,
  options: UninstallOptions,
  endTurn?: () => Promise<void>,
): Promise<void> {
  const staying = keepsAgents ? losses.agents : await handBackHosts(context, installed)
  const abandoned = await abandonedLines(context)
  await quiesce(context, installed, losses, options)
  await disarm(context)
  await stopPrograms(context)
  // A Defender that checked before the annotation was set may have written it once more.
  await remove(context, webhookType, webhookKey, `validatingwebhookconfiguration ${API_GROUP}`)
  await letGo(context, installed)
  if (options.deleteDefinitions) await deleteDefinitions(context, installed)
  await deleteRemains(context, installed, options)
  await endTurn?.()
  await deleteNamespaces(context, installed, options)
  for (const line of [...agentLines(staying), ...abandoned]) context.print(line)
}

const ABSENT = 'KubeNode is not installed in this cluster; only leftovers are deleted'
const OTHERWISE_STARTED =
  'KubeNode is not installed in this cluster, and yet has objects here: programs started another way, such as by npm start, own them, or an uninstall left them; stop such programs first'

/** Even then, search for leftovers of a kill or of kubectl. */
const isAbsent = ({ installed, inventoryObject }: Installed): boolean =>
  installed === undefined && inventoryObject === undefined

const absence = (installed: Installed, { objects }: Losses): readonly string[] =>
  isAbsent(installed) ? [objects.size > 0 ? OTHERWISE_STARTED : ABSENT] : []

/** True for a complete uninstall, or one that was killed while it waited for the namespaces: nothing of value is left. */
async function isDone(
  context: InstallContext,
  installed: Installed,
  { deleteDefinitions: withDefinitions }: UninstallOptions,
): Promise<boolean> {
  if (installed.installed !== undefined || (withDefinitions && installed.definitions.some(isKept))) return false
  // Rights and the Inventory are deleted before the namespaces.
  if (!isAbsent(installed) && (await hasRights(context))) return false
  for (const name of namespacesIn(await remainsOf(context, installed))) {
    const found = await context.client.get(namespaceType, { name })
    if (found !== undefined && found.metadata.deletionTimestamp === undefined) return false
  }
  return true
}

const isKept = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp === undefined && metadata.name !== `${inventory.plural}.${API_GROUP}`

const hasRights = async ({ client }: InstallContext): Promise<boolean> =>
  (await listAll(client, clusterRoleType, { labelSelector: BY_LABEL })).some(
    (r) => r.metadata.name?.startsWith('kubenode:') === true,
  )

const isServed = ({ definitions }: Installed, plural: string): boolean =>
  definitions.some((d) => d.metadata.name === `${plural}.${API_GROUP}`)

/** A hold stops new disruptions; the programs keep running to finish what they started. */
async function quiesce(
  context: InstallContext,
  installed: Installed,
  { granted }: Losses,
  { now, author }: UninstallOptions,
): Promise<void> {
  const { client, clock, print } = context
  // Without programs nothing starts, and no granted operation is ever reported as finished.
  if (!installed.workloads.some(runs) || !isServed(installed, operationalHold.plural)) return
  const end = timestamp(clock.now() + HOLD_MS)
  const spec = {
    target: { kind: 'Cluster', selector: {} },
    effect: 'Freeze',
    reason: 'KubeNode is being uninstalled',
    author,
    until: end,
  } as const
  await client.apply(
    operationalHold,
    { apiVersion: API_GROUP_VERSION, kind: 'OperationalHold', metadata: { name: UNINSTALL_HOLD }, spec },
    { fieldManager: FIELD_MANAGERS.install, force: true },
  )
  print('frozen: no new operation begins')
  if (now)
    return granted.length > 0 ? print(`not waiting for ${counted(granted.length, 'running operation')}`) : undefined
  await untilReleased(context)
}

const runs = (workload: KubeObject): boolean => isObject(workload['spec']) && workload['spec']['replicas'] !== 0

async function untilReleased(context: InstallContext): Promise<void> {
  let left: readonly OperationPermit[] = []
  try {
    await until(context, 'running operations', async () => {
      const permits = await listAll(context.client, operationPermit)
      left = permits.filter((p) => p.status?.phase === 'Granted')
      return left.length === 0
        ? { done: undefined }
        : { waitsFor: `${counted(left.length, 'permit is', 'permits are')} granted` }
    })
  } catch (error) {
    const [first] = left
    if (first === undefined) throw error
    const seconds = Math.round(context.timeoutMs / 1_000)
    const { name = '' } = first.metadata
    throw new KubeNodeError(installErrors.KN1425({ count: left.length, seconds, first: `operationpermit/${name}` }))
  }
}

/** Before the programs stop: a webhook without its program would block the next steps. */
async function disarm(context: InstallContext): Promise<void> {
  const { types } = context
  await withMark(context)
  await remove(context, webhookType, webhookKey, `validatingwebhookconfiguration ${API_GROUP}`)
  const bindings = (await remainsOf(context, await observeInstalled(context))).filter(
    (r) => r.kind === 'ValidatingAdmissionPolicyBinding',
  )
  for (const ref of bindings) {
    const type = await types.ofGroup(ref.group, ref.kind)
    if (type !== undefined) await remove(context, type, keyOfRef(ref), `${ref.kind}/${ref.name}`)
  }
  context.print('webhook and policies are removed')
}

async function stopPrograms(context: InstallContext): Promise<void> {
  const { client } = context
  const ours = { namespace: SYSTEM_NAMESPACE, labelSelector: BY_LABEL }
  const workloads = await listAll(client, deploymentType, ours)
  for (const workload of workloads.filter(runs))
    await client.scale(deploymentType, objectKey(workload), 0, { fieldManager: FIELD_MANAGERS.install })
  await until(context, 'pods to end', async () => {
    const pods = await listAll(client, podType, ours)
    return pods.length === 0 ? { done: undefined } : { waitsFor: `${counted(pods.length, 'pod')} left` }
  })
  if (workloads.length > 0) context.print('programs are stopped')
}

/** Agents lose their rights first: one that still writes would restore what is removed here, and none may notice that its Machine was deleted. */
async function letGo(context: InstallContext, installed: Installed): Promise<void> {
  const refs = await remainsOf(context, installed)
  await removeRefs(
    context,
    refs.filter((r) => r.kind === 'ClusterRoleBinding' || r.kind === 'RoleBinding'),
  )
  const freed = await dropFinalizers(context, servedTypes(installed))
  if (isServed(installed, operationalHold.plural))
    await remove(context, operationalHold, { name: UNINSTALL_HOLD }, `operationalhold ${UNINSTALL_HOLD}`)
  const nodes = await cleanNodes(context)
  await deleteTraces(context)
  context.print(`let go of ${counted(freed, 'object')} and ${counted(nodes, 'node')}`)
}

async function deleteDefinitions(context: InstallContext, { definitions }: Installed): Promise<void> {
  // The Inventory lists what is left to delete, so it is deleted last.
  const last = definitions.filter((d) => d.metadata.name === `${inventory.plural}.${API_GROUP}`)
  const others = definitions.filter((d) => !last.includes(d))
  await inParallel(others, others.length, (d) => removeDefinition(context, d))
  context.print(`${counted(others.length, 'definition is', 'definitions are')} deleted, and their objects`)
}

const removeDefinition = (context: InstallContext, d: KubeObject): Promise<void> =>
  remove(context, definitionType, objectKey(d), `customresourcedefinition ${d.metadata.name}`, (found) =>
    endOfDefinition(context, found),
  )

async function deleteRemains(
  context: InstallContext,
  installed: Installed,
  { keepNamespace, deleteDefinitions: withDefinitions }: UninstallOptions,
): Promise<void> {
  const refs = await remainsOf(context, installed)
  const removed = new Set(keepNamespace ? [] : namespacesIn(refs))
  const single = refs.filter((r) => r.kind !== 'Namespace' && !isInside(r, removed))
  for (const [, group] of Map.groupBy(single, (r) => r.kind)) await removeRefs(context, group)
  if (isServed(installed, inventory.plural))
    await remove(context, inventory, { name: INSTALL_INVENTORY }, `inventory ${INSTALL_INVENTORY}`)
  if (withDefinitions)
    for (const d of installed.definitions.filter((x) => x.metadata.name === `${inventory.plural}.${API_GROUP}`))
      await removeDefinition(context, d)
  context.print('rights and workloads are deleted')
}

/** Deletes KubeNode's own namespace last: until then it shows that this run has the turn, and a run after a kill finds the others by name. */
async function deleteNamespaces(
  context: InstallContext,
  installed: Installed,
  { keepNamespace }: UninstallOptions,
): Promise<void> {
  if (keepNamespace) {
    await withoutMark(context)
    return remove(context, leaseType, TURN_LEASE, `lease ${TURN_LEASE.name}`)
  }
  const names = namespacesIn(await remainsOf(context, installed))
  const others = names.filter((name) => name !== SYSTEM_NAMESPACE)
  const removeOne = (name: string): Promise<void> =>
    removeRef(context, { group: '', kind: 'Namespace', namespace: '', name })
  await inParallel(others, others.length, removeOne)
  await removeOne(SYSTEM_NAMESPACE)
  context.print(`namespaces ${names.join(', ')} are deleted`)
}

async function dryRun(context: InstallContext, installed: Installed, options: UninstallOptions): Promise<void> {
  const { print } = context
  const refs = await remainsOf(context, installed)
  const running = installed.workloads.filter(runs)
  if (isAbsent(installed))
    print('would delete objects that have the names or labels of an installation, where there are any')
  else
    print(
      `would stop ${counted(running.length, 'deployment')} and delete ${counted(refs.length, 'object')} of the installation at most`,
    )
  print(
    options.deleteDefinitions
      ? `would delete ${counted(installed.definitions.length, 'definition')}`
      : 'would keep the definitions and their objects',
  )
  if (!isAbsent(installed))
    print(
      options.keepNamespace ? 'would keep the namespaces' : `would delete namespaces ${namespacesIn(refs).join(', ')}`,
    )
}
