// The provider's RAM policy for one cluster: reads everything in ECS it has to list, creates hosts only with the cluster's tag, and changes no other host.
import { grouped, type PolicyFor } from '../cloud/policy.ts'
import { TAGS } from '../cloud/tags.ts'
import { ECS_ACTIONS, ECS_HOST_ACTIONS } from './actions.ts'

const named = (actions: readonly string[]): readonly string[] => actions.map((action) => `ecs:${action}`)

/** What a new host consists of besides itself. */
const PARTS = ['image', 'disk', 'snapshot', 'securitygroup', 'keypair', 'deploymentset']

export function alicloudPolicy({ region, cluster, hostRole }: PolicyFor): object {
  const { read, host, others } = grouped(ECS_ACTIONS, ECS_HOST_ACTIONS, 'RunInstances')
  const own = (kind: string) => `acs:ecs:${region}:*:${kind}/*`
  const tag = (of: 'RequestTag' | 'ResourceTag') => ({ StringEquals: { [`acs:${of}/${TAGS.cluster}`]: cluster } })
  const instances = own('instance')
  return {
    Version: '1',
    Statement: [
      { Effect: 'Allow', Action: named(read), Resource: '*' },
      { Effect: 'Allow', Action: named(['RunInstances']), Resource: instances, Condition: tag('RequestTag') },
      {
        Effect: 'Allow',
        Action: named(['RunInstances']),
        Resource: [...PARTS.map(own), `acs:vpc:${region}:*:vswitch/*`],
      },
      { Effect: 'Allow', Action: named(host), Resource: instances, Condition: tag('ResourceTag') },
      { Effect: 'Allow', Action: named(others), Resource: '*' },
      ...(hostRole === undefined
        ? []
        : [
            {
              Effect: 'Allow',
              Action: ['ram:PassRole'],
              Resource: `acs:ram:*:*:role/${hostRole}`,
              Condition: { StringEquals: { 'acs:Service': 'ecs.aliyuncs.com' } },
            },
          ]),
    ],
  }
}
