// Every action of EC2 that the provider calls; the printed policy is made of this list.

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

/** Those that change a host; the policy allows them for hosts of the cluster only. */
export const EC2_HOST_ACTIONS: readonly Ec2Action[] = [
  'ModifyInstanceEventStartTime',
  'RebootInstances',
  'StartInstances',
  'StopInstances',
  'TerminateInstances',
]
