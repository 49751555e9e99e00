// The pods of the members of one etcd, and which of them serve.
import { memberName } from '#api/constructs/control-plane/etcd.ts'
import type { ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { listAt, recordAt } from './fields-of.ts'
import { PODS, type Place } from './plane-objects.ts'
import { defined } from '#lib/defined.ts'

/** In the order of the members; undefined for a member that has no pod. */
type MemberPods = readonly (KubeObject | undefined)[]

export async function memberPods(
  { client, namespace, signal }: Place,
  { etcd }: Pick<ControlPlaneSettings, 'etcd'>,
): Promise<MemberPods> {
  const pods = await listAll(client, PODS, { namespace, ...defined({ signal }) })
  return Array.from({ length: etcd.members }, (_, n) => pods.find((pod) => pod.metadata.name === memberName(n)))
}

/** A pod that is ending may stop in the middle of what it is asked. */
export const isServing = (pod: KubeObject | undefined): boolean =>
  pod !== undefined &&
  pod.metadata.deletionTimestamp === undefined &&
  listAt(recordAt(pod, 'status'), 'conditions').some((c) => c['type'] === 'Ready' && c['status'] === 'True')

export const readyMembers = (pods: MemberPods): readonly number[] =>
  pods.flatMap((pod, member) => (isServing(pod) ? [member] : []))
