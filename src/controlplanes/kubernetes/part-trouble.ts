// Why a control plane part is not ready, in terms that a user can act on: no node, no storage, no quota, no image, a crashing program. Pure.
import { CONTROL_PLANE_VERSIONS } from '#api/names.ts'
import { isForbidden } from '#kube/errors.ts'
import { messageOf } from '#lib/errors.ts'
import { quantityValue } from '#lib/quantity.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { TroubleCause } from '../port.ts'
import { listAt, recordAt } from './fields-of.ts'

export interface Trouble {
  readonly text: string
  readonly cause?: TroubleCause
}

export interface NamespaceLimits {
  readonly claims: readonly KubeObject[]
  readonly quotas: readonly KubeObject[]
}

const MOST_NAMED = 3

export function troubleOf(
  workload: KubeObject,
  pods: readonly KubeObject[],
  { claims, quotas }: NamespaceLimits,
): Trouble | undefined {
  for (const pod of pods) {
    const trouble = troubleOfPod(pod, claims)
    if (trouble !== undefined) return trouble
  }
  return refusedPods(workload) ?? (pods.length === 0 ? fullQuota(quotas) : undefined)
}

export function troubleOfPod(pod: KubeObject, claims: readonly KubeObject[]): Trouble | undefined {
  const status = recordAt(pod, 'status')
  const name = pod.metadata.name ?? ''
  for (const condition of listAt(status, 'conditions'))
    if (condition['type'] === 'PodScheduled' && condition['status'] === 'False')
      return (
        unboundClaim(pod, claims) ?? {
          text: `pod ${name} has no node: ${String(condition['message'] ?? condition['reason'])}`,
        }
      )
  for (const container of [...listAt(status, 'initContainerStatuses'), ...listAt(status, 'containerStatuses')]) {
    const waiting = recordAt(recordAt(container, 'state'), 'waiting')
    const reason = waiting['reason']
    if (typeof reason === 'string' && reason !== 'ContainerCreating' && reason !== 'PodInitializing')
      return { text: `pod ${name}: ${reason}: ${String(waiting['message'] ?? '')}` }
  }
  return undefined
}

/** A pod waits for its volumes before it gets a node: which one, and why it has none. */
function unboundClaim(pod: KubeObject, claims: readonly KubeObject[]): Trouble | undefined {
  const names = listAt(recordAt(pod, 'spec'), 'volumes').map((v) => recordAt(v, 'persistentVolumeClaim')['claimName'])
  const claim = claims.find((c) => names.includes(c.metadata.name) && recordAt(c, 'status')['phase'] !== 'Bound')
  if (claim === undefined) return undefined
  const storageClass = recordAt(claim, 'spec')['storageClassName']
  const why =
    typeof storageClass === 'string' && storageClass !== ''
      ? `storage class ${storageClass} gives it no volume`
      : 'the Cluster names no storage class, and the hub has no default one'
  return { text: `volume claim ${claim.metadata.name ?? ''} is not bound: ${why}`, cause: 'StorageMissing' }
}

/** For a Deployment. */
function refusedPods(workload: KubeObject): Trouble | undefined {
  const failed = listAt(recordAt(workload, 'status'), 'conditions').find(
    (c) => c['type'] === 'ReplicaFailure' && c['status'] === 'True',
  )
  if (failed === undefined) return undefined
  const text = String(failed['message'])
  return { text, ...(isOfQuota(text) && { cause: 'QuotaFull' as const }) }
}

/** For a StatefulSet, which reports nothing itself. */
function fullQuota(quotas: readonly KubeObject[]): Trouble | undefined {
  for (const quota of quotas) {
    const { hard, used } = { hard: recordAt(quota['status'], 'hard'), used: recordAt(quota['status'], 'used') }
    const full = Object.keys(hard).filter(
      (what) => (quantityValue(used[what]) ?? 0) >= (quantityValue(hard[what]) ?? Infinity),
    )
    const named = full.slice(0, MOST_NAMED).map((what) => `${what} ${String(used[what])} of ${String(hard[what])}`)
    if (named.length > 0)
      return {
        text: `no pod is made: ResourceQuota ${quota.metadata.name ?? ''} is full: ${named.join(', ')}`,
        cause: 'QuotaFull',
      }
  }
  return undefined
}

/** The only sign of it in an API server's error. */
const isOfQuota = (text: string): boolean => text.includes('exceeded quota')

/** Policy kubenode-control-plane-images names the ConfigMap that an administrator of the hub fills. */
const isOfImages = (text: string): boolean => text.includes(CONTROL_PLANE_VERSIONS)

/** For a write refused by a hub quota or its image list; rethrows others. */
export function refusedWrite(error: unknown): Trouble | undefined {
  const text = messageOf(error)
  if (!isForbidden(error)) return undefined
  if (isOfQuota(text)) return { text, cause: 'QuotaFull' }
  return isOfImages(text) ? { text } : undefined
}
