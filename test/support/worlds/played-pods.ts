// Plays the controllers and the kubelet of a hub without running a program: every workload is as it was asked for, and every Job is done.
import { typeOf } from '#controlplanes/kubernetes/plane-objects.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

const [JOBS, PODS] = [coreKind('Job'), coreKind<'Pod', KubeObject>('Pod')]
export const PLAYED_WORKLOADS = ['Deployment', 'StatefulSet'].map((kind) => typeOf({ apiVersion: 'apps/v1', kind }))
/** What the program of etcd says about a snapshot that it opened. */
export const OPENED_LOG = '{"hash":1,"revision":42,"totalKey":7,"totalSize":4096}'
/** And about a volume that is full. */
const NO_ROOM_LOG = 'Error: write /snapshots/slot-0.db.part: no space left on device\n'

export interface PlayedHub {
  /** What a workload reports instead of being ready. */
  readonly statusOf?: (workload: KubeObject) => Readonly<Record<string, unknown>> | undefined
  /** Jobs wait meanwhile. */
  readonly holdsJobs?: () => boolean
  /** They fail instead. */
  readonly failsJobs?: () => boolean
  /** Members of etcd whose pods are not ready. */
  readonly away?: readonly number[]
}

export async function playPods(admin: KubeClient, namespace: string, hub: PlayedHub = {}): Promise<void> {
  for (const type of PLAYED_WORKLOADS)
    for (const w of (await admin.list(type, { namespace })).items) await playWorkload(admin, type, w, hub)
  if (hub.holdsJobs?.() !== true)
    for (const job of (await admin.list(JOBS, { namespace })).items) await playJob(admin, namespace, job, hub)
  for (const pod of (await admin.list(PODS, { namespace })).items) {
    const job = pod.metadata.labels?.['job-name']
    if (job !== undefined && (await admin.get(JOBS, { namespace, name: job })) === undefined)
      await admin.delete(PODS, { namespace, name: pod.metadata.name ?? '' }, { gracePeriodSeconds: 0 })
  }
}

async function playWorkload(
  admin: KubeClient,
  type: ResourceType,
  workload: KubeObject,
  { statusOf, away = [] }: PlayedHub,
): Promise<void> {
  const { replicas = 0 } = workload['spec'] as { readonly replicas?: number }
  const isSet = workload.kind === 'StatefulSet'
  const serving = isSet ? replicas - away.filter((n) => n < replicas).length : replicas
  const ready = { replicas, updatedReplicas: replicas, readyReplicas: serving, availableReplicas: serving }
  const observedGeneration = workload.metadata.generation ?? 0
  const given = statusOf?.(workload)
  if (isSet && given === undefined) await playMembers(admin, workload, replicas, away)
  const status = { observedGeneration, ...(given ?? ready) }
  if (jsonEqual(workload['status'], status)) return
  await admin.update(type, { ...workload, status }, { subresource: 'status' })
}

interface MembersOf {
  readonly template: { readonly metadata: object; readonly spec: { readonly volumes: readonly object[] } }
  readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
}

/** As many pods as members, each ready unless it is away. */
async function playMembers(
  admin: KubeClient,
  { apiVersion, kind, metadata: { name: set = '', namespace = '', uid = '' }, spec }: KubeObject,
  replicas: number,
  away: readonly number[],
): Promise<void> {
  const { template, volumeClaimTemplates } = spec as MembersOf
  const volumes = [
    ...template.spec.volumes,
    ...volumeClaimTemplates.map((c) => ({ name: c.metadata.name, emptyDir: {} })),
  ]
  const pods = (await admin.list(PODS, { namespace })).items.filter((p) => p.metadata.name?.startsWith(`${set}-`))
  for (let n = 0; n < replicas; n++) {
    const ownerReferences = [{ apiVersion, kind, name: set, uid }]
    const metadata = { ...template.metadata, name: `${set}-${n}`, namespace, ownerReferences }
    const pod =
      pods.find((p) => p.metadata.name === metadata.name) ??
      (await admin.create(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        spec: { ...template.spec, volumes },
      }))
    const conditions = [{ type: 'Ready', status: away.includes(n) ? 'False' : 'True' }]
    if (jsonEqual((pod['status'] as { readonly conditions?: unknown } | undefined)?.conditions, conditions)) continue
    await admin.update(PODS, { ...pod, status: { phase: 'Running', conditions } }, { subresource: 'status' })
  }
  for (const { metadata } of pods)
    if (Number(metadata.name?.split('-').at(-1)) >= replicas)
      await admin.delete(PODS, { namespace, name: metadata.name ?? '' }, { gracePeriodSeconds: 0 })
}

async function playJob(admin: KubeClient, namespace: string, job: KubeObject, { failsJobs }: PlayedHub): Promise<void> {
  const name = job.metadata.name ?? ''
  const spec = (job['spec'] as { readonly template: { readonly spec: object } }).template.spec
  const at = '2030-01-01T00:00:00Z'
  const before = job['status'] as { readonly succeeded?: number; readonly failed?: number } | undefined
  if (before?.succeeded === 1 || before?.failed === 1) return
  const metadata = { name: `${name}-x`, namespace, labels: { 'job-name': name } }
  const pod = await admin.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
  if (failsJobs?.() === true) {
    const failed = ['FailureTarget', 'Failed'].map((type) => ({
      type,
      status: 'True',
      message: 'it was tried often enough',
      lastTransitionTime: at,
    }))
    const state = { terminated: { exitCode: 1, message: NO_ROOM_LOG } }
    const initContainerStatuses = [{ name: 'save', image: '', imageID: '', ready: false, restartCount: 0, state }]
    await admin.update(PODS, { ...pod, status: { phase: 'Failed', initContainerStatuses } }, { subresource: 'status' })
    const status = { startTime: at, failed: 1, conditions: failed }
    await admin.update(JOBS, { ...job, status }, { subresource: 'status' })
    return
  }
  await admin.update(PODS, { ...pod, status: { phase: 'Succeeded' } }, { subresource: 'status' })
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: at,
  }))
  const status = { startTime: at, completionTime: at, succeeded: 1, conditions }
  await admin.update(JOBS, { ...job, status }, { subresource: 'status' })
}
