// OpenPGP signatures and keys, honest and mutated, judged by us and by gpg: what we accept gpg accepts, and what gpg accepts we accept, or refuse for one of
// the reasons that are named here.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Random } from '#lib/random.ts'
import { parseCertificate, type PgpSigningKey } from '#sync/trust/openpgp/certificate.ts'
import { verifyPgpSignature } from '#sync/trust/openpgp/verify.ts'
import { Malformed } from '#sync/trust/ssh-wire.ts'
import { noGpg, OpenPgpHome } from '#test/support/fleets/openpgp-home.ts'
import { FUZZ_TIMEOUT_MS, mutatedBytes, runCampaign } from '#test/support/fuzzing/fuzzing.ts'

/** Where we refuse what gpg accepts, on purpose. */
const STRICTER =
  /is not one|cannot be read|packets instead|critical|expires|names no key|names two keys|unknown key|of version|not of bytes|digest begins|contradict/

const KINDS = [
  ['ed', 'ed25519'],
  ['p256', 'nistp256'],
  ['p384', 'nistp384'],
  ['p521', 'nistp521'],
  ['rsa', 'rsa3072'],
] as const

let home: OpenPgpHome
const prints: Record<string, string> = {}
let keys: readonly PgpSigningKey[] = []
const keyOf = (name: string) => prints[name] ?? ''
const certificateOf = (name: string) => parseCertificate(home.publicKey(keyOf(name)))

beforeAll(async () => {
  if (noGpg !== undefined) return
  home = new OpenPgpHome()
  for (const [name, algorithm] of KINDS) prints[name] = home.newKey(name, algorithm)
  prints['split'] = home.newKey('split', 'ed25519', 'cert')
  prints['subkey'] = home.addSubkey(keyOf('split'), 'ed25519')
  const names = [...KINDS.map(([name]) => name), 'split']
  keys = (await Promise.all(names.map(certificateOf))).flatMap((c) => c.keys)
}, 120_000)
afterAll(() => home?.remove())
beforeEach((context) => {
  if (noGpg !== undefined) context.skip(noGpg)
})

const MESSAGE = Buffer.from('tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b> 1 +0000\n\nx\n')

type Ours = { readonly is: 'accepted'; readonly key: string } | { readonly is: 'refused'; readonly why: string }

async function ours(signature: string, message: Buffer, known = keys): Promise<Ours> {
  try {
    const { kind, key } = await verifyPgpSignature(signature, message, known)
    return kind === 'By' ? { is: 'accepted', key } : { is: 'refused', why: `unknown key ${key}` }
  } catch (error) {
    // Anything else than a named refusal is a crash on hostile input.
    if (!(error instanceof Malformed)) throw error
    return { is: 'refused', why: error.message }
  }
}

const bytesOf = (text: string) => Buffer.from(text.replace(/^=.{4}$/m, '').replaceAll(/-----.*-----|\s/g, ''), 'base64')

function armored(bytes: Buffer, label = 'PGP SIGNATURE'): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, '', ...lines, `-----END ${label}-----`, ''].join('\n')
}

function flipped(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  const place = random.below(copy.length)
  copy[place] = (copy[place] ?? 0) ^ (1 << random.below(8))
  return copy
}

function mutated(text: string, others: readonly Buffer[], random: Random, label?: string): string {
  const bytes = bytesOf(text)
  const way = random.below(6)
  if (way === 0) return armored(mutatedBytes(random, bytes, others), label)
  if (way === 1) return armored(flipped(bytes, random), label)
  if (way === 2) return armored(Buffer.concat([bytes, Buffer.from('x')]), label)
  if (way === 3) return text.replaceAll('\n', '\r\n')
  if (way === 4) return armored(bytes.subarray(0, random.below(bytes.length)), label)
  return `${text}${text}`
}

test(
  'what gpg says of a signature we say, too, or we name why we are stricter',
  { timeout: FUZZ_TIMEOUT_MS },
  async () => {
    const honest = [...KINDS.map(([name]) => name), 'subkey'].map((name) => home.sign(keyOf(name), MESSAGE))
    const others = honest.map(bytesOf)
    await runCampaign({
      name: 'openpgp signatures',
      quick: 40,
      one: async (random) => {
        const signature = random.pick(honest)
        const text = random.next() < 0.3 ? signature : mutated(signature, others, random)
        const content = random.next() < 0.1 ? Buffer.concat([MESSAGE, Buffer.from('\n')]) : MESSAGE
        const [said, gpg] = [await ours(text, content), home.verify(text, content).includes('[GNUPG:] GOODSIG')]
        if (said.is === 'accepted') {
          expect(gpg, 'accepted by us only').toBe(true)
          return 'accepted'
        }
        if (!gpg) return 'refused'
        expect(said.why).toMatch(STRICTER)
        return 'stricter'
      },
      mustSee: ['accepted', 'refused'],
    })
  },
)

test(
  'a key block of any bytes is read or refused, and never gets a key that its owner did not give',
  { timeout: FUZZ_TIMEOUT_MS },
  async () => {
    const names = [...KINDS.map(([name]) => name), 'split']
    const honest = names.map((name) => home.publicKey(keyOf(name)))
    const known = new Set(keys.map((k) => k.name))
    await runCampaign({
      name: 'openpgp keys',
      quick: 300,
      one: async (random) => {
        const text = mutated(random.pick(honest), honest.map(bytesOf), random, 'PGP PUBLIC KEY BLOCK')
        try {
          for (const { name } of (await parseCertificate(text)).keys) expect(known).toContain(name)
          return 'read'
        } catch (error) {
          if (!(error instanceof Malformed)) throw error
          return 'refused'
        }
      },
      mustSee: ['read', 'refused'],
    })
  },
)

