// The built-in Kubernetes kinds that KubeNode reads and writes, each defined once.
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { BuiltIn } from './built-in.ts'

const cluster = (group: string, kind: string, plural: string): ResourceType => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: false,
})
const namespaced = (group: string, kind: string, plural: string): ResourceType => ({
  ...cluster(group, kind, plural),
  namespaced: true,
})

const CORE_KINDS = {
  ConfigMap: namespaced('', 'ConfigMap', 'configmaps'),
  Event: namespaced('', 'Event', 'events'),
  Namespace: cluster('', 'Namespace', 'namespaces'),
  Node: cluster('', 'Node', 'nodes'),
  Pod: namespaced('', 'Pod', 'pods'),
  PodTemplate: namespaced('', 'PodTemplate', 'podtemplates'),
  Service: namespaced('', 'Service', 'services'),
  ServiceAccount: namespaced('', 'ServiceAccount', 'serviceaccounts'),
  Secret: namespaced('', 'Secret', 'secrets'),
  PersistentVolumeClaim: namespaced('', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  ControllerRevision: namespaced('apps', 'ControllerRevision', 'controllerrevisions'),
  DaemonSet: namespaced('apps', 'DaemonSet', 'daemonsets'),
  ReplicaSet: namespaced('apps', 'ReplicaSet', 'replicasets'),
  StatefulSet: namespaced('apps', 'StatefulSet', 'statefulsets'),
  CronJob: namespaced('batch', 'CronJob', 'cronjobs'),
  Job: namespaced('batch', 'Job', 'jobs'),
  PodDisruptionBudget: namespaced('policy', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  Lease: namespaced('coordination.k8s.io', 'Lease', 'leases'),
  CertificateSigningRequest: cluster('certificates.k8s.io', 'CertificateSigningRequest', 'certificatesigningrequests'),
  CustomResourceDefinition: cluster('apiextensions.k8s.io', 'CustomResourceDefinition', 'customresourcedefinitions'),
  StorageClass: cluster('storage.k8s.io', 'StorageClass', 'storageclasses'),
  TokenReview: cluster('authentication.k8s.io', 'TokenReview', 'tokenreviews'),
  Role: namespaced('rbac.authorization.k8s.io', 'Role', 'roles'),
  RoleBinding: namespaced('rbac.authorization.k8s.io', 'RoleBinding', 'rolebindings'),
  ClusterRole: cluster('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles'),
  ValidatingWebhookConfiguration: cluster(
    'admissionregistration.k8s.io',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
  ),
} as const

/** Objects have client-node's types, or a narrower type given by the caller. */
export const coreKind = <K extends keyof typeof CORE_KINDS, T extends KubeObject = BuiltIn[K]>(
  kind: K,
): ResourceType<T> => CORE_KINDS[kind] as ResourceType<T>
