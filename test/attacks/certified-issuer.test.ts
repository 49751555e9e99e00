// The console at a certified issuer (oidc-provider): people with groups, keys that change, clocks that differ, and tokens that are properly signed and say the wrong thing. (S35)
import { generateKeyPairSync, sign } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'
import type { Browser, Reply } from '#test/support/console/plain-browser.ts'
import { CLUSTER, HOST, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import {
  altered,
  byKey,
  bySecret,
  type CertifiedIssuer,
  type Change,
  startCertifiedIssuer,
  visit,
} from '#test/support/issuer/certified-issuer.ts'

const FIVE_MINUTES = 300_000

let world: PeopleWorld
let issuer: CertifiedIssuer

beforeAll(async () => {
  ;[world, issuer] = await Promise.all([peopleWorld(), startCertifiedIssuer()])
  await world.allow('user:ada', ['machines'], ['get', 'list', 'watch'])
})
afterAll(async () => {
  await issuer.stop()
  await world.stop()
})
afterEach(() => {
  issuer.changes.clear()
  issuer.redirects.clear()
  issuer.groups = []
  issuer.lifeSeconds = 3_600
})

const pathOf = ({ pathname, search }: URL): string => `${pathname}${search}`
const tokensAsked = (): number => issuer.asked.filter((path) => path === '/token').length

/** A console of its own, which the issuer knows; answers with new browsers at it. */
async function atConsole(clock: Clock = systemClock): Promise<() => Browser> {
  const { port } = await world.atIssuer(issuer, { clock })
  issuer.register(`https://${HOST}:${port}`)
  return () => world.browser(port)
}

interface Ways {
  /** Of the address at the issuer. */
  readonly there?: (address: URL) => void
  /** Of the address at which the issuer sends the browser back. */
  readonly back?: (address: URL) => void
}

async function signIn(browser: Browser, { there, back }: Ways = {}): Promise<Reply> {
  const begun = await browser.ask('/oidc/start')
  if (begun.status !== 303) return begun
  const address = new URL(begun.headers.location ?? '')
  there?.(address)
  const answer = await visit(issuer, address.href, 'ada')
  back?.(answer)
  return browser.ask(pathOf(answer))
}

/** Something for which the API server is asked in the name of the person. */
const use = (browser: Browser): Promise<Reply> => browser.ask(`/api/why?cluster=${CLUSTER}&kind=Machine&name=n-1`)

test('a person signs in with groups, gets new tokens while the session lives, and signs out at the issuer too (S35)', async () => {
  issuer.groups = ['platform', 'oncall']
  issuer.lifeSeconds = 30
  const browser = (await atConsole())()
  expect((await signIn(browser)).status).toBe(303)
  const { person } = await browser.session()
  expect(person).toMatchObject({ name: 'ada', how: 'Oidc' })
  expect(person.groups).toEqual(expect.arrayContaining(['platform', 'oncall']))
  const before = issuer.given
  await use(browser)
  expect(issuer.given).toBeGreaterThan(before)
  expect((await browser.session()).person.name).toBe('ada')
  const out = await browser.ask('/api/sign-out', { method: 'POST', body: {} })
  const next = new URL((JSON.parse(out.text) as { readonly next: string }).next)
  expect((await visit(issuer, next.href, 'ada')).href).toBe(next.searchParams.get('post_logout_redirect_uri'))
  expect((await browser.ask('/api/session')).status).toBe(401)
})

test('keys of the issuer change while people are signed in: nobody is signed out, and the new key counts after five minutes (S35)', async () => {
  const clock = shiftedClock()
  issuer.lifeSeconds = 900
  const newBrowser = await atConsole(clock)
  const ada = newBrowser()
  await signIn(ada)
  issuer.rotate()
  const early = await signIn(newBrowser())
  expect([early.status, early.text]).toEqual([403, expect.stringMatching(/no applicable keys found/)])
  clock.shift(FIVE_MINUTES)
  expect((await signIn(newBrowser())).status).toBe(303)
  // Half a minute before its end, the token of the first session is replaced by one of the new key.
  clock.shift(570_000)
  const before = issuer.given
  await use(ada)
  expect(issuer.given).toBeGreaterThan(before)
  expect((await ada.session()).person.name).toBe('ada')
})

test('a wall clock that is set back keeps no key that the issuer gave up (S35)', async () => {
  const clock = shiftedClock()
  const newBrowser = await atConsole(clock)
  expect((await signIn(newBrowser())).status).toBe(303)
  issuer.rotate()
  const wall = Date.now.bind(Date)
  const setBack = vi.spyOn(Date, 'now').mockImplementation(() => wall() - 3_600_000)
  try {
    clock.shift(FIVE_MINUTES)
    expect((await signIn(newBrowser())).status).toBe(303)
  } finally {
    setBack.mockRestore()
  }
})

const off = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms })

