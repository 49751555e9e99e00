// Gathers all inputs of a Machine's plan: caches, Leases, the provider, and the pods of a node that must be drained.
import { type ComponentCanary, componentCanary } from '#api/kinds/component-canary.ts'
import { type ComponentConfig, componentConfig, renderedConfig } from '#api/kinds/component-config.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type MachineComponent, machineComponent } from '#api/kinds/machine-component.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import {
  ANNOTATIONS,
  LABELS,
  NODE_LEASES,
  SYSTEM_NAMESPACE,
  TAINTS,
  agentLeaseName,
  agentLeaseKey,
} from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { componentObjectName } from '#lib/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { CommittedContents } from '#declared/committed.ts'
import { podsOn } from '#nodes/drain.ts'
import { withJobWishes } from '#nodes/job-wishes.ts'
import { handOverKey, isForMachine } from '#identity/join-token.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import { type Node, type Pod, type Secret, hasTaint, nodeType, secretType } from '#nodes/objects.ts'
import { type EndedPermits, isRefused } from '#permits/ended-for.ts'
import type { EndedOrders } from './components/ended-orders.ts'
import { permitAnswer } from '#permits/permits.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import { holdOver, holdTargetsOfMachine } from '#permits/holds/reach.ts'
import { type SecretValues } from '#identity/secrets/secret-values.ts'
import { hasSecretRefs } from '#identity/secrets/secret-refs.ts'
import type { Provider } from '#providers/port.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import { type Lease, leaseType } from '#runtime/lease.ts'
import { type ControllerRevision, claimOf, controllerRevisionType, markOf } from './components/claims.ts'
import type { ComponentVersion } from '#api/protocol/component-order.ts'
import { rebooting } from '#api/protocol/rebooting.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { Mark } from './components/desired.ts'
import { observeAcceptancePod } from './acceptance/observe.ts'
import { type Heartbeat, type Heartbeats, heardInRounds, isBeating } from './heartbeats/heartbeats.ts'
import type { ExhaustedOfferings } from './provisioning/exhausted-offerings.ts'
import type { HostLists } from './hosts/lists.ts'
import { HOST_INDEX, otherOnHost } from './hosts/in-use.ts'
import { observeHost } from './hosts/observe.ts'
import { ANY_HOST, type HostSightings } from './hosts/sightings.ts'
import { peersOf } from './reboots/peers.ts'
import { observeWorkloads } from './workloads/observe.ts'
import { type ConfigMap, configMapType } from './secrets/config-map.ts'
import { type SealingSeen, configsAhead, isOfMachine, isSealedFor, sealingKeyOf } from './secrets/sealing.ts'
import { type Seen, hadJoined, hasJoined, isInService, isOverSsh, isProvided } from './seen.ts'
import { earlierMachineOf, isAbandoned, whyLeft } from './node/leftover-node.ts'

export interface MachineCaches {
  readonly machines: SharedInformer<Machine>
  readonly nodes: SharedInformer<Node>
  readonly sets: SharedInformer<MachineComponentSet>
  readonly canaries: SharedInformer<ComponentCanary>
  readonly definitions: SharedInformer<MachineComponent>
  readonly revisions: SharedInformer<ControllerRevision>
  readonly permits: SharedInformer<OperationPermit>
  readonly agentLeases: SharedInformer<Lease>
  readonly nodeLeases: SharedInformer<Lease>
  readonly holds: SharedInformer<OperationalHold>
  readonly machineSets: SharedInformer<MachineSet>
  readonly configs: SharedInformer<ComponentConfig>
  readonly sealed: SharedInformer<ConfigMap>
}

const BY_TARGET = 'machine/target'
const BY_MACHINE = 'machine/name'

const BY_SEALED = 'machine/sealed-in'

const sealedInOf = ({ metadata }: ConfigMap): string => metadata.annotations?.[ANNOTATIONS.sealedIn] ?? ''

/** Machines with sealed values of a configuration. */
export const machinesSealedFor = ({ sealed }: MachineCaches, { spec }: ComponentConfig): readonly string[] =>
  (spec.secrets ?? []).flatMap((s) => sealed.byIndex(BY_SEALED, s.sealedIn ?? spec.component)).map(machineOfSealed)

export const machineOfSealed = (object: Pick<ConfigMap, 'metadata'>): string =>
  object.metadata.annotations?.[ANNOTATIONS.machine] ?? ''

