// Every Alibaba Cloud action that the provider calls; the printed policy is built from this list.

export const ECS_ACTIONS = [
  'AcceptInquiredSystemEvent',
  'DeleteInstance',
  'DescribeInstanceHistoryEvents',
  'DescribeInstances',
  'ModifySystemEventAttribute',
  'RebootInstance',
  'RedeployInstance',
  'ReportInstancesStatus',
  'RunInstances',
  'StartInstance',
  'StopInstance',
] as const

export type EcsAction = (typeof ECS_ACTIONS)[number]

/** Actions that change a host; the policy only allows them on the cluster's hosts. */
export const ECS_HOST_ACTIONS: readonly EcsAction[] = [
  'DeleteInstance',
  'ModifySystemEventAttribute',
  'RebootInstance',
  'RedeployInstance',
  'ReportInstancesStatus',
  'StartInstance',
  'StopInstance',
]
