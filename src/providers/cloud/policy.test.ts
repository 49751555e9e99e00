import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ECS_ACTIONS, ECS_HOST_ACTIONS } from '../alicloud/actions.ts'
import { alicloudPolicy } from '../alicloud/policy.ts'
import { EC2_ACTIONS, EC2_HOST_ACTIONS } from '../aws/actions.ts'
import { awsPolicy } from '../aws/policy.ts'
import type { PolicyFor } from './policy.ts'
import { defined } from '#lib/defined.ts'

interface Statement {
  readonly Effect: string
  readonly Action: readonly string[]
  readonly Resource: string | readonly string[]
  readonly Condition?: { readonly StringEquals: Readonly<Record<string, string>> }
}

const clouds = [
  {
    name: 'aws',
    service: 'ec2',
    tag: 'aws',
    all: EC2_ACTIONS,
    host: EC2_HOST_ACTIONS,
    policy: awsPolicy,
    more: ['ec2:CreateTags'],
  },
  {
    name: 'alicloud',
    service: 'ecs',
    tag: 'acs',
    all: ECS_ACTIONS,
    host: ECS_HOST_ACTIONS,
    policy: alicloudPolicy,
    more: [],
  },
] as const

const statements = (policy: (of: PolicyFor) => object, hostRole?: string): readonly Statement[] =>
  (
    policy({ region: 'r-1', cluster: 'uid-1', ...defined({ hostRole }) }) as {
      Statement: Statement[]
    }
  ).Statement

describe.each(clouds)('the policy for $name', ({ name, service, tag, all, host, policy, more }) => {
  test('allows every action that the provider calls, and no other', () => {
    const allowed = new Set(statements(policy).flatMap((s) => s.Action))
    expect([...allowed].toSorted()).toEqual([...all.map((a) => `${service}:${a}`), ...more].toSorted())
  })

  test('is made of exactly the actions that the code names', () => {
    const folder = join(import.meta.dirname, '..', name)
    const files = readdirSync(folder).filter((f) => !['actions.ts', 'policy.ts'].includes(f))
    const code = files.map((f) => readFileSync(join(folder, f), 'utf8')).join('\n')
    for (const action of all) expect(code, action).toContain(`'${action}'`)
  })

  test('lets the account change hosts of the cluster only, and make none without its tag', () => {
    const ofHosts = statements(policy).filter((s) => s.Action.some((a) => host.includes(a.split(':')[1] as never)))
    expect(ofHosts.map((s) => s.Condition?.StringEquals)).toEqual([
      { [`${tag}:ResourceTag/kubenode.io/cluster`]: 'uid-1' },
    ])
    const making = statements(policy).filter((s) => s.Action.includes(`${service}:RunInstances`))
    for (const s of making) {
      const isHost = [s.Resource].flat().some((r) => r.includes(':instance/'))
      expect(s.Condition?.StringEquals[`${tag}:RequestTag/kubenode.io/cluster`]).toBe(isHost ? 'uid-1' : undefined)
    }
  })

  test('names the region wherever the vendor can, and the role of the hosts only when there is one', () => {
    for (const s of statements(policy))
      for (const r of [s.Resource].flat()) expect(r === '*' || r.includes(':r-1:')).toBe(true)
    const passing = statements(policy, 'node').filter((s) => s.Action.some((a) => a.endsWith(':PassRole')))
    expect(passing.map((s) => [s.Resource].flat().every((r) => r.endsWith(':role/node')))).toEqual([true])
  })
})
