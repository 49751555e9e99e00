import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { denial, verdictOf, type Expected } from './webhook-review.ts'

const V1: Expected = { uid: 'u', version: 'v1', mutating: false }
const review = (response: object, head: object = {}): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: 'u', ...response },
    ...head,
  })

describe('the answer of a webhook', () => {
  test.each<[string, string, Expected, object]>([
    ['allows', review({ allowed: true }), V1, { kind: 'Answered', allowed: true, status: {}, warnings: [], patch: '' }],
    ['that does not say allowed is a no', review({}), V1, { kind: 'Answered', allowed: false }],
    ['keeps only warnings that are text', review({ warnings: ['a', 1, null, 'b'] }), V1, { warnings: ['a', 'b'] }],
    ['that is allowed: "yes" is broken', review({ allowed: 'yes' }), V1, { kind: 'Broken' }],
    [
      'of another kind is broken',
      review({ allowed: true }, { apiVersion: 'v1', kind: 'Pod' }),
      V1,
      {
        kind: 'Broken',
        error:
          'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Pod',
      },
    ],
    [
      'in v1beta1 needs no uid',
      review({ uid: '', allowed: true }, { apiVersion: 'admission.k8s.io/v1beta1' }),
      { ...V1, version: 'v1beta1' },
      { kind: 'Answered', allowed: true },
    ],
    [
      'with a patch in another language is broken',
      review({ allowed: true, patch: 'e30=', patchType: 'Merge' }),
      { ...V1, mutating: true },
      {
        kind: 'Broken',
        error: 'received invalid webhook response: webhook returned invalid response.patchType of "Merge"',
      },
    ],
  ])('%s', (_, text, expected, verdict) => {
    expect(verdictOf(text, expected)).toMatchObject(verdict)
  })

  test('is never believed for another review, and never makes an exception, whatever it is', () => {
    const response = fc.record(
      {
        uid: fc.oneof(fc.constant('other'), fc.jsonValue()).filter((uid) => uid !== V1.uid),
        allowed: fc.oneof(fc.boolean(), fc.jsonValue()),
        status: fc.jsonValue(),
        warnings: fc.jsonValue(),
        patch: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    const answers = fc.oneof(
      fc.string(),
      fc.json(),
      response.map((r) => review({ uid: 'other', ...r })),
    )
    fc.assert(
      fc.property(answers, fc.boolean(), (text, mutating) => {
        expect(verdictOf(text, { ...V1, mutating }).kind).toBe('Broken')
      }),
      { numRuns: 300 },
    )
  })

  test('as a refusal always has a code of an error and a message', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('code', 'reason', 'message', 'details', 'x'), fc.jsonValue()),
        (status) => {
          const refusal = denial('a.b.c', status).status
          expect(refusal.status).toBe('Failure')
          expect(refusal.code).toBeGreaterThanOrEqual(400)
          expect(refusal.code).toBeLessThanOrEqual(599)
          expect(refusal.message).toMatch(/^admission webhook "a\.b\.c" denied the request/)
        },
      ),
      { numRuns: 200 },
    )
  })
})
