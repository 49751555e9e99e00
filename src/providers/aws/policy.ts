// The provider's IAM policy for one cluster: reads everything in EC2 it has to list, creates hosts only with the cluster's tag, and changes no other host.
import { TAGS } from '../cloud/tags.ts'
import { grouped, type PolicyFor } from '../cloud/policy.ts'
import { EC2_ACTIONS, EC2_HOST_ACTIONS } from './actions.ts'

const named = (actions: readonly string[]): readonly string[] => actions.map((action) => `ec2:${action}`)

/** What a new host consists of besides itself and its disks. */
const PARTS = ['subnet', 'network-interface', 'security-group', 'key-pair', 'placement-group', 'spot-instances-request']

export function awsPolicy({ region, cluster, hostRole }: PolicyFor): object {
  const { read, host, others } = grouped(EC2_ACTIONS, EC2_HOST_ACTIONS, 'RunInstances')
  const own = (kind: string) => `arn:aws:ec2:${region}:*:${kind}/*`
  const made = [own('instance'), own('volume')]
  const tag = (of: 'RequestTag' | 'ResourceTag') => ({ StringEquals: { [`aws:${of}/${TAGS.cluster}`]: cluster } })
  return {
    Version: '2012-10-17',
    Statement: [
      { Sid: 'Read', Effect: 'Allow', Action: named(read), Resource: '*' },
      { Sid: 'Make', Effect: 'Allow', Action: named(['RunInstances']), Resource: made, Condition: tag('RequestTag') },
      {
        Sid: 'MakeOf',
        Effect: 'Allow',
        Action: named(['RunInstances']),
        Resource: [`arn:aws:ec2:${region}::image/*`, `arn:aws:ec2:${region}::snapshot/*`, ...PARTS.map(own)],
      },
      {
        Sid: 'TagWhatIsMade',
        Effect: 'Allow',
        Action: named(['CreateTags']),
        Resource: made,
        Condition: { StringEquals: { 'ec2:CreateAction': 'RunInstances' } },
      },
      {
        Sid: 'ChangeOwnHosts',
        Effect: 'Allow',
        Action: named(host),
        Resource: own('instance'),
        Condition: tag('ResourceTag'),
      },
      { Sid: 'Report', Effect: 'Allow', Action: named(others), Resource: '*' },
      ...(hostRole === undefined
        ? []
        : [
            {
              Sid: 'GiveHostsTheirRole',
              Effect: 'Allow',
              Action: ['iam:PassRole'],
              Resource: `arn:aws:iam::*:role/${hostRole}`,
              Condition: { StringEquals: { 'iam:PassedToService': 'ec2.amazonaws.com' } },
            },
          ]),
    ],
  }
}
