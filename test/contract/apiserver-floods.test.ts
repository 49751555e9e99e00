// S24: a flood by one identity lengthens only its own queue. S29: bodies are bounded before they are read and before they are parsed.
// Time is never measured: the test counts refusals, and the clients served meanwhile.
import { connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { KIB } from '#lib/bytes.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { loggerTo, type LogFields } from '#lib/log.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { Requests, type Reply } from '#test/support/servers/api-requests.ts'
import { inFullAll } from '#test/support/tools/full.ts'

const NAMESPACE = '/api/v1/namespaces/default'
const MAPS = `${NAMESPACE}/configmaps`
const EVENTS = `${NAMESPACE}/events`

let server: ApiServer
let admin: Requests
let thief: Requests
let lines: { readonly message: string; readonly fields: LogFields }[]
const closing: (() => void)[] = []

/** Who holds a client certificate of this server. */
function credentials(user: string, ...organizations: readonly string[]) {
  const { authority } = server.credentials
  const subject = { commonName: user, organizations }
  const validity = { now: Date.now(), days: 1 }
  const { certificate: cert, key } = issueCertificate(authority, { subject, validity, usage: 'client' })
  return { url: server.url, ca: server.ca, cert, key }
}

function identity(user: string, ...organizations: readonly string[]): Requests {
  const requests = new Requests(credentials(user, ...organizations))
  closing.push(() => requests.close())
  return requests
}

beforeEach(async () => {
  lines = []
  const log = loggerTo((_level, message, fields) => void lines.push({ message, fields }))
  server = await createApiServer({ loops: 'none', log })
  await server.listen()
  admin = identity('root', 'system:masters')
  thief = identity('kubenode:agent:m-1', 'kubenode:agents')
  const RBAC = '/apis/rbac.authorization.k8s.io/v1'
  const rules = [
    { apiGroups: ['', 'events.k8s.io'], resources: ['configmaps', 'events', 'nodes'], verbs: ['*'] },
    { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['create'] },
  ]
  await admin.made(`${RBAC}/clusterroles`, { metadata: { name: 'agents' }, rules })
  await admin.made(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'agents' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'agents' },
    subjects: ['kubenode:agents', 'others'].map((name) => ({ kind: 'Group', name })),
  })
})
afterEach(async () => {
  for (const close of closing.splice(0)) close()
  await server.close()
})

/** Bytes written by hand, and what was answered until the connection ended or enough had come. */
async function raw(who: ReturnType<typeof credentials>, text: string, isEnough: (text: string) => boolean) {
  const { hostname, port } = new URL(who.url)
  const socket = connect({ host: hostname, port: Number(port), ca: who.ca, cert: who.cert, key: who.key })
  closing.push(() => void socket.destroy())
  return new Promise<{ readonly text: string; readonly isCut: boolean }>((resolve) => {
    let all = ''
    socket.setEncoding('latin1')
    socket.on('data', (part: string) => {
      all += part
      if (isEnough(all)) resolve({ text: all, isCut: false })
    })
    socket.on('close', () => resolve({ text: all, isCut: true }))
    socket.on('error', () => undefined)
    socket.once('secureConnect', () => socket.write(text))
  })
}

const map = (name: string, bytes = 0) => ({ metadata: { name }, data: { fill: 'x'.repeat(bytes) } })
const event = (name: string, message = 'm') => ({
  metadata: { name },
  involvedObject: { namespace: 'default' },
  message,
})
const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]))
const told = () => lines.filter((l) => l.message === 'request body refused').map((l) => l.fields)
const said = ({ code, body }: Reply) => `${code} ${body.message ?? ''}`

