// What a client may take of the server, over HTTPS: bodies, seats, queues, watches, times. Time is never measured: what is slow here waits for the test.
import { connect, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { createApiServer, type ApiServer, type ApiServerOptions } from '#apiserver/api-server.ts'
import type { Held } from '#apiserver/flow/holdings.ts'
import { DEFAULT_LIMITS } from '#apiserver/flow/limits.ts'
import { heldStorage } from '#test/support/servers/held-storage.ts'
import { Requests, type Reply } from '#test/support/servers/api-requests.ts'
import { MIB } from '#lib/bytes.ts'

const closing: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Started {
  readonly server: ApiServer
  readonly api: Requests
  /** A connection with the admin's certificate on which a test writes bytes itself. */
  readonly raw: () => Promise<Raw>
}

async function started(options: ApiServerOptions = {}): Promise<Started> {
  const server = await createApiServer({ loops: 'none', ...options })
  await server.listen()
  const { certificate: cert, key } = server.credentials.admin
  const api = new Requests({ url: server.url, ca: server.ca, cert, key })
  closing.push(
    () => server.close(),
    () => api.close(),
  )
  return {
    server,
    api,
    raw: async () => {
      const { hostname, port } = new URL(server.url)
      const socket = connect({ host: hostname, port: Number(port), ca: server.ca, cert, key })
      closing.push(() => void socket.destroy())
      socket.on('error', () => undefined)
      await new Promise((resolve) => socket.once('secureConnect', resolve))
      return rawOf(socket)
    },
  }
}

interface Raw {
  readonly socket: TLSSocket
  readonly text: () => string
  readonly until: (isEnough: (text: string) => boolean) => Promise<string>
  readonly ended: Promise<void>
}

function rawOf(socket: TLSSocket): Raw {
  const parts: string[] = []
  const looks = new Set<() => void>()
  socket.setEncoding('latin1')
  socket.on('data', (part: string) => {
    parts.push(part)
    for (const look of looks) look()
  })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    socket,
    ended,
    text: () => parts.join(''),
    until: (isEnough) =>
      new Promise((resolve) => {
        const look = () => {
          const text = parts.join('')
          if (isEnough(text)) resolve(text)
        }
        looks.add(look)
        look()
      }),
  }
}

/** So much for one identity, whichever. */
const each = (what: Held, most: number) => ({
  ...DEFAULT_LIMITS.held,
  [what]: { ...DEFAULT_LIMITS.held[what], each: { leaders: most, nodes: most, administrators: most, others: most } },
})

const configMap = (name: string, bytes = 0) => ({ metadata: { name }, data: { fill: 'x'.repeat(bytes) } })
const PATH = '/api/v1/namespaces/default/configmaps'

describe('sizes', () => {
  test('a body of more than 3 MiB and an object of more than 1.5 MiB are refused, and the connection goes on', async () => {
    const { api } = await started()
    const body = await api.post(PATH, configMap('body', 3 * MIB))
    expect([body.code, body.body.reason, body.body.message]).toEqual([
      413,
      'RequestEntityTooLarge',
      'Request entity too large: limit is 3145728',
    ])
    const object = await api.post('/apis/apps/v1/namespaces/default/controllerrevisions', {
      metadata: { name: 'object' },
      revision: 1,
      data: { fill: 'x'.repeat(1.6 * MIB) },
    })
    expect([object.code, object.body.reason]).toEqual([413, 'RequestEntityTooLarge'])
    expect((await api.post(PATH, configMap('small'))).code).toBe(201)
  })

  test('YAML is read up to 1 MiB, for it takes a hundred times as long as JSON; JSON in its place is JSON', async () => {
    const { api } = await started()
    const type = 'application/yaml'
    const yaml = await api.post(PATH, 'x'.repeat(1.2 * MIB), { type })
    const json = await api.post(PATH, configMap('json', 1.2 * MIB), { type })
    expect([yaml.code, yaml.body.message, json.code]).toEqual([
      413,
      'Request entity too large: limit of YAML is 1048576, of JSON 3145728',
      // read, and more than a config map may hold
      422,
    ])
  })

  test('a body without a declared length is held to the same bound', async () => {
    const { raw } = await started()
    const { socket, until } = await raw()
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    )
    for (let i = 0; i < 4; i++) socket.write(`100000\r\n${' '.repeat(MIB)}\r\n`)
    expect(await until((t) => t.includes('limit is'))).toContain('HTTP/1.1 413')
  })

  test('a head that is too long is refused', async () => {
    const { raw } = await started({ limits: { headBytes: 4_096 } })
    const { socket, ended, text } = await raw()
    socket.write(`GET /version HTTP/1.1\r\nhost: x\r\nx-long: ${'y'.repeat(8_192)}\r\n\r\n`)
    await ended
    expect(text()).toContain('HTTP/1.1 431')
  })
})

