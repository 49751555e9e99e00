// Gathers the inputs of a rollout from complete and fresh caches. If a slice names an object that is not in a cache, it is read from the server.
import type { RevisedComponent } from '#api/protocol/set-revision.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { componentConfig } from '#api/kinds/component-config.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS, LABELS, PROBES_NAMESPACE, SYSTEM_NAMESPACE, programLeaseName } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { componentObjectName } from '#lib/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { CommittedContents } from '#declared/committed.ts'
import { type Pod, nodeType, podType } from '#nodes/objects.ts'
import { OWN_PODS, hostsOf, leadingNodes } from '#nodes/own-pods.ts'
import { leaseType } from '#runtime/lease.ts'
import { type EndedPermits, isRefused } from '#permits/ended-for.ts'
import { type SecretValues } from '#identity/secrets/secret-values.ts'
import { hasSecretRefs } from '#identity/secrets/secret-refs.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { configNames } from './revisions/configs.ts'
import { wantedInspections } from './inspection/inspections.ts'
import type { InspectionReads } from './inspection/inspection-reads.ts'
import type { ReadingMemo } from './members/members.ts'
import { isAtWork } from './plan-context.ts'
import { type ControllerRevision, controllerRevisionType, readableRevisions } from './revisions/revisions.ts'
import type { Seen } from './seen.ts'
import type { ServerVersion } from '#nodes/placement/server-version.ts'

const BY_REQUESTER = 'componentset-requester'
const BY_OWNER = 'componentset-owner'

export type Caches = ReturnType<typeof cachesOf>

export function cachesOf(informers: Informers) {
  return {
    sets: informers.of(machineComponentSet),
    machines: informers.of(machine),
    machineSets: informers.of(machineSet),
    nodes: informers.of(nodeType),
    ownPods: informers.of(podType, { selection: OWN_PODS }),
    permits: informers.of(operationPermit, { indexes: { [BY_REQUESTER]: (p) => [requesterUid(p) ?? ''] } }),
    holds: informers.of(operationalHold),
    policies: informers.of(defenderPolicy),
    components: informers.of(machineComponent),
    configs: informers.of(componentConfig),
    revisions: informers.of(controllerRevisionType, {
      selection: { namespace: SYSTEM_NAMESPACE },
      indexes: { [BY_OWNER]: (r: ControllerRevision) => (r.metadata.ownerReferences ?? []).map((o) => o.uid) },
    }),
  }
}

const requesterUid = ({ spec: { requester } }: OperationPermit): string | undefined =>
  requester.manager === FIELD_MANAGERS.componentSet ? requester.uid : undefined

export const requestingSet = ({ spec: { requester } }: OperationPermit): string | undefined =>
  requester.manager === FIELD_MANAGERS.componentSet ? requester.name : undefined

export interface ObserveTools {
  readonly caches: Caches
  readonly client: KubeClient
  readonly inspections: InspectionReads
  readonly serverVersion: ServerVersion
  readonly secretValues: SecretValues
  readonly contents: CommittedContents
  readonly ended: EndedPermits
  readonly now: () => number
}

export async function observe(
  { caches, client, inspections, serverVersion, secretValues, contents, ended, now }: ObserveTools,
  name: string,
  memo: ReadingMemo,
  signal?: AbortSignal,
): Promise<Seen | undefined> {
  requireFresh([...Object.values(caches), ...contents.caches])
  const cached = caches.sets.get(name)
  if (cached === undefined || cached.metadata.deletionTimestamp !== undefined) return undefined
  const { object: found, edit, isHeld } = contents.view(cached, now())
  const uid = found.metadata.uid ?? ''
  const kept = caches.revisions.byIndex(BY_OWNER, uid)
  const { set, missingSecret } = await withSecrets(found, readableRevisions(found, kept), secretValues, signal)
  const recorded = readableRevisions(set, kept)
  const permits = new Map(caches.permits.byIndex(BY_REQUESTER, uid).map((p) => [p.metadata.name ?? '', p]))
  for (const permit of await missing(set, permits, client, signal)) permits.set(permit.metadata.name ?? '', permit)
  const inPlay = [...set.spec.components, ...recorded.flatMap((r) => r.data?.components ?? [])]
  const needsVersion = inPlay.some(
    (c) => caches.components.get(componentObjectName(c.name, c.version))?.spec.skew !== undefined,
  )
  const apiServer = needsVersion ? await serverVersion.read(signal) : undefined
  const probePods = inspections.can.podProbe ? await probePodsOf(set, client, signal) : undefined
  return {
    set,
    revisions: recorded,
    machines: caches.machines.list(),
    machineSets: caches.machineSets,
    nodes: caches.nodes,
    ...(await ownHosts(caches.ownPods.list(), client, signal)),
    permits,
    refusedFor: ended.observe(uid, [...permits.values()].filter(isRefused)),
    holds: caches.holds.list(),
    policies: caches.policies,
    sets: contents.all(caches.sets.list(), now()),
    components: caches.components,
    memo,
    configs: new Set(configNames(inPlay).filter((c) => caches.configs.get(c) !== undefined)),
    canInspect: inspections.can,
    inspectionResults: inspections.read({ name, uid }, wantedInspections(set)),
    pendingInspections: inspections.pending(uid),
    ...defined({ missingSecret, edit }),
    isHeld,
    ...defined({ apiServer, probePods }),
  }
}

