import { expect, test } from 'vitest'
import { approvalDigest } from './approval-digest.ts'

const target = { kind: 'Cluster', name: 'a', uid: 'uid-a' } as const
const change = (reason: string) => approvalDigest({ operations: ['ChangeControlPlane'], targets: [target], reason })

test('who approves a restore of a control plane approves no other restore, and no deletion', () => {
  const restore = 'restore edge-1 to go back to 1.35.9; writes since 10:00 are lost'
  expect(change(restore)).toBe(change(restore))
  expect(new Set([restore, restore.replace('edge-1', 'edge-2'), 'the Cluster is being deleted'].map(change)).size).toBe(
    3,
  )
})

test('words that say the same of a machine in another way need no second approval', () => {
  const drain = (reason: string) =>
    approvalDigest({ operations: ['Drain'], targets: [{ kind: 'Machine', name: 'm', uid: 'uid-m' }], reason })
  expect(drain('first')).toBe(drain('second'))
})
