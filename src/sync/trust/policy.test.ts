// A revoked SSH key is refused whatever characters its fingerprint contains.
import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { keyProblem, policyOf } from './policy.ts'
import { parseSshKey } from './ssh-key.ts'
import { wireString } from './ssh-wire.ts'

const ANCHOR = 'a'.repeat(40)

/** Half of all fingerprints contain a slash. */
function newKey(hasSlash: boolean): { readonly line: string; readonly fingerprint: string } {
  for (;;) {
    const x = Buffer.from(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
    const line = `ssh-ed25519 ${Buffer.concat(['ssh-ed25519', x].map(wireString)).toString('base64')}`
    const { fingerprint } = parseSshKey(line)
    if (fingerprint.includes('/') === hasSlash) return { line, fingerprint }
  }
}

test.each([true, false])('S34 an SSH key is revoked by its fingerprint, with a slash in it: %s', async (hasSlash) => {
  const { line, fingerprint } = newKey(hasSlash)
  const verify = { mode: 'All', anchor: ANCHOR, signers: [{ principal: 'ada', keys: [line] }] } as const
  const of = (key: string) => policyOf({ ...verify, revoked: [{ key, since: '2026-11-22T00:00:00Z' }] }, undefined)
  const since = Date.parse('2026-11-22T00:00:00Z')
  expect(keyProblem(await of(fingerprint), fingerprint, since)).toEqual({ kind: 'Revoked', since })
  expect(keyProblem(await of(fingerprint), fingerprint, since - 1)).toBeUndefined()
  expect(keyProblem(await of(`SHA256:${'A'.repeat(43)}`), fingerprint, since)).toBeUndefined()
})
