import { expect, test } from 'vitest'
import { timestamp } from '#lib/clock.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FORGOTTEN } from './pruning.ts'

const NOW = Date.parse('2026-01-10T00:00:00Z')
const hoursAgo = (hours: number): string => timestamp(NOW - hours * 3_600_000)
const object = (hours: number, more: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: { name: 'a', creationTimestamp: hoursAgo(hours) },
  ...more,
})
const REQUESTS = 'certificates.k8s.io/certificatesigningrequests'
const denied = { status: { conditions: [{ type: 'Denied' }] } }

test.each([
  ['a new event', '/events', object(0.5, {}), false],
  ['an old event', '/events', object(2, {}), true],
  ['an old event that was seen again', '/events', object(2, { lastTimestamp: hoursAgo(0.5) }), false],
  [
    'an event that was seen a minute ahead of our clock',
    '/events',
    object(2, { lastTimestamp: hoursAgo(-1 / 60) }),
    false,
  ],
  ['S24 an old event of the future', '/events', object(2, { series: { lastObservedTime: hoursAgo(-1_000) } }), true],
  ['S24 an old event of a time that is none', '/events', object(2, { eventTime: 'never' }), true],
  ['a request that was answered', REQUESTS, object(2, denied), true],
  ['a request that was answered just now', REQUESTS, object(0.5, denied), false],
  ['a request that waits for a person', REQUESTS, object(23, {}), false],
  ['S24 an unanswered request', REQUESTS, object(25, {}), true],
] as const)('%s', (_, resource, o, isOver) => {
  expect(FORGOTTEN[resource]?.(o, NOW)).toBe(isOver)
})
