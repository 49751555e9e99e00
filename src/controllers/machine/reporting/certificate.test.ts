import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { certificateExpiring, newlyExpiring } from './certificate.ts'
import { defined } from '#lib/defined.ts'

const DAY = 86_400_000
const ISSUED = Date.UTC(2026, 0, 1, 2, 3, 10)
const machine = (certificate?: { readonly issued: string; readonly expires: string }): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm-1' },
  spec: { channel: 'Agent' },
  status: { agent: { version: '1.0.0', ...defined({ certificate }) } },
})
const ofAWeek = machine({ issued: '2026-01-01T02:03:10Z', expires: '2026-01-08T02:03:10Z' })

test.each([
  ['in its first two thirds', ISSUED + (7 * DAY * 2) / 3, []],
  ['with less than a third left', ISSUED + 7 * DAY * 0.68, ['expires at 2026-01-08 02:03:10 UTC and is not renewed']],
  ['that is over', ISSUED + 8 * DAY, ['expired at 2026-01-08 02:03:10 UTC; run kubenode machine readmit --list']],
])('S26 F16 a certificate %s says when it ends, and what to do', (_, now, parts) => {
  const found = certificateExpiring(ofAWeek, now)
  expect(found).toHaveLength(parts.length)
  for (const part of parts) expect(found[0]).toMatchObject({ status: 'True', message: expect.stringContaining(part) })
})

test('S26 it is an event once, and again after it was renewed', () => {
  const [wanted] = certificateExpiring(ofAWeek, ISSUED + 6 * DAY)
  if (wanted === undefined) throw new Error('no condition')
  const condition = { ...wanted, message: wanted.message ?? '', lastTransitionTime: '2026-01-06T00:00:00Z' }
  expect([
    newlyExpiring([], [condition]),
    newlyExpiring([condition], [condition]),
    newlyExpiring([condition], []),
  ]).toEqual([condition, undefined, undefined])
})

test('S26 of a certificate that no agent reported, or that cannot be, nothing is said', () => {
  const now = ISSUED + 30 * DAY
  const upsideDown = machine({ issued: '2026-01-08T02:03:10Z', expires: '2026-01-01T02:03:10Z' })
  expect([certificateExpiring(machine(), now), certificateExpiring(upsideDown, now)]).toEqual([[], []])
})
