// The field managers: one writer a field, one manager a component. Whoever writes names itself with one of these.
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
  'kubenode-agent',
] as const

export type FieldManager = (typeof FIELD_MANAGERS)[number]
