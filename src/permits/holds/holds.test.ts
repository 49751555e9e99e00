import { expect, test } from 'vitest'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { holdOf } from './in-force.ts'
import { holdOver, holdTarget } from './reach.ts'

const NOW = Date.parse('2026-01-02T00:00:00Z')

const hold = (name: string, effect: HoldEffect, creationTimestamp: string): OperationalHold =>
  ({
    metadata: { name, creationTimestamp },
    spec: { target: { kind: 'Node', name: 'n' }, effect, until: '2026-01-03T00:00:00Z', reason: 'r', author: 'a' },
  }) as unknown as OperationalHold

const holds = [
  hold('first', 'Retry', '2026-01-01T10:00:00Z'),
  hold('pause', 'Pause', '2026-01-01T23:00:00Z'),
  hold('again', 'Retry', '2026-01-01T12:00:00Z'),
  hold('between', 'Retry', '2026-01-01T11:00:00Z'),
]

test('who asks for a thing again while the first asking is in force is heard: the newest counts', () => {
  const node = { metadata: { name: 'n' } }
  expect(holdOver(holds, { effects: ['Retry'], targets: [holdTarget('Node', node)], now: NOW })?.metadata.name).toBe(
    'again',
  )
  expect(holdOf(holds, 'Retry')?.metadata.name).toBe('again')
  expect(holdOf(holds, 'Pause', 'Freeze')?.metadata.name).toBe('pause')
  expect(holdOf(holds, 'Abort')).toBeUndefined()
})
