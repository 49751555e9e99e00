// What objects of Kubernetes' own kinds look like: the types of client-node, as JSON has them and for reading only. Types alone: nothing is loaded.
// API servers refuse objects of these kinds with other types, so what is read from our own cluster needs no checks; what is read from others is checked by field.
import type {
  CoreV1Event,
  V1CertificateSigningRequest,
  V1ClusterRole,
  V1ConfigMap,
  V1ControllerRevision,
  V1CronJob,
  V1DaemonSet,
  V1Job,
  V1Lease,
  V1Namespace,
  V1Node,
  V1NodeStatus,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1ReplicaSet,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1StatefulSet,
  V1StorageClass,
  V1TokenReview,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { Condition, KubeObject } from '#api/schema/object.ts'

/** client-node makes dates of times; our client leaves JSON as it is. What client-node leaves open (`any`) has to be checked. */
type Wire<T> = 0 extends 1 & T
  ? unknown
  : T extends Date
    ? string
    : T extends readonly (infer E)[]
      ? readonly Wire<E>[]
      : T extends object
        ? { readonly [K in keyof T]: Wire<T[K]> }
        : T

type ObjectOf<T> = KubeObject & Wire<Omit<T, 'apiVersion' | 'kind' | 'metadata'>>

/** Narrower than the API: conditions have the one form in which we read and write them, and an agent that registers its Node knows only a part of it. */
type NodeObject = ObjectOf<Omit<V1Node, 'status'>> & {
  readonly status?: Wire<Omit<V1NodeStatus, 'conditions' | 'nodeInfo'>> & {
    readonly conditions?: readonly (Condition & { readonly lastHeartbeatTime?: string })[]
    readonly nodeInfo?: Partial<Wire<NonNullable<V1NodeStatus['nodeInfo']>>>
  }
}

export interface BuiltIn {
  ConfigMap: ObjectOf<V1ConfigMap>
  Event: ObjectOf<CoreV1Event>
  Namespace: ObjectOf<V1Namespace>
  Node: NodeObject
  Pod: ObjectOf<V1Pod>
  Service: ObjectOf<V1Service>
  ServiceAccount: ObjectOf<V1ServiceAccount>
  Secret: ObjectOf<V1Secret>
  PersistentVolumeClaim: ObjectOf<V1PersistentVolumeClaim>
  ControllerRevision: ObjectOf<V1ControllerRevision>
  DaemonSet: ObjectOf<V1DaemonSet>
  ReplicaSet: ObjectOf<V1ReplicaSet>
  StatefulSet: ObjectOf<V1StatefulSet>
  CronJob: ObjectOf<V1CronJob>
  Job: ObjectOf<V1Job>
  PodDisruptionBudget: ObjectOf<V1PodDisruptionBudget>
  Lease: ObjectOf<V1Lease>
  CertificateSigningRequest: ObjectOf<V1CertificateSigningRequest>
  StorageClass: ObjectOf<V1StorageClass>
  TokenReview: ObjectOf<V1TokenReview>
  Role: ObjectOf<V1Role>
  RoleBinding: ObjectOf<V1RoleBinding>
  ClusterRole: ObjectOf<V1ClusterRole>
  ValidatingWebhookConfiguration: ObjectOf<V1ValidatingWebhookConfiguration>
  /** Its schemas are ours to read: client-node names their fields otherwise. */
  CustomResourceDefinition: KubeObject
}
