// A private repository over https: the Secret of the source authenticates at its own server only, its authority is the only one trusted, and each refusal says why.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { ApiError, failure } from '#kube/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import { issueCertificate, newAuthority, type KeyAndCertificate } from '#lib/x509/certificates.ts'
import { Renders, type ReadSecret } from '#sync/hub/renders.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { startHttpProxy } from '#test/support/servers/http-proxy.ts'

const TOKEN = 'glpat-f4ke-t0ken'
const BASIC = `Basic ${Buffer.from(`fleet:${TOKEN}`).toString('base64')}`
const DAY_MS = 86_400_000
const OWN = { username: 'fleet', password: TOKEN }

const authority = (name: string, now = Date.now()) => newAuthority(name, { now, days: 30 })
const pairOf = (from: KeyAndCertificate, hosts = ['localhost'], now = Date.now(), days = 2) =>
  issueCertificate(from, { subject: { commonName: 'git' }, validity: { now, days }, usage: 'server', hosts })

const first = authority('first')
const second = authority('second')
let repository: GitFolder
let commit: string
let server: GitServer
let elsewhere: GitServer
let folder: string
let secret: { type?: string; data: Readonly<Record<string, string>> } | undefined
let asked: string[]

beforeAll(async () => {
  repository = new GitFolder()
  commit = repository.commit({ 'fleet/main.ts': '' })
  server = await startGitServer(repository.dir, pairOf(first))
  elsewhere = await startGitServer(repository.dir, pairOf(first, ['127.0.0.1', 'localhost']))
  folder = mkdtempSync(join(tmpdir(), 'kubenode-https-'))
})
afterAll(async () => {
  await server.close()
  await elsewhere.close()
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  asked = []
  secret = { data: { ...OWN, 'ca.crt': first.certificate } }
  server.use(pairOf(first))
  server.answer = (authorization) =>
    authorization === BASIC || authorization === `Bearer ${TOKEN}`
      ? { kind: 'Repository' }
      : { kind: 'Refused', status: 401 }
})

const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))
const readSecret: ReadSecret = async (namespace, name) => {
  asked.push(`${namespace}/${name}`)
  if (secret === undefined) return undefined
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...secret, data: encoded(secret.data) }
}

interface From {
  readonly url?: string
  readonly spec?: object
  readonly namespace?: string
  readonly read?: ReadSecret
  readonly env?: Readonly<Record<string, string>>
}

const pathOf = (of: GitFolder) => `${of.dir.split('/').at(-1) ?? ''}/.git`
const urlAt = (host: string) => `${host}/${pathOf(repository)}`

/** The commit, or the error as the status shows it. */
async function fetched({ url, spec, namespace = 'shop', read = readSecret, env }: From = {}): Promise<string> {
  const gitEnv = { PATH: process.env['PATH'] ?? '', ...env }
  const gitReach = { trusted: ['localhost', '127.0.0.1'] }
  const renders = new Renders({ cacheDir: join(folder, 'cache'), weakCage: 'allow', gitEnv, gitReach }, systemClock, {
    readSecret: read,
  })
  const source = {
    metadata: { namespace, name: 'shop' },
    spec: {
      url: url ?? urlAt(`https://localhost:${server.port}`),
      path: '.',
      ref: { branch: 'main' },
      writes: { kinds: ['ConfigMap'], namespaces: ['shop'] },
      secretRef: { name: 'git' },
      ...spec,
    },
  } as unknown as FleetSource
  return renders.fetch(source).then(
    (found) => found.commit,
    (error: Error) => error.message,
  )
}

const filesBelow = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())

test('a repository opens with user and password, or a bearer token, of the Secret beside the source, and nothing of it stays on disk', async () => {
  expect(await fetched()).toBe(commit)
  for (const key of ['bearerToken', 'token']) {
    secret = { data: { [key]: TOKEN, 'ca.crt': first.certificate } }
    expect(await fetched()).toBe(commit)
  }
  expect(asked).toEqual(['shop/git', 'shop/git', 'shop/git'])
  expect(new Set(server.authorizations.slice(-2))).toEqual(new Set([`Bearer ${TOKEN}`]))
  const left = filesBelow(join(folder, 'cache'))
  expect(left.length).toBeGreaterThan(3)
  for (const text of [TOKEN, BASIC.slice('Basic '.length), 'BEGIN CERTIFICATE'])
    expect(left.filter((path) => readFileSync(path).includes(text))).toEqual([])
})

test('a source of the system namespace reads its Secret in kubenode-clusters, and no source names a namespace', async () => {
  expect(await fetched({ namespace: 'kubenode-system' })).toBe(commit)
  expect(await fetched({ spec: { secretRef: { name: 'git', namespace: 'other' } } })).toBe(commit)
  expect(asked).toEqual(['kubenode-clusters/git', 'shop/git'])
})