export function cachesOf(informers: Informers): MachineCaches {
  return {
    machines: informers.of(machineType, { indexes: HOST_INDEX }),
    nodes: informers.of(nodeType),
    sets: informers.of(machineComponentSet),
    canaries: informers.of(componentCanary),
    definitions: informers.of(machineComponent),
    revisions: informers.of(controllerRevisionType, { selection: { namespace: SYSTEM_NAMESPACE } }),
    permits: informers.of(operationPermit, { indexes: { [BY_TARGET]: (p) => p.spec.targets.map((t) => t.uid) } }),
    agentLeases: informers.of(leaseType, { selection: { namespace: SYSTEM_NAMESPACE } }),
    nodeLeases: informers.of(leaseType, { selection: { namespace: NODE_LEASES } }),
    holds: informers.of(operationalHold),
    machineSets: informers.of(machineSet),
    configs: informers.of(componentConfig, {
      indexes: { [BY_SEALED]: ({ spec }) => (spec.secrets ?? []).map((s) => s.sealedIn ?? spec.component) },
    }),
    sealed: informers.of(configMapType, {
      selection: { namespace: SYSTEM_NAMESPACE, labelSelector: LABELS.sealed },
      indexes: { [BY_MACHINE]: (o) => [machineOfSealed(o)], [BY_SEALED]: (o) => [sealedInOf(o)] },
    }),
  }
}

export interface ObserveTools {
  readonly client: KubeClient
  readonly caches: MachineCaches
  readonly agentHeartbeats: Heartbeats
  readonly nodeHeartbeats: Heartbeats
  readonly providers: Readonly<Record<string, Provider>>
  /** The latest host lists of the providers. */
  readonly hostLists: HostLists
  readonly exhausted: ExhaustedOfferings
  readonly sightings: HostSightings
  readonly ended: EndedPermits
  readonly endedOrders: EndedOrders
  readonly secretValues: SecretValues
  /** The sets and canaries that may be acted upon. */
  readonly contents: CommittedContents
  /** Called when git's declaration of a set or canary is not known yet: the machine is reconciled again soon. */
  readonly behind: (machine: string) => void
  readonly now: () => number
}

export async function observe(tools: ObserveTools, name: string, signal: AbortSignal): Promise<Seen | undefined> {
  const { caches, contents } = tools
  requireFresh([...Object.values(caches), ...contents.caches])
  const machine = caches.machines.get(name)
  if (machine === undefined) return undefined
  const found = caches.nodes.get(machine.status?.nodeRef?.name ?? name)
  const leftoverLease = leftoverLeaseOf(tools, machine)
  const byName = {
    machine,
    node: found,
    isHostKept: providerOf(tools, machine)?.capabilities.isHostKept === true,
    ...readHeartbeats(tools, { name, node: found?.metadata.name ?? name, isVisited: isOverSsh(machine) }),
    ...(rebooting(machine) !== undefined &&
      isBeating(tools.agentHeartbeats.read(agentLeaseName(name))) === false && {
        peers: peersOf(machine, caches.machines.list(), tools.agentHeartbeats),
      }),
    ...defined({ agentRenewal: caches.agentLeases.get(agentLeaseKey(name))?.spec?.renewTime }),
    ...(leftoverLease !== undefined && { leftoverLease, agentHeartbeat: { kind: 'None' } as const }),
  }
  const left = await leftNode(tools, byName, signal)
  const about = left === undefined ? byName : { ...byName, node: undefined, ...left }
  const { node } = about
  const permits = caches.permits.byIndex(BY_TARGET, uidOf(machine))
  const revisionNamed = (r: string) => caches.revisions.get({ namespace: SYSTEM_NAMESPACE, name: r })
  const claims = caches.sets.list().flatMap((set) => {
    const { object, isHeld, edit } = contents.view(set, tools.now())
    if (isHeld && edit === undefined) tools.behind(name)
    return claimOf(object, machine, revisionNamed, isHeld) ?? []
  })
  const marks = await marksOn(tools, machine, signal)
  const definitions = definitionsOf(caches, [
    ...(machine.spec.components ?? []),
    ...claims.flatMap((c) => [...c.components, ...c.lastGood]),
    ...marks.flatMap((m) => m.components),
  ])
  return {
    ...about,
    ...(await observeHost(
      { ...tools, otherOn: (id) => otherOnHost(caches.machines, id, uidOf(machine)) },
      providerOf(tools, machine),
      { ...about, definitions },
      signal,
    )),
    hold: holdOn(tools, machine, node),
    joinToken: await joinTokenOf(tools, about, signal),
    claims,
    marks,
    permits,
    endedFor: tools.endedOrders.observe(machine, permits),
    refusedFor: tools.ended.observe(uidOf(machine), permits.filter(isRefused)),
    definitions,
    pods: await podsOf(tools, about, { permits, mayWait: claims.some((c) => (c.podWaitMs ?? 0) > 0) }, signal),
    workloads: await observeWorkloads(tools.client, machine, node?.metadata.name, definitions, signal),
    ...(await sealingOf(tools, machine, configsAhead(machine, claims, marks), signal)),
    ...defined({ acceptancePod: await observeAcceptancePod(tools.client, about, signal) }),
  }
}

