// Plays what a cluster does with Deployments: pods that become ready or cannot pull their image, and a leader of each role that renews its Lease.
import { microTimestamp } from '#lib/clock.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { deploymentType } from '#install/observe.ts'
import { LED_ROLES } from '#install/ready.ts'
import { COMPONENT } from '#install/release.ts'
import type { KubeObject } from '#api/schema/object.ts'

const pods = coreKind<'Pod', KubeObject>('Pod')
const leases = coreKind('Lease')
const LOOK_EVERY_MS = 50

export interface WorkloadDouble {
  /** Images that no registry has. */
  readonly missing: Set<string>
  /** Image by role, at the moment its pods last became ready: the order in which roles change. */
  readonly changes: readonly string[]
  /** Roles whose program really runs, and whether it still does: it renews its own Lease, and its pods are as ready as it is. */
  readonly programs: Map<string, () => boolean>
  stop(): Promise<void>
}

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
  readonly spec: Readonly<Record<string, unknown>>
}

export function playWorkloads(client: KubeClient, namespace: string): WorkloadDouble {
  const missing = new Set<string>()
  const changes: string[] = []
  const programs = new Map<string, () => boolean>()
  const end = new AbortController()
  const loop = (async () => {
    while (!end.signal.aborted) {
      const page = await client.list(deploymentType, { namespace }).catch(() => undefined)
      for (const d of page?.items ?? []) await settle(client, d, { missing, changes, programs }).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  })()
  return {
    missing,
    changes,
    programs,
    stop: async () => {
      end.abort()
      await loop
    },
  }
}

interface Played extends Omit<WorkloadDouble, 'changes' | 'stop'> {
  readonly changes: string[]
}

async function settle(client: KubeClient, deployment: KubeObject, { missing, changes, programs }: Played) {
  const spec = deployment['spec'] as { readonly replicas?: number; readonly template: Template }
  const { name = '', namespace = '' } = deployment.metadata
  const role = deployment.metadata.labels?.[COMPONENT] ?? ''
  const hash = sha256OfJson(spec.template).slice(0, 8)
  const image = imageOf(spec.template)
  const isRunning = programs.get(role) ?? (() => true)
  const problem = missing.has(image) ? NO_IMAGE : isRunning() ? undefined : CRASHED
  const wanted = new Set(Array.from({ length: spec.replicas ?? 1 }, (_, i) => `${name}-${hash}-${i}`))
  const labels = spec.template.metadata?.labels ?? {}
  const found = await client.list(pods, { namespace, labelSelector: `${COMPONENT}=${role}` })
  for (const pod of found.items)
    if (!wanted.has(pod.metadata.name ?? ''))
      await client.delete(pods, { namespace, name: pod.metadata.name ?? '' }, { gracePeriodSeconds: 0 })
  for (const pod of wanted) {
    if (found.items.some((p) => p.metadata.name === pod)) continue
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name,
      uid: deployment.metadata.uid ?? '',
      controller: true,
    }
    const metadata = { name: pod, namespace, labels, ownerReferences: [owner] }
    await outcomeOf(() => client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec: spec.template.spec }))
    changes.push(`${role} ${image}`)
  }
  for (const pod of (await client.list(pods, { namespace, labelSelector: `${COMPONENT}=${role}` })).items)
    if (!isSaid(pod, statusOf(image, problem)))
      await outcomeOf(() =>
        client.update(pods, { ...pod, status: statusOf(image, problem) }, { subresource: 'status' }),
      )
  const ready = problem === undefined ? wanted.size : 0
  const status = {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: wanted.size,
    updatedReplicas: wanted.size,
    readyReplicas: ready,
    availableReplicas: ready,
  }
  if (!isSaid(deployment, status))
    await outcomeOf(() => client.update(deploymentType, { ...deployment, status }, { subresource: 'status' }))
  if (ready > 0 && !programs.has(role) && LED_ROLES.some((r) => r === role)) await renew(client, namespace, role)
}

const NO_IMAGE = { reason: 'ImagePullBackOff', message: 'Back-off pulling image: not found' }
const CRASHED = { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' }

function statusOf(image: string, problem: typeof NO_IMAGE | undefined) {
  const isReady = problem === undefined
  const state = isReady ? { running: {} } : { waiting: problem }
  return {
    phase: problem === NO_IMAGE ? 'Pending' : 'Running',
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    containerStatuses: [{ name: 'kubenode', ready: isReady, restartCount: 0, image, imageID: '', state }],
  }
}

const isSaid = ({ status }: KubeObject, wanted: object): boolean =>
  isObject(status) && Object.entries(wanted).every(([k, v]) => jsonEqual(status[k], v))

const imageOf = ({ spec }: Template): string => {
  const [first] = Array.isArray(spec['containers']) ? (spec['containers'] as readonly unknown[]) : []
  return isObject(first) ? String(first['image']) : ''
}

async function renew(client: KubeClient, namespace: string, role: string): Promise<void> {
  const spec = { holderIdentity: `${role}-0`, leaseDurationSeconds: 15, renewTime: microTimestamp(Date.now()) }
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: `kubenode-${role}`, namespace },
    spec,
  }
  await outcomeOf(() => client.apply(leases, lease, { fieldManager: 'workload-double', force: true }))
}
