// Types of Kubernetes' built-in kinds: those of client-node, adapted to plain JSON and read-only. Types only, nothing is loaded. API servers reject malformed
// objects of these kinds, so objects from the own cluster need no checks; objects from other clusters are checked field by field.
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
  V1PodTemplate,
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

/** client-node turns times into dates; this client keeps plain JSON. Fields that client-node types as `any` have to be checked. */
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

/** Narrower than the API: conditions have the one form that KubeNode reads and writes, and an agent that registers its Node fills in only part of it. */
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
  PodTemplate: ObjectOf<V1PodTemplate>
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
  /** KubeNode reads schemas itself: client-node names their fields differently. */
  CustomResourceDefinition: KubeObject
}
