import { expect, test } from 'vitest'
import { Signer, generateKey } from '#api/trust/keys.ts'
import { parseSignedTrust } from '#api/trust/trust-document.ts'
import { newTrust } from './new-trust.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')
const signer = new Signer(generateKey().pem)
const WISH = { output: 't.json', sequence: '1', threshold: '1', expires: '2027-01-01T00:00:00Z', keys: [] }

test('a document that agents accept is signed and read again', () => {
  const signed = newTrust(WISH, [signer], NOW)
  expect(parseSignedTrust(structuredClone(signed))).toEqual(signed)
  expect(signed.document.keys).toEqual([signer.publicKey])
  const other = new Signer(generateKey().pem).publicKey
  expect(newTrust({ ...WISH, keys: [JSON.stringify(other)] }, [signer], NOW).document.keys).toEqual([other])
})

test.each([
  [{ sequence: 'x' }, '--sequence "x" is not a whole number from 1 on'],
  [{ sequence: '0' }, '--sequence "0" is not a whole number from 1 on'],
  [{ threshold: '1.5' }, '--threshold "1.5" is not a whole number from 1 on'],
  [{ threshold: '2' }, 'its threshold 2 cannot be met by its keys'],
  [{ expires: 'soon' }, '--expires "soon" is no time such as 2027-01-31T00:00:00Z'],
  [{ expires: '2026-01-01T00:00:00Z' }, 'it expired at 2026-01-01T00:00:00Z'],
  [{ keys: ['nonsense'] }, '--key "nonsense" is no public key as kubenode artifact keys new prints it'],
  [
    { keys: ['{"keyId":"a"}'] },
    '--key "{\\"keyId\\":\\"a\\"}" is no public key as kubenode artifact keys new prints it',
  ],
])('%j is refused', (wrong, why) => {
  expect(() => newTrust({ ...WISH, ...wrong }, [signer], NOW)).toThrow(
    `KN1002: cannot write the trust document t.json: ${why}`,
  )
})
