import { expect, test } from 'vitest'
import { newSight, noteStopped } from './sight.ts'

test('stopped for a moment is no freeze, stopped for longer is one, and going on ends it', () => {
  const sight = newSight()
  const seen: string[] = []
  const look = (isStopped: boolean, now: number): void => {
    const isNew = noteStopped(sight, isStopped, { now, afterMs: 2_000 })
    seen.push(`${now} ${sight.reading}${isNew ? ' told' : ''}`)
  }
  look(true, 0)
  look(false, 1_000)
  look(true, 2_000)
  look(true, 3_999)
  look(true, 4_000)
  look(true, 5_000)
  look(false, 6_000)
  expect(seen).toEqual([
    '0 Running',
    '1000 Running',
    '2000 Running',
    '3999 Running',
    '4000 Frozen told',
    '5000 Frozen',
    '6000 Running told',
  ])
})