test.each<[string, number, number, number, RegExp]>([
  ['ahead by five minutes', FIVE_MINUTES, 3_600, 303, /^$/],
  ['ahead by five minutes, with tokens of four', FIVE_MINUTES, 240, 403, /expiration is past current timestamp/],
  ['ahead by less than a token forgives', 50_000, 30, 403, /the token has ended/],
  ['behind by five minutes', -FIVE_MINUTES, 3_600, 403, /begins in the future; compare the clocks/],
  ['behind by half a minute', -30_000, 3_600, 303, /^$/],
])('a clock of the console %s: answers %s', async (_, ms, lifeSeconds, status, text) => {
  issuer.lifeSeconds = lifeSeconds
  const answer = await signIn((await atConsole(off(ms)))())
  expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(text)])
})

const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
const strong = generateKeyPairSync('rsa', { modulusLength: 2048 })
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const newer = generateKeyPairSync('ml-dsa-44')
/** The modulus of an RSA key: 12,500 bytes. */
const HUGE = Buffer.alloc(12_500, 255).toString('base64url')
const published = (key: typeof weak.publicKey, more: object) => ({ ...key.export({ format: 'jwk' }), ...more })
const seconds = (fromNow: number): number => Math.floor(Date.now() / 1_000) + fromNow

/** The token with other claims, signed by the issuer itself. */
const claiming =
  (claims: object): Change =>
  (body) =>
    'id_token' in body ? { ...body, id_token: altered(body['id_token'], { claims }, issuer.signed) } : body
/** The token with another header and signature. */
const signedAs =
  (header: object, signed: (text: string) => Buffer): Change =>
  (body) => ({ ...body, id_token: altered(body['id_token'], { header }, signed) })
const keys =
  (...all: readonly object[]): Change =>
  () => ({ keys: all })

const DISCOVERY = '/.well-known/openid-configuration'
/** The listing of the issuer with other fields. */
const listing =
  (more: object): Change =>
  (body) => ({ ...body, ...more })

