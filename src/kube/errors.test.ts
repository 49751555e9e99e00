import { describe, expect, it } from 'vitest'
import {
  ApiError,
  ConnectionError,
  failure,
  isAlreadyExists,
  isConflict,
  isGone,
  mayHaveApplied,
  statusFrom,
} from './errors.ts'
import { kubeErrors } from './kube-errors.ts'
import { outcomeOf } from './outcome.ts'

const error = (code: number, message = 'said', reason?: string) =>
  new ApiError(failure(code, message, undefined, reason), { action: 'update', target: 'machines.kubenode.io/m-1' })

describe('refusals', () => {
  it.each([
    [400, 'KN2400', 'never'],
    [401, 'KN2401', 'later'],
    [403, 'KN2403', 'later'],
    [404, 'KN2404', 'later'],
    [409, 'KN2409', 'now'],
    [410, 'KN2410', 'now'],
    [422, 'KN2422', 'never'],
    [429, 'KN2500', 'later'],
    [500, 'KN2500', 'later'],
    [504, 'KN2500', 'later'],
  ] as const)('%i is %s and is to be tried again: %s', (status, code, retry) => {
    expect(error(status)).toMatchObject({ code, retry, status })
  })

  it('say what could not be done, to which object, what was seen and what to do', () => {
    expect(error(409).message).toBe(
      'KN2409: cannot update machines.kubenode.io/m-1: Conflict: said; read the object again and decide with its current state',
    )
  })

  it('say of a client that the server takes for anonymous that its identity was not accepted', () => {
    expect(error(403, 'User "system:anonymous" cannot get resource "x"').message).toBe(
      'KN2403: cannot update machines.kubenode.io/m-1: Forbidden: User "system:anonymous" cannot get resource "x" (it accepted no token or client certificate of yours); ask for the missing permission (kubectl auth can-i)',
    )
    expect(error(403, 'User "ada" cannot get resource "x"').message).not.toContain('accepted')
  })

  it('AlreadyExists and Conflict share a code and are distinguished', () => {
    const exists = error(409, 'x', 'AlreadyExists')
    expect([isAlreadyExists(exists), isConflict(exists)]).toEqual([true, false])
    expect([isAlreadyExists(error(409)), isConflict(error(409))]).toEqual([false, true])
  })

  it('S16 never repeat the words of a server about a Secret', () => {
    const status = failure(422, 'data[x]: Invalid value: "hunter2"', {
      causes: [{ field: 'data', message: 'hunter2' }],
    })
    const hidden = new ApiError(status, { action: 'update', target: 'secrets/s', sensitive: true })
    expect(
      JSON.stringify([hidden.message, hidden.serverMessage, hidden.causes, hidden.details, hidden.data]),
    ).not.toContain('hunter2')
  })

  it('say of a Secret which fields belong to whom, and no value with it', () => {
    const conflict = { reason: 'FieldManagerConflict', field: '.data.password' }
    const status = failure(409, 'Apply failed: hunter2', {
      causes: [
        { ...conflict, message: 'conflict with "kubectl-edit" using v1 hunter2' },
        { ...conflict, message: 'hunter2' },
        { reason: 'FieldValueInvalid', field: '.data.password', message: 'conflict with "hunter2"' },
      ],
    })
    const hidden = new ApiError(status, { action: 'patch', target: 'secrets/s', sensitive: true })
    expect(hidden.causes).toEqual([{ ...conflict, message: 'conflict with "kubectl-edit"' }])
    expect(JSON.stringify([hidden.message, hidden.details, hidden.data])).not.toContain('hunter2')
  })

  it.each([
    ['a login page', 200, '<html>', 200],
    ['a Status without a code', 503, { kind: 'Status' }, 503],
    ['a Status with its own code', 200, { kind: 'Status', code: 410, reason: 'Expired', message: 'old' }, 410],
    ['nothing', 502, undefined, 502],
  ])('are read from %s', (_name, code, body, want) => {
    expect(statusFrom(code, body).code).toBe(want)
  })

  it('of an expired kind are Gone', () => {
    expect(isGone(error(410, 'x', 'Gone')) && isGone(error(410, 'x', 'Expired'))).toBe(true)
  })
})

describe('outcomes', () => {
  const uid = 'Operation cannot be fulfilled: Precondition failed: UID in precondition: a, UID in object meta: b'
  it.each([
    ['Conflict', error(409)],
    ['Stale', error(409, uid)],
    ['Stale', error(404)],
    ['Exists', error(409, 'x', 'AlreadyExists')],
    ['Denied', error(403)],
    ['Denied', error(422)],
    ['Denied', error(429)],
    ['Unknown', error(500)],
    ['Unknown', error(504)],
    ['Unknown', new ConnectionError(kubeErrors.KN2001({ action: 'get', why: 'x' }), 'unknown')],
  ])('%s', async (kind, thrown) => {
    expect((await outcomeOf(() => Promise.reject(thrown))).kind).toBe(kind)
  })

  it('a bug is thrown on', async () => {
    await expect(outcomeOf(() => Promise.reject(new TypeError('bug')))).rejects.toThrow('bug')
  })

  it('says which failures may hide an applied write', () => {
    expect(
      [error(500), error(504), new ConnectionError(kubeErrors.KN2001({ action: 'get', why: 'x' }), 'unknown')].map(
        mayHaveApplied,
      ),
    ).toEqual([true, true, true])
    expect(
      [error(409), error(429), new ConnectionError(kubeErrors.KN2001({ action: 'get', why: 'x' }), 'no')].map(
        mayHaveApplied,
      ),
    ).toEqual([false, false, false])
  })
})

it.each<[string, object, object]>([
  ['a text in place of causes', { details: { causes: 'FieldManagerConflict' } }, { causes: [] }],
  [
    'causes that are no objects',
    { details: { causes: [null, 7, { reason: 'x', field: {} }] } },
    { causes: [{ reason: 'x' }] },
  ],
  ['a wait that is no number', { details: { retryAfterSeconds: 'soon' } }, { retryAfterMs: undefined }],
  ['a name that is no text', { details: { name: {}, uid: 'u' } }, { details: { uid: 'u' } }],
  ['a reason without an end', { reason: 'x'.repeat(1_000) }, { reason: `${'x'.repeat(100)}…` }],
])('of a Status with %s, only what has the form of one counts', (_, fields, expected) => {
  const status = statusFrom(409, { kind: 'Status', message: 'said', reason: 'Conflict', ...fields })
  expect(new ApiError(status, { action: 'update', target: 'machines.kubenode.io/m-1' })).toMatchObject(expected)
})
