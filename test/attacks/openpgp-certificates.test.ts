// The attacker has a key of OpenPGP that its owner gave up, in a certificate of a form that gpg never writes but reads, such as one that a key server put together:
// the key counts no longer than gpg says.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseCertificate } from '#sync/trust/openpgp/certificate.ts'
import { Malformed } from '#sync/trust/ssh-wire.ts'
import { verifyPgpSignature } from '#sync/trust/openpgp/verify.ts'
import { noGpg } from '#test/support/fleets/openpgp-home.ts'
import {
  armored,
  ofKey,
  ofUser,
  packet,
  subpacket,
  u32,
  writtenKey,
  writtenSignature,
} from '#test/support/fleets/openpgp-packets.ts'

const NOW = Math.floor(Date.now() / 1_000)
const DAY = 86_400
const MESSAGE = Buffer.from('tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nx\n')
const USER = 'Ada <ada@example.org>'
const [PRIMARY, USER_ID, SUBKEY, SIGNATURE] = [6, 13, 14, 2]
const [EXPIRES, FLAGS, EMBEDDED] = [3, 27, 32]

const primary = writtenKey(NOW - 400 * DAY)
const laptop = writtenKey(NOW - 100 * DAY)
const both = [ofKey(primary), ofKey(laptop)]
const expires = (seconds: number) => subpacket(EXPIRES, u32(seconds))

const own = (hashed: readonly Buffer[] = []) =>
  packet(
    SIGNATURE,
    writtenSignature({
      by: primary,
      type: 0x13,
      content: [ofKey(primary), ofUser(USER)],
      createdSeconds: NOW - 300 * DAY,
      hashed: [subpacket(FLAGS, Buffer.from([3])), ...hashed],
    }),
  )
const agreed = (hashed: readonly Buffer[] = []) =>
  writtenSignature({ by: laptop, type: 0x19, content: both, createdSeconds: NOW - 90 * DAY, hashed })
const binding = (hashed: readonly Buffer[] = [], back = agreed()) =>
  packet(
    SIGNATURE,
    writtenSignature({
      by: primary,
      type: 0x18,
      content: both,
      createdSeconds: NOW - 90 * DAY,
      hashed: [subpacket(FLAGS, Buffer.from([2])), subpacket(EMBEDDED, back), ...hashed],
    }),
  )
const revoked = (type: number, content: readonly Buffer[], by = primary) =>
  packet(SIGNATURE, writtenSignature({ by, type, content, createdSeconds: NOW - 50 }))
const OF_PRIMARY = revoked(0x20, [ofKey(primary)])
const OF_LAPTOP = revoked(0x28, both)
const [KEY, NAME, SUB] = [
  packet(PRIMARY, primary.body),
  packet(USER_ID, Buffer.from(USER)),
  packet(SUBKEY, laptop.body),
] as const

const block = (...packets: readonly Buffer[]) => armored('PGP PUBLIC KEY BLOCK', Buffer.concat(packets))
const signedBy = (by: typeof primary) =>
  armored(
    'PGP SIGNATURE',
    packet(SIGNATURE, writtenSignature({ by, type: 0, content: [MESSAGE], createdSeconds: NOW - 100 })),
  )

/** As the policy of commits takes it. */
async function ours(certificate: string, signature: string): Promise<string> {
  try {
    const { keys, revoked: gone } = await parseCertificate(certificate)
    const { kind, key } = await verifyPgpSignature(signature, MESSAGE, keys)
    if (kind === 'Unknown') return 'unknown'
    if (key.split('/').some((part) => gone.includes(part))) return 'revoked'
    const until = keys.find(({ name }) => name === key)?.until ?? Infinity
    return until <= NOW * 1_000 ? 'ended' : 'good'
  } catch (e) {
    if (e instanceof Malformed) return `refused: ${e.message}`
    throw e
  }
}

function gpgSays(certificate: string, signature: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'kngpg-'))
  const env = { GNUPGHOME: folder, PATH: process.env['PATH'] ?? '', LC_ALL: 'C' }
  const gpg = (...args: readonly string[]) => spawnSync('gpg', ['--batch', ...args], { env, encoding: 'utf8' }).stdout
  try {
    const file = (name: string, content: string | Buffer) => {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    }
    gpg('--import', file('key', certificate))
    const said = gpg('--status-fd', '1', '--verify', file('signature', signature), file('message', MESSAGE))
    return /\[GNUPG:\] (GOODSIG|EXPKEYSIG|REVKEYSIG|ERRSIG|BADSIG)/.exec(said)?.[1] ?? 'nothing'
  } finally {
    spawnSync('gpgconf', ['--kill', 'all'], { env })
    rmSync(folder, { recursive: true, force: true })
  }
}

const CASES: readonly (readonly [
  name: string,
  certificate: string,
  by: typeof primary,
  said: string | RegExp,
  gpg: string | RegExp,
])[] = [
  ['an ordinary key', block(KEY, NAME, own()), primary, 'good', 'GOODSIG'],
  ['an ordinary subkey', block(KEY, NAME, own(), SUB, binding()), laptop, 'good', 'GOODSIG'],
  ['a key revoked in front of its user', block(KEY, OF_PRIMARY, NAME, own()), primary, 'revoked', 'REVKEYSIG'],
  ['a key revoked behind its user', block(KEY, NAME, own(), OF_PRIMARY), primary, 'revoked', 'REVKEYSIG'],
  ['a subkey revoked behind it', block(KEY, NAME, own(), SUB, binding(), OF_LAPTOP), laptop, 'revoked', 'REVKEYSIG'],
  ['a subkey of a revoked key', block(KEY, NAME, own(), OF_PRIMARY, SUB, binding()), laptop, 'revoked', 'REVKEYSIG'],
  ['a subkey whose binding ended', block(KEY, NAME, own(), SUB, binding([expires(60)])), laptop, 'ended', 'ERRSIG'],
  // Stricter than gpg, as the standard has it.
  [
    'a subkey whose agreement ended',
    block(KEY, NAME, own(), SUB, binding([], agreed([expires(60)]))),
    laptop,
    'ended',
    // It depends on the version.
    /^(GOODSIG|ERRSIG)$/,
  ],
  ['a key whose own signature ended', block(KEY, NAME, own([expires(60)])), primary, 'ended', 'GOODSIG'],
  ['a subkey without a binding', block(KEY, NAME, own(), SUB), laptop, 'unknown', 'ERRSIG'],
  [
    'a revocation that another key made',
    block(KEY, NAME, own(), SUB, binding(), revoked(0x28, both, laptop)),
    laptop,
    /cannot be verified/,
    'GOODSIG',
  ],
]

test.each(CASES)('S34 %s counts no longer than it should', async (_, certificate, by, said) => {
  expect(await ours(certificate, signedBy(by))).toMatch(said)
})

test.for(CASES)('gpg has its say about %s', ([, certificate, by, , gpg], context) => {
  if (noGpg !== undefined) context.skip(noGpg)
  expect(gpgSays(certificate, signedBy(by))).toMatch(gpg)
})
