// Kubeconfigs through client-node: same result as the fast path wherever that accepts the file, plus features only the library supports.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { inFull } from '#test/support/tools/full.ts'
import { loadKubeconfig } from './kubeconfig.ts'
import { parseSafeKubeconfig, safeKubeconfigProblems } from './kubeconfig-safe.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const CERT = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
const KEY = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-kubeconfig-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = (text: string, name = 'config'): string => {
  const file = join(folder, name)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

interface Parts {
  readonly cluster?: object
  readonly user?: object
  readonly context?: object
  readonly root?: object
}

const kubeconfig = ({ cluster = {}, user = {}, context = {}, root = {} }: Parts = {}): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'here',
  clusters: [{ name: 'c', cluster: { server: 'https://edge.example:6443', ...cluster } }],
  users: [{ name: 'u', user: { token: 'tok-1', ...user } }],
  contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...context } }],
  ...root,
})

const loaded = async (text: string, context?: string) => {
  const { config } = await loadKubeconfig({ files: [written(text)], ...defined({ context }) })
  return config
}

/** Undefined: the fast path leaves the file to the library. */
async function bothWays(text: string) {
  if (safeKubeconfigProblems(text).length > 0) return undefined
  return { fast: parseSafeKubeconfig(text, 'a test').config, library: await loaded(text) }
}

const TABLE: readonly (readonly [string, Parts])[] = [
  ['a token', {}],
  ['an authority', { cluster: { 'certificate-authority-data': base64(CERT) } }],
  ['a certificate', { user: { 'client-certificate-data': base64(CERT), 'client-key-data': base64(KEY) } }],
  ['base64 in lines', { cluster: { 'certificate-authority-data': base64(CERT).replaceAll(/(.{20})/g, '$1\n') } }],
  ['a server with the default port and a slash', { cluster: { server: 'https://EDGE.example:443/' } }],
  ['a server behind a path', { cluster: { server: 'https://edge.example/k8s/clusters/c-1/' } }],
  ['an IPv6 server', { cluster: { server: 'https://[FD00::1]:6443' } }],
  ['a server name', { cluster: { 'tls-server-name': 'kubernetes' } }],
  ['a namespace', { context: { namespace: 'n' } }],
  ['an empty namespace', { context: { namespace: '' } }],
  ['a user to impersonate', { user: { as: 'ada' } }],
  ['a user of groups to impersonate', { user: { as: 'ada', 'as-groups': ['a', 'b'] } }],
  ['groups without a user', { user: { 'as-groups': ['a'] } }],
  ['a token like a date', { user: { token: '2026-01-01' } }],
  ['a token like a number', { user: { token: '1_000' } }],
  ['verification that is said to stay', { cluster: { 'insecure-skip-tls-verify': false } }],
]

describe('plain data gives the same by the fast path and by client-node', () => {
  test.each(TABLE)('%s', async (_, parts) => {
    for (const text of [JSON.stringify(kubeconfig(parts)), stringify(kubeconfig(parts))]) {
      const both = await bothWays(text)
      expect(both?.library).toBeDefined()
      expect(both?.fast).toEqual(both?.library)
    }
  })

  test('a token that YAML 1.1 reads as a date is the text that it is', async () => {
    const text = stringify(kubeconfig()).replace('tok-1', '2026-01-01')
    const both = await bothWays(text)
    expect(both?.library.token).toEqual({ data: '2026-01-01' })
    expect(both?.fast).toEqual(both?.library)
  })

  test('any file that the fast path takes', async () => {
    const some = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: undefined, freq: 2 })
    const word = fc.constantFrom('a', 'n-1', '1', 'yes', '~', '2026-01-01', '0x1f', 'x y', '', 'ü')
    const cluster = fc.record({
      server: fc.constantFrom('https://a', 'https://A:443/', 'https://a:6443/p/', 'https://[::1]:1', 'http://a', 'a'),
      'certificate-authority-data': some(fc.constantFrom(base64(CERT), base64(`ü ${CERT}`), 'x')),
      'tls-server-name': some(word),
      'insecure-skip-tls-verify': some(fc.boolean()),
      'disable-compression': some(fc.boolean()),
    })
    const user = fc.record({
      token: some(word),
      'client-certificate-data': some(fc.constant(base64(CERT))),
      'client-key-data': some(fc.constant(base64(KEY))),
      as: some(word),
      'as-groups': some(fc.array(word, { maxLength: 2 })),
    })
    const parts = fc.record({ cluster, user, context: fc.record({ namespace: some(word) }) })
    let taken = 0
    await fc.assert(
      fc.asyncProperty(parts, fc.boolean(), async (some, isYaml) => {
        const clean = JSON.parse(JSON.stringify(kubeconfig(some))) as object
        const both = await bothWays(isYaml ? stringify(clean) : JSON.stringify(clean))
        if (both === undefined) return
        taken++
        expect(both.fast).toEqual(both.library)
      }),
      { numRuns: inFull(2_000, 150) },
    )
    expect(taken).toBeGreaterThan(5)
  })
})

describe('what only client-node takes', () => {
  test('whom to act as keeps its groups beside a login program', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/false' }
    const config = await loaded(JSON.stringify(kubeconfig({ user: { exec, as: 'ada', 'as-groups': ['a'] } })))
    expect(config.impersonate).toEqual({ user: 'ada', groups: ['a'] })
    expect(config.identity).toBeDefined()
  })

  test.each(['as-uid', 'as-user-extra'])('%s is refused instead of acting as another user', async (field) => {
    const failed = loaded(JSON.stringify(kubeconfig({ user: { as: 'ada', [field]: 'x' } })))
    expect(await failed.catch(messageOf)).toMatch(new RegExp(`^KN2019: .*${field} of user u`))
  })

  test.each(['tokenFile', 'token-file'])('%s is beside the kubeconfig, and read when it is needed', async (field) => {
    const config = await loaded(JSON.stringify(kubeconfig({ user: { token: undefined, [field]: 'later' } })))
    expect(config.token).toEqual({ file: join(folder, 'later') })
  })

  test('without a current context, the contexts that there are are named', async () => {
    const text = (current: object) => JSON.stringify({ ...kubeconfig(), 'current-context': undefined, ...current })
    for (const current of [{}, { 'current-context': '' }])
      await expect(loaded(text(current))).rejects.toThrow(
        /^KN2015: no context is chosen: .* sets no current-context; give --context with one of: here; or run kubectl config/,
      )
    await expect(loaded(text({}), 'her')).rejects.toThrow(/^KN2015: cannot use context "her": .*use one of: here/)
    expect((await loaded(text({}), 'here')).server).toBe('https://edge.example:6443')
  })

  test('files of a list: the first that names a thing wins', async () => {
    const one = written(JSON.stringify(kubeconfig({ user: { token: 'one' }, root: { 'current-context': '' } })), 'one')
    const two = written(JSON.stringify(kubeconfig({ user: { token: 'two' } })), 'two')
    const { config } = await loadKubeconfig({ files: [one, two] })
    expect(config.token).toEqual({ data: 'one' })
  })
})
