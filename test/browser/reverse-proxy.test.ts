// The console below a path of a real nginx, whose configuration is that of docs/operations/reverse-proxy.md, with a certified issuer and a real browser.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine } from '#api/kinds/machine.ts'
import { readPage } from '#console/server/page-files.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { CLUSTER, HOST, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import { type CertifiedIssuer, startCertifiedIssuer } from '#test/support/issuer/certified-issuer.ts'
import { isNginxHere, type NginxOptions, type RunningNginx, startNginx } from '#test/support/servers/nginx.ts'
import { type CertificateAuthority, newAuthority } from '#test/support/servers/tls.ts'
import { useBench } from './browser.ts'

const BASE = '/kubenode'
const DOCS = readFileSync(join(import.meta.dirname, '../../docs/operations/reverse-proxy.md'), 'utf8')
const HOURS_13 = 13 * 3_600_000

const bench = useBench()
const running: RunningNginx[] = []
let world: PeopleWorld
let issuer: CertifiedIssuer
let proxies: CertificateAuthority

beforeAll(async () => {
  ;[world, issuer, proxies] = await Promise.all([peopleWorld(), startCertifiedIssuer(), newAuthority('proxies')])
  issuer.groups = ['platform']
  await world.allow('group:platform', ['machines'], ['get', 'list', 'watch'])
})
afterAll(async () => {
  await (issuer as CertifiedIssuer | undefined)?.stop()
  await (world as PeopleWorld | undefined)?.stop()
})
beforeEach((context) => {
  if (!isNginxHere) context.skip('no nginx: install nginx-light')
})
afterEach(async () => {
  for (const nginx of running.splice(0)) await nginx.stop()
})

/** The indented block of the page that begins so. */
function blockOf(start: string): string {
  const lines = DOCS.split('\n')
  const from = lines.findIndex((line) => line.startsWith('    ') && line.trim().startsWith(start))
  const rest = lines.slice(from)
  const end = rest.findIndex((line) => line !== '' && !line.startsWith('    '))
  return rest.slice(0, end).join('\n')
}

interface Front {
  readonly block?: string
  readonly files?: ReadonlyMap<string, string>
  readonly port?: number
}

async function front(consolePort: number, { block = blockOf('server {'), files = new Map(), port }: Front = {}) {
  const pair = await proxies.server(['127.0.0.1'])
  const options: NginxOptions = {
    block,
    files: new Map([
      ['/etc/nginx/tls.crt', pair.cert],
      ['/etc/nginx/tls.key', pair.key],
      ['/etc/nginx/console-ca.crt', world.authority.cert],
      ...files,
    ]),
    replaced: new Map([
      ['kubenode-console.kubenode-system.svc:443', `127.0.0.1:${consolePort}`],
      // Of the certificate, and of the browser, which comes by address.
      ['proxy_ssl_name tools.example.org', `proxy_ssl_name ${HOST}`],
      ['server_name tools.example.org', 'server_name 127.0.0.1'],
    ]),
    ...defined({ port }),
  }
  const nginx = await startNginx(options)
  running.push(nginx)
  return { origin: `https://127.0.0.1:${nginx.port}`, nginx }
}

const opened = (url: string): Promise<Page> => bench.open('', { isStill: false, url, ignoreHTTPSErrors: true })

async function signIn(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Sign in at' }).click()
  await page.locator('input[name=login]').fill('ada')
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('form[action*="/interaction/"] button[type=submit]').click()
}

const newMachine = (name: string) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine' as const,
  metadata: { name },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' as const },
})

