// SSH signatures, honest and mutated, judged by us and by `ssh-keygen -Y check-novalidate`: what we accept OpenSSH accepts, and what OpenSSH accepts
// we accept, or refuse for one of the reasons that are named here.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Random } from '#lib/random.ts'
import { verifySshSignature } from '#sync/trust/ssh-signature.ts'
import { Malformed, wireString } from '#sync/trust/ssh-wire.ts'
import { FUZZ_TIMEOUT_MS, mutatedBytes, runCampaign } from '#test/support/fuzzing/fuzzing.ts'
import { sha256 } from '#lib/sha256.ts'

/** Where we refuse what OpenSSH accepts, on purpose. */
const STRICTER =
  /reserved field|least is 3072|not touched|is not one armored|is not base64|certificate|most is 16384|unprintable/

interface Signer {
  readonly name: string
  readonly sign: (message: Buffer) => string
}

let folder: string
let signers: readonly Signer[]
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-sshsig-'))
  const kinds = [
    ['ed25519', 'ed25519'],
    ['p256', 'ecdsa', '256'],
    ['p384', 'ecdsa', '384'],
    ['p521', 'ecdsa', '521'],
    ['rsa3072', 'rsa', '3072'],
    ['rsa2048', 'rsa', '2048'],
  ] as const
  const plain = kinds.map(([name, type, bits]) => keygenSigner(name, type, bits))
  const other = keygenSigner('other-namespace', 'ed25519', undefined, 'file')
  signers = [...plain, other, hardwareEd25519(1), hardwareEd25519(0), hardwareEcdsa(1)]
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function keygenSigner(name: string, type: string, bits?: string, namespace = 'git'): Signer {
  const key = join(folder, name)
  execFileSync('ssh-keygen', ['-q', '-t', type, ...(bits === undefined ? [] : ['-b', bits]), '-N', '', '-f', key])
  return {
    name,
    sign: (message) =>
      execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', namespace, '-f', key], {
        input: message,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'ignore'],
      }),
  }
}

const raw = (key: KeyObject, field: 'x' | 'y') => Buffer.from(key.export({ format: 'jwk' })[field] ?? '', 'base64url')
const APPLICATION = Buffer.from('ssh:')

/** What a token with a touch sensor makes, made here. */
function hardware(name: string, blob: Buffer, signData: (data: Buffer) => Buffer, type: string, flags: number): Signer {
  return {
    name,
    sign: (message) => {
      const digest = createHash('sha512').update(message).digest()
      const parts = [Buffer.from('SSHSIG'), ...['git', '', 'sha512'].map(wireString), wireString(digest)]
      const state = Buffer.from([flags, 0, 0, 0, 7])
      const signed = signData(Buffer.concat([sha256(APPLICATION), state, sha256(Buffer.concat(parts))]))
      const signature = Buffer.concat([wireString(type), wireString(signed), state])
      const version = Buffer.from([0, 0, 0, 1])
      const head = [Buffer.from('SSHSIG'), version, wireString(blob), ...['git', '', 'sha512'].map(wireString)]
      return armored(Buffer.concat([...head, wireString(signature)]))
    },
  }
}

function hardwareEd25519(flags: number): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const type = 'sk-ssh-ed25519@openssh.com'
  const blob = Buffer.concat([wireString(type), wireString(raw(publicKey, 'x')), wireString(APPLICATION)])
  return hardware(`sk-ed25519-${flags}`, blob, (data) => sign(null, data, privateKey), type, flags)
}

function hardwareEcdsa(flags: number): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const type = 'sk-ecdsa-sha2-nistp256@openssh.com'
  const point = Buffer.concat([Buffer.from([4]), raw(publicKey, 'x'), raw(publicKey, 'y')])
  const blob = Buffer.concat([wireString(type), wireString('nistp256'), wireString(point), wireString(APPLICATION)])
  const positive = (n: Buffer) => wireString((n[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), n]) : n)
  const signData = (data: Buffer) => {
    const both = sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return Buffer.concat([positive(both.subarray(0, 32)), positive(both.subarray(32))])
  }
  return hardware(`sk-ecdsa-${flags}`, blob, signData, type, flags)
}

function armored(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n')
}

