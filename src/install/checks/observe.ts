// Reads what the checks judge. Each read is independent: a failed one is reported and does not stop the others.
import { without } from '#lib/without.ts'
import { machine } from '#api/kinds/machine.ts'
import { OWN_NAMESPACES, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { messageOf } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll, listPages } from '#kube/list-all.ts'
import { healthOf } from '#delivery/health.ts'
import { refText } from '#delivery/object-ref.ts'
import { leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { hasWebhook, ledRolesOf, tryPod } from '../act.ts'
import { ifServed, type InstallContext } from '../context.ts'
import { objectsOf } from '../inventory.ts'
import { endOfNamespace } from '../namespace-end.ts'
import { BY_LABEL, deploymentType, observeInstalled, type Installed } from '../observe.ts'
import { leaderless, LED_ROLES, isWebhookLeft, WEBHOOK_SERVICE, webhookProblem } from '../ready.ts'
import { isLabelledOurs, labelValue, type Release } from '../release.ts'
import { observeTurn } from '../turn.ts'
import { type Alteration, alterations } from './altered.ts'
import { hostedClusters } from './flavors.ts'
import { isKept, lostParts } from './lost.ts'
import { namedProviders } from './named-providers.ts'
import { networkPluginsIn } from './network-plugins.ts'
import { REPAIRING_KINDS, remediatorsIn } from './remediators.ts'
import { distinctKinds, missingRights } from './rights.ts'
import type { CheckSeen, Reading } from './seen.ts'
import { bootstrapTokenProblem } from './bootstrap-token.ts'
import { programClocks } from './program-clocks.ts'
import { signerProblem } from './signer.ts'
import { serverPorts } from './server-ports.ts'
import { observeStorage } from './storage.ts'
import { unendedRun } from './unended-run.ts'

const nodeType = coreKind('Node')
const namespaceType = coreKind('Namespace')
const podType = coreKind('Pod')
const serviceType = coreKind('Service')
const accountType = coreKind('ServiceAccount')
const daemonSetType = coreKind('DaemonSet')

/** The role that hosts control planes, where a process runs it. */
const LED_ON_HUB = 'cluster'

export interface ObserveOptions {
  /** False: only what an installation needs. True: also whether the existing one works. */
  readonly isInstalled: boolean
  /** Whether the cluster will have agents, which need certificates from it. */
  readonly needsSigner: boolean
}

const reading = async <T>(work: () => Promise<T>): Promise<Reading<T>> => {
  try {
    return { value: await work() }
  } catch (error) {
    return { unread: messageOf(error) }
  }
}

export async function observeChecks(
  context: InstallContext,
  release: Release,
  { isInstalled, needsSigner }: ObserveOptions,
): Promise<CheckSeen> {
  const { client, types } = context
  const [server, missing, servesPolicies, installed, nodes, skewMs, agents, workloads] = await Promise.all([
    reading(() => serverVersion(context)),
    reading(async () => {
      const kinds = distinctKinds(objectsOf(release))
      return missingRights(client, await Promise.all(kinds.map((o) => types.of(o.apiVersion, o.kind))))
    }),
    reading(() => servesKind(context, '/apis/admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy')),
    reading(() => observeInstalled(context)),
    reading(() => nodesReady(context)),
    reading(() => clockSkew(context)),
    reading(() => agentVersions(context)),
    reading(async () => [...(await listAll(client, deploymentType)), ...(await listAll(client, daemonSetType))]),
  ])
  const of = <T>(judge: (all: readonly KubeObject[]) => T): Reading<T> =>
    'unread' in workloads ? workloads : { value: judge(workloads.value) }
  const mayAsk = needsSigner && !('value' in missing && missing.value.length > 0)
  const [foreignObjects, ending, ports, remediators, hosted, storage, refusals, signer, joinTokens] = await Promise.all(
    [
      reading(() => foreignObjectsIn(context)),
      reading(() => endingIn(context)),
      reading(() => serverPorts(context)),
      reading(async () => [
        ...('unread' in workloads ? unreadable(workloads) : remediatorsIn(workloads.value)),
        ...(await healthChecks(context)),
      ]),
      reading(() => hostedClusters(context)),
      reading(() => observeStorage(context)),
      reading(() => refusalsOf(context, release)),
      mayAsk ? reading(() => signerProblem(context)) : ('NotAsked' as const),
      mayAsk ? reading(() => bootstrapTokenProblem(context)) : ('NotAsked' as const),
    ],
  )
  return {
    server,
    missing,
    servesPolicies,
    signer,
    joinTokens,
    installed,
    nodes,
    skewMs,
    agents,
    remediators,
    foreignObjects,
    ending,
    serverPorts: ports,
    networkPlugins: of(networkPluginsIn),
    elsewhere: of((all) => all.filter(isElsewhere)),
    hosted,
    storage,
    refusals,
    ...(isInstalled && (await running(context, release, installed))),
  }
}

/** Other Deployments may carry KubeNode's label, such as those of declared control planes. */
const isElsewhere = (workload: KubeObject): boolean =>
  isLabelledOurs(workload) &&
  workload.metadata.namespace !== SYSTEM_NAMESPACE &&
  workload.metadata.name?.startsWith('kubenode-') === true

type Running = NonNullable<CheckSeen['running']>

async function running(
  context: InstallContext,
  release: Release,
  installed: Reading<Installed>,
): Promise<Pick<CheckSeen, 'running'>> {
  const hasWorkloads = 'unread' in installed || installed.value.installed !== undefined
  const wasInstalled = 'value' in installed && installed.value.inventoryObject !== undefined
  const processes = hasWorkloads || wasInstalled ? [] : await processRoles(context)
  if (processes.length > 0) return { running: await observeProcesses(context, release, processes) }
  const expected = await reading(() => withPrograms(context, release))
  // Without programs, and without knowing whether there should be any, nothing can be judged.
  if ('unread' in installed && 'value' in expected && !hasPrograms(expected.value)) return {}
  return { running: await observeRunning(context, 'value' in expected ? expected.value : release, installed) }
}

const hasPrograms = ({ objects }: Release): boolean => objects.some((o) => o.kind === 'Deployment')

/** What should run. If kubectl or another tool applied the objects, no settings are stored, so use what the cluster has. */
async function withPrograms({ client }: InstallContext, release: Release): Promise<Release> {
  if (hasPrograms(release)) return release
  const [deployments, service] = await Promise.all([
    listAll(client, deploymentType, { namespace: SYSTEM_NAMESPACE, labelSelector: BY_LABEL }),
    client.get(serviceType, { namespace: SYSTEM_NAMESPACE, name: WEBHOOK_SERVICE }),
  ])
  const found = deployments.map((d) => ({ ...d, kind: 'Deployment' }))
  return {
    ...release,
    objects: [...release.objects, ...found, ...(service === undefined ? [] : [{ ...service, kind: 'Service' }])],
  }
}

/** Their leases stay when they exit; uninstall deletes those of Deployments. */
async function processRoles({ client }: InstallContext): Promise<readonly string[]> {
  const leases = await listAll(client, leaseType, { namespace: SYSTEM_NAMESPACE }).catch(() => [])
  const names = new Set(leases.map((l) => l.metadata.name))
  return [...LED_ROLES, LED_ON_HUB].filter((role) => names.has(programLeaseName(role)))
}

async function observeProcesses(
  context: InstallContext,
  release: Release,
  processes: readonly string[],
): Promise<Running> {
  const [lost, leaders, clocks, webhook, providers] = await Promise.all([
    reading(() => lostIn(context, release, undefined)),
    reading(() => leaderless(context, processes)),
    reading(() => programClocks(context, processes)),
    processes.includes('defender') ? reading(() => webhookProblem(context)) : ('NotAsked' as const),
    reading(() => namedProviders(context)),
  ])
  return {
    processes,
    unready: { value: [] },
    altered: { value: [] },
    lost,
    leaderless: leaders,
    clocks,
    providers,
    webhook,
    isWebhookLeft: 'NotAsked',
  }
}

const unreadable = ({ unread }: { readonly unread: string }): never => {
  throw new Error(unread)
}

async function json(context: InstallContext, path: string): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await context.client.raw({ method: 'GET', path })
  const body: unknown = status === 200 ? JSON.parse(text) : undefined
  if (!isObject(body)) throw new Error(`GET ${path}: HTTP ${status}`)
  return body
}

