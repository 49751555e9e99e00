// The attacker may push to the branch of a FleetSource whose signers have OpenPGP keys. Commits and tags are signed by the real git and gpg.
// Each refusal stands beside an accepted control: a check that refuses everything proves nothing.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { createValidator } from '#api/validate.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { commitDigest, Verification } from '#sync/hub/source/verified.ts'
import type { Trust } from '#sync/hub/source/trust-seen.ts'
import { noGpg, OpenPgpHome } from '#test/support/fleets/openpgp-home.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

type Verify = NonNullable<FleetSource['spec']['verify']>
type Status = NonNullable<FleetSource['status']>
const DAY_MS = 86_400_000
const NOW = Date.now()

let r: SignedRepository
let home: OpenPgpHome
let anchor: string
const key: Record<'ada' | 'split' | 'laptop' | 'eve' | 'dying' | 'forge', string> = {
  ada: '',
  split: '',
  laptop: '',
  eve: '',
  dying: '',
  forge: '',
}
beforeAll(() => {
  if (noGpg !== undefined) return
  r = new SignedRepository(['bob'])
  home = new OpenPgpHome()
  for (const name of ['ada', 'eve', 'forge'] as const) key[name] = home.newKey(name, 'ed25519')
  key.dying = home.newKey('dying', 'ed25519', 'sign', '2d')
  key.split = home.newKey('split', 'rsa3072', 'cert')
  key.laptop = home.addSubkey(key.split, 'rsa3072')
  anchor = r.commit({ 'fleet/a.ts': '1' }, { key: undefined })
})
afterAll(() => {
  home?.remove()
  r?.remove()
})
beforeEach((context) => {
  if (noGpg !== undefined) context.skip(noGpg)
})

const signedBy = (print: string) => ['-c', 'gpg.format=openpgp', '-c', `user.signingkey=${print}!`]

function on(base: string, text: string, print: string, env: Readonly<Record<string, string>> = {}): string {
  r.git('checkout', '--quiet', '--force', '--detach', base)
  r.write({ 'fleet/a.ts': text })
  r.run([...signedBy(print), 'commit', '-S', '--quiet', '--allow-empty', '-m', text], { ...home.env, ...env })
  return published()
}

function published(): string {
  const id = r.git('rev-parse', 'HEAD')
  r.git('push', '--quiet', 'origin', `HEAD:refs/heads/try-${id.slice(0, 16)}`)
  return id
}

const signer = (name: string, print: string, more: object = {}) => ({
  principal: `${name}@example.org`,
  keys: [home.publicKey(print)],
  ...more,
})

interface Wish {
  readonly head: string
  readonly verify?: Partial<Verify>
  readonly ref?: FleetSource['spec']['ref']
  readonly status?: Partial<Status>
  readonly approvers?: readonly string[]
  readonly now?: number
}

async function judge({ head, verify, ref, status = {}, approvers = [], now = NOW }: Wish): Promise<Trust> {
  const source = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: 'kubenode-system', uid: 'u-1' },
    spec: {
      url: r.url,
      ref: ref ?? { branch: 'main' },
      path: '.',
      interval: '1m',
      verify: { mode: 'All', anchor, signers: [signer('ada', key.ada)], ...verify },
      tracks: [{ name: 'fleet', match: {}, pipelineRef: { name: 'standard' } }],
      prune: { enabled: true, guard: '10%' },
      drift: 'Correct',
    },
  } as unknown as FleetSource
  const validator = createValidator()
  expect(validator.problems(fleetSource, source)).toEqual([])
  const approved = new Map([[commitDigest(source, head), new Set(approvers.map((n) => `${n}@example.org`))]])
  const question = { repository: openLocalRepository(r.url), head, approved, now, signal: new AbortController().signal }
  return new Verification(systemClock, validator).judge({ ...question, source: { ...source, status } })
}
const said = (trust: Trust): string => (trust.kind === 'Refused' ? `${trust.reason}: ${trust.message}` : trust.kind)
const verdict = async (wish: Wish): Promise<string> => said(await judge(wish))

test('a commit of a signer is followed, under the fingerprint that gpg shows; git verify-commit agrees', async () => {
  const head = on(anchor, 'good', key.ada)
  expect(await judge({ head })).toMatchObject({
    kind: 'Verified',
    verified: { principal: 'ada@example.org', key: key.ada },
  })
  expect(r.run(['verify-commit', head], home.env)).toBe('')
})

