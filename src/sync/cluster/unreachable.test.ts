import { expect, test } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { syncErrors } from '../sync-errors.ts'
import { unreachable, unreachableReason } from './unreachable.ts'

const answered = (code: number) => new ApiError(failure(code, 'no'), { action: 'list', target: 'machines' })
const thrown = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (e) {
    return e
  }
}

test.each([
  ['a server that says 401', answered(401), 'CredentialsInvalid'],
  ['a server that says 403', answered(403), 'CredentialsInvalid'],
  [
    'a kubeconfig that we do not use',
    thrown(() => parseSafeKubeconfig('kind: Config', 'Secret a/b')),
    'CredentialsInvalid',
  ],
  ['a server that says 503', answered(503), 'ApiServerDown'],
  ['a server with too much to do', answered(429), 'ApiServerDown'],
  ['a cluster without a kubeconfig', new KubeNodeError(syncErrors.KN7301({ id: 'x' })), 'ReferenceMissing'],
  ['a cluster whose control plane is being made', new KubeNodeError(syncErrors.KN7305({ id: 'x' })), 'WaitingForOther'],
  ['a request that the server finds malformed', answered(400), 'ReconcileFailed'],
  ['an error of ours', new TypeError('x is undefined'), 'ReconcileFailed'],
] as const)('%s', (_, error, reason) => {
  expect(unreachableReason(error)).toBe(reason)
})

test('a lost connection', () => {
  const message = syncErrors.KN7301({ id: 'x' })
  expect(unreachableReason(new ConnectionError(message, 'no'))).toBe('ApiServerDown')
})

test('a server whose certificate is not of the authority in the kubeconfig', () => {
  const refused = new ConnectionError(kubeErrors.KN2004({ action: 'list', why: 'SELF_SIGNED_CERT_IN_CHAIN' }), 'no')
  expect(unreachableReason(refused)).toBe('CredentialsInvalid')
})

test('a server whose own certificate has expired: another kubeconfig would not help', () => {
  const refused = new ConnectionError(kubeErrors.KN2003({ action: 'list', why: 'CERT_HAS_EXPIRED' }), 'no')
  expect(unreachableReason(refused)).toBe('ServerCertificateExpired')
  const ahead = new ConnectionError(kubeErrors.KN1408_notYetValid({ action: 'list', why: 'CERT_NOT_YET_VALID' }), 'no')
  expect(unreachableReason(ahead)).toBe('ServerCertificateExpired')
})

test('a control plane that is being made is a wait without a number, what went wrong has one', () => {
  const message = (error: unknown) => unreachable(error).message
  expect(message(new KubeNodeError(syncErrors.KN7305({ id: 'x' })))).not.toMatch(/KN\d/)
  expect(message(new KubeNodeError(syncErrors.KN7301({ id: 'x' })))).toMatch(/KN7301/)
})
