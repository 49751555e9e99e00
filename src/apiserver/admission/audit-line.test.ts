import { expect, test } from 'vitest'
import { loggerTo } from '#lib/log.ts'
import { writeAuditLine } from './audit-line.ts'
import type { AdmissionRequest } from './chain.ts'

test('says which check, which object and who, on one line', () => {
  const lines: unknown[] = []
  const log = loggerTo((...line) => void lines.push(line))
  const request = {
    served: { type: { group: 'apps', plural: 'deployments' } },
    operation: 'CREATE',
    namespace: 'shop',
    name: 'web',
    user: { name: 'ada', groups: ['secret'] },
    dryRun: false,
  } as unknown as AdmissionRequest
  writeAuditLine(log, request, { reason: 'Policy', policy: 'p', binding: 'b', annotations: { 'p/key': 'value' } })
  const on = { operation: 'CREATE', group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' }
  expect(lines).toEqual([
    [
      'info',
      'audit',
      {
        reason: 'Policy',
        policy: 'p',
        binding: 'b',
        ...on,
        user: 'ada',
        dryRun: false,
        annotations: { 'p/key': 'value' },
      },
    ],
  ])
})
