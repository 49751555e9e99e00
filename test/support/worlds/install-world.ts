// An embedded server, a double of what runs Deployments, and small releases of KubeNode to install there.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { listAll } from '#kube/list-all.ts'
import { ResourceTypes } from '#delivery/resource-types.ts'
import type { InstallContext } from '#install/context.ts'
import { runInstall, type InstallOptions } from '#install/install.ts'
import { COMPONENT, labelled, PART_OF, type Release } from '#install/release.ts'
import { uninstall, type UninstallOptions } from '#install/uninstall/uninstall.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { eventually } from '../benches/sync-bench.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'
import { playWorkloads, type WorkloadDouble } from '#test/doubles/kube/workload-double.ts'
import { apiServers, startEmbedded, type RunningServer } from '../servers/api-servers.ts'
import { startControlPlane } from '../servers/real/control-plane.ts'
import { manifests } from '../servers/installed.ts'

const ROLES = ['defender', 'controllers', 'approver', 'sync', 'artifacts'] as const

export const imageOf = (version: string): string => `registry.example.org/kubenode:${version}`

function deployment(role: string, version: string): KubeObject {
  const labels = { [PART_OF]: 'kubenode', [COMPONENT]: role }
  const container = {
    name: 'kubenode',
    image: imageOf(version),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  }
  const spec = {
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    ...(role !== 'artifacts' && { serviceAccountName: `kubenode-${role}` }),
    automountServiceAccountToken: false,
    containers: [container],
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `kubenode-${role}`, namespace: SYSTEM_NAMESPACE, labels },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

/** The shipped definitions, rights and policies, with workloads of this version. */
export function releaseOf(version: string, more: readonly KubeObject[] = []): Release {
  const mark = (o: KubeObject) => labelled(o, version)
  const { kinds, rest, hub } = manifests()
  return {
    version,
    definitions: kinds.map(mark),
    objects: [...rest, ...hub, ...ROLES.map((r) => deployment(r, version)), ...more].map(mark),
  }
}

export interface InstallWorld {
  readonly server: RunningServer
  readonly admin: KubeClient
  readonly double: WorkloadDouble
  readonly said: string[]
  /** How long each wait may take, and how far the clock of this machine is ahead. */
  readonly patience: { timeoutMs: number; aheadMs: number }
  context(client?: KubeClient): InstallContext
  install(release: Release, options?: Partial<InstallOptions>, client?: KubeClient): Promise<boolean>
  uninstall(options?: Partial<UninstallOptions>, client?: KubeClient): Promise<void>
  stop(): Promise<void>
}

export const connectionTo = (server: RunningServer) => ({
  server: server.url,
  ca: { data: server.ca },
  clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
})

// Nodes of a test have no heartbeat.
const startQuiet = (): Promise<RunningServer> =>
  startEmbedded({ loops: ['garbage', 'namespaces', 'pruning', 'certificates', 'budgets'] })

/** With a controller manager that leaves Deployments to the double, and has furnished the namespace in which pods are tried. */
async function startReal(): Promise<RunningServer> {
  const controllers = '-deployment-controller,-replicaset-controller,-node-lifecycle-controller'
  const server = await startControlPlane({ flags: { 'kube-controller-manager': [`--controllers=${controllers}`] } })
  const admin = new HttpKubeClient(connectionTo(server))
  const account = () => admin.get(coreKind('ServiceAccount'), { namespace: 'default', name: 'default' })
  await eventually(account, (found) => found !== undefined, FURNISHED_WITHIN_MS)
  admin.close()
  return server
}
const FURNISHED_WITHIN_MS = 120_000

/** Where installations are tried: the embedded server, and a real control plane where its programs are. */
export const installServers = apiServers.map(({ name, hasLoops }) => ({
  name,
  start: hasLoops ? startQuiet : startReal,
}))

export async function startInstallWorld(start: () => Promise<RunningServer> = startQuiet): Promise<InstallWorld> {
  const server = await start()
  const admin = new HttpKubeClient(connectionTo(server))
  const double = playWorkloads(new HttpKubeClient(connectionTo(server)), SYSTEM_NAMESPACE)
  const said: string[] = []
  const patience = { timeoutMs: 60_000, aheadMs: 0 }
  const context = (client: KubeClient = admin): InstallContext => ({
    client,
    types: new ResourceTypes(client, () => systemClock.monotonic()),
    clock: {
      ...systemClock,
      now: () => systemClock.now() + patience.aheadMs,
      sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 25), signal),
    },
    print: (line) => void said.push(line),
    timeoutMs: patience.timeoutMs,
    turnTimes: { leaseMs: 1_000, renewMs: 200 },
  })
  return {
    server,
    admin,
    double,
    said,
    patience,
    context,
    install: (release, options, client) =>
      runInstall(context(client), release, {
        isUpgrade: false,
        wait: true,
        ignored: new Set(['nodes']),
        needsSigner: false,
        confirm: async () => true,
        show: () => undefined,
        ...options,
      }),
    uninstall: (options, client) =>
      uninstall(context(client), {
        dryRun: false,
        deleteDefinitions: false,
        keepNamespace: false,
        keepAgents: false,
        now: false,
        author: ADMIN,
        confirm: async () => undefined,
        ...options,
      }),
    stop: async () => {
      await double.stop()
      await server.stop()
    },
  }
}

