import { describe, expect, test } from 'vitest'
import { applyDefaults } from '../schema/default.ts'
import { machineComponent } from '../kinds/machine-component.ts'
import type { MachineComponentSpec } from '../kinds/machine-component.ts'
import { Signer, generateKey, isSignedBy, keyIdOf } from './keys.ts'
import { judgeStatement, signStatement, statementBytes, statementDigest } from './statement.ts'
import { anchorOf, judgeTrust, trustBytes } from './trust-document.ts'
import type { TrustDocument } from './trust-document.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const [a, b, c] = [new Signer(generateKey().pem), new Signer(generateKey().pem), new Signer(generateKey().pem)] as const

const spec = machineComponent.example.spec as MachineComponentSpec
const trust = (more: Partial<TrustDocument> = {}): TrustDocument => ({
  sequence: 3,
  expires: '2027-01-01T00:00:00Z',
  threshold: 1,
  keys: [a.publicKey, b.publicKey],
  revoked: [],
  floors: {},
  ...more,
})
const signed = (document: TrustDocument, ...signers: readonly Signer[]) => ({
  document,
  signatures: signers.map((s) => s.sign(trustBytes(document))),
})

describe('statements', () => {
  test('a statement signed by a trusted key is trusted', () => {
    expect(judgeStatement(signStatement(spec, a), trust(), NOW)).toEqual({ kind: 'Trusted' })
  })

  test('what a server fills in does not change the signed bytes', () => {
    const stored = applyDefaults(machineComponent.schema.properties?.['spec'] ?? {}, spec) as MachineComponentSpec
    expect(stored).not.toEqual(spec)
    expect(statementDigest(stored)).toBe(statementDigest(spec))
    expect(
      judgeStatement(
        applyDefaults(
          machineComponent.schema.properties?.['spec'] ?? {},
          signStatement(spec, a),
        ) as MachineComponentSpec,
        trust(),
        NOW,
      ).kind,
    ).toBe('Trusted')
  })

  test.each<[string, (s: MachineComponentSpec) => MachineComponentSpec]>([
    ['another version', (s) => ({ ...s, version: '9.9.9' })],
    ['another digest', (s) => ({ ...s, artifacts: s.artifacts?.map((x) => ({ ...x, sha256: '0'.repeat(64) })) ?? [] })],
    [
      'another program',
      (s) => ({ ...s, service: { ...s.service, exec: '/bin/evil' } as NonNullable<typeof s.service> }),
    ],
    ['no signature', (s) => ({ ...s, signatures: [] })],
    [
      'a signature under a name of another key',
      (s) => ({ ...s, signatures: [{ keyId: b.publicKey.keyId, value: s.signatures?.[0]?.value ?? '' }] }),
    ],
    [
      'a cut signature',
      (s) => ({ ...s, signatures: [{ keyId: a.publicKey.keyId, value: 'AAAAAAAAAAAAAAAAAAAAAA==' }] }),
    ],
  ])('%s is refused', (_name, change) => {
    expect(judgeStatement(change(signStatement(spec, a)), trust(), NOW)).toMatchObject({
      kind: 'Refused',
      reason: expect.stringContaining('0 of 1') as string,
    })
  })

  test('a key that the document does not list does not count', () => {
    expect(judgeStatement(signStatement(spec, c), trust(), NOW).kind).toBe('Refused')
  })

  test('a threshold counts keys, not signatures (S5 key compromise)', () => {
    const two = trust({ threshold: 2 })
    const once = signStatement(spec, a)
    const doubled = { ...once, signatures: [...(once.signatures ?? []), ...(once.signatures ?? [])] }
    expect(judgeStatement(doubled, two, NOW).kind).toBe('Refused')
    expect(judgeStatement(signStatement(once, b), two, NOW).kind).toBe('Trusted')
  })

  test('one key listed twice is one key (S5 key compromise)', () => {
    const twice = trust({ threshold: 2, keys: [a.publicKey, { ...a.publicKey, keyId: 'other' }] })
    expect(
      judgeStatement(
        { ...spec, signatures: [a.sign(statementBytes(spec)), { ...a.sign(statementBytes(spec)), keyId: 'other' }] },
        twice,
        NOW,
      ).kind,
    ).toBe('Refused')
  })

  test('a trust document holds until the moment at which it expires, and not at it', () => {
    const at = Date.parse(trust().expires)
    const verdicts = [at - 1, at].map((now) => judgeStatement(signStatement(spec, a), trust(), now).kind)
    expect(verdicts).toEqual(['Trusted', 'Refused'])
  })

  test('a revoked digest is refused', () => {
    const revoked = [spec.artifacts?.[0]?.sha256 ?? '']
    expect(judgeStatement(signStatement(spec, a), trust({ revoked }), NOW)).toMatchObject({
      reason: expect.stringContaining('revoked') as string,
    })
  })

  test('a version below its floor is refused, one at it is not (S5 rollback)', () => {
    expect(judgeStatement(signStatement(spec, a), trust({ floors: { containerd: '2.1.5' } }), NOW).kind).toBe('Refused')
    expect(judgeStatement(signStatement(spec, a), trust({ floors: { containerd: '2.1.4' } }), NOW).kind).toBe('Trusted')
    expect(judgeStatement(signStatement(spec, a), trust({ floors: { containerd: 'next' } }), NOW).kind).toBe('Refused')
  })

  test('an expired trust document trusts nothing new (S5 freeze)', () => {
    expect(judgeStatement(signStatement(spec, a), trust({ expires: '2025-12-31T00:00:00Z' }), NOW).kind).toBe('Refused')
  })
})

