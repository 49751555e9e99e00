// What an uninstall takes away and what it leaves behind, read before anything is touched, as lines for the user.
import { type Machine, machine } from '#api/kinds/machine.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { LABELS } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listPages } from '#kube/list-all.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { InstallContext } from '../context.ts'
import { factsOf } from '../definitions.ts'
import { INSTALL_INVENTORY } from '../inventory.ts'
import { isLabelledOurs } from '../release.ts'
import { deploymentType, type Installed } from '../observe.ts'
import { someOf } from '#lib/some-of.ts'
import { hasAgent } from './hand-back.ts'

export interface Losses {
  /** Objects of our kinds, by kind. */
  readonly objects: ReadonlyMap<string, number>
  /** Of these, what is in namespaces that are deleted. */
  readonly inNamespaces: ReadonlyMap<string, number>
  /** Machines whose hosts run an agent. */
  readonly agents: readonly string[]
  readonly granted: readonly OperationPermit[]
  /** What others put into these namespaces, as `Secret kubenode-clusters/cluster-prod`. */
  readonly ofPeople: readonly string[]
}

/** A kind is read in the version that the server stores. */
export const servedTypes = ({ definitions }: Pick<Installed, 'definitions'>): readonly ResourceType[] =>
  definitions.flatMap((d) => {
    const { group, kind, plural, scope, storage, versions } = factsOf(d)
    const version = storage ?? versions[0]
    return version === undefined || d.metadata.deletionTimestamp !== undefined
      ? []
      : [{ group, version, kind, plural, namespaced: scope === 'Namespaced' }]
  })

/** `namespaces`: those that are deleted, with all that is in them. */
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
  for (const type of servedTypes(installed)) {
    let [count, inside] = [0, 0]
    for await (const page of listPages(client, type)) {
      // That of the installation itself is deleted with it.
      const isOwn = (o: KubeObject): boolean => type.kind === inventory.kind && o.metadata.name === INSTALL_INVENTORY
      const others = page.filter((o) => !isOwn(o))
      count += others.length
      inside += others.filter((o) => namespaces.includes(o.metadata.namespace ?? '')).length
      if (type.kind === machine.kind)
        for (const m of page) if (hasAgent(m as Machine)) agents.push(m.metadata.name ?? '')
      if (type.kind === operationPermit.kind)
        for (const p of page as readonly OperationPermit[]) if (p.status?.phase === 'Granted') granted.push(p)
    }
    if (count > 0) objects.set(type.kind, count)
    if (inside > 0) inNamespaces.set(type.kind, inside)
  }
  return { objects, inNamespaces, agents, granted, ofPeople: await ofPeople(context, namespaces) }
}

/** Of programs: their certificates, and join tokens on their way. */
const isOfPrograms = (o: KubeObject): boolean =>
  isLabelledOurs(o) ||
  o.metadata.name?.startsWith('kubenode-') === true ||
  o.metadata.labels?.[LABELS.joinToken] !== undefined

/** A volume with artifacts, kubeconfigs of members, credentials, of which there may be no other copy; programs that were accepted beside KubeNode. */
const KINDS_OF_PEOPLE: readonly ResourceType[] = [
  coreKind('PersistentVolumeClaim'),
  coreKind('Secret'),
  deploymentType,
  coreKind('StatefulSet'),
  coreKind('DaemonSet'),
  coreKind('CronJob'),
  coreKind('Pod'),
]

/** What a workload owns goes with it, and is named with it. */
const isOwned = ({ metadata }: KubeObject): boolean => (metadata.ownerReferences ?? []).length > 0

async function ofPeople({ client }: InstallContext, namespaces: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const type of KINDS_OF_PEOPLE)
    for (const namespace of namespaces)
      for await (const page of listPages(client, type, { namespace }))
        for (const o of page)
          if (!isOfPrograms(o) && !isOwned(o)) found.push(`${type.kind} ${namespace}/${o.metadata.name ?? ''}`)
  return found
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

/** Agents stay on their hosts; who wants them off has to know where. */
export const agentLines = (agents: readonly string[]): readonly string[] =>
  agents.length === 0
    ? []
    : [
        `${counted(agents.length, 'host')} with an agent, which keeps what runs and changes nothing more: ${someOf(agents, MOST_NAMED)}`,
      ]
