// Agents and controllers of different versions: each ignores fields that it does not know yet, and an absent field has its old meaning.
import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { parseRecord } from './components/record.ts'
import { orderOf, parseOrder } from './machine-order.ts'

const machineOf = (component: Readonly<Record<string, unknown>>, spec: Readonly<Record<string, unknown>> = {}) =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm', uid: 'u', generation: 3 },
    spec: { components: [{ name: 'c', version: '1.0.0', ...component }], ...spec },
  }) as unknown as Machine

const known = { name: 'c', version: '1.0.0', attempt: 2, switch: { attempt: 2, permit: 'p' } }

test('what a newer controller says beside is no order', () => {
  const now = orderOf(machineOf(known))
  expect(orderOf(machineOf({ ...known, urgency: 'High' }, { futureField: { a: 1 } }))).toEqual(now)
})

test('what an older controller does not say has its old meaning', () => {
  const { components, jobs } = orderOf(machineOf({}))
  expect([components, jobs]).toEqual([[{ name: 'c', version: '1.0.0', attempt: 1 }], []])
})

test('what a newer agent of the same format kept is read by the one before it', () => {
  const order = orderOf(machineOf(known))
  expect(
    parseOrder({ ...order, seenAt: 5, components: order.components.map((c) => ({ ...c, hint: 'x' })) }),
  ).toMatchObject({ uid: 'u' })
  const slot = { id: 'aaaaaaaaaaaaaaaa-0', digest: 'd', version: '1.0.0', label: 'x' }
  const record = {
    format: 1,
    component: 'c',
    state: 'Healthy',
    since: 1,
    target: { version: '1.0.0', attempt: 1 },
    current: slot,
    pins: [],
    verdicts: [],
  }
  expect(parseRecord(record)?.current?.version).toBe('1.0.0')
})