test('a refused token is reported with its status, and a new one counts from the next fetch on', async () => {
  secret = { data: { username: 'fleet', password: 'old', 'ca.crt': first.certificate } }
  expect(await fetched()).toMatch(
    /^KN7023: .*refused the credentials in the Secret of spec.secretRef \(HTTP 401\); put a username/,
  )
  secret = { data: { 'ca.crt': first.certificate } }
  expect(await fetched()).toMatch(/^KN7023: .*refused a request without credentials \(HTTP 401\)/)
  server.answer = () => ({ kind: 'Refused', status: 403, text: `no right for ${TOKEN}` })
  secret = { data: { ...OWN, 'ca.crt': first.certificate } }
  const refused = await fetched()
  expect(refused).toMatch(/^KN7023: .*HTTP 403/)
  expect(refused).not.toContain(TOKEN)
  server.answer = (authorization) =>
    authorization === `Bearer new` ? { kind: 'Repository' } : { kind: 'Refused', status: 401 }
  secret = { data: { bearerToken: 'new', 'ca.crt': first.certificate } }
  expect(await fetched()).toBe(commit)
})

test('a server that answers with much text hides neither what is wrong nor the end of a status', async () => {
  server.answer = () => ({ kind: 'Refused', status: 500, text: `\u001b[2Jboom ${'boom '.repeat(20_000)}` })
  expect(await fetched()).toMatch(/^KN7009: .*returned error: 500/)
  server.answer = () => ({ kind: 'Failed', text: `\u001b[2J${'no '.repeat(20_000)}` })
  const told = await fetched()
  expect(told).toMatch(/^KN7009: .*remote error: [^\p{Cc}]*no no .*…; check the address/u)
  expect(told.length).toBeLessThan(1_400)
})

test('credentials are not sent on after a redirect, to another server or to http', async () => {
  for (const to of [
    `https://127.0.0.1:${elsewhere.port}`,
    `https://localhost:${elsewhere.port}`,
    'http://localhost:1',
  ]) {
    server.answer = (_, path) => ({ kind: 'Redirect', to: `${to}${path}` })
    expect(await fetched()).toMatch(/^KN7025: .*redirects to another address.*; set spec.url/)
  }
  expect(elsewhere.authorizations).toEqual([])
})

test('an authority is replaced by trusting both, and only the authorities of the Secret are trusted', async () => {
  const untrusted = /^KN7024: .*no authority of ca.crt signed it; /
  server.use(pairOf(second))
  expect(await fetched()).toMatch(untrusted)
  secret = { data: { ...OWN, 'ca.crt': `${first.certificate}\n${second.certificate}` } }
  expect(await fetched()).toBe(commit)
  secret = { data: { ...OWN, 'ca.crt': second.certificate } }
  expect(await fetched()).toBe(commit)
  server.use(pairOf(first))
  expect(await fetched()).toMatch(untrusted)
  // As if the system trusted it.
  const system = join(folder, 'system')
  writeFileSync(system, first.certificate)
  const env = { GIT_SSL_CAINFO: system, GIT_SSL_CAPATH: folder }
  expect(await fetched({ env })).toMatch(untrusted)
  secret = { data: OWN }
  expect(await fetched({ env })).toBe(commit)
  expect(await fetched()).toMatch(/^KN7024: .*no authority that this system trusts signed it; /)
})

test('a certificate for another name, or one that expired, is refused with the name and the day', async () => {
  const before = server.authorizations.length
  server.use(pairOf(first, ['git.example.org']))
  expect(await fetched()).toMatch(/^KN7024: .*it is for DNS:git.example.org, not for localhost; /)
  const past = Date.parse('2026-01-02T00:00:00Z')
  server.use(pairOf(first, ['localhost'], past, 1))
  expect(await fetched()).toMatch(/^KN7024: .*it expired on 2026-01-03; /)
  const old = authority('old', Date.now() - 60 * DAY_MS)
  secret = { data: { ...OWN, 'ca.crt': old.certificate } }
  expect(await fetched()).toMatch(/^KN7021: .*shop\/git of spec.secretRef has a ca.crt that expired on 20/)
  // No header was sent before the server proved its name.
  expect(server.authorizations.length).toBe(before)
})