describe('S24 S29 bodies', () => {
  test('of an agent, over 64 KiB, are refused before they are read', async () => {
    const who = credentials('kubenode:agent:m-1', 'kubenode:agents')
    const head = `POST ${MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
    const { text } = await raw(who, `${head}content-length: ${2 * KIB * KIB}\r\n\r\n`, (t) => t.includes('limit is'))
    expect(text).toMatch(/^HTTP\/1.1 413 [^]*limit is 65536/)
    const chunk = `10000\r\n${' '.repeat(64 * KIB)}\r\n`
    const chunked = await raw(who, `${head}transfer-encoding: chunked\r\n\r\n${chunk}${chunk}`, (t) =>
      t.includes('limit is'),
    )
    expect(chunked.text).toMatch(/^HTTP\/1.1 413 [^]*limit is 65536/)
    expect((await thief.post(MAPS, map('small', 60 * KIB))).code).toBe(201)
    expect((await admin.post(MAPS, map('large', 900 * KIB))).code).toBe(201)
    expect(told()).toEqual([
      { user: 'kubenode:agent:m-1', reason: 'Request entity too large: limit is 65536', refusedSinceLastLine: 0 },
    ])
  })

  test('with 130,000 unknown keys answer 400 to every client, and are logged once', async () => {
    await admin.made(MAPS, map('there'))
    const wide = { ...map('there'), ...fields(130_000) }
    for (let i = 0; i < 3; i++) expect(said(await admin.post(MAPS, wide))).toMatch(/^400 .*more than 100000 fields/)
    for (const kind of ['merge', 'strategic', 'apply'] as const)
      expect(said(await admin.patch(kind, `${MAPS}/there?fieldManager=x`, wide))).toMatch(/^400 .*more than 100000/)
    expect(said(await admin.put(`${MAPS}/there`, wide))).toMatch(/^400 /)
    expect(told()).toEqual([expect.objectContaining({ user: 'root', refusedSinceLastLine: 0 })])
  })

  test('with more than 1,000 unknown fields answer 400, with fewer they are warned about', async () => {
    const few = await admin.post(MAPS, { ...map('few'), ...fields(900) })
    expect([few.code, few.warnings.length]).toEqual([201, 100])
    expect(said(await admin.post(MAPS, { ...map('many'), ...fields(1_001) }))).toMatch(/^400 .*1000 unknown fields/)
    const ignored = await admin.post(`${MAPS}?fieldValidation=Ignore`, { ...map('many'), ...fields(99_000) })
    expect(said(ignored)).toMatch(/^400 .*1000 unknown fields/)
  })

  test('of custom resources are bounded alike, in their status too', async () => {
    const group = 'example.org'
    await admin.made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `toys.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'toys', singular: 'toy', kind: 'Toy', listKind: 'ToyList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { status: { type: 'object' } } } },
            subresources: { status: {} },
          },
        ],
      },
    })
    const TOYS = `/apis/${group}/v1/namespaces/default/toys`
    const toy = { apiVersion: `${group}/v1`, kind: 'Toy', metadata: { name: 'toy' } }
    await admin.made(TOYS, toy)
    for (const [count, why] of [
      [130_000, 'more than 100000 fields'],
      [2_000, '1000 unknown fields'],
    ] as const)
      expect(said(await admin.patch('merge', `${TOYS}/toy/status`, { status: fields(count) }))).toMatch(
        new RegExp(`^400 .*${why}`),
      )
    expect((await admin.get(`${TOYS}/toy`)).body).not.toHaveProperty('status')
  })

  test('of an agent have few fields, little YAML, and leave no large object behind', async () => {
    const lists = { metadata: { name: 'lists' }, data: Array.from({ length: 9_000 }, () => 0) }
    expect(said(await thief.post(MAPS, lists))).toMatch(/^400 .*more than 8192 fields/)
    const yaml = `metadata:\n  name: yaml\ndata:\n  fill: ${'y'.repeat(5 * KIB)}\n`
    const refused = await raw(
      credentials('kubenode:agent:m-1', 'kubenode:agents'),
      `POST ${MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/yaml\r\ncontent-length: ${yaml.length}\r\n\r\n${yaml}`,
      (t) => t.includes('limit of YAML'),
    )
    expect(refused.text).toMatch(/^HTTP\/1.1 413 /)
    const codes: number[] = []
    await thief.made(MAPS, map('grows'))
    for (let i = 0; i < 6; i++)
      codes.push((await thief.patch('merge', `${MAPS}/grows`, { data: { [`k${i}`]: 'x'.repeat(50 * KIB) } })).code)
    expect(codes).toEqual([200, 200, 200, 200, 200, 413])
  })

  test('and the events of an agent are no larger when another client sends them in its name', async () => {
    const as = { as: 'kubenode:agent:m-1', groups: ['kubenode:agents'] }
    expect((await admin.post(MAPS, map('large', 100 * KIB), as)).code).toBe(413)
  })
})

