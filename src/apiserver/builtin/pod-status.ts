// The status of a pod as kubelets report it, and the class that its resources give it.
import { isObject } from '#lib/json.ts'
import * as s from './shape.ts'
import type { BuiltinSchema } from './kind.ts'
import { resources } from './pod-container.ts'
import { listAt } from './fields.ts'

const containerState = s.struct('ContainerState', {
  waiting: s.pointer(s.struct('ContainerStateWaiting', { reason: s.str, message: s.str })),
  running: s.pointer(s.struct('ContainerStateRunning', { startedAt: s.nullTime })),
  terminated: s.pointer(
    s.struct('ContainerStateTerminated', {
      exitCode: s.always(s.int32),
      signal: s.int32,
      reason: s.str,
      message: s.str,
      startedAt: s.nullTime,
      finishedAt: s.nullTime,
      containerID: s.str,
    }),
  ),
})

const containerStatuses = s.listOf(
  s.struct('ContainerStatus', {
    name: s.always(s.str),
    state: s.always(containerState),
    lastState: s.always(containerState),
    ready: s.always(s.bool),
    restartCount: s.always(s.int32),
    image: s.always(s.str),
    imageID: s.always(s.str),
    containerID: s.str,
    started: s.pointer(s.bool),
    allocatedResources: s.mapOf(s.quantity),
    resources: s.pointer(resources),
    volumeMounts: s.mapList(
      ['mountPath'],
      s.struct('VolumeMountStatus', {
        name: s.always(s.str),
        mountPath: s.always(s.str),
        readOnly: s.bool,
        recursiveReadOnly: s.pointer(s.str),
      }),
    ),
    user: s.pointer(
      s.struct('ContainerUser', {
        linux: s.pointer(
          s.struct('LinuxContainerUser', {
            uid: s.always(s.int64),
            gid: s.always(s.int64),
            supplementalGroups: s.listOf(s.int64),
          }),
        ),
      }),
    ),
    stopSignal: s.pointer(s.str),
  }),
)

export const podStatus: BuiltinSchema = s.struct('PodStatus', {
  observedGeneration: s.int64,
  phase: s.str,
  conditions: s.mapList(
    ['type'],
    s.struct('PodCondition', {
      type: s.always(s.str),
      observedGeneration: s.int64,
      status: s.always(s.str),
      lastProbeTime: s.nullTime,
      lastTransitionTime: s.nullTime,
      reason: s.str,
      message: s.str,
    }),
  ),
  message: s.str,
  reason: s.str,
  nominatedNodeName: s.str,
  hostIP: s.str,
  hostIPs: s.listOf(s.struct('HostIP', { ip: s.always(s.str) }), {
    'x-kubernetes-patch-strategy': 'merge',
    'x-kubernetes-patch-merge-key': 'ip',
  }),
  podIP: s.str,
  podIPs: s.mapList(['ip'], s.struct('PodIP', { ip: s.always(s.str) })),
  startTime: s.time,
  initContainerStatuses: containerStatuses,
  containerStatuses,
  ephemeralContainerStatuses: containerStatuses,
  qosClass: s.str,
  resize: s.str,
  resourceClaimStatuses: s.mapList(
    ['name'],
    s.struct('PodResourceClaimStatus', { name: s.always(s.str), resourceClaimName: s.pointer(s.str) }),
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
