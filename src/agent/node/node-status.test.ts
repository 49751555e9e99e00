import { expect, test } from 'vitest'
import { nodeStatus } from './node-status.ts'

const facts = { bootId: 'b', os: 'linux', arch: 'amd64', kernel: '6', hostname: 'n', cpus: 8, memoryBytes: 1024 }
const observed = { name: 'n', facts, address: undefined, version: '0.0.0', problems: [], readySince: 0 }

test('a Node that no kubelet serves has what its host has, and room for no pods', () => {
  const room = { cpu: '8', memory: '1024', pods: '0' }
  expect(nodeStatus(observed, 0, { ready: true })).toMatchObject({ status: { capacity: room, allocatable: room } })
})

test('of the Node of a kubelet, the agent reports conditions alone', () => {
  expect(nodeStatus(observed, 0, { ready: false })['status']).toEqual({ conditions: [] })
})