describe('S24 counts', () => {
  test('events of one agent have an end, those of another go on; large ones count for many', async () => {
    // The quota grows again by one a second, so on a slow machine a few more pass.
    const untilRefused = async (send: (n: number) => ReturnType<typeof thief.post>) => {
      let answer = await send(0)
      let passed = 0
      // What is refused for its content has been counted.
      for (; (answer.code < 300 || answer.code === 422) && passed < 400; answer = await send(passed)) passed++
      return { ...answer, passed }
    }
    const first = await untilRefused((n) => thief.post(EVENTS, event(`e-${n}`)))
    expect(first.code).toBe(429)
    expect(first.passed).toBeGreaterThanOrEqual(100)
    const NEW = '/apis/events.k8s.io/v1/namespaces/default/events'
    const refused = await untilRefused(() => thief.post(NEW, { ...event('new'), metadata: { generateName: 'new-' } }))
    expect([refused.code, refused.body.message]).toEqual([429, 'Too many events, please try again later.'])
    expect((await untilRefused((n) => thief.patch('merge', `${EVENTS}/e-0`, { message: `again ${n}` }))).code).toBe(429)
    const other = identity('kubenode:agent:m-2', 'kubenode:agents')
    expect((await other.post(EVENTS, event('other-0'))).code).toBe(201)
    const large: number[] = []
    for (let i = 0; i < 5; i++) large.push((await other.post(EVENTS, event(`large-${i}`, 'x'.repeat(50 * KIB)))).code)
    expect(large).toEqual([201, 201, 201, 429, 429])
  })

  test('certificate requests of one agent have an end, and take nothing from its events', async () => {
    const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    const asker = identity('kubenode:agent:m-3', 'kubenode:agents')
    const pem = await signingRequest(await newPrivateKey(), { commonName: 'kubenode:agent:m-3' })
    const spec = {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    }
    const ask = (n: number) => asker.post(REQUESTS, { metadata: { name: `r-${n}` }, spec })
    let passed = 0
    let answer = await ask(0)
    for (; answer.code < 300 && passed < 400; answer = await ask(passed)) passed++
    expect(said(answer)).toBe('429 Too many certificate requests, please try again later.')
    expect(passed).toBeGreaterThanOrEqual(100)
    expect((await asker.post(EVENTS, event('still'))).code).toBe(201)
  })

  test('watches of one agent have an end', async () => {
    const opened = async (who: Requests): Promise<void> => {
      const watch = await who.watch(`${MAPS}?watch=1`)
      closing.push(() => watch.close())
    }
    for (let i = 0; i < 48; i++) await opened(thief)
    await expect(thief.watch(`${MAPS}?watch=1`)).rejects.toThrow('429')
    const other = identity('kubenode:agent:m-2', 'kubenode:agents')
    await opened(other)
  })

  test('connections of one agent have a limit, and one whose client no longer waits for answers is cut', async () => {
    const who = credentials('kubenode:agent:m-1', 'kubenode:agents')
    const get = `GET ${MAPS} HTTP/1.1\r\nhost: x\r\n\r\n`
    const isAnswered = (t: string) => t.includes('\r\n\r\n')
    const open = await Promise.all(Array.from({ length: 70 }, () => raw(who, get, isAnswered)))
    const statuses = open.map(({ text }) => text.slice(9, 12))
    expect([statuses.filter((s) => s === '200').length, statuses.filter((s) => s === '429').length]).toEqual([64, 6])
    const other = credentials('kubenode:agent:m-2', 'kubenode:agents')
    const piped = await raw(other, get.repeat(200), (t) => t.split('HTTP/1.1 200').length > 200)
    expect(piped.isCut).toBe(true)
  })
})

describe('S24 a flood of an agent', () => {
  const CONNECTIONS = 32
  /** Requests one after the other on each of many connections; `count` grows with each answer. */
  function flood(
    path: string,
    method = 'GET',
    body?: unknown,
  ): { readonly count: () => number; stop(): Promise<void> } {
    const { url, ca, cert, key } = credentials('kubenode:agent:m-1', 'kubenode:agents')
    const requests = Array.from({ length: CONNECTIONS }, () => new Requests({ url, ca, cert, key }))
    let count = 0
    const ending = new AbortController()
    const loop = async (r: Requests): Promise<void> => {
      while (!ending.signal.aborted) {
        await r.send(method, path, body).catch(() => undefined)
        count++
      }
    }
    const ended = Promise.all(requests.map(loop))
    return {
      count: () => count,
      stop: async () => {
        ending.abort()
        for (const r of requests) r.close()
        await ended
      },
    }
  }

  const FLOODS: readonly (readonly [string, string, string, unknown])[] = [
    ['lists', MAPS, 'GET', undefined],
    ['wide objects', MAPS, 'POST', { ...map('wide'), ...fields(4_000) }],
    ['large bodies', MAPS, 'POST', map('large', 2 * KIB * KIB)],
    ['what it may not', `${NAMESPACE}/secrets`, 'GET', undefined],
  ]
  test.each(inFullAll(FLOODS, 2))('of %s waits in its own line', async (_, path, method, body) => {
    for (let i = 0; i < 20; i++) await admin.made(MAPS, map(`there-${i}`, 20 * KIB))
    const thieves = flood(path, method, body)
    const count = (): number => thieves.count()
    // the thief has used up its lead
    while (count() < 2 * CONNECTIONS) await admin.get('/version')
    const passedBy: number[] = []
    for (let i = 0; i < 30; i++) {
      const before = count()
      expect((await admin.get(`${MAPS}/there-1`)).code).toBe(200)
      passedBy.push(count() - before)
    }
    // those that were on their way, and not one more in each connection
    expect(Math.max(...passedBy)).toBeLessThan(CONNECTIONS)
    await thieves.stop()
  })
})
