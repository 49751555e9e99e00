// What an uninstall deletes and what it leaves, read before any change, as lines for the user.
import { type Machine, machine } from '#api/kinds/machine.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP } from '#api/kind.ts'
import { LABELS } from '#api/names.ts'
import { messageOf } from '#lib/errors.ts'
import { counted } from '#lib/counted.ts'
import { inParallel } from '#lib/pool.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isApiError } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { listAll, listPages } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { ifServed, type InstallContext } from '../context.ts'
import { factsOf, storedType } from '../definitions.ts'
import { INSTALL_INVENTORY } from '../inventory.ts'
import { isLabelledOurs } from '../release.ts'
import { definitionType, deploymentType, type Installed } from '../observe.ts'
import { someOf } from '#lib/some-of.ts'
import { hasAgent } from './hand-back.ts'

export interface Losses {
  /** Objects of KubeNode's kinds, by kind. */
  readonly objects: ReadonlyMap<string, number>
  /** Of these, how many are in namespaces that will be deleted. */
  readonly inNamespaces: ReadonlyMap<string, number>
  /** Machines whose hosts run an agent. */
  readonly agents: readonly string[]
  readonly granted: readonly OperationPermit[]
  /** Other objects in these namespaces, as `Secret kubenode-clusters/cluster-prod`. */
  readonly ofPeople: readonly string[]
}

/** Including kinds that are being deleted: KubeNode's finalizers may hold their objects. */
export const servedTypes = ({ definitions }: Pick<Installed, 'definitions'>): readonly ResourceType[] =>
  definitions.flatMap((d) => storedType(d) ?? [])

/** `namespaces`: those to delete, with everything in them. */
export async function observeLosses(
  context: InstallContext,
  installed: Installed,
  namespaces: readonly string[],
): Promise<Losses> {
  const { client } = context
  const objects = new Map<string, number>()
  const inNamespaces = new Map<string, number>()
  const agents: string[] = []
  const granted: OperationPermit[] = []
  const count = async (type: ResourceType): Promise<void> => {
    let [all, inside] = [0, 0]
    for await (const page of listPages(client, type)) {
      // The installation's own Inventory is deleted with it.
      const isOwn = (o: KubeObject): boolean => type.kind === inventory.kind && o.metadata.name === INSTALL_INVENTORY
      const others = page.filter((o) => !isOwn(o))
      all += others.length
      inside += others.filter((o) => namespaces.includes(o.metadata.namespace ?? '')).length
      if (type.kind === machine.kind)
        for (const m of page) if (hasAgent(m as Machine)) agents.push(m.metadata.name ?? '')
      if (type.kind === operationPermit.kind)
        for (const p of page as readonly OperationPermit[]) if (p.status?.phase === 'Granted') granted.push(p)
    }
    if (all > 0) objects.set(type.kind, all)
    if (inside > 0) inNamespaces.set(type.kind, inside)
  }
  // A concurrent uninstall may delete a definition, and its objects with it.
  for (const type of servedTypes(installed)) await ifServed(() => count(type))
  return { objects, inNamespaces, agents, granted, ofPeople: await ofPeople(context, namespaces) }
}

/** Programs write as `kubenode-…`. Users may name objects like that too, but write with kubectl or other tools. */
const isWrittenByUs = ({ metadata: { managedFields = [] } }: KubeObject): boolean =>
  managedFields.length === 0 || managedFields.some((m) => m.manager?.startsWith('kubenode') === true)

/** Created by programs: their certificates, and pending join tokens. */
const isOfPrograms = (o: KubeObject): boolean =>
  isLabelledOurs(o) ||
  (o.metadata.name?.startsWith('kubenode-') === true && isWrittenByUs(o)) ||
  o.metadata.labels?.[LABELS.joinToken] !== undefined

/** Possibly the only copies: a volume with artifacts, kubeconfigs of members, credentials; and other programs that run next to KubeNode. */
const KINDS_OF_PEOPLE: readonly ResourceType[] = [
  coreKind('PersistentVolumeClaim'),
  coreKind('Secret'),
  deploymentType,
  coreKind('StatefulSet'),
  coreKind('DaemonSet'),
  coreKind('CronJob'),
  coreKind('Job'),
  coreKind('ReplicaSet'),
  coreKind('Pod'),
  coreKind('Service'),
  coreKind('ConfigMap'),
]

