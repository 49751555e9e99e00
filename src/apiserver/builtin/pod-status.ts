// The status of a pod as kubelets report it, and the class that its resources give it.
import { isObject } from '#lib/json.ts'
import {
  always,
  bool,
  int32,
  int64,
  listOf,
  mapList,
  mapOf,
  nullTime,
  pointer,
  quantity,
  str,
  struct,
  time,
} from './shape.ts'
import type { BuiltinSchema } from './kind.ts'
import { resources } from './pod-container.ts'
import { listAt } from './fields.ts'

const containerState = struct('ContainerState', {
  waiting: pointer(struct('ContainerStateWaiting', { reason: str, message: str })),
  running: pointer(struct('ContainerStateRunning', { startedAt: nullTime })),
  terminated: pointer(
    struct('ContainerStateTerminated', {
      exitCode: always(int32),
      signal: int32,
      reason: str,
      message: str,
      startedAt: nullTime,
      finishedAt: nullTime,
      containerID: str,
    }),
  ),
})

const containerStatuses = listOf(
  struct('ContainerStatus', {
    name: always(str),
    state: always(containerState),
    lastState: always(containerState),
    ready: always(bool),
    restartCount: always(int32),
    image: always(str),
    imageID: always(str),
    containerID: str,
    started: pointer(bool),
    allocatedResources: mapOf(quantity),
    resources: pointer(resources),
    volumeMounts: mapList(
      ['mountPath'],
      struct('VolumeMountStatus', {
        name: always(str),
        mountPath: always(str),
        readOnly: bool,
        recursiveReadOnly: pointer(str),
      }),
    ),
    user: pointer(
      struct('ContainerUser', {
        linux: pointer(
          struct('LinuxContainerUser', { uid: always(int64), gid: always(int64), supplementalGroups: listOf(int64) }),
        ),
      }),
    ),
    stopSignal: pointer(str),
  }),
)

export const podStatus: BuiltinSchema = struct('PodStatus', {
  observedGeneration: int64,
  phase: str,
  conditions: mapList(
    ['type'],
    struct('PodCondition', {
      type: always(str),
      observedGeneration: int64,
      status: always(str),
      lastProbeTime: nullTime,
      lastTransitionTime: nullTime,
      reason: str,
      message: str,
    }),
  ),
  message: str,
  reason: str,
  nominatedNodeName: str,
  hostIP: str,
  hostIPs: listOf(struct('HostIP', { ip: always(str) }), {
    'x-kubernetes-patch-strategy': 'merge',
    'x-kubernetes-patch-merge-key': 'ip',
  }),
  podIP: str,
  podIPs: mapList(['ip'], struct('PodIP', { ip: always(str) })),
  startTime: time,
  initContainerStatuses: containerStatuses,
  containerStatuses,
  ephemeralContainerStatuses: containerStatuses,
  qosClass: str,
  resize: str,
  resourceClaimStatuses: mapList(
    ['name'],
    struct('PodResourceClaimStatus', { name: always(str), resourceClaimName: pointer(str) }),
    { 'x-kubernetes-patch-strategy': 'merge,retainKeys' },
  ),
})

const COMPUTE = ['cpu', 'memory'] as const

/** Guaranteed when every container has equal requests and limits of cpu and memory; BestEffort when none has any. */
export function qosClass(spec: { readonly [field: string]: unknown }): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const all = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')].map((c) => c['resources'])
  const amount = (r: unknown, part: string, name: string): unknown =>
    isObject(r) && isObject(r[part]) ? (r[part][name] ?? undefined) : undefined
  const any = all.some((r) =>
    COMPUTE.some((n) => amount(r, 'requests', n) !== undefined || amount(r, 'limits', n) !== undefined),
  )
  if (!any) return 'BestEffort'
  const full = all.every((r) =>
    COMPUTE.every((n) => amount(r, 'limits', n) !== undefined && amount(r, 'requests', n) === amount(r, 'limits', n)),
  )
  return full ? 'Guaranteed' : 'Burstable'
}