test.each<[string, Readonly<Record<string, Change>>]>([
  ['of another issuer', { '/token': claiming({ iss: 'https://evil.example' }) }],
  ['for another audience', { '/token': claiming({ aud: 'other' }) }],
  ['for nobody', { '/token': claiming({ aud: [] }) }],
  ['for several audiences', { '/token': claiming({ aud: ['console', 'other'] }) }],
  ['that another client asked for', { '/token': claiming({ azp: 'other' }) }],
  ['with another nonce', { '/token': claiming({ nonce: 'x' }) }],
  ['without a nonce', { '/token': claiming({ nonce: undefined }) }],
  ['that has ended', { '/token': claiming({ exp: seconds(-1) }) }],
  ['that ended longer ago', { '/token': claiming({ exp: seconds(-3_600) }) }],
  ['whose end is a text', { '/token': claiming({ exp: '9999999999' }) }],
  ['that begins in an hour', { '/token': claiming({ nbf: seconds(3_600) }) }],
  ['that was made in an hour', { '/token': claiming({ iat: seconds(3_600) }) }],
  ['that names no person', { '/token': claiming({ sub: '' }) }],
  ['whose person is a number', { '/token': claiming({ sub: 7 }) }],
  ['longer than any request could carry', { '/token': claiming({ groups: 'x'.repeat(13_000) }) }],
  [
    'whose claims were changed',
    { '/token': (body) => ({ ...body, id_token: altered(body['id_token'], { claims: { sub: 'eve' } }) }) },
  ],
  ['of algorithm none', { '/token': signedAs({ alg: 'none' }, () => Buffer.alloc(0)) }],
  ['of algorithm none, with the signature', { '/token': signedAs({ alg: 'none' }, (text) => issuer.signed(text)) }],
  [
    'of HS256 with the public key as the secret',
    {
      '/token': signedAs({ alg: 'HS256' }, (text) =>
        bySecret(issuer.publicKey.export({ type: 'spki', format: 'pem' }))(text),
      ),
    },
  ],
  [
    'of HS256 with a secret that is published as a key',
    {
      '/token': signedAs({ alg: 'HS256', kid: 'secret' }, bySecret('x'.repeat(32))),
      '/jwks': keys({ kty: 'oct', k: Buffer.from('x'.repeat(32)).toString('base64url'), kid: 'secret', alg: 'HS256' }),
    },
  ],
  [
    'of a published RSA key of 1024 bits',
    {
      '/token': signedAs({ kid: 'weak' }, byKey(weak.privateKey)),
      '/jwks': keys(published(weak.publicKey, { kid: 'weak', alg: 'RS256', use: 'sig' })),
    },
  ],
  [
    'of a published key for encryption',
    {
      '/token': signedAs({ kid: 'other' }, byKey(strong.privateKey)),
      '/jwks': keys(published(strong.publicKey, { kid: 'other', use: 'enc' })),
    },
  ],
  [
    'of a private key that was published by mistake',
    {
      '/token': signedAs({ kid: 'leaked' }, byKey(strong.privateKey)),
      '/jwks': keys(published(strong.privateKey, { kid: 'leaked', alg: 'RS256', use: 'sig' })),
    },
  ],
  [
    'of a key on a curve that is not the one of its algorithm',
    {
      [DISCOVERY]: listing({ id_token_signing_alg_values_supported: ['RS256', 'ES384'] }),
      '/token': signedAs({ alg: 'ES384', kid: 'curve' }, byKey(elliptic.privateKey)),
      '/jwks': keys(published(elliptic.publicKey, { kid: 'curve', use: 'sig' })),
    },
  ],
  [
    'of a key of a hundred thousand bits',
    {
      '/token': signedAs({ kid: 'huge' }, () => Buffer.alloc(12_500, 7)),
      '/jwks': keys({ kty: 'RSA', kid: 'huge', e: Buffer.alloc(8, 255).toString('base64url'), n: HUGE, use: 'sig' }),
    },
  ],
  ['of keys that are no objects', { '/jwks': () => ({ keys: [null, 7, 'x'] }) }],
  [
    'of keys whose fields are of other types',
    {
      '/token': signedAs({ kid: 'odd' }, (text) => issuer.signed(text)),
      '/jwks': keys({ kty: 'RSA', kid: 'odd', key_ops: 7, n: {}, e: [] }),
    },
  ],
  ['of keys that are no list', { '/jwks': () => ({ keys: { length: 1e9 } }) }],
  ['of a header that is no object', { '/token': (body) => ({ ...body, id_token: 'bnVsbA.bnVsbA.x' }) }],
  [
    'of an algorithm that the package would take and no API server does',
    {
      [DISCOVERY]: listing({ id_token_signing_alg_values_supported: ['RS256', 'ML-DSA-44'] }),
      '/token': signedAs({ alg: 'ML-DSA-44', kid: 'newer' }, (text) => sign(null, Buffer.from(text), newer.privateKey)),
      '/jwks': keys(published(newer.publicKey, { kid: 'newer', alg: 'ML-DSA-44', use: 'sig' })),
    },
  ],
  ['of a key that is not published', { '/token': signedAs({ kid: 'unknown' }, byKey(strong.privateKey)) }],
  ['of another key under the name of the published one', { '/token': signedAs({}, byKey(strong.privateKey)) }],
  ['with its key inside', { '/token': signedAs({ jwk: published(strong.publicKey, {}) }, byKey(strong.privateKey)) }],
  [
    'with the address of its key',
    { '/token': signedAs({ jku: 'https://evil.example/jwks' }, byKey(strong.privateKey)) },
  ],
  ['with a critical header', { '/token': signedAs({ crit: ['b64'], b64: false }, (text) => issuer.signed(text)) }],
  ['that is encrypted', { '/token': (body) => ({ ...body, id_token: 'e30.a.b.c.d' }) }],
  ['that is no token', { '/token': (body) => ({ ...body, id_token: 'x' }) }],
  [
    'that is missing',
    { '/token': (body) => Object.fromEntries(Object.entries(body).filter(([key]) => key !== 'id_token')) },
  ],
  ['in an answer that is a list', { '/token': () => [] }],
])('a token %s opens no session (S35)', async (_, changes) => {
  const browser = (await atConsole())()
  for (const [path, change] of Object.entries(changes)) issuer.changes.set(path, change)
  const answer = await signIn(browser)
  expect([answer.status, answer.text]).toEqual([403, expect.not.stringMatching(/eyJ/)])
  expect((await browser.ask('/api/session')).status).toBe(401)
})

