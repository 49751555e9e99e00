// Every action of Alibaba Cloud that the provider calls; the printed policy is made of this list.

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

/** Those that change a host; the policy allows them for hosts of the cluster only. */
export const ECS_HOST_ACTIONS: readonly EcsAction[] = [
  'DeleteInstance',
  'ModifySystemEventAttribute',
  'RebootInstance',
  'RedeployInstance',
  'ReportInstancesStatus',
  'StartInstance',
  'StopInstance',
]