test('a key of no signer, other content under a valid signature, and no signature', async () => {
  const head = on(anchor, 'good', key.ada)
  expect(await verdict({ head: on(anchor, 'evil', key.eve) })).toMatch(
    new RegExp(`^UnknownKey: KN7032: .*signed with ${key.eve}, .*; have a signer sign it`),
  )
  const raw = openLocalRepository(r.url).commitBytes(head).toString('latin1')
  const changed = Buffer.from(raw.replace(/good\n$/, 'evil\n'), 'latin1')
  const forged = r.inBare(['hash-object', '-t', 'commit', '-w', '--stdin'], changed)
  expect(await verdict({ head: forged })).toMatch(/^BadSignature: KN7030: .*does not match the content/)
  const unsigned = r.inBare(
    ['hash-object', '-t', 'commit', '-w', '--stdin'],
    Buffer.from(raw.replace(/gpgsig [^]*?-----END PGP SIGNATURE-----\n(?: *\n)?/, ''), 'latin1'),
  )
  expect(await verdict({ head: unsigned })).toMatch(/^(Unsigned|Malformed)/)
})

test('a signer with a false name is known by the key, and a signature of another commit is none', async () => {
  const signers = [signer('ada', key.ada), signer('eve', key.eve)]
  const asAda = { GIT_AUTHOR_EMAIL: 'ada@example.org', GIT_COMMITTER_EMAIL: 'ada@example.org' }
  const head = on(anchor, 'as ada', key.eve, asAda)
  expect(await judge({ head, verify: { signers } })).toMatchObject({ verified: { principal: 'eve@example.org' } })
  const signature = /gpgsig ([^]*?-----END PGP SIGNATURE-----\n)/
  const [one, two] = [on(anchor, 'one', key.ada), on(anchor, 'two', key.ada)].map((id) =>
    openLocalRepository(r.url).commitBytes(id).toString('latin1'),
  )
  const swapped = (two ?? '').replace(signature, (all) => signature.exec(one ?? '')?.[0] ?? all)
  const id = r.inBare(['hash-object', '-t', 'commit', '-w', '--stdin'], Buffer.from(swapped, 'latin1'))
  expect(await verdict({ head: id })).toMatch(/^BadSignature/)
  const twice = (two ?? '').replace(signature, (all) => `${all}${signature.exec(one ?? '')?.[0] ?? ''}`)
  const both = r.inBare(['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], Buffer.from(twice, 'latin1'))
  expect(await verdict({ head: both })).toMatch(/^Malformed: KN7015: .*2 signature headers/)
})

test('a key that has ended by its own certificate, also with a back-dated commit, which gpg would believe', async () => {
  const signers = [signer('dying', key.dying)]
  const old = { GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' }
  const head = on(anchor, 'late', key.dying, old)
  expect(await verdict({ head, verify: { signers } })).toBe('Verified')
  expect(await verdict({ head, verify: { signers }, now: NOW + 3 * DAY_MS })).toMatch(
    /^KeyExpired: KN7030: .*valid until/,
  )
  const seen = [{ commit: head, at: timestamp(NOW) }]
  expect(await verdict({ head, verify: { signers }, now: NOW + 3 * DAY_MS, status: { seen } })).toBe('Verified')
})

test('a key is revoked by its primary key, by the subkey alone, and by its own certificate', async () => {
  const signers = [signer('split', key.split)]
  const head = on(anchor, 'laptop', key.laptop)
  const name = `${key.split}/${key.laptop}`
  expect(await judge({ head, verify: { signers } })).toMatchObject({ verified: { key: name } })
  for (const each of [key.split, key.laptop]) {
    const revoked = [{ key: each }]
    expect(await verdict({ head, verify: { signers, revoked } })).toMatch(/^KeyRevoked: KN7034/)
    // The commit in force, also where the signer is no longer listed.
    const verified = { commit: head, anchor, firstSeen: timestamp(NOW), key: name, principal: 'split@example.org' }
    const others = { signers: [signer('ada', key.ada)], revoked }
    expect(await verdict({ head, verify: others, status: { verified } })).toMatch(/^KeyRevoked: KN7034/)
  }
  expect(await verdict({ head, verify: { signers, revoked: [{ key: key.eve }] } })).toBe('Verified')
  const lost = home.newKey('lost', 'ed25519')
  const commit = on(anchor, 'lost', lost)
  expect(await verdict({ head: commit, verify: { signers: [signer('lost', lost)] } })).toBe('Verified')
  home.revoke(lost)
  expect(await verdict({ head: commit, verify: { signers: [signer('lost', lost)] } })).toMatch(/^KeyRevoked/)
})

test('one person with keys of both kinds is one person, and two entries with one key are refused', async () => {
  const both = { principal: 'ada@example.org', keys: [home.publicKey(key.ada), r.publicKey('bob')] }
  const thresholds = [{ paths: ['fleet/**'], count: 2 }]
  const head = on(anchor, 'two people', key.ada)
  const alone = { signers: [both], thresholds }
  expect(await verdict({ head, verify: alone, approvers: ['ada'] })).toMatch(/^ApprovalsMissing/)
  const two = { signers: [both, signer('split', key.split)], thresholds }
  expect(await verdict({ head, verify: two, approvers: ['split'] })).toBe('Verified')
  const same = [signer('ada', key.ada), signer('other', key.ada)]
  expect(await verdict({ head, verify: { signers: same } })).toMatch(/^InvalidPolicy: KN7042: .*is that of ada@/)
})

test('the key of a forge counts only with an approval', async () => {
  const head = on(anchor, 'merged', key.forge)
  const verify = { signers: [signer('forge', key.forge, { forge: true }), signer('ada', key.ada)] }
  expect(await verdict({ head, verify })).toMatch(/^ApprovalsMissing: KN7037/)
  expect(await verdict({ head, verify, approvers: ['ada'] })).toBe('Verified')
})

test('a signed tag of its own name, and one of another key', async () => {
  const head = on(anchor, 'tagged', key.ada)
  const tag = (print: string) => {
    r.run([...signedBy(print), 'tag', '--force', '-s', '-m', 'one', 'v1', head], home.env)
    r.git('push', '--quiet', '--force', 'origin', 'refs/tags/v1')
  }
  const wish = { head, ref: { tag: 'v1' } }
  tag(key.ada)
  expect(await verdict(wish)).toBe('Verified')
  tag(key.eve)
  expect(await verdict(wish)).toMatch(/^UnknownKey: KN7032: cannot follow tag/)
})

test('a key that cannot be used stops with its reason, and follows nothing', async () => {
  const head = on(anchor, 'good', key.ada)
  const weak = home.newKey('weak', 'rsa2048')
  expect(await verdict({ head, verify: { signers: [signer('weak', weak)] } })).toMatch(
    /^InvalidPolicy: KN7042: .*a key of weak@example.org is an RSA key of 2048 bits; the least is 3072/,
  )
  const cut = home.publicKey(key.ada).replace(/\n[^\n]*\n[^\n]*\n-----END/, '\n-----END')
  expect(await verdict({ head, verify: { signers: [{ principal: 'x', keys: [cut] }] } })).toMatch(/^InvalidPolicy/)
})

test('a key that the commit itself adds to the signers file does not count, one that was added before does', async () => {
  const file = (...prints: readonly string[]) =>
    JSON.stringify({ signers: prints.map((p, n) => ({ principal: `p${n}@example.org`, keys: [home.publicKey(p)] })) })
  const verify = { signers: [signer('ada', key.ada)], signersFile: { path: 'signers.json', count: 1 } }
  r.git('checkout', '--quiet', '--force', '--detach', anchor)
  r.write({ 'signers.json': file(key.eve) })
  r.run([...signedBy(key.eve), 'commit', '-S', '--quiet', '-m', 'me'], home.env)
  expect(await verdict({ head: published(), verify })).toMatch(/^UnknownKey/)
  r.git('checkout', '--quiet', '--force', '--detach', anchor)
  r.write({ 'signers.json': file(key.eve) })
  r.run([...signedBy(key.ada), 'commit', '-S', '--quiet', '-m', 'you'], home.env)
  expect(await verdict({ head: on(published(), 'now eve', key.eve), verify })).toBe('Verified')
})