/** If no KubeNode program runs as a pod, no lease is read. */
async function ownHosts(
  pods: readonly Pod[],
  client: KubeClient,
  signal: AbortSignal | undefined,
): Promise<Pick<Seen, 'hosts' | 'leading'>> {
  const hosts = hostsOf(pods)
  if (hosts.size === 0) return {}
  const roles = new Set([...hosts.values()].flatMap((of) => [...of]))
  const leases = await Promise.all(
    [...roles].map((role) =>
      client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: programLeaseName(role) }, signal && { signal }),
    ),
  )
  const holders = leases.flatMap((lease) => lease?.spec?.holderIdentity ?? [])
  return { hosts, leading: leadingNodes(pods, holders) }
}

/** Current secret values are part of the declaration: a new value makes a new revision. A deleted value leaves the revision unchanged. */
async function withSecrets(
  set: MachineComponentSet,
  recorded: readonly ControllerRevision[],
  values: SecretValues,
  signal: AbortSignal | undefined,
): Promise<{ readonly set: MachineComponentSet; readonly missingSecret?: string }> {
  if (!hasSecretRefs(set.spec.components)) return { set }
  const { components, missing: missingSecret } = await values.resolve(set.spec.components, signal)
  const withComponents = (list: readonly RevisedComponent[]) => ({ ...set, spec: { ...set.spec, components: list } })
  if (missingSecret === undefined) return { set: withComponents(components) }
  const before = lastAsDeclared(set, recorded)
  return { set: before === undefined ? set : withComponents(before), missingSecret }
}

/** From the newest revision that differs at most in its secret values. */
function lastAsDeclared(
  { spec }: MachineComponentSet,
  recorded: readonly ControllerRevision[],
): readonly RevisedComponent[] | undefined {
  const plain = (wanted: RevisedComponent) => {
    const { sealed: _, ...rest } = wanted
    return rest
  }
  return recorded
    .toSorted((a, b) => b.revision - a.revision)
    .find((r) => jsonEqual((r.data?.components ?? []).map(plain), spec.components))?.data?.components
}

/** Only for sets that inspect with pods: other sets have none. */
async function probePodsOf(
  { spec, metadata }: MachineComponentSet,
  client: KubeClient,
  signal: AbortSignal | undefined,
): Promise<readonly Pod[] | undefined> {
  if (!spec.rollout.inspections?.some((i) => i.podProbe !== undefined)) return undefined
  const selection = { namespace: PROBES_NAMESPACE, labelSelector: `${LABELS.probeOf}=${metadata.uid ?? ''}` }
  return (await client.list(podType, { ...selection, ...defined({ signal }) })).items
}

/** The permit of a running slice is not in the cache: it is either newer than the cache or deleted. */
async function missing(
  set: MachineComponentSet,
  known: ReadonlyMap<string, OperationPermit>,
  client: KubeClient,
  signal: AbortSignal | undefined,
): Promise<readonly OperationPermit[]> {
  const names = (set.status?.slices ?? []).flatMap(({ permit, ...w }) =>
    permit !== undefined && isAtWork({ ...w, permit }) && !known.has(permit) ? [permit] : [],
  )
  const found = await Promise.all(names.map((name) => client.get(operationPermit, { name }, signal && { signal })))
  return found.filter((p) => p !== undefined).filter((p) => requesterUid(p) === set.metadata.uid)
}