describe('times', () => {
  const strict = { lookEveryMs: 50, headMs: 400, requestMs: 800, idleMs: 400 }

  test('who does not finish the head of a request is let go', async () => {
    const { raw, api } = await started({ limits: strict })
    const { socket, ended, text } = await raw()
    socket.write('GET /version HTTP/1.1\r\nhost')
    await ended
    expect(text()).toContain('HTTP/1.1 408')
    expect((await api.get('/version')).code).toBe(200)
  })

  test('who does not finish the body is let go', async () => {
    const { raw } = await started({ limits: strict })
    const { socket, ended } = await raw()
    socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`)
    await ended
  })

  test('a connection without requests is let go, one with a watch is not', async () => {
    const { raw, api } = await started({ limits: strict })
    const watch = await api.watch(`${PATH}?watch=1`)
    const { socket, ended } = await raw()
    socket.write('GET /version HTTP/1.1\r\nhost: x\r\n\r\n')
    await ended
    await api.made(PATH, configMap('later'))
    expect((await watch.until((l) => l.some((x) => x.object.metadata.name === 'later'))).length).toBeGreaterThan(0)
    watch.close()
  })

  test('slow bodies take no seat', async () => {
    const { raw, api } = await started({ limits: { seats: 1, seatsPerFlow: 1 } })
    for (let i = 0; i < 3; i++) {
      const { socket } = await raw()
      socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`)
    }
    expect((await api.get(PATH)).code).toBe(200)
  })
})

