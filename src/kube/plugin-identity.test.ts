// Identities from login programs and OIDC providers: requested again when they expire or are refused, one request at a time, and never missing without an
// error.
import { execFile } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { loadKubeconfig } from './kubeconfig.ts'

let folder: string
const ends: (() => void)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-plugin-'))
})
afterEach(() => {
  for (const end of ends.splice(0)) end()
  rmSync(folder, { recursive: true, force: true })
})

async function identityWith(user: object) {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  }
  const file = join(folder, 'config')
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  const { identity } = (await loadKubeconfig({ files: [file] })).config
  if (identity === undefined) throw new Error('no plugin')
  return identity
}

/** A login program that prints the content of `answer` and counts its runs. */
function program() {
  const [script, answer, count] = ['login.js', 'answer', 'count'].map((f) => join(folder, f)) as [
    string,
    string,
    string,
  ]
  writeFileSync(
    script,
    `const fs = require('node:fs'); fs.appendFileSync(${JSON.stringify(count)}, process.env.KUBERNETES_EXEC_INFO + '\\n');
     process.stdout.write(fs.readFileSync(${JSON.stringify(answer)}))`,
  )
  appendFileSync(count, '')
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [script] }
  const asked = (): string[] => readFileSync(count, 'utf8').split('\n').slice(0, -1)
  const answers = (status: object) =>
    writeFileSync(answer, JSON.stringify({ apiVersion: exec.apiVersion, kind: 'ExecCredential', status }))
  return { exec, asked, answers }
}

const inSeconds = (s: number) => new Date(Date.now() + s * 1_000).toISOString()

describe('a login program', () => {
  test('is asked once, again when its answer ran out, and again after a refusal of one that did not', async () => {
    const { exec, asked, answers } = program()
    const identity = await identityWith({ exec })
    answers({ token: 'one', expirationTimestamp: inSeconds(-1) })
    expect(await identity(false)).toMatchObject({ token: 'one' })
    answers({ token: 'two', expirationTimestamp: inSeconds(3_600) })
    expect(await identity(false)).toMatchObject({ token: 'two' })
    answers({ token: 'three' })
    expect(await identity(false)).toMatchObject({ token: 'two' })
    expect(await identity(true)).toMatchObject({ token: 'three' })
    expect(asked()).toHaveLength(3)
    expect(JSON.parse(asked()[0] ?? '')).toMatchObject({ kind: 'ExecCredential', spec: { interactive: false } })
  })

  test('that is asked by many at once is started once', async () => {
    const { exec, asked, answers } = program()
    const identity = await identityWith({ exec })
    answers({ token: 'one' })
    const all = await Promise.all(Array.from({ length: 20 }, () => identity(true)))
    expect(new Set(all.map((i) => i.token))).toEqual(new Set(['one']))
    expect(asked()).toHaveLength(1)
  })

  test('that gives neither token nor certificate makes no anonymous request', async () => {
    const { exec, answers } = program()
    const identity = await identityWith({ exec })
    answers({})
    expect(await identity(false).catch(messageOf)).toMatch(
      /^KN2025: cannot log in as user u: .*neither token nor certificate/,
    )
  })

  test('that is not there is named, with the hint for this case', async () => {
    const saidOf = async (more: object) =>
      (await identityWith({ exec: { apiVersion: 'v1', command: './nowhere', ...more } }))(false).catch(messageOf)
    expect(await saidOf({})).toMatch(/^KN2025: .* failed: there is no program .*kubenode-plugin-.*\/nowhere;/)
    expect(await saidOf({ installHint: 'Install nowhere:\nthree more lines' })).toMatch(
      /nowhere \(Install nowhere: three more lines\);/,
    )
  })
})

const jwt = (claims: object): string =>
  [{ alg: 'RS256' }, claims].map((p) => Buffer.from(JSON.stringify(p)).toString('base64url')).join('.') + '.c2ln'

describe('an OIDC provider', () => {
  const login = (exp: number, more: object = {}) => ({
    'auth-provider': {
      name: 'oidc',
      config: { 'client-id': 'kubenode', 'id-token': jwt({ exp }), ...more },
    },
  })
  const now = () => Math.floor(Date.now() / 1_000)

  test('its token is sent while it lives', async () => {
    const identity = await identityWith(login(now() + 600))
    expect((await identity(false)).token).toMatch(/^eyJ/)
  })

  test('a login that ran out and cannot be renewed makes no anonymous request', async () => {
    const identity = await identityWith(login(now() - 1))
    expect(await identity(false).catch(messageOf)).toMatch(/^KN2025: .*its login expired and cannot be renewed/)
  })

  test('a login that ran out is renewed, more than once, also with a refresh token that stays', async () => {
    const authority = await newAuthority()
    const { cert, key } = await authority.server(['127.0.0.1'])
    let renewed = 0
    const server = createServer({ cert, key }, (request, response) => {
      const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
      response.setHeader('content-type', 'application/json')
      if (request.url === '/.well-known/openid-configuration')
        return void response.end(JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }))
      renewed++
      const claims = { iss: issuer, aud: 'kubenode', sub: 'ada', iat: now(), exp: now() - 1, n: renewed }
      return void response.end(
        JSON.stringify({ access_token: 'a', token_type: 'bearer', expires_in: 600, id_token: jwt(claims) }),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ends.push(
      () => server.close(),
      () => server.closeAllConnections(),
    )
    const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const more = { 'refresh-token': 'stays', 'idp-issuer-url': issuer }
    writeFileSync(join(folder, 'ca.pem'), authority.cert)
    await identityWith(login(now() - 1, more))
    // Node reads additional CAs at startup.
    const asking = `import { loadKubeconfig } from ${JSON.stringify(join(import.meta.dirname, 'kubeconfig.ts'))}
      const { config } = await loadKubeconfig({ files: [${JSON.stringify(join(folder, 'config'))}] })
      for (const isRefused of [false, true, false]) console.log((await config.identity(isRefused)).token)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', asking], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
      cwd: join(import.meta.dirname, '../..'),
    })
    const tokens = stdout.trim().split('\n')
    expect(new Set(tokens).size).toBe(3)
  })

  test('an authority of its own is said to need the environment', async () => {
    const more = {
      'refresh-token': 'r',
      'idp-issuer-url': 'https://127.0.0.1:1',
      'idp-certificate-authority-data': 'YQ==',
    }
    const identity = await identityWith(login(now() - 1, more))
    expect(await identity(false).catch(messageOf)).toMatch(/^KN2025: .*set NODE_EXTRA_CA_CERTS/)
  })
})