/** Clusters put these into every namespace. */
const IN_EVERY_NAMESPACE: ReadonlySet<string> = new Set(['kube-root-ca.crt', 'openshift-service-ca.crt'])

/** What a workload owns is deleted and listed with it. */
const isOwned = ({ metadata }: KubeObject): boolean => (metadata.ownerReferences ?? []).length > 0

const isOfPeople = (o: KubeObject): boolean =>
  !isOfPrograms(o) && !isOwned(o) && !IN_EVERY_NAMESPACE.has(o.metadata.name ?? '')

/** Requests in flight. */
const PARALLEL = 8

async function ofPeople({ client }: InstallContext, namespaces: readonly string[]): Promise<readonly string[]> {
  const definitions = (await listAll(client, definitionType)).filter(isOfOthers)
  const places = [...KINDS_OF_PEOPLE, ...definitions.flatMap((d) => storedType(d) ?? [])].flatMap((type) =>
    namespaces.map((namespace) => ({ type, namespace, found: [] as string[] })),
  )
  await inParallel(places, PARALLEL, async ({ type, namespace, found }) => {
    const read = await outcomeOf(async () => ifServed(() => listAll(client, type, { namespace })))
    if (read.kind !== 'Applied')
      found.push(`${type.kind} (cannot be read: ${isApiError(read.error) ? read.error.reason : messageOf(read.error)})`)
    else
      for (const o of (read.object ?? []).filter(isOfPeople))
        found.push(`${type.kind} ${namespace}/${o.metadata.name ?? ''}`)
  })
  // An unreadable kind is listed once.
  return [...new Set(places.flatMap(({ found }) => found))]
}

const isOfOthers = (definition: KubeObject): boolean => {
  const { group, scope } = factsOf(definition)
  return group !== API_GROUP && scope === 'Namespaced'
}

const MOST_NAMED = 10

const listed = (kinds: ReadonlyMap<string, number>): string => [...kinds].map(([kind, n]) => `${n} ${kind}`).join(', ')

export function lossLines(losses: Losses, deleteDefinitions: boolean, keepsAgents = true): readonly string[] {
  const { granted, agents, ofPeople: others } = losses
  return [
    ...objectLines(losses, deleteDefinitions),
    ...(others.length > 0
      ? [`deleted with the namespaces of KubeNode as well (--keep-namespace keeps them): ${someOf(others, MOST_NAMED)}`]
      : []),
    ...(granted.length > 0
      ? [`${counted(granted.length, 'permit is', 'permits are')} granted: operations are running`]
      : []),
    ...(keepsAgents ? agentLines(agents) : handBackLines(agents)),
  ]
}

function objectLines({ objects, inNamespaces }: Losses, deleteDefinitions: boolean): readonly string[] {
  if (objects.size === 0) return ['no machines, rules or other objects of the kinds of KubeNode']
  if (deleteDefinitions) return [`deleted for good: ${listed(objects)}`]
  const kept = new Map([...objects].map(([kind, n]) => [kind, n - (inNamespaces.get(kind) ?? 0)] as const))
  const left = new Map([...kept].filter(([, n]) => n > 0))
  return [
    ...(inNamespaces.size > 0
      ? [`deleted for good with the namespaces of KubeNode (--keep-namespace keeps them): ${listed(inNamespaces)}`]
      : []),
    ...(left.size > 0 ? [`kept, with their definitions: ${listed(left)}`] : []),
  ]
}

const handBackLines = (agents: readonly string[]): readonly string[] =>
  agents.length === 0
    ? []
    : [
        `${counted(agents.length, 'host is', 'hosts are')} handed back first, and the agent removed (--keep-agents skips this): ${someOf(agents, MOST_NAMED)}`,
      ]

/** Agents stay on their hosts; list them, so that users can remove them later. */
export const agentLines = (agents: readonly string[]): readonly string[] =>
  agents.length === 0
    ? []
    : [
        `${counted(agents.length, 'host')} with an agent, which keeps what runs and changes nothing more: ${someOf(agents, MOST_NAMED)}`,
      ]