/** A byte now and then: no pause is long enough for a time-out of silence. */
async function* drops(): AsyncGenerator<string> {
  for (;;) {
    yield ' '
    await setTimeout(50)
  }
}

const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
test.each<[string, Readonly<Record<string, Change>>, RegExp]>([
  [
    'a hundred thousand keys',
    { '/jwks': keys(...Array.from({ length: 100_000 }, (_, n) => ({ kty: 'RSA', kid: `${n}` }))) },
    /larger than/,
  ],
  ['an answer that never comes', { '/jwks': () => new Promise(() => undefined) }, /does not answer/],
  ['an answer without an end', { '/jwks': () => Readable.from(drops()) }, /does not answer/],
  ['a longer name of itself', { [DISCOVERY]: (body) => ({ ...body, issuer: `${issuer.url}/` }) }, /calls itself/],
  [
    'fields in twenty thousand lists',
    { [DISCOVERY]: (body) => JSON.stringify(body).replace('{', `{"more":${DEEP},`) },
    /cannot be used/,
  ],
  ['a password in its address', { [DISCOVERY]: listing({ jwks_uri: 'https://a:b@localhost/jwks' }) }, /jwks_uri/],
  [
    'a way out that is a script',
    { [DISCOVERY]: listing({ end_session_endpoint: 'javascript:alert(1)' }) },
    /end_session/,
  ],
  ['no name', { [DISCOVERY]: () => ({}) }, /cannot be used/],
])('an issuer with %s opens no session, and is told of by name (S35)', async (_, changes, text) => {
  const browser = (await atConsole())()
  for (const [path, change] of Object.entries(changes)) issuer.changes.set(path, change)
  const answer = await signIn(browser)
  expect([answer.status, answer.text]).toEqual([502, expect.stringMatching(text)])
})

test.each([DISCOVERY, '/token', '/jwks'])('an issuer that redirects from %s is not followed (S35)', async (path) => {
  const browser = (await atConsole())()
  issuer.redirects.set(path, `${issuer.url}/elsewhere`)
  const answer = await signIn(browser)
  expect([answer.status, answer.text]).toEqual([502, expect.stringMatching(/the issuer answers 30[23]/)])
  expect(issuer.asked).not.toContain('/elsewhere')
})