async function serverVersion(context: InstallContext) {
  const { gitVersion, major, minor } = await json(context, '/version')
  // Managed clusters report minor versions such as 33+.
  const [a, b] = [Number.parseInt(String(major), 10), Number.parseInt(String(minor), 10)]
  if (Number.isNaN(a) || Number.isNaN(b)) throw new Error(`unreadable version ${String(gitVersion)}`)
  return { text: String(gitVersion), major: a, minor: b }
}

async function servesKind({ client }: InstallContext, path: string, kind: string): Promise<boolean> {
  const { status, text } = await client.raw({ method: 'GET', path })
  if (status === 404) return false
  if (status !== 200) throw new Error(`GET ${path}: HTTP ${status}`)
  const body: unknown = JSON.parse(text)
  const resources: unknown = isObject(body) ? body['resources'] : undefined
  return Array.isArray(resources) && resources.some((r) => isObject(r) && r['kind'] === kind)
}

async function nodesReady({ client }: InstallContext) {
  const nodes = await listAll(client, nodeType)
  return { total: nodes.length, ready: nodes.filter(takesPods).length }
}

function takesPods(node: KubeObject): boolean {
  const spec = isObject(node['spec']) ? node['spec'] : {}
  const taints: readonly unknown[] = Array.isArray(spec['taints']) ? spec['taints'] : []
  const isTainted = taints.some((t) => isObject(t) && (t['effect'] === 'NoSchedule' || t['effect'] === 'NoExecute'))
  return spec['unschedulable'] !== true && !isTainted && healthyNode(node)
}

