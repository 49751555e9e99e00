import { expect, test } from 'vitest'
import type { LogRequest } from '#api/kinds/log-request.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { LOG_REQUEST_LIFE_MS, LOG_REQUESTS_AT_ONCE, LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { timestamp } from '#lib/clock.ts'
import { plan } from './plan.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

const request = (name: string, machine = 'm-1', ageMs = 1_000, phase?: 'Done' | 'Answering'): LogRequest =>
  ({
    metadata: { name, uid: `uid-${name}`, creationTimestamp: timestamp(NOW - ageMs) },
    spec: { machine, machineUid: `uid-${machine}`, component: 'beacon', ticket: `ticket-${name}` },
    ...(phase !== undefined && { status: { phase } }),
  }) as LogRequest

const machine = (name: string, logs?: readonly string[]): Machine =>
  ({ metadata: { name, uid: `uid-${name}` }, spec: defined({ logs }) }) as Machine

const listed = (requests: readonly LogRequest[], machines: readonly Machine[]) =>
  plan({ requests, machines }, NOW).actions.map((a) =>
    a.kind === 'ListRequests'
      ? `${a.machine.metadata.name}: ${a.tickets.join(' ')}`
      : `delete ${a.request.metadata.name}`,
  )

test('a machine carries its open requests', () => {
  expect(listed([request('a'), request('b', 'm-2')], [machine('m-1'), machine('m-2')])).toEqual([
    'm-1: ticket-a',
    'm-2: ticket-b',
  ])
  expect(listed([request('a', 'm-1', 1_000, 'Answering')], [machine('m-1', ['ticket-a'])])).toEqual([])
})

test.each([
  ['was answered', [request('a', 'm-1', 1_000, 'Done')]],
  ['was deleted', []],
  ['is for an earlier machine of the name', [{ ...request('a'), spec: { ...request('a').spec, machineUid: 'other' } }]],
])('a request that %s is taken off', (_, requests) => {
  expect(listed(requests, [machine('m-1', ['ticket-a'])])).toEqual(['m-1: '])
})

test('a request is deleted when its time is over, whatever its clock said', () => {
  const none = { ...request('b'), metadata: { name: 'b', uid: 'uid-b' } }
  expect(listed([request('a', 'm-1', LOG_REQUEST_LIFE_MS), none], [machine('m-1')])).toEqual(['delete a', 'delete b'])
  expect(plan({ requests: [request('a')], machines: [] }, NOW).requeueAfter).toBe(LOG_REQUEST_LIFE_MS - 1_000)
})

test('the oldest requests of a machine go first, and the others wait', () => {
  const requests = Array.from({ length: 9 }, (_, n) => request(`${n}`, 'm-1', 10_000 - n * 1_000))
  const [first] = plan({ requests, machines: [machine('m-1')] }, NOW).actions
  expect(first?.kind === 'ListRequests' ? first.tickets : []).toEqual(
    Array.from({ length: LOG_REQUESTS_OF_MACHINE }, (_, n) => `ticket-${n}`),
  )
})

test('no more requests are answered at once than the bound of the cluster', () => {
  const machines = Array.from({ length: 200 }, (_, n) => machine(`m-${n}`))
  const requests = machines.map((m) => request(`r-${m.metadata.name}`, m.metadata.name))
  expect(plan({ requests, machines }, NOW).actions).toHaveLength(LOG_REQUESTS_AT_ONCE)
})

test('a machine that is being deleted is left alone', () => {
  const leaving = machine('m-1')
  const deleted = { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: timestamp(NOW) } }
  expect(listed([request('a')], [deleted])).toEqual([])
})