test('below a path of nginx a person signs in, sees a change at once, and signs out (S35)', async () => {
  const { port } = await world.atIssuer(issuer, { page: readPage(undefined, BASE) })
  const { origin } = await front(port)
  issuer.register(origin + BASE)
  // Without the slash at its end, as people type it.
  const page = await opened(`${origin}${BASE}`)
  expect(page.url()).toMatch(new RegExp(`^${origin}${BASE}/(#.*)?$`))
  await page.goto(`${origin}${BASE}/#/machines/${CLUSTER}`)
  await signIn(page)
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  expect(page.url()).toBe(`${origin}${BASE}/#/machines/${CLUSTER}`)
  // Only a stream that nothing holds back brings it.
  await world.admin.create(machine, newMachine('n-proxied'))
  await page.getByText('n-proxied').first().waitFor()
  // The other applications of this host get no cookie of the console.
  const cookies = await page.context().cookies(origin)
  expect(cookies.filter(({ name }) => name.includes('kubenode'))).toEqual([])
  expect((await page.context().cookies(`${origin}${BASE}/`)).map(({ name, path }) => [name, path])).toContainEqual([
    '__Secure-kubenode-console',
    `${BASE}/`,
  ])
  await world.admin.delete(machine, { name: 'n-proxied' })
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  await page.getByRole('link', { name: 'ada', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('button[name=logout]').first().click()
  await page.getByRole('link', { name: 'Sign in at' }).waitFor()
  expect(page.url()).toMatch(new RegExp(`^${origin}${BASE}/`))
  expect(bench.errors).toEqual([])
})

test('an open page whose session ends says so, and the person is back at the same view after signing in again (S35)', async () => {
  let ahead = 0
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead }
  const { port } = await world.atIssuer(issuer, { page: readPage(undefined, BASE), clock })
  const { origin } = await front(port)
  issuer.register(origin + BASE)
  const page = await opened(`${origin}${BASE}/#/machines/${CLUSTER}`)
  await signIn(page)
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  ahead = HOURS_13
  await page.getByText('Signed out').first().waitFor()
  await page.reload()
  await page.getByRole('link', { name: 'Sign in at' }).click()
  await page.locator('form button[type=submit], main h1').first().waitFor()
  if (page.url().startsWith(issuer.url)) await page.locator('button[type=submit]').first().click()
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  expect(page.url()).toBe(`${origin}${BASE}/#/machines/${CLUSTER}`)
})

test('a console that restarts behind nginx is shown as offline, and the page continues by itself (S35)', async () => {
  const { port } = await world.atIssuer(issuer, { page: readPage(undefined, BASE) })
  const { origin, nginx } = await front(port)
  issuer.register(origin + BASE)
  const page = await opened(`${origin}${BASE}/#/machines/${CLUSTER}`)
  await signIn(page)
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  await nginx.stop()
  await page.getByText('Offline').first().waitFor()
  await front(port, { port: nginx.port })
  await page.getByText('Offline').first().waitFor({ state: 'detached' })
})

test('mistakes in the proxy or at the issuer are named (S35)', async () => {
  const { port } = await world.atIssuer(issuer, { page: readPage(undefined, BASE) })
  const { origin } = await front(port)
  // The issuer knows another path.
  issuer.register(origin)
  const page = await opened(`${origin}${BASE}/`)
  await page.getByRole('link', { name: 'Sign in at' }).click()
  await page.getByText('redirect_uri').first().waitFor()
  await page.goto(`${origin}${BASE}/oidc/back?code=made-up&state=made-up`)
  await page.getByText('sign in again').waitFor()
  const block = blockOf('server {')
  const ownHost = await front(port, { block: block.replace('$http_host', 'elsewhere.example.org') })
  expect(await (await opened(`${ownHost.origin}${BASE}/`)).locator('body').innerText()).toMatch(
    /names another server.*reverse proxy must pass on/,
  )
  const stripped = await front(port, { block: block.replace('svc:443;', 'svc:443/;') })
  expect(await (await opened(`${stripped.origin}${BASE}/`)).locator('body').innerText()).toMatch(
    /served below \/kubenode\//,
  )
})

test('where nginx signs people in, it names the person, and a browser that names another one has no effect (S35)', async () => {
  const settings = { names: [HOST, '127.0.0.1'], path: BASE }
  const proxy = { clientCa: proxies.cert, names: ['proxy'], users: ['ada', 'admin'], groups: ['platform'] }
  const { port } = await world.role({ ...settings, proxy })
  const client = await proxies.client('proxy')
  const block = blockOf('server {').replace(/(proxy_read_timeout .*)/, `$1\n${blockOf('proxy_ssl_certificate')}`)
  const files = new Map([
    ['/etc/nginx/client.crt', client.cert],
    ['/etc/nginx/client.key', client.key],
    ['/etc/nginx/people', 'ada:{PLAIN}sesame\n'],
  ])
  const { origin } = await front(port, { block, files })
  const page = await bench.open('', {
    isStill: false,
    url: `${origin}${BASE}/#/account`,
    ignoreHTTPSErrors: true,
    httpCredentials: { username: 'ada', password: 'sesame' },
    extraHTTPHeaders: { 'X-Remote-User': 'admin', 'X-Remote-Group': 'platform' },
  })
  await page.getByRole('heading', { name: 'ada', level: 2 }).waitFor()
  await page.getByText('In no group').waitFor()
  expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
})
