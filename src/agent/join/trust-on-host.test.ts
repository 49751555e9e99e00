// Rotating keys: what the new key signs, which document agents then accept, and that a failed check writes nothing.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Signer, generateKey } from '#api/trust/keys.ts'
import { judgeStatement } from '#api/trust/statement.ts'
import { anchorOf, judgeTrust, parseSignedTrust, trustBytes, type SignedTrust } from '#api/trust/trust-document.ts'
import { newPublisher, release, type Publisher } from '#test/doubles/node/release.ts'
import { rotateKeys, type RotateOptions } from '#artifacts/authoring/rotate.ts'
import { nodesOfLocalFleet, putTrustOnHost } from './trust-on-host.ts'

const NOW = Date.UTC(2030, 0)
let components = ''
let publisher: Publisher
beforeEach(() => {
  components = mkdtempSync(join(tmpdir(), 'kubenode-rotate-'))
  publisher = newPublisher()
  mkdirSync(join(components, 'trust'))
  writeFileSync(trustPath(), JSON.stringify(publisher.trust()))
  for (const version of ['1.0.0', '1.1.0']) put(publisher, version)
})
afterEach(() => rmSync(components, { recursive: true, force: true }))

const trustPath = () => join(components, 'trust/trust.json')
const keyPath = () => join(components, 'new.pem')

function put(by: Publisher, version: string): void {
  const { object, spec } = release(by, { version })
  writeFileSync(join(components, `beacon-${version}.json`), JSON.stringify({ ...object, spec }))
}

const rotate = (more: Partial<RotateOptions> = {}) =>
  rotateKeys({
    components,
    newKey: keyPath(),
    oldKeys: [],
    keep: [],
    expires: '2031-01-01T00:00:00Z',
    now: NOW,
    ...more,
  })

const document = (): SignedTrust => {
  const signed = parseSignedTrust(JSON.parse(readFileSync(trustPath(), 'utf8')))
  if (signed === undefined) throw new Error('no trust document')
  return signed
}

const verdicts = () =>
  ['1.0.0', '1.1.0'].map((version) => {
    const { spec } = JSON.parse(readFileSync(join(components, `beacon-${version}.json`), 'utf8')) as {
      spec: Parameters<typeof judgeStatement>[0]
    }
    return [judgeStatement(spec, document().document, NOW).kind, spec.signatures?.length]
  })

const snapshot = () => readdirSync(components).map((f) => (f === 'trust' ? readFileSync(trustPath(), 'utf8') : f))

describe('keys rotate', () => {
  test('the new key alone is trusted, signs the next document, and every statement holds by it', () => {
    const done = rotate()
    expect(done).toMatchObject({ sequence: 2, isAccepted: false, statements: [expect.anything(), expect.anything()] })
    expect(document().document).toMatchObject({ sequence: 2, threshold: 1, keys: [done.key] })
    expect(verdicts()).toEqual([
      ['Trusted', 1],
      ['Trusted', 1],
    ])
    expect(judgeTrust(publisher.anchor, document(), NOW)).toMatchObject({
      kind: 'Refused',
      reason: expect.stringMatching(/signed by 0 of 1 required keys of sequence 1: trusted keys/) as string,
    })
  })

  test('S5 with the old key, agents accept the document by themselves', () => {
    const old = generateKey()
    const signer = new Signer(old.pem)
    const first = { ...publisher.trust().document, keys: [signer.publicKey] }
    writeFileSync(trustPath(), JSON.stringify({ document: first, signatures: [signer.sign(trustBytes(first))] }))
    for (const f of readdirSync(components).filter((f) => f.startsWith('beacon'))) rmSync(join(components, f))
    writeFileSync(join(components, 'old.pem'), old.pem)
    expect(rotate({ oldKeys: [join(components, 'old.pem')] }).isAccepted).toBe(true)
    expect(judgeTrust(anchorOf(first), document(), NOW).kind).toBe('Accepted')
    // A second rotation starts from the second document, with an existing key.
    expect(rotate({ oldKeys: [keyPath()] })).toMatchObject({ sequence: 3, isAccepted: true })
  })

  test('S5 a statement that the old keys did not sign is not vouched for, and nothing is written', () => {
    put(newPublisher(), '1.1.0')
    const before = snapshot()
    expect(() => rotate()).toThrow(/^KN1111: cannot sign .*beacon-1\.1\.0\.json with the new key: signed by 0 of 1/)
    expect(snapshot()).toEqual(before)
  })

  test('a key that is to be kept must be one that is trusted; a kept one stays', () => {
    expect(() => rotate({ keep: ['nope'] })).toThrow(
      /^KN1002: cannot keep key nope: sequence 1 trusts [0-9a-f]{16}; name one of these keys$/,
    )
    const id = publisher.signer.publicKey.keyId
    rotate({ keep: [id] })
    expect(document().document.keys.map((k) => k.keyId)).toContain(id)
    expect(verdicts()).toEqual([
      ['Trusted', 2],
      ['Trusted', 2],
    ])
  })

  test('a threshold that the new keys cannot meet is refused before anything is written', () => {
    const two = { ...publisher.trust().document, threshold: 2 }
    writeFileSync(trustPath(), JSON.stringify({ document: two, signatures: [publisher.signer.sign(trustBytes(two))] }))
    const before = snapshot()
    expect(() => rotate()).toThrow(/^KN1024: .*threshold 2 cannot be met/)
    expect(snapshot()).toEqual(before)
  })
})

describe('trust on a host', () => {
  test('the nodes of a local fleet are found, and each is given the document; another folder is refused', () => {
    const node = join(components, 'test/nodes/workers-1')
    mkdirSync(join(node, 'state'), { recursive: true })
    mkdirSync(join(components, 'test/nodes/half-made'), { recursive: true })
    expect(nodesOfLocalFleet(components)).toEqual([node])
    expect(putTrustOnHost(trustPath(), node, NOW)).toBe(1)
    expect(JSON.parse(readFileSync(join(node, 'trust-from-host.json'), 'utf8'))).toEqual(document())
    expect(() => putTrustOnHost(trustPath(), components, NOW)).toThrow(/^KN1112: .*no agent in this folder/)
    writeFileSync(trustPath(), '{}')
    expect(() => putTrustOnHost(trustPath(), node, NOW)).toThrow(/^KN1024: /)
  })
})