describe('trust documents', () => {
  const anchor = anchorOf(trust())

  test('the next one, signed by a key of the current one, is accepted', () => {
    const next = trust({ sequence: 4, keys: [c.publicKey] })
    expect(judgeTrust(anchor, signed(next, a), NOW)).toEqual({ kind: 'Accepted', trust: next })
  })

  test.each<[string, unknown, RegExp, number?]>([
    ['an older sequence (S5 rollback)', signed(trust({ sequence: 2 }), a), /older/],
    ['an expired one (S5 freeze)', signed(trust({ sequence: 4, expires: '2025-01-01T00:00:00Z' }), a), /expired/],
    ['one signed only by its own new key', signed(trust({ sequence: 4, keys: [c.publicKey] }), c), /0 of 1/],
    ['one whose threshold cannot be met', signed(trust({ sequence: 4, threshold: 3 }), a), /threshold 3/],
    ['one that lowers the threshold, without the signatures of before', signed(trust({ sequence: 4 }), a), /1 of 2/, 2],
    ['a threshold of nothing', signed(trust({ sequence: 4, threshold: 0 }), a), /threshold 0/],
    ['one changed after signing', { ...signed(trust({ sequence: 4 }), a), document: trust({ sequence: 5 }) }, /0 of 1/],
    ['no document', { document: null, signatures: [] }, /not a trust document/],
    ['keys of a wrong shape', { document: { ...trust(), keys: [1] }, signatures: [] }, /not a trust document/],
    ['a list', [], /not a trust document/],
  ])('%s is refused', (_name, candidate, why, threshold = 1) => {
    expect(judgeTrust({ ...anchor, threshold }, candidate, NOW)).toMatchObject({
      kind: 'Refused',
      reason: expect.stringMatching(why) as string,
    })
  })
})

test('malformed keys and signatures are false, never an exception', () => {
  const bytes = Buffer.from('x')
  for (const publicKey of ['', 'AAAA', '!!', Buffer.alloc(32).toString('base64')])
    expect(
      isSignedBy(bytes, { keyId: keyIdOf(publicKey), value: 'AA==' }, { keyId: keyIdOf(publicKey), publicKey }),
    ).toBe(false)
})

test('a key of another kind is refused with a number', () => {
  expect(() => new Signer('nonsense')).toThrow(/^KN5101: cannot read the signing key/)
})