describe('seats', () => {
  const one = { seats: 1, seatsPerFlow: 1, held: each('waiting', 1) }

  test('a client with too many requests gets 429 with a time to retry, and health is answered', async () => {
    const slow = heldStorage()
    const { api } = await started({ storage: slow.storage, limits: one })
    slow.hold()
    const answers = ['a', 'b', 'c'].map((name) => api.post(PATH, configMap(name)))
    const refused = await Promise.race(answers)
    expect(refused.code).toBe(429)
    expect(refused.body).toMatchObject({ reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } })
    expect((await api.get('/readyz')).code).toBe(200)
    slow.release()
    const codes = (await Promise.all(answers)).map((a) => a.code).toSorted((a, b) => a - b)
    expect(codes).toEqual([201, 201, 429])
  })

  test('the refusal says when to come back', async () => {
    const slow = heldStorage()
    const { raw } = await started({ storage: slow.storage, limits: one })
    slow.hold()
    const { socket, until } = await raw()
    const body = JSON.stringify(configMap('x'))
    const post = `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const first = await raw()
    first.socket.write(post)
    const second = await raw()
    second.socket.write(post)
    socket.write(post)
    const all = [first, second, { until }]
    expect((await Promise.race(all.map((r) => r.until((t) => t.includes('429'))))).toLowerCase()).toContain(
      '\r\nretry-after: 1\r\n',
    )
    slow.release()
  })

  test('bodies that wait are bounded together', async () => {
    const slow = heldStorage()
    const { api } = await started({ storage: slow.storage, limits: { held: each('bodyBytes', 3 * MIB) } })
    slow.hold()
    const large = (name: string) => api.post(PATH, { metadata: { name }, data: { fill: 'x'.repeat(900_000) } })
    const answers = ['a', 'b', 'c', 'd'].map(large)
    expect((await Promise.race(answers)).code).toBe(429)
    slow.release()
    expect((await Promise.all(answers)).filter((a) => a.code === 201).length).toBe(3)
    expect((await large('later')).code).toBe(201)
  })

  test('watches are counted apart, and a place is free again when one ends', async () => {
    const { api } = await started({ limits: { held: each('watches', 2), seats: 1, seatsPerFlow: 1 } })
    const first = await api.watch(`${PATH}?watch=1`)
    const second = await api.watch(`${PATH}?watch=1`)
    await expect(api.watch(`${PATH}?watch=1`)).rejects.toThrow('429')
    expect((await api.get(PATH)).code).toBe(200)
    first.close()
    await first.ended
    const opens = async (): Promise<true> =>
      api.watch(`${PATH}?watch=1`).then(
        (w) => (w.close(), true),
        () => opens(),
      )
    expect(await opens()).toBe(true)
    second.close()
  })
})

test('F14 a flood of writes of one client holds up neither the leases nor the node status of others, nor their reads', async () => {
  const { api, server } = await started()
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
  if ((await api.get('/api/v1/namespaces/kube-node-lease')).code !== 200)
    await api.made('/api/v1/namespaces', { metadata: { name: 'kube-node-lease' } })
  await api.made('/api/v1/nodes', { metadata: { name: 'n' } })
  await api.made(leases, { metadata: { name: 'n' }, spec: { holderIdentity: 'n' } })
  const account = await api.made('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'other' } })
  const { body } = await api.post(`/api/v1/namespaces/default/serviceaccounts/other/token`, {
    spec: { expirationSeconds: 3600 },
  })
  const token = String((body['status'] as { readonly token?: string }).token)
  const subject = { kind: 'ServiceAccount', name: account.metadata.name, namespace: 'default' }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
  await api.made('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'other' },
    roleRef,
    subjects: [subject],
  })
  const as = { token }
  // a connection of its own, open before the flood comes
  expect((await api.get(PATH, as)).code).toBe(200)

  const FLOOD = 3_000
  let done = 0
  const flood = floodOf(server, FLOOD, () => done++)
  await flood.sent
  const passedBy: number[] = []
  const asked = async (what: string, ask: () => Promise<Reply>): Promise<void> => {
    const before = done
    expect((await ask()).code, what).toBe(200)
    passedBy.push(done - before)
  }
  for (let i = 0; i < 3; i++) {
    const renewTime = new Date(i * 1_000).toISOString().replace('Z', '000Z')
    await asked('lease', () => api.patch('merge', `${leases}/n`, { spec: { renewTime } }, as))
    await asked('status', () => api.patch('merge', '/api/v1/nodes/n/status', { status: { conditions: [] } }, as))
    await asked('read', () => api.get('/api/v1/nodes/n', as))
  }
  // each waits for those that were seated when it came and when its answer went out, never for the queue
  expect(Math.max(...passedBy)).toBeLessThan(FLOOD / 5)
  expect(passedBy[0]).toBeGreaterThan(0)
  await flood.answered
  expect(done).toBe(FLOOD)
})

/** Writes of the admin, all sent before one is answered: each connection brings its share at once. */
function floodOf(
  server: ApiServer,
  count: number,
  onAnswer: () => void,
): { sent: Promise<void>; answered: Promise<void> } {
  const CONNECTIONS = 150
  const { hostname, port } = new URL(server.url)
  const { certificate: cert, key } = server.credentials.admin
  const each = count / CONNECTIONS
  const open = async (c: number): Promise<{ readonly write: () => void; readonly answered: Promise<void> }> => {
    const socket = connect({ host: hostname, port: Number(port), ca: server.ca, cert, key })
    closing.push(() => void socket.destroy())
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    const posts = Array.from({ length: each }, (_, i) => {
      const body = JSON.stringify(configMap(`flood-${c}-${i}`, 200))
      return `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    })
    let answers = 0
    socket.setEncoding('latin1')
    const answered = new Promise<void>((resolve) =>
      socket.on('data', (part: string) => {
        for (const _ of part.matchAll(/HTTP\/1\.1 201/g)) {
          onAnswer()
          if (++answers === each) resolve()
        }
      }),
    )
    return { write: () => void socket.write(posts.join('')), answered }
  }
  const all = Promise.all(Array.from({ length: CONNECTIONS }, (_, c) => open(c)))
  const sent = all.then((connections) => {
    for (const c of connections) c.write()
  })
  return { sent, answered: all.then(async (cs) => void (await Promise.all(cs.map((c) => c.answered)))) }
}