test.each(KINDS)('%s (%s) is accepted by gpg and by us, under the fingerprint that gpg shows', async (name) => {
  const signature = home.sign(keyOf(name), MESSAGE)
  expect(await ours(signature, MESSAGE)).toEqual({ is: 'accepted', key: keyOf(name) })
  expect(home.verify(signature, MESSAGE)).toContain(`VALIDSIG ${keyOf(name)}`)
  expect(await ours(signature, Buffer.from('other'))).toMatchObject({
    is: 'refused',
    why: expect.stringMatching(/does not match the content/) as string,
  })
  const strangers = keys.filter((k) => k.name !== keyOf(name))
  expect(await ours(signature, MESSAGE, strangers)).toEqual({ is: 'refused', why: `unknown key ${keyOf(name)}` })
})

test('a subkey is named with its primary key, and a primary key that only certifies does not sign', async () => {
  const { keys: own, fingerprint } = await certificateOf('split')
  expect(fingerprint).toBe(keyOf('split'))
  expect(own.map((k) => k.name)).toEqual([`${keyOf('split')}/${keyOf('subkey')}`])
  expect(await ours(home.sign(`${keyOf('subkey')}!`, MESSAGE), MESSAGE)).toMatchObject({
    key: `${keyOf('split')}/${keyOf('subkey')}`,
  })
})

test('a subkey that another key bound is not taken, also where only its agreement is missing', async () => {
  const label = 'PGP PUBLIC KEY BLOCK'
  const [victim, thief] = [home.publicKey(keyOf('ed')), home.publicKey(keyOf('split'))].map(bytesOf)
  const all = (bytes: Buffer = Buffer.alloc(0)): readonly Buffer[] => {
    const out: Buffer[] = []
    for (let at = 0; at < bytes.length;) {
      const length = ((bytes[at] ?? 0) & 3) === 1 ? bytes.readUInt16BE(at + 1) + 3 : (bytes[at + 1] ?? 0) + 2
      out.push(bytes.subarray(at, at + length))
      at += length
    }
    return out
  }
  const subkeyAndBinding = all(thief).slice(-2)
  const grafted = armored(Buffer.concat([...all(victim), ...subkeyAndBinding]), label)
  expect((await parseCertificate(grafted)).keys.map((k) => k.name)).toEqual([keyOf('ed')])
  // Without the signature of the subkey another person could claim the signatures that it makes.
  const [subkey = Buffer.alloc(0), binding = Buffer.alloc(0)] = subkeyAndBinding
  const cut = Buffer.from(binding)
  cut[cut.indexOf(Buffer.from([32, 4, 0x19])) + 2] = 0x18
  const primary = all(thief).slice(0, -2)
  await expect(parseCertificate(armored(Buffer.concat([...primary, subkey, cut]), label))).rejects.toThrow(
    /no key that may sign/,
  )
})

test('what a key says about its end and its revocation counts, and other forms are refused by name', async () => {
  const dying = home.newKey('dying', 'ed25519', 'sign', '2d')
  const until = (await parseCertificate(home.publicKey(dying))).keys[0]?.until ?? 0
  expect(until - Date.now()).toBeGreaterThan(86_400_000)
  expect(until - Date.now()).toBeLessThan(3 * 86_400_000)

  const old = home.newKey('old', 'rsa2048')
  await expect(parseCertificate(home.publicKey(old))).rejects.toThrow(/RSA key of 2048 bits; the least is 3072/)
  const dsa = home.newKey('dsa', 'dsa2048')
  await expect(parseCertificate(home.publicKey(dsa))).rejects.toThrow(/a key for DSA/)
  await expect(parseCertificate(home.gpg(['--armor', '--export-secret-keys', keyOf('ed')]))).rejects.toThrow(
    /is not one PGP/,
  )
  await expect(parseCertificate(home.gpg(['--armor', '--export', keyOf('ed'), keyOf('rsa')]))).rejects.toThrow(
    /several keys/,
  )
  const sha1 = ['--digest-algo', 'SHA1', '--allow-weak-digest-algos']
  expect(await ours(home.sign(keyOf('rsa'), MESSAGE, sha1), MESSAGE)).toMatchObject({
    why: expect.stringMatching(/uses the hash SHA-1/) as string,
  })
  expect(await ours(home.sign(keyOf('ed'), MESSAGE, ['--default-sig-expire', '1d']), MESSAGE)).toMatchObject({
    why: /expires/,
  })
  expect(await ours(home.sign(keyOf('ed'), MESSAGE, ['--textmode']), MESSAGE)).toMatchObject({
    why: expect.stringMatching(/not of bytes/) as string,
  })
  const both = home.sign(keyOf('ed'), MESSAGE, ['--local-user', keyOf('rsa')])
  expect(await ours(both, MESSAGE)).toMatchObject({ why: expect.stringMatching(/holds 2 packets/) as string })
  const noted = ['--sig-notation', '!x@example.org=1']
  expect(await ours(home.sign(keyOf('ed'), MESSAGE, noted), MESSAGE)).toMatchObject({
    why: expect.stringMatching(/critical notation/) as string,
  })

  const lost = home.newKey('lost', 'ed25519')
  const before = home.publicKey(lost)
  home.revoke(lost)
  expect((await parseCertificate(before)).revoked).toEqual([])
  expect((await parseCertificate(home.publicKey(lost))).revoked).toEqual([lost])
})
