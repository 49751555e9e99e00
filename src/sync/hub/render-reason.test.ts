import { expect, test } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'
import { renderReason } from './render-reason.ts'

const of = (message: ConstructorParameters<typeof KubeNodeError>[0], retry: 'never' | 'later' = 'never') =>
  renderReason(new KubeNodeError(message, { retry }))

test.each([
  [
    'a Job whose pod does not start',
    of(syncErrors.KN7126_failed({ job: 'render-x', why: 'late' }), 'later'),
    'RenderUnavailable',
  ],
  ['code of the fleet that fails', of(syncErrors.KN7114_log({ bytes: 2, limit: 1 })), 'RenderFailed'],
  [
    'another plan than the message names',
    renderReason({ code: syncErrors.KN7060.code, retry: 'never' }),
    'PlanExceeded',
  ],
])('%s', (_, reason, expected) => {
  expect(reason).toBe(expected)
})
