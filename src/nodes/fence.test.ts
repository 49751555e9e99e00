import { expect, test } from 'vitest'
import { isFencedBy, withFence, withoutFence } from './fence.ts'
import type { Node } from './objects.ts'

const node = (taints: readonly object[] = [], annotations = {}): Node =>
  ({ kind: 'Node', metadata: { name: 'n', uid: 'u', annotations }, spec: { taints } }) as unknown as Node
const written = (m: ReturnType<typeof withFence>) => (m.kind === 'Write' ? m.object : undefined)
const THEIRS = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }
const OTHER = { key: 'gpu', effect: 'NoSchedule' }

test('a fence is one taint beside all others, and says whose it is', () => {
  const fenced = written(withFence(node([OTHER]), 'a'))
  expect(fenced?.spec?.taints?.map((t) => t.key)).toEqual(['gpu', 'node.kubernetes.io/out-of-service'])
  expect([isFencedBy(fenced, 'a'), isFencedBy(fenced, 'b')]).toEqual([true, false])
})

test('a fence of another owner stays theirs: it is neither claimed nor lifted', () => {
  expect(withFence(node([THEIRS]), 'a')).toEqual({ kind: 'Keep' })
  expect(withoutFence(node([THEIRS]), 'a')).toEqual({ kind: 'Keep' })
})

test('our fence goes whole, and nothing else with it', () => {
  const fenced = written(withFence(node([OTHER], { x: 'y' }), 'a'))
  const free = fenced && written(withoutFence(fenced, 'a'))
  expect([free?.spec?.taints, free?.metadata.annotations]).toEqual([[OTHER], { x: 'y' }])
})