function healthyNode(node: KubeObject): boolean {
  const conditions: unknown = isObject(node['status']) ? node['status']['conditions'] : undefined
  return (
    Array.isArray(conditions) && conditions.some((c) => isObject(c) && c['type'] === 'Ready' && c['status'] === 'True')
  )
}

/** The Date header has whole seconds and was written while the request ran: only a skew beyond both counts. */
async function clockSkew({ client, clock }: InstallContext): Promise<number> {
  const before = clock.now()
  const { headers } = await client.raw({ method: 'GET', path: '/version' })
  const after = clock.now()
  const at = Date.parse(headers['date'] ?? '')
  if (Number.isNaN(at)) throw new Error('the API server sends no Date header')
  return Math.max(0, before - (at + 1_000), at - after)
}

async function agentVersions({ client }: InstallContext) {
  const found: { machine: string; version: string }[] = []
  await ifServed(async () => {
    for await (const page of listPages(client, machine))
      for (const { metadata, status } of page)
        if (status?.agent !== undefined) found.push({ machine: metadata.name ?? '', version: status.agent.version })
  })
  return found
}

async function healthChecks({ client }: InstallContext): Promise<readonly string[]> {
  const found = await Promise.all(
    REPAIRING_KINDS.map(async ({ group, kind, plural }) => {
      const answer = await client.raw({ method: 'GET', path: `/apis/${group}` })
      if (answer.status !== 200) return []
      const body: unknown = JSON.parse(answer.text)
      const preferred =
        isObject(body) && isObject(body['preferredVersion']) ? String(body['preferredVersion']['version']) : ''
      const list = await client.raw({ method: 'GET', path: `/apis/${group}/${preferred}/${plural}?limit=1` })
      const items: unknown = list.status === 200 ? (JSON.parse(list.text) as { items?: unknown }).items : undefined
      return Array.isArray(items) && items.length > 0 ? [`${kind} of ${group}`] : []
    }),
  )
  return found.flat()
}

/** KubeNode's own workloads carry its label, or belong to an object that does. */
async function foreignObjectsIn({ client }: InstallContext): Promise<readonly string[]> {
  const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE })
  if (namespace === undefined) return []
  const [deployments, daemonSets, pods] = await Promise.all(
    [deploymentType, daemonSetType, podType].map((type) => listAll(client, type, { namespace: SYSTEM_NAMESPACE })),
  )
  const isStranger = (o: KubeObject): boolean => !isLabelledOurs(o) && o.metadata.deletionTimestamp === undefined
  return [
    ...(deployments ?? []).filter(isStranger).map((o) => `deployment ${o.metadata.name}`),
    ...(daemonSets ?? []).filter(isStranger).map((o) => `daemonset ${o.metadata.name}`),
    ...(pods ?? [])
      .filter((o) => isStranger(o) && (o.metadata.ownerReferences ?? []).length === 0)
      .map((o) => `pod ${o.metadata.name}`),
  ]
}

/** Writes into a terminating namespace are refused, or deleted with it. */
async function endingIn({ client }: InstallContext) {
  const all = await Promise.all(OWN_NAMESPACES.map((name) => client.get(namespaceType, { name })))
  return all.flatMap((n) =>
    n?.metadata.deletionTimestamp === undefined
      ? []
      : [{ namespace: n.metadata.name ?? '', why: endOfNamespace(n) ?? 'the server reports no reason' }],
  )
}

const DEFAULT_ACCOUNT = 'default'
/** Objects of the release read in parallel. */
const AT_ONCE = 16

/** Before KubeNode's namespace exists, pods are tried in `default`, where policies for all namespaces apply too. */
async function refusalsOf(context: InstallContext, { objects }: Release) {
  const { client } = context
  const accounts = await listAll(client, accountType, { namespace: SYSTEM_NAMESPACE })
  const names = new Set(accounts.map((a) => a.metadata.name))
  // A new namespace has no service account yet and accepts no pods.
  const isThere = names.has(DEFAULT_ACCOUNT)
  const found: { workload: string; namespace: string; why: string }[] = []
  for (const workload of objects.filter((o) => o.kind === 'Deployment')) {
    const why = await tryPod(context, trialOf(workload, isThere, names))
    if (why !== undefined)
      found.push({ workload: `deployment ${workload.metadata.name}`, namespace: SYSTEM_NAMESPACE, why })
  }
  return found
}