/** The Lease of an earlier Machine's agent with the same name. It proves nothing about this one. */
function leftoverLeaseOf({ caches }: ObserveTools, machine: Machine): Lease | undefined {
  const lease = caches.agentLeases.get(agentLeaseKey(nameOf(machine)))
  const uid = lease?.metadata.annotations?.[ANNOTATIONS.machineUid]
  return uid === undefined || uid === uidOf(machine) ? undefined : lease
}

/**
 * The Node of an earlier Machine with the same name, unless a person confirmed that its host comes back. A single list without the host may be wrong.
 */
async function leftNode(
  tools: ObserveTools,
  about: About,
  signal: AbortSignal,
): Promise<Pick<Seen, 'leftoverNode' | 'earlierNode'> | undefined> {
  const { machine, node } = about
  const { sightings } = tools
  const earlier = earlierMachineOf(about)
  const provider = providerOf(tools, machine)
  if (node === undefined || earlier === undefined || readmissionOf(machine, tools.now()) !== undefined) return undefined
  const listed = await provider?.list(signal).catch(() => undefined)
  const host = listed?.hosts.find((h) => h.machineUid === earlier)?.providerID
  if (host !== undefined) sightings.forget(earlier)
  const pods = await podsOn(tools.client, node.metadata.name ?? nameOf(machine), signal)
  const evidence = { isListed: listed !== undefined, host, pods }
  const isSure =
    isAbandoned(evidence) && provider !== undefined && sightings.untilSureMs(provider, earlier, ANY_HOST) === 0
  return isSure ? { leftoverNode: node } : { earlierNode: whyLeft(node, evidence) }
}

/** Read only while a host needs the token. */
async function joinTokenOf(
  { client, now }: ObserveTools,
  about: About,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  const { machine } = about
  if (!isProvided(machine) || isOverSsh(machine) || isBeingDeleted(machine)) return undefined
  const mayJoinAgain = readmissionOf(machine, now())?.token === true
  if ((hasJoined(about) || hadJoined(about)) && !mayJoinAgain) return undefined
  const token = await client.get(secretType, handOverKey(uidOf(machine)), { signal })
  return token !== undefined && isForMachine(token, machine) ? token : undefined
}

type BothHeartbeats = Pick<ObserveTools, 'agentHeartbeats' | 'nodeHeartbeats'>

interface Beating {
  readonly name: string
  readonly node: string
  /** It is heard once in each round of visits. */
  readonly isVisited: boolean
}

const readHeartbeats = ({ agentHeartbeats, nodeHeartbeats }: BothHeartbeats, { name, node, isVisited }: Beating) => {
  const heard = agentHeartbeats.read(agentLeaseName(name))
  return { agentHeartbeat: isVisited ? heardInRounds(heard) : heard, nodeHeartbeat: nodeHeartbeats.read(node) }
}

/** The heartbeats of a machine, read on every call. Holds only names, since thousands of these are kept. */
export function heartbeatsOf(tools: BothHeartbeats, { machine, node }: Seen): () => readonly Heartbeat[] {
  const name = nameOf(machine)
  const beating = { name, node: node?.metadata.name ?? name, isVisited: isOverSsh(machine) }
  return () => Object.values(readHeartbeats(tools, beating))
}

/**
 * Reads the secret values of a canary, as the canary controller does. While they are unavailable, the machine keeps its current configuration of that
 * version.
 */
