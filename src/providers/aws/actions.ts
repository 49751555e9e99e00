// Every EC2 action that the provider calls; the printed policy is built from this list.

export const EC2_ACTIONS = [
  'DescribeInstances',
  'DescribeInstanceStatus',
  'ModifyInstanceEventStartTime',
  'RebootInstances',
  'ReportInstanceStatus',
  'RunInstances',
  'StartInstances',
  'StopInstances',
  'TerminateInstances',
] as const

export type Ec2Action = (typeof EC2_ACTIONS)[number]

/** Actions that change a host; the policy only allows them on the cluster's hosts. */
export const EC2_HOST_ACTIONS: readonly Ec2Action[] = [
  'ModifyInstanceEventStartTime',
  'RebootInstances',
  'StartInstances',
  'StopInstances',
  'TerminateInstances',
]