/** A pod with a missing service account would be refused just for that. */
function trialOf(workload: KubeObject, isThere: boolean, accounts: ReadonlySet<string | undefined>): KubeObject {
  const spec = isObject(workload['spec']) ? workload['spec'] : {}
  const template = isObject(spec['template']) ? spec['template'] : {}
  const pod = isObject(template['spec']) ? template['spec'] : {}
  if (isThere && accounts.has(String(pod['serviceAccountName']))) return workload
  const plain = without(pod, 'serviceAccountName', 'serviceAccount')
  return {
    ...workload,
    ...(!isThere && { metadata: { ...workload.metadata, namespace: 'default' } }),
    spec: { ...spec, template: { ...template, spec: plain } },
  }
}

async function observeRunning(
  context: InstallContext,
  release: Release,
  installed: Reading<Installed>,
): Promise<Running> {
  const { client } = context
  const [run, unready, altered, lost, leaders, clocks, webhook, webhookLeft, providers] = await Promise.all([
    reading(() => observeRun(context, installed)),
    reading(async () => {
      const found = await listAll(client, deploymentType, { namespace: SYSTEM_NAMESPACE, labelSelector: BY_LABEL })
      const wanted = release.objects.filter((o) => o.kind === 'Deployment').map((o) => o.metadata.name ?? '')
      const absent = wanted.filter((name) => !found.some((f) => f.metadata.name === name))
      const waiting = found.flatMap((w) => {
        const { state, message } = healthOf(w)
        return state === 'Current' ? [] : [`deployment ${w.metadata.name}: ${message}`]
      })
      return [...absent.map((name) => `deployment ${name}: it is not there`), ...waiting]
    }),
    reading(() => alteredIn(context, release, installed)),
    reading(() => lostIn(context, release, installed)),
    reading(() => leaderless(context, ledRolesOf(release))),
    reading(() => programClocks(context, ledRolesOf(release))),
    hasWebhook(release) ? reading(() => webhookProblem(context)) : ('NotAsked' as const),
    hasWebhook(release) ? ('NotAsked' as const) : reading(() => isWebhookLeft(context)),
    reading(() => namedProviders(context)),
  ])
  return { run, unready, altered, lost, leaderless: leaders, clocks, providers, webhook, isWebhookLeft: webhookLeft }
}

async function observeRun(context: InstallContext, installed: Reading<Installed>) {
  const [turn, namespace] = await Promise.all([
    observeTurn(context),
    context.client.get(namespaceType, { name: SYSTEM_NAMESPACE }),
  ])
  const inventory = 'value' in installed ? installed.value.inventoryObject : undefined
  return unendedRun({ turn, namespace, inventory })
}

/** A fleet without KubeNode Deployments, as from `npm start`, only has the policies of the release that runs it. */
async function lostIn(
  { client, types }: InstallContext,
  release: Release,
  installed: Reading<Installed> | undefined,
): Promise<readonly Alteration[]> {
  const recorded = new Set(
    installed !== undefined && 'value' in installed ? installed.value.inventory.map(refText) : [],
  )
  const version = installed !== undefined && 'value' in installed ? installed.value.installed : release.version
  const isSameRelease = version === labelValue(release.version) || version === release.version
  const shipped = release.objects.filter((o) =>
    installed === undefined ? o.kind.startsWith('ValidatingAdmissionPolicy') : isKept(o, recorded, isSameRelease),
  )
  const live = new Map<KubeObject, KubeObject | undefined>()
  await inParallel(shipped, AT_ONCE, async (object) => {
    const type = await types.of(object.apiVersion, object.kind)
    const { name = '', namespace } = object.metadata
    live.set(object, await client.get(type, { name, ...defined({ namespace }) }))
  })
  return lostParts(shipped, (object) => live.get(object), isSameRelease)
}

async function alteredIn({ client }: InstallContext, release: Release, installed: Reading<Installed>) {
  const [deployments = [], services = [], pods = []] = await Promise.all(
    [deploymentType, serviceType, podType].map((type) => listAll(client, type, { namespace: SYSTEM_NAMESPACE })),
  )
  const known = [
    ...release.objects.map((o) => ({ kind: o.kind, name: o.metadata.name, namespace: o.metadata.namespace })),
    ...('value' in installed ? installed.value.inventory : []),
  ].filter((o) => o.namespace === SYSTEM_NAMESPACE)
  return alterations({ deployments, services, pods }, new Set(known.map((o) => `${o.kind}/${o.name}`)))
}
