// Every right that a shipped role grants was used by one of our programs in a recorded test, or is in a short list with a reason.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { UsedRight } from '#apiserver/auth/used-rights.ts'
import { EVIDENCE, recordedTable } from '#test/support/rights/record.ts'
import { creditOf, flat, shippedRights } from '#test/support/rights/shipped-rights.ts'
import { ROOT } from './source-files.ts'
import { UNUSED } from './unused-rights.ts'

const used = new Set(flat(recordedTable()))
const shipped = flat(shippedRights())
const unused = shipped.filter((right) => !used.has(right))

test('each right is used or has a reason; record it with npm run rights, or take it out of roles.ts', () => {
  expect(unused.filter((right) => !UNUSED.some((u) => u.right.test(right)))).toEqual([])
})

test('the table names rights of today; npm run rights writes it', () => {
  expect([...used].filter((right) => !shipped.includes(right))).toEqual([])
})

test('a reason is for a right that is shipped and not used, and its test is there', () => {
  expect(UNUSED.filter((u) => !unused.some((right) => u.right.test(right)))).toEqual([])
  const tests = [...EVIDENCE, ...UNUSED.map((u) => u.test).filter((t) => t !== '')]
  expect(tests.filter((t) => !existsSync(join(ROOT, t)))).toEqual([])
})

const request = (more: Partial<UsedRight>): UsedRight => ({
  user: 'kubenode:sync',
  groups: [],
  verb: 'get',
  group: 'coordination.k8s.io',
  resource: 'leases',
  subresource: '',
  namespace: 'kubenode-system',
  name: 'kubenode-sync',
  ...more,
})

test.each<[string, Partial<UsedRight>, string]>([
  ['a certificate', {}, 'sync: get leases.coordination.k8s.io named kubenode-sync in kubenode-system'],
  [
    'a service account',
    { user: 'system:serviceaccount:kubenode-system:kubenode-sync' },
    'sync: get leases.coordination.k8s.io named kubenode-sync in kubenode-system',
  ],
  [
    'the narrower of two rights',
    { user: 'kubenode:controllers', name: 'kubenode-controllers' },
    'controllers: get leases.coordination.k8s.io named kubenode-controllers in kubenode-system',
  ],
  [
    'a group',
    { user: 'x', groups: ['kubenode:agents'], verb: 'patch', namespace: 'kube-node-lease', name: 'n' },
    'agents: patch leases.coordination.k8s.io in kube-node-lease',
  ],
  [
    'an account of an agent that acts by the right on its own names',
    {
      user: 'system:serviceaccount:kubenode-agents:machine-u',
      groups: ['system:serviceaccounts:kubenode-agents'],
      verb: 'act-as-agent',
      group: '',
      resource: 'nodes',
      namespace: 'kubenode-agents',
      name: 'n',
    },
    'approver: act-as-agent nodes in kubenode-agents',
  ],
])('%s is credited with the right that lets it', (_, more, want) => {
  const credit = creditOf(request(more))
  expect(credit.kind === 'Shipped' ? `${credit.identity}: ${credit.text}` : credit).toBe(want)
})

test('an identity of ours that does what no shipped role grants is foreign; users that are not ours do not matter', () => {
  expect(creditOf(request({ name: 'another' })).kind).toBe('Foreign')
  expect(creditOf(request({ user: 'ada' })).kind).toBe('NotOurs')
  expect(creditOf(request({ resource: 'selfsubjectaccessreviews', group: 'authorization.k8s.io' })).kind).toBe(
    'NotOurs',
  )
})
