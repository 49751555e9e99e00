import { describe, expect, test } from 'vitest'
import { type Machine } from '#api/kinds/machine.ts'
import { StatusPace, UNDER_WAY_MS, isPassing } from './status-pace.ts'
import type { OwnStatus } from '../status.ts'

const machine = (state: string, attempt = 2): Machine =>
  ({
    metadata: { name: 'm' },
    spec: { components: [{ name: 'beacon', version: '1.1.0', attempt: 2 }] },
    status: { components: [{ name: 'beacon', state, attempt }] },
  }) as unknown as Machine

const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})

const own = (phase: string, ready: 'True' | 'False' = 'True', reachable: 'True' | 'False' = 'True'): OwnStatus =>
  ({ phase, conditions: [condition('Ready', ready, 'x'), condition('AgentReachable', reachable, 'y')] }) as OwnStatus

describe('a status may wait', () => {
  test.each([
    ['while a component switches', machine('Probing'), own('Updating', 'False'), true],
    ['while a report speaks of an earlier attempt', machine('Healthy', 1), own('Ready'), true],
    ['not once the change is over', machine('Healthy'), own('Ready'), false],
    ['not when something is broken', machine('Degraded'), own('Updating', 'False'), false],
    ['not when the agent is silent', machine('Probing'), own('Updating', 'False', 'False'), false],
    ['not when the machine is Lost', machine('Probing'), own('Lost', 'False'), false],
  ] as const)('%s', (_, m, after, expected) => {
    expect(isPassing(m, own('Ready'), after)).toBe(expected)
  })

  test('for as long as a hundred machines that switch at once take on a busy server', () => {
    let now = 1_000
    const pace = new StatusPace(() => now)
    pace.left('m')
    now += 20_000
    expect(pace.left('m')).toBeGreaterThan(0)
  })

  test('but not for ever', () => {
    let now = 1_000
    const pace = new StatusPace(() => now)
    expect(pace.left('m')).toBe(UNDER_WAY_MS)
    now += 1_000
    expect(pace.left('m')).toBe(UNDER_WAY_MS - 1_000)
    now += UNDER_WAY_MS
    expect(pace.left('m')).toBe(0)
    pace.over('m')
    expect(pace.left('m')).toBe(UNDER_WAY_MS)
  })
})