const bytesOf = (text: string) => Buffer.from(text.replaceAll(/-----.*-----|\s/g, ''), 'base64')

function opensshAccepts(signature: string, message: Buffer): boolean {
  const file = join(folder, 'signature')
  writeFileSync(file, signature, 'latin1')
  const args = ['-Y', 'check-novalidate', '-n', 'git', '-s', file]
  return spawnSync('ssh-keygen', args, { input: message, stdio: ['pipe', 'ignore', 'ignore'] }).status === 0
}

type Ours = { readonly is: 'accepted'; readonly fingerprint: string } | { readonly is: 'refused'; readonly why: string }

function ours(signature: string, message: Buffer): Ours {
  try {
    return { is: 'accepted', fingerprint: verifySshSignature(signature, message).fingerprint }
  } catch (error) {
    // Anything else than a named refusal is a crash on hostile input.
    if (!(error instanceof Malformed)) throw error
    return { is: 'refused', why: error.message }
  }
}

/** The same signature, written or cut in another way. */
function mutated(signature: string, others: readonly Buffer[], random: Random): string {
  const bytes = bytesOf(signature)
  const way = random.below(6)
  if (way === 0) return armored(mutatedBytes(random, bytes, others))
  if (way === 1) return armored(flipped(bytes, random))
  if (way === 2) return armored(Buffer.concat([bytes, Buffer.from('x')]))
  if (way === 3) return signature.replaceAll('\n', '\r\n')
  if (way === 4) return armored(bytes.subarray(0, random.below(bytes.length)))
  return `${signature}${signature}`
}

function flipped(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  const place = random.below(copy.length)
  copy[place] = (copy[place] ?? 0) ^ (1 << random.below(8))
  return copy
}

test(
  'what OpenSSH says of a signature we say, too, or we name why we are stricter',
  { timeout: FUZZ_TIMEOUT_MS },
  async () => {
    const message = Buffer.from('tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b> 1 +0000\n\nx\n')
    const honest = signers.map(({ name, sign: signed }) => ({ name, signature: signed(message) }))
    const others = honest.map((h) => bytesOf(h.signature))
    await runCampaign({
      name: 'commit signatures',
      quick: 40,
      one: (random) => {
        const { signature } = random.pick(honest)
        const isHonest = random.next() < 0.3
        const text = isHonest ? signature : mutated(signature, others, random)
        const content = random.next() < 0.1 ? Buffer.concat([message, Buffer.from('\n')]) : message
        const [said, openssh] = [ours(text, content), opensshAccepts(text, content)]
        if (said.is === 'accepted') {
          expect(openssh, 'accepted by us only').toBe(true)
          return 'accepted'
        }
        if (!openssh) return 'refused'
        expect(said.why).toMatch(STRICTER)
        return 'stricter'
      },
      mustSee: ['accepted', 'refused', 'stricter'],
    })
  },
)

test.each(['ed25519', 'p256', 'p384', 'p521', 'rsa3072', 'sk-ed25519-1', 'sk-ecdsa-1'])(
  '%s is accepted, and known by the fingerprint that ssh-keygen shows',
  (name) => {
    const message = Buffer.from(`message for ${name}`)
    const signature = signers.find((s) => s.name === name)?.sign(message) ?? ''
    const said = ours(signature, message)
    expect(said.is === 'refused' ? said.why : said.is).toBe('accepted')
    expect(opensshAccepts(signature, message)).toBe(true)
    if (name.startsWith('sk-')) return
    const shown = execFileSync('ssh-keygen', ['-l', '-f', join(folder, `${name}.pub`)], { encoding: 'utf8' })
    expect(said).toMatchObject({ fingerprint: shown.split(' ')[1] })
    expect(readFileSync(join(folder, `${name}.pub`), 'utf8')).toContain(' ')
  },
)

test.each([
  ['rsa2048', /RSA key of 2048 bits; the least is 3072/],
  ['other-namespace', /was made for "file", not for git/],
  ['sk-ed25519-0', /not touched/],
] as const)('%s is refused by name', (name, why) => {
  const message = Buffer.from('x')
  expect(ours(signers.find((s) => s.name === name)?.sign(message) ?? '', message)).toMatchObject({
    is: 'refused',
    why: expect.stringMatching(why),
  })
})
