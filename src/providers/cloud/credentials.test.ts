// The sources of a cloud's keys, against services that answer as documented by the vendors, and what happens when keys expire.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timestamp } from '#lib/clock.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alicloudKeys } from '../alicloud/credentials.ts'
import { awsKeys } from '../aws/credentials.ts'
import { Credentials, type Keys, type KeySource } from './credentials.ts'
import type { CloudAnswer, CloudRequest, Transport } from './http.ts'

const LIFE_MS = 3_600_000
const signal = new AbortController().signal
const SECRET = 'a-secret-that-must-not-appear'
const TOKEN = 'a-token-of-the-cluster'

let folder: string
let tokenFile: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keys-'))
  tokenFile = join(folder, 'token')
  await writeFile(tokenFile, `${TOKEN}\n`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const ok = (text: string): CloudAnswer => ({ status: 200, headers: {}, text })

interface Vendor {
  readonly name: string
  readonly region: string
  readonly env: () => Readonly<Record<string, string>>
  keys(
    options: object,
    tools: { transport: Transport; env: Readonly<Record<string, string>>; clock: VirtualClock },
  ): KeySource
  /** The answer of the service that issues temporary keys. */
  lent(expiresAt: string): string
  refusal: string
  readonly metadata: { readonly header: string; readonly roles: string; readonly keys: (expiresAt: string) => string }
}

const VENDORS: readonly Vendor[] = [
  {
    name: 'aws',
    region: 'eu-central-1',
    env: () => ({ AWS_ROLE_ARN: 'arn:aws:iam::1:role/kubenode', AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile }),
    keys: (options, tools) => awsKeys(options as never, tools),
    lent: (expiresAt) =>
      `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>${SECRET}</SecretAccessKey><SessionToken>s1</SessionToken><Expiration>${expiresAt}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    refusal: `<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>${TOKEN}</Message></Error></ErrorResponse>`,
    metadata: {
      header: 'x-aws-ec2-metadata-token',
      roles: '/latest/meta-data/iam/security-credentials/',
      keys: (Expiration) =>
        JSON.stringify({ Code: 'Success', AccessKeyId: 'ASIA1', SecretAccessKey: SECRET, Token: 's1', Expiration }),
    },
  },
  {
    name: 'alicloud',
    region: 'cn-hangzhou',
    env: () => ({
      ALIBABA_CLOUD_ROLE_ARN: 'acs:ram::1:role/kubenode',
      ALIBABA_CLOUD_OIDC_PROVIDER_ARN: 'acs:ram::1:oidc-provider/c',
      ALIBABA_CLOUD_OIDC_TOKEN_FILE: tokenFile,
    }),
    keys: (options, tools) => alicloudKeys(options as never, tools),
    lent: (Expiration) =>
      JSON.stringify({
        Credentials: { AccessKeyId: 'ASIA1', AccessKeySecret: SECRET, SecurityToken: 's1', Expiration },
      }),
    refusal: JSON.stringify({ Code: 'AuthenticationFail.OIDCToken.Invalid', Message: TOKEN }),
    metadata: {
      header: 'x-aliyun-ecs-metadata-token',
      roles: '/latest/meta-data/ram/security-credentials/',
      keys: (Expiration) =>
        JSON.stringify({
          Code: 'Success',
          AccessKeyId: 'ASIA1',
          AccessKeySecret: SECRET,
          SecurityToken: 's1',
          Expiration,
        }),
    },
  },
]

const failure = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it worked',
    (error: unknown) => String(error),
  )

describe.each(VENDORS)('$name', (v) => {
  const clock = new VirtualClock()
  const expiresAt = timestamp(clock.now() + LIFE_MS)
  const asked: CloudRequest[] = []
  const from = (answer: (request: CloudRequest) => CloudAnswer, options: object = { credentials: 'Environment' }) => {
    asked.length = 0
    const transport: Transport = async (request) => {
      asked.push(request)
      return answer(request)
    }
    return v.keys({ region: v.region, ...options }, { transport, env: v.env(), clock })
  }

  test('a token of the cluster is exchanged for keys of the role', async () => {
    const keys = await from(() => ok(v.lent(expiresAt)))(signal)
    expect(keys).toEqual({ id: 'ASIA1', secret: SECRET, session: 's1', expiresAt: Date.parse(expiresAt) })
    const [request] = asked
    expect(new URL(request?.url ?? '').hostname).toMatch(new RegExp(`^sts\\.${v.region}\\.`))
    const sent = `${request?.url ?? ''} ${request?.body ?? ''}`
    expect(sent).toContain(TOKEN)
    expect(request?.url).not.toContain(TOKEN)
  })

  test('a token that the cloud does not take is reported by the code, and shown in no error', async () => {
    const refused = from(() => ({ status: 400, headers: {}, text: v.refusal }))
    const why = await failure(refused(signal))
    expect(why).toMatch(/gives no keys: (InvalidIdentityToken|AuthenticationFail)/)
    expect(why).not.toContain(TOKEN)
  })

  test.each([
    ['an empty answer', ''],
    ['a page of a network', '<html><body>Sign in</body></html>'],
    ['keys without an end', () => v.lent('')],
  ])('%s gives no keys', async (_, text) => {
    expect(await failure(from(() => ok(typeof text === 'string' ? text : text()))(signal))).toContain('gives no keys')
  })

  test('the role of the host is read with a session', async () => {
    const { header, roles, keys } = v.metadata
    const source = from(
      ({ method, url, headers }) => {
        const { pathname } = new URL(url)
        if (method === 'PUT') return ok('session-1')
        if (headers[header] !== 'session-1') return { status: 401, headers: {}, text: '' }
        return pathname === roles ? ok('node-role') : ok(pathname === `${roles}node-role` ? keys(expiresAt) : '')
      },
      { credentials: 'Metadata' },
    )
    expect(await source(signal)).toMatchObject({ id: 'ASIA1', session: 's1' })
    expect(asked.map((r) => new URL(r.url).pathname)).toEqual(['/latest/api/token', roles, `${roles}node-role`])
  })

  test.each([
    ['a service that gives no session', (method: string) => (method === 'PUT' ? 403 : 200), 'ok'],
    ['a host without a role', (method: string) => (method === 'PUT' ? 200 : 404), ''],
    ['a role with a strange name', () => 200, '../../user-data'],
  ])('%s gives no keys', async (_, status, text) => {
    const source = from(({ method }) => ({ status: status(method), headers: {}, text }), { credentials: 'Metadata' })
    await expect(source(signal)).rejects.toThrow(/no session|no (RAM role|instance profile)/)
    expect(asked.every((r) => !r.url.includes('user-data'))).toBe(true)
  })
})

describe('keys that end', () => {
  const lender = (clock: VirtualClock) => {
    const state = { lent: 0, isAway: false }
    const source: KeySource = async () => {
      if (state.isAway) throw new Error('the service is away')
      state.lent++
      return { id: `k${state.lent}`, secret: SECRET, session: 's', expiresAt: clock.now() + LIFE_MS }
    }
    return { state, credentials: new Credentials(source, clock) }
  }

  test('are fetched once for all who wait, and renewed at four fifths of their life', async () => {
    const clock = new VirtualClock()
    const { state, credentials } = lender(clock)
    const all = await Promise.all(Array.from({ length: 50 }, () => credentials.current(signal)))
    expect([state.lent, new Set(all).size]).toEqual([1, 1])
    clock.skip(0.79 * LIFE_MS)
    expect((await credentials.current(signal)).id).toBe('k1')
    clock.skip(0.02 * LIFE_MS)
    expect((await credentials.current(signal)).id).toBe('k2')
  })

  test('serve to their end while they cannot be renewed, and not a moment longer', async () => {
    const clock = new VirtualClock()
    const { state, credentials } = lender(clock)
    await credentials.current(signal)
    state.isAway = true
    clock.skip(LIFE_MS - 1)
    expect((await credentials.current(signal)).id).toBe('k1')
    clock.skip(1)
    await expect(credentials.current(signal)).rejects.toThrow('the service is away')
    state.isAway = false
    expect((await credentials.current(signal)).id).toBe('k2')
  })

  test('are fetched again once the vendor refuses them, and those fetched meanwhile stay', async () => {
    const clock = new VirtualClock()
    const { credentials } = lender(clock)
    const first: Keys = await credentials.current(signal)
    credentials.drop(first)
    const second = await credentials.current(signal)
    credentials.drop(first)
    expect(await credentials.current(signal)).toBe(second)
  })
})
