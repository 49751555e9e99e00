import { expect, test } from 'vitest'
import type { AdmissionRequest } from '../webhook/review.ts'
import type { DeletionVerdict } from './plan.ts'
import { reviewDeletion } from './review.ts'
import { defined } from '#lib/defined.ts'

const request: AdmissionRequest = {
  uid: 'u',
  kind: { group: '', version: 'v1', kind: 'Node' },
  operation: 'DELETE',
  name: 'n-1',
}

test.each([undefined, ''])(
  'of a whole collection (name %j) each object is asked about by its own name',
  async (name) => {
    const asked: string[] = []
    const { name: _, ...unnamed } = request
    const oldObject = { metadata: { name: 'n-7' } }
    await reviewDeletion({ ...unnamed, ...defined({ name }), oldObject }, async (deletion) => {
      asked.push(deletion.name)
      return { kind: 'Passes', ledger: undefined }
    })
    expect(asked).toEqual(['n-7'])
  },
)

test.each<readonly [string, DeletionVerdict, object]>([
  ['what passes is allowed', { kind: 'Passes', ledger: undefined }, { allowed: true }],
  [
    'what a client may well try again in a moment says when',
    { kind: 'Held', why: 'x', retryAfterMs: 1_500 },
    { allowed: false, status: { code: 429, details: { retryAfterSeconds: 2 } } },
  ],
  [
    'a full window is refused, since a client that has to wait pauses and then continues to delete',
    { kind: 'Held', why: 'x', retryAfterMs: 600_000 },
    { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'denied by the deletion guard: x' } },
  ],
  ['and so is a freeze', { kind: 'Held', why: 'x' }, { allowed: false, status: { code: 403 } }],
])('%s', async (_, verdict, response) => {
  const { response: answered } = await reviewDeletion(request, async () => verdict)
  expect(answered).toMatchObject({ uid: 'u', ...response })
  expect(answered.status?.code !== 403 || answered.status.details === undefined).toBe(true)
})
