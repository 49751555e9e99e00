// The pods of an etcd's members, and which of them serve.
import { memberName } from '#api/constructs/control-plane/etcd.ts'
import type { ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { listAt, recordAt } from './fields-of.ts'
import { PODS, type Place } from './plane-objects.ts'
import { defined } from '#lib/defined.ts'

/** In member order; undefined for a member without a pod. */
type MemberPods = readonly (KubeObject | undefined)[]

export async function memberPods(
  { client, namespace, signal }: Place,
  { etcd }: Pick<ControlPlaneSettings, 'etcd'>,
): Promise<MemberPods> {
  const pods = await listAll(client, PODS, { namespace, ...defined({ signal }) })
  return Array.from({ length: etcd.members }, (_, n) => pods.find((pod) => pod.metadata.name === memberName(n)))
}

/** A terminating pod may stop in the middle of a request. */
export const isServing = (pod: KubeObject | undefined): boolean =>
  pod !== undefined &&
  pod.metadata.deletionTimestamp === undefined &&
  listAt(recordAt(pod, 'status'), 'conditions').some((c) => c['type'] === 'Ready' && c['status'] === 'True')

export const readyMembers = (pods: MemberPods): readonly number[] =>
  pods.flatMap((pod, member) => (isServing(pod) ? [member] : []))