async function marksOn(
  { caches, secretValues, contents, behind, now: time }: ObserveTools,
  machine: Machine,
  signal: AbortSignal,
): Promise<readonly Mark[]> {
  const marks: Mark[] = []
  for (const found of caches.canaries.list()) {
    const { object: canary, isHeld, edit } = contents.view(found, time())
    if (isHeld) {
      if (edit === undefined) behind(nameOf(machine))
      marks.push(...keptMark(found, machine))
      continue
    }
    const mark = markOf(canary, machine)
    if (mark === undefined || !hasSecretRefs(canary.spec.components)) marks.push(...(mark === undefined ? [] : [mark]))
    else {
      const { components } = await secretValues.resolve(canary.spec.components, signal)
      const now = markOf({ ...canary, spec: { ...canary.spec, components } }, machine)
      const lacking = new Set(components.filter((c) => renderedConfig(c)?.isWhole === false).map((c) => c.name))
      const kept = (w: ComponentVersion): ComponentVersion => {
        const entry = machine.spec.components?.find((e) => e.name === w.name && e.version === w.version)
        return lacking.has(w.name) && entry?.config !== undefined ? { ...w, config: entry.config } : w
      }
      if (now !== undefined) marks.push({ ...now, components: now.components.map(kept) })
    }
  }
  return marks
}

/** While a canary's declaration is unknown, a marked machine keeps what it has. */
function keptMark(canary: ComponentCanary, machine: Machine): readonly Mark[] {
  const mark = markOf(canary, machine)
  const components = (machine.spec.components ?? []).filter((c) => c.canaryRef === canary.metadata.name)
  return mark === undefined ? [] : [{ ...mark, components }]
}

/** Reads the Secrets only if there is a value to seal. */
async function sealingOf(
  { caches, secretValues }: ObserveTools,
  machine: Machine,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Pick<Seen, 'sealing' | 'idleSealed'>> {
  const mine = caches.sealed.byIndex(BY_MACHINE, nameOf(machine)).filter((o) => isOfMachine(o, machine))
  const idleSealed = mine.filter((o) => caches.configs.byIndex(BY_SEALED, sealedInOf(o)).length === 0)
  const publicKey = sealingKeyOf(machine)
  const sealing: SealingSeen[] = []
  for (const name of names) {
    const config = caches.configs.get(name)
    if (config === undefined || (config.spec.secrets ?? []).length === 0) continue
    const objectNamed = (object: string) => mine.find((o) => o.metadata.name === object)
    const isSealed = publicKey !== undefined && isSealedFor(config, nameOf(machine), publicKey, objectNamed)
    const values =
      isSealed || publicKey === undefined
        ? undefined
        : await secretValues.valuesAt(config.spec.component, config.spec.secrets ?? [], signal)
    sealing.push({ config, isSealed, ...(typeof values === 'string' && { missing: values }) })
  }
  return { ...(sealing.length > 0 && { sealing }), ...(idleSealed.length > 0 && { idleSealed }) }
}

/** A hold on the machine, its Node, its MachineSet or the whole cluster. */
function holdOn({ caches, now }: ObserveTools, machine: Machine, node: Node | undefined): OperationalHold | undefined {
  const targets = holdTargetsOfMachine(machine, { node, machineSet: (name) => caches.machineSets.get(name) })
  const question = { effects: ['Pause', 'Freeze'], targets, cluster: { name: undefined }, now: now() } as const
  return holdOver(caches.holds.list(), question)
}

type About = Pick<Seen, 'machine' | 'node' | 'agentHeartbeat' | 'isHostKept'>

function providerOf({ providers }: ObserveTools, { spec }: Machine): Provider | undefined {
  const name = spec.provider?.name ?? ''
  return Object.hasOwn(providers, name) ? providers[name] : undefined
}

function definitionsOf(
  { definitions }: MachineCaches,
  named: readonly { readonly name: string; readonly version: string }[],
): readonly MachineComponent[] {
  const names = new Set(named.map((c) => componentObjectName(c.name, c.version)))
  return [...names].flatMap((n) => definitions.get(n) ?? [])
}

/** Read only if a granted step may drain: listing pods is expensive. */
async function podsOf(
  { client }: ObserveTools,
  about: About,
  { permits, mayWait }: { readonly permits: readonly OperationPermit[]; readonly mayWait: boolean },
  signal: AbortSignal,
): Promise<readonly Pod[] | undefined> {
  const { machine, node } = about
  const isGranted = permits.some((p) => permitAnswer(p, uidOf(machine)).kind === 'Granted')
  const isLeaving = isBeingDeleted(machine) && machine.status?.inServiceSince !== undefined
  const mayDrain = isLeaving || (isInService(about) && (isBeingDeleted(machine) || hasTaint(node, TAINTS.cordon)))
  if (!isGranted || !mayDrain) return undefined
  const pods = await podsOn(client, nodeNameOf(machine), signal)
  return withJobWishes(client, pods, mayWait, signal)
}