test('only algorithms with a public key count, whatever the issuer offers (S35)', async () => {
  const browser = (await atConsole())()
  issuer.changes.set(DISCOVERY, listing({ id_token_signing_alg_values_supported: ['none', 'HS256', 'RS256'] }))
  issuer.changes.set(
    '/token',
    signedAs({ alg: 'none' }, () => Buffer.alloc(0)),
  )
  expect((await signIn(browser)).status).toBe(403)
  issuer.changes.delete('/token')
  expect((await signIn(browser)).status).toBe(303)
})

test('without PKCE the issuer gives no code, and with the code of another sign-in it gives no token (S35)', async () => {
  const newBrowser = await atConsole()
  const bare = await signIn(newBrowser(), {
    there: ({ searchParams }) => {
      searchParams.delete('code_challenge')
      searchParams.delete('code_challenge_method')
    },
  })
  expect([bare.status, bare.text]).toEqual([403, expect.stringMatching(/did not sign you in/)])
  // Eve has a code of Ada and brings it into a sign-in of her own, state and all.
  const [ada, eve] = [newBrowser(), newBrowser()]
  const stolen = await visit(issuer, (await ada.ask('/oidc/start')).headers.location ?? '', 'ada')
  const answer = await signIn(eve, {
    back: ({ searchParams }) => searchParams.set('code', stolen.searchParams.get('code') ?? ''),
  })
  expect([answer.status, answer.text]).toEqual([502, expect.stringMatching(/the issuer answers 400/)])
  expect((await eve.ask('/api/session')).status).toBe(401)
})

test.each<[string, (address: URL) => void]>([
  ['another state', ({ searchParams }) => searchParams.set('state', 'x')],
  ['no state', ({ searchParams }) => searchParams.delete('state')],
  ['two states', ({ searchParams }) => searchParams.append('state', 'x')],
  ['another issuer', ({ searchParams }) => searchParams.set('iss', 'https://evil.example')],
  ['no issuer, which this one always names', ({ searchParams }) => searchParams.delete('iss')],
  ['no code', ({ searchParams }) => searchParams.delete('code')],
  ['a token beside the code', ({ searchParams }) => searchParams.set('id_token', 'x')],
])('an answer with %s is not redeemed (S35)', async (_, back) => {
  const browser = (await atConsole())()
  const before = tokensAsked()
  expect((await signIn(browser, { back })).status).toBe(403)
  expect(tokensAsked()).toBe(before)
})

test('who signed out at the issuer is signed out here when the token ends (S35)', async () => {
  const clock = shiftedClock()
  issuer.lifeSeconds = 120
  const browser = (await atConsole(clock))()
  await signIn(browser)
  issuer.changes.set('/token', () => ({ error: 'invalid_grant' }))
  clock.shift(90_000)
  await use(browser)
  expect((await browser.session()).person.name).toBe('ada')
  clock.shift(60_000)
  await use(browser)
  expect((await browser.ask('/api/session')).status).toBe(401)
})

test('a new token for another person ends nothing and changes nobody (S35)', async () => {
  issuer.lifeSeconds = 30
  const browser = (await atConsole())()
  await signIn(browser)
  issuer.changes.set('/token', claiming({ sub: 'eve' }))
  const before = issuer.given
  await use(browser)
  expect(issuer.given).toBeGreaterThan(before)
  expect((await browser.session()).person.name).toBe('ada')
})

test('a client with a secret shows it to the issuer, read again each time, and to nobody else (S35)', async () => {
  let secret = (): string => 'wrong'
  const { port } = await world.atIssuer(issuer, { clientSecret: async () => secret() })
  issuer.register(`https://${HOST}:${port}`, 'right-secret')
  const browser = world.browser(port)
  const wrong = await signIn(browser)
  expect([wrong.status, wrong.text]).toEqual([502, expect.stringMatching(/the issuer answers 401/)])
  secret = () => {
    throw Object.assign(new Error('ENOENT: no such file, open /etc/kubenode/secret'), { code: 'ENOENT' })
  }
  const missing = await signIn(browser)
  expect([missing.status, missing.text]).toEqual([502, expect.not.stringMatching(/etc/)])
  secret = () => 'right-secret'
  expect((await signIn(browser)).status).toBe(303)
})
