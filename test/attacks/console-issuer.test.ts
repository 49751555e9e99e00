// The console against an issuer that lies, answers that belong to another sign-in, and codes that are sent again. (S35)
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Issuer, type Lies, startIssuer } from '#test/doubles/issuer/issuer.ts'
import type { Browser, Reply } from '#test/support/console/plain-browser.ts'
import { CLUSTER, HOST, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'

let world: PeopleWorld
let issuer: Issuer

beforeAll(async () => {
  ;[world, issuer] = await Promise.all([peopleWorld(), startIssuer()])
  await world.allow('user:ada', ['machines'], ['get', 'list', 'watch'])
})
afterAll(async () => {
  await issuer.stop()
  await world.stop()
})
beforeEach(() => {
  issuer.lies = {}
  issuer.person = { sub: 'ada', groups: [] }
  issuer.lifeSeconds = 3_600
})

const pathOf = ({ pathname, search }: URL): string => `${pathname}${search}`

/** As a browser does it: from the page to the issuer, and back with a code. */
async function signIn(browser: Browser, to = ''): Promise<Reply> {
  const begun = await browser.ask(`/oidc/start?to=${encodeURIComponent(to)}`)
  if (begun.status !== 303) return begun
  return browser.ask(pathOf(issuer.signIn(begun.headers.location ?? '')), {
    headers: { 'sec-fetch-site': 'cross-site' },
  })
}

test('a person signs in at the issuer, comes back to the view, and has the rights that the API server gives (S35)', async () => {
  const { port } = await world.atIssuer(issuer)
  const browser = world.browser(port)
  const begun = await browser.ask('/oidc/start?to=%23%2Fmachines%2Ftest')
  const asked = new URL(begun.headers.location ?? '').searchParams
  expect(asked.get('redirect_uri')).toBe(`https://${HOST}:${port}/oidc/back`)
  expect([asked.get('response_type'), asked.get('code_challenge_method')]).toEqual(['code', 'S256'])
  expect(begun.headers['set-cookie']?.[0]).toMatch(/^__Host-.*; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/)
  const back = await browser.ask(pathOf(issuer.signIn(begun.headers.location ?? '')))
  expect([back.status, back.headers.location]).toEqual([303, '/#/machines/test'])
  expect((await browser.session()).person).toMatchObject({ name: 'ada', how: 'Oidc' })
  await expect.poll(async () => (await browser.session()).clusters[0]?.topics).toContain('machines')
  const out = await browser.ask('/api/sign-out', { method: 'POST', body: {} })
  expect((JSON.parse(out.text) as { readonly next: string }).next).toContain(`${issuer.url}/end?`)
  expect((await browser.ask('/api/session')).status).toBe(401)
})

test.each<[string, Lies, number]>([
  ['of another issuer', { claims: { iss: 'https://evil.example' } }, 403],
  ['for another client', { claims: { aud: 'other' } }, 403],
  ['for several clients', { claims: { aud: ['console', 'other'] } }, 403],
  ['that another client asked for', { claims: { azp: 'other' } }, 403],
  ['of another sign-in', { claims: { nonce: 'x' } }, 403],
  ['without a nonce', { claims: { nonce: undefined } }, 403],
  ['that has ended', { claims: { exp: 1 } }, 403],
  ['that never ends', { claims: { exp: undefined } }, 403],
  ['that begins tomorrow', { claims: { nbf: Math.floor(Date.now() / 1_000) + 86_400 } }, 403],
  ['that names no person', { claims: { sub: '' } }, 403],
  ['without a signature', { header: { alg: 'none' }, signature: 'None' }, 403],
  ['with the name of an algorithm and no signature', { signature: 'None' }, 403],
  ['signed with the public key as a secret', { header: { alg: 'HS256' }, signature: 'PublicKeyAsSecret' }, 403],
  ['signed with another key', { signature: 'OtherKey' }, 403],
  ['signed for another algorithm', { header: { alg: 'ES256' } }, 403],
  ['with a key that is not known', { header: { kid: 'second' } }, 403],
  ['with a critical header', { header: { crit: ['b64'], b64: false } }, 403],
])('a token %s opens no session (S35)', async (_, lies, status) => {
  const { port } = await world.atIssuer(issuer)
  const browser = world.browser(port)
  issuer.lies = lies
  const answer = await signIn(browser)
  expect(answer.status).toBe(status)
  expect(answer.text).not.toMatch(/eyJ/)
  expect(browser.cookies).not.toContain('console=')
  expect((await browser.ask('/api/session')).status).toBe(401)
})

test.each<[string, Lies]>([
  ['a set of keys without end', { keysSize: 1_048_576 }],
  ['keys that are elsewhere', { redirect: '/keys' }],
  ['tokens that are elsewhere', { redirect: '/token' }],
  ['parts that are elsewhere', { redirect: '/.well-known/openid-configuration' }],
  ['another name of itself', { discovery: { issuer: 'https://evil.example' } }],
  ['keys over plain HTTP', { discovery: { jwks_uri: 'http://localhost:1/keys' } }],
  ['keys at the address of the credentials of a host', { discovery: { jwks_uri: 'https://169.254.169.254/keys' } }],
  ['tokens from this machine', { discovery: { token_endpoint: 'https://127.0.0.1:1/token' } }],
  ['a page that is a script', { discovery: { authorization_endpoint: 'javascript:alert(1)' } }],
  ['a failure', { status: 500 }],
])('an issuer with %s opens no session (S35)', async (_, lies) => {
  const { port } = await world.atIssuer(issuer)
  issuer.lies = lies
  const answer = await signIn(world.browser(port))
  expect(answer.status).toBe(502)
})

test('a code, a state and a cookie are good once, together, and in one browser (S35)', async () => {
  const { port } = await world.atIssuer(issuer)
  const [ada, eve] = [world.browser(port), world.browser(port)]
  const begun = await ada.ask('/oidc/start')
  const back = pathOf(issuer.signIn(begun.headers.location ?? ''))
  // Eve sends her code to the browser of Ada, or sends that of Ada from her own.
  expect((await eve.ask(back)).status).toBe(410)
  await eve.ask('/oidc/start')
  expect((await eve.ask(back)).status).toBe(403)
  expect((await ada.ask(back)).status).toBe(303)
  expect((await ada.ask(back)).status).toBe(410)
  const again = await ada.ask('/oidc/start')
  const other = issuer.signIn(again.headers.location ?? '')
  other.searchParams.set('iss', 'https://evil.example')
  expect((await ada.ask(pathOf(other))).status).toBe(403)
})

test('a stranger who begins thousands of sign-ins keeps no person from ending theirs (S35)', async () => {
  const { port } = await world.atIssuer(issuer)
  const ada = world.browser(port)
  const begun = await ada.ask('/oidc/start?to=%23%2Fmachines')
  const back = pathOf(issuer.signIn(begun.headers.location ?? ''))
  const eve = world.browser(port)
  for (let n = 0; n < 1_200; n += 50) await Promise.all(Array.from({ length: 50 }, () => eve.ask('/oidc/start')))
  const { status, headers } = await ada.ask(back)
  expect([status, headers.location]).toEqual([303, '/#/machines'])
})

test('nobody is led to another site after signing in (S35)', async () => {
  const { port } = await world.atIssuer(issuer)
  for (const to of [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    '#/a\r\nset-cookie: a=b',
    '@evil.example',
  ]) {
    const { status, headers } = await signIn(world.browser(port), to)
    expect([status, headers.location], to).toEqual([303, '/'])
  }
})

test('a token that ends or is refused is replaced, and the session ends when it cannot be (S35)', async () => {
  const { port, revoked } = await world.atIssuer(issuer)
  const browser = world.browser(port)
  issuer.lifeSeconds = 30
  await signIn(browser)
  const before = issuer.asked.filter((p) => p === '/token').length
  // Within a minute of its end each use asks for a new one.
  await browser.ask(`/api/why?cluster=${CLUSTER}&kind=Machine&name=n-1`)
  expect(issuer.asked.filter((p) => p === '/token').length).toBeGreaterThan(before)
  issuer.lies = { claims: { sub: 'eve' } }
  await browser.ask(`/api/why?cluster=${CLUSTER}&kind=Machine&name=n-1`)
  expect((await browser.session()).person.name).toBe('ada')
  expect(revoked.size).toBe(0)
})

test('a person whom the API server does not know opens no session (S35)', async () => {
  const { port } = await world.atIssuer(issuer)
  issuer.person = { sub: 'system:anonymous', groups: [] }
  expect((await signIn(world.browser(port))).status).toBeGreaterThanOrEqual(400)
})
