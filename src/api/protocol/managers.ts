// The field managers: one writer per field, one manager per program. Every writer uses one of these names.
export const FIELD_MANAGERS = [
  'kubenode-sync',
  'kubenode-machine',
  'kubenode-machineset',
  'kubenode-componentset',
  'kubenode-canary',
  'kubenode-remedy',
  'kubenode-remedyjob',
  'kubenode-cluster',
  'kubenode-hostdoctor',
  'kubenode-defender',
  'kubenode-cli',
  'kubenode-install',
  'kubenode-agent',
] as const

export type FieldManager = (typeof FIELD_MANAGERS)[number]
