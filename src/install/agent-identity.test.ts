import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { agentIdentityIn } from './agent-identity.ts'

const approver = (...args: readonly string[]): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'kubenode-approver' },
  spec: { template: { spec: { containers: [{ name: 'approver', args }] } } },
})

test.each<[string, readonly KubeObject[], string | undefined]>([
  ['no approver', [], undefined],
  ['an approver that says nothing', [approver('run')], 'certificate'],
  ['one with accounts', [approver('run', '--agent-identity', 'serviceAccount')], 'serviceAccount'],
  ['one with certificates', [approver('run', '--agent-identity', 'certificate')], 'certificate'],
  ['one with a form of a later version', [approver('run', '--agent-identity', 'later')], 'certificate'],
])('%s', (_, objects, identity) => {
  expect(agentIdentityIn(objects)).toBe(identity)
})
