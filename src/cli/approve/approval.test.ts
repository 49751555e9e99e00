import { expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { createValidator } from '#api/validate.ts'
import { approvalDigest } from '#defender/approvals.ts'
import { aPermit, START_MS } from '#test/support/defender-objects.ts'
import { approvalOf } from './approval.ts'

const permit = aPermit({ name: 'reboot-rack-12', targets: ['m-0'] })
const ADA = { name: 'ada@example.org', groups: ['sre', 'dev'] }
const wish = { reason: undefined, for: '1h' }

test('an approval names what is asked for word for word, who approves, and until when', () => {
  const made = approvalOf(permit, ADA, wish, START_MS)
  expect(createValidator().problems(approval, made)).toEqual([])
  expect(made.metadata.name).toMatch(/^reboot-rack-12-[0-9a-f]{10}$/)
  expect(approvalOf(permit, { ...ADA, name: 'bob' }, wish, START_MS).metadata.name).not.toBe(made.metadata.name)
  expect(made.spec).toEqual({
    digest: approvalDigest(permit.spec),
    by: 'ada@example.org',
    groups: ['dev', 'sre'],
    of: { kind: operationPermit.kind, name: 'reboot-rack-12' },
    until: '2026-01-05T01:00:00Z',
  })
})

test.each(['system:serviceaccount:a:b', 'Ada Lovelace', 'x'.repeat(250), 'ü', '..'])(
  'the approval of %j has a name that is valid',
  (name) => {
    expect(createValidator().problems(approval, approvalOf(permit, { name, groups: [] }, wish, START_MS))).toEqual([])
  },
)

test.each(['', '0s', 'soon', '8d'])('an approval for %j is refused by number', (length) => {
  expect(() => approvalOf(permit, ADA, { ...wish, for: length }, START_MS)).toThrow(/^KN1333/)
})