test('a Secret that sync may not read, a URL with a password and plain http are refused before anything is sent', async () => {
  const before = server.authorizations.length
  const read: ReadSecret = async () => {
    throw new ApiError(failure(403, 'secrets "git" is forbidden'), { action: 'get', target: 'secrets shop/git' })
  }
  expect(await fetched({ read })).toMatch(/^KN7027: .*sync may not read the Secret shop\/git .*--resource-name=git/)
  secret = undefined
  expect(await fetched()).toMatch(/^KN7021: .*shop\/git of spec.secretRef does not exist/)
  secret = { data: OWN }
  const inUrl = await fetched({ url: urlAt(`https://fleet:${TOKEN}@localhost:${server.port}`) })
  expect(inUrl).toMatch(/^KN7026: /)
  expect(inUrl).not.toContain(TOKEN)
  expect(await fetched({ url: urlAt(`http://localhost:${server.port}`) })).toMatch(/^KN1520: /)
  expect(server.authorizations.length).toBe(before)
})

test('what a server prints of the credentials it was sent does not reach the status', async () => {
  server.answer = () => ({ kind: 'Failed', text: `your header was ${BASIC} and your token ${TOKEN}` })
  expect(await fetched()).toMatch(/^KN7009: .*your header was Basic \*\*\* and your token \*\*\*/)
})

test('a repository is reached through the proxy of the source, with its user and password, and through no other', async () => {
  const proxy = await startHttpProxy()
  try {
    const at = `http://127.0.0.1:${proxy.port}`
    const spec = { proxy: at }
    const tunnel = `localhost:${server.port}`
    expect(await fetched({ spec })).toBe(commit)
    expect(new Set(proxy.opened)).toEqual(new Set([tunnel]))
    proxy.wants = `Basic ${Buffer.from('me:p@ss word').toString('base64')}`
    const refused = await fetched({ spec })
    expect(refused).toMatch(
      /^KN7047: .*the proxy http:\/\/127.0.0.1:\d+ refused the connection: .*407.*; check spec.proxy/,
    )
    secret = { data: { ...OWN, 'ca.crt': first.certificate, proxyUsername: 'me', proxyPassword: 'p@ss word' } }
    expect(await fetched({ spec })).toBe(commit)
    secret = { data: { ...OWN, 'ca.crt': first.certificate, proxyUsername: 'me', proxyPassword: 'wrong' } }
    const wrong = await fetched({ spec })
    expect(wrong).toMatch(/^KN7047/)
    expect(wrong).not.toContain('wrong')
    secret = { data: { ...OWN, 'ca.crt': first.certificate, proxyUsername: 'me' } }
    expect(await fetched({ spec })).toMatch(/^KN7021: .*has no proxyPassword/)
    expect(await fetched({ spec, url: 'ssh://git@localhost/x' })).toMatch(/^KN7047: .*https/)
    // The variables that other programs take a proxy from do not count.
    const before = proxy.opened.length
    proxy.wants = undefined
    secret = { data: { ...OWN, 'ca.crt': first.certificate } }
    expect(await fetched({ env: { https_proxy: at, HTTPS_PROXY: at, ALL_PROXY: at, all_proxy: at } })).toBe(commit)
    expect(proxy.opened).toHaveLength(before)
  } finally {
    await proxy.close()
  }
})

test('S13 settings of the user that sync runs as lead git nowhere else, and run nothing', async () => {
  const home = join(folder, 'home')
  const template = join(home, 'template/hooks')
  mkdirSync(template, { recursive: true })
  writeFileSync(join(template, 'reference-transaction'), '#!/bin/sh\ntouch ran\n', { mode: 0o755 })
  const ran = join(home, 'ran')
  writeFileSync(
    join(home, '.gitconfig'),
    `[url "https://127.0.0.1:${elsewhere.port}/"]
	insteadOf = https://localhost:${server.port}/
[http]
	proxy = http://127.0.0.1:1
	sslVerify = false
[credential]
	helper = "!touch '${ran}'; echo username=x; echo password=y"
[init]
	templateDir = ${join(home, 'template')}
`,
  )
  writeFileSync(join(home, '.netrc'), `machine localhost login fleet password ${TOKEN}\n`, { mode: 0o600 })
  const before = elsewhere.authorizations.length
  rmSync(join(folder, 'cache'), { recursive: true, force: true })
  const env = { HOME: home, XDG_CONFIG_HOME: home }
  expect(await fetched({ env })).toBe(commit)
  secret = { data: { 'ca.crt': first.certificate } }
  expect(await fetched({ env })).toMatch(/^KN7023: .*a request without credentials/)
  expect([existsSync(ran), elsewhere.authorizations.length]).toEqual([false, before])
  expect(filesBelow(join(folder, 'cache')).filter((path) => path.includes('hooks'))).toEqual([])
})

test('S13 a request without credentials follows no redirect either', async () => {
  server.answer = (_, path) => ({ kind: 'Redirect', to: `https://localhost:${elsewhere.port}${path}` })
  secret = { data: { 'ca.crt': first.certificate } }
  const before = elsewhere.authorizations.length
  expect(await fetched()).toMatch(/^KN7025: .*redirects to another address/)
  expect(elsewhere.authorizations.length).toBe(before)
})
