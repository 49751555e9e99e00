// The RAM policy of the provider for one cluster: it reads everything in ECS that it has to list, makes hosts with the cluster's tag only, and changes no other host.
import { grouped, type PolicyFor } from '../cloud/policy.ts'
import { TAGS } from '../cloud/tags.ts'
import { ECS_ACTIONS, ECS_HOST_ACTIONS } from './actions.ts'

const named = (actions: readonly string[]): readonly string[] => actions.map((action) => `ecs:${action}`)

/** What a new host is made of, besides itself. */
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
