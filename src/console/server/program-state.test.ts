// Conclusions from readings of a Lease, with clocks an hour off, pauses, and unavailable servers.
import { expect, test } from 'vitest'
import { microTimestamp } from '#lib/clock.ts'
import type { Lease } from '#runtime/lease.ts'
import { notYetRead, type ProgramState, type ProgramReading, watched } from './program-state.ts'

const NOW = Date.parse('2026-01-05T02:00:00Z')
const HOUR = 3_600_000

interface At {
  readonly version?: number
  readonly holder?: string
  /** By the clock of the holder. */
  readonly renewed?: number
}

const lease = ({ version = 1, holder = 'pod-a', renewed = NOW }: At = {}): ProgramReading => ({
  kind: 'Lease',
  lease: {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'kubenode-defender', uid: 'u', resourceVersion: String(version) },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: holder === '' ? 1 : 15,
      renewTime: microTimestamp(renewed),
    },
  } satisfies Lease,
})
const absent: ProgramReading = { kind: 'Absent' }
const notRead: ProgramReading = { kind: 'NotRead', message: 'HTTP 500' }

/** Readings, each some seconds after the start. */
function lookAfter(readings: readonly (readonly [second: number, reading: ProgramReading])[]): ProgramState {
  let memory = notYetRead('defender', 'kubenode-defender')
  for (const [second, reading] of readings)
    memory = watched(memory, reading, { monotonic: 77_000 + second * 1_000, now: NOW + second * 1_000 })
  return memory.shown
}

const v = (version: number, more: At = {}) => lease({ version, ...more })

test.each<readonly [string, readonly (readonly [number, ProgramReading])[], string]>([
  ['one reading says nothing, however fresh its time is', [[0, v(1)]], 'Unknown'],
  [
    'one that renews runs',
    [
      [0, v(1)],
      [3, v(2)],
    ],
    'Runs',
  ],
  [
    'one that renews runs, with a clock an hour behind',
    [
      [0, v(1, { renewed: NOW - HOUR })],
      [3, v(2, { renewed: NOW - HOUR })],
    ],
    'Runs',
  ],
  [
    'one whose lease is an hour ahead and does not change is away',
    [
      [0, v(1, { renewed: NOW + HOUR })],
      [10, v(1)],
      [20, v(1)],
    ],
    'Away Stopped',
  ],
  [
    'nothing is concluded before another could lead',
    [
      [0, v(1)],
      [10, v(1)],
      [19, v(1)],
    ],
    'Unknown',
  ],
  [
    'one that ran is taken to run until its time is over',
    [
      [0, v(1)],
      [3, v(2)],
      [22, v(2)],
    ],
    'Runs',
  ],
  [
    'one that ran and does not renew is away',
    [
      [0, v(1)],
      [3, v(2)],
      [23, v(2)],
    ],
    'Away Stopped',
  ],
  [
    'another one that takes over in time was never away',
    [
      [0, v(1)],
      [3, v(2)],
      [21, v(3, { holder: 'pod-b' })],
    ],
    'Runs',
  ],
  [
    'one that is back runs',
    [
      [0, v(1)],
      [20, v(1)],
      [25, v(2)],
    ],
    'Runs',
  ],
  [
    'a released lease is that of a restart at first',
    [
      [0, v(1)],
      [3, v(2)],
      [5, v(3, { holder: '' })],
      [9, v(3, { holder: '' })],
    ],
    'Runs',
  ],
  [
    'a lease that stays released is one of a program that ended',
    [
      [0, v(3, { holder: '' })],
      [5, v(3, { holder: '' })],
    ],
    'Away Released',
  ],
  ['no lease at first may be a new installation', [[0, absent]], 'Unknown'],
  [
    'without a lease no program runs',
    [
      [0, absent],
      [5, absent],
    ],
    'Away Absent',
  ],
  [
    'a lease that comes is one of a program that began',
    [
      [0, absent],
      [5, absent],
      [10, v(1)],
    ],
    'Runs',
  ],
  [
    'a lease that is deleted and does not come back',
    [
      [0, v(1)],
      [3, v(2)],
      [10, absent],
      [15, absent],
    ],
    'Away Absent',
  ],
  [
    'while it cannot be read, it is unknown',
    [
      [0, v(1)],
      [3, v(2)],
      [10, notRead],
    ],
    'Unknown HTTP 500',
  ],
  [
    'after an outage of the server a holder has its time to renew',
    [
      [0, v(1)],
      [3, v(2)],
      [10, notRead],
      [400, v(2)],
      [410, v(2)],
    ],
    'Unknown',
  ],
  [
    'after an outage it is judged again from the start',
    [
      [0, v(1)],
      [10, notRead],
      [400, v(1)],
      [420, v(1)],
    ],
    'Away Stopped',
  ],
])('%s', (_, readings, want) => {
  const { state, how, message } = lookAfter(readings)
  expect([state, how, message].filter((part) => part !== undefined).join(' ')).toBe(want)
})

test.each<readonly [string, readonly (readonly [number, ProgramReading])[], number | undefined]>([
  [
    'what we saw counts, by our clock',
    [
      [0, v(1)],
      [3, v(2, { renewed: NOW - HOUR })],
      [23, v(2, { renewed: NOW - HOUR })],
      [33, v(2)],
    ],
    NOW + 3_000,
  ],
  [
    'of what we never saw change, its own time',
    [
      [0, v(1, { renewed: NOW - HOUR })],
      [20, v(1, { renewed: NOW - HOUR })],
    ],
    NOW - HOUR,
  ],
  [
    'but no time that is still to come',
    [
      [0, v(1, { renewed: NOW + HOUR })],
      [20, v(1, { renewed: NOW + HOUR })],
      [30, v(1, { renewed: NOW + HOUR })],
    ],
    NOW,
  ],
  [
    'what was never there has no time',
    [
      [0, absent],
      [5, absent],
      [10, absent],
    ],
    undefined,
  ],
  [
    'what is deleted, since we missed it',
    [
      [0, v(1)],
      [3, v(2)],
      [10, absent],
      [15, absent],
      [25, absent],
    ],
    NOW + 10_000,
  ],
  [
    'what was away and is deleted, still since it was away',
    [
      [0, v(1)],
      [3, v(2)],
      [23, v(2)],
      [30, absent],
      [40, absent],
    ],
    NOW + 3_000,
  ],
])('since when: %s', (_, readings, want) => {
  expect(lookAfter(readings).since).toBe(want)
})