/** Nodes that take the pods of our programs. */
export async function makeReadyNodes(admin: KubeClient, names: readonly string[]): Promise<void> {
  const nodes = coreKind<'Node', KubeObject>('Node')
  for (const name of names) {
    const made = await admin.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    const status = { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] }
    const ready = await admin.update(nodes, { ...made, status }, { subresource: 'status' })
    // A server adds the taint of a node that is not ready.
    await admin.update(nodes, { ...ready, spec: {} })
  }
}

/** Written by servers and leaders all the time. */
export const renewed = (kind: string): boolean => kind === 'Lease' || kind === 'Event'

/** Written or derived by what runs in a cluster, at its own time. */
const DERIVED: ReadonlySet<string> = new Set([
  'Lease',
  'Event',
  'APIService',
  'ComponentStatus',
  'Endpoints',
  'EndpointSlice',
  'IPAddress',
])
/** What a controller manager puts into each namespace. */
const FURNITURE = /^(ConfigMap [^/]*\/kube-root-ca\.crt|ServiceAccount [^/]*\/default)$/

/** What is in the cluster, but for what programs of Kubernetes keep writing there. */
export async function unchanging(admin: KubeClient): Promise<ReadonlyMap<string, unknown>> {
  const found = [...(await everything(admin, (kind) => DERIVED.has(kind)))]
  // A control plane publishes ConfigMaps of its own in each namespace, some time after its start; the namespace `default` has only those.
  const published = new Set(
    found.flatMap(([name]) => /^ConfigMap default\/(?<own>.+)$/.exec(name)?.groups?.['own'] ?? []),
  )
  return new Map(
    found.filter(
      ([name]) =>
        !FURNITURE.test(name) && !published.has(/^ConfigMap [^/]*\/(?<own>.+)$/.exec(name)?.groups?.['own'] ?? ''),
    ),
  )
}

/** What two installations have in common: UIDs and times of the Inventory are of one of them. */
export const comparable = (found: ReadonlyMap<string, unknown>): unknown =>
  JSON.parse(
    JSON.stringify(
      [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      (key, value: unknown) =>
        key === 'appliedAt' || key === 'uid' || key === 'lastTransitionTime' ? undefined : value,
    ),
  )

const NOT_COMPARED = ['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp']

function plain({ metadata, ...rest }: KubeObject): unknown {
  const { status: _, ...spec } = rest as { readonly status?: unknown }
  return { ...spec, metadata: Object.fromEntries(Object.entries(metadata).filter(([k]) => !NOT_COMPARED.includes(k))) }
}

/** Every object of every kind that the server serves, by name. What renews itself is left out by `except`. */
export async function everything(
  admin: KubeClient,
  except: (kind: string) => boolean = () => false,
): Promise<ReadonlyMap<string, unknown>> {
  const found = new Map<string, unknown>()
  for (const path of await groupVersions(admin)) {
    const answer = await admin.raw({ method: 'GET', path })
    // A group goes with its last definition, and may still be listed.
    if (answer.status === 404) continue
    const { resources = [] } = JSON.parse(answer.text) as {
      readonly resources?: readonly Readonly<Record<string, unknown>>[]
    }
    for (const { name, kind, namespaced, verbs } of resources) {
      if (String(name).includes('/') || !(verbs as readonly string[]).includes('list') || except(String(kind))) continue
      const [, , group = '', version = ''] = path.startsWith('/api/')
        ? ['', '', '', path.slice(5)]
        : path.split('/').slice(0).map(String)
      const type = {
        group: path.startsWith('/api/') ? '' : group,
        version: path.startsWith('/api/') ? path.slice(5) : version,
        kind: String(kind),
        plural: String(name),
        namespaced: namespaced === true,
      }
      for (const o of await listAll(admin, type))
        found.set(`${String(kind)} ${o.metadata.namespace ?? ''}/${o.metadata.name}`, plain(o))
    }
  }
  return found
}

async function groupVersions(admin: KubeClient): Promise<readonly string[]> {
  const { text } = await admin.raw({ method: 'GET', path: '/apis' })
  const body: unknown = JSON.parse(text)
  const groups =
    isObject(body) && Array.isArray(body['groups'])
      ? (body['groups'] as readonly Readonly<Record<string, unknown>>[])
      : []
  return [
    '/api/v1',
    ...groups.map((g) => `/apis/${(g['preferredVersion'] as { readonly groupVersion: string }).groupVersion}`),
  ]
}
