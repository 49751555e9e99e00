// Which requests a URL in a cluster object can make the controllers send, and which not.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { lookup } from 'node:dns'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { isForbiddenAddress } from '#runtime/outbound/forbidden-address.ts'
import { type HttpLimits, ask } from '#runtime/outbound/get.ts'
import { addressesOfThisHost } from '#runtime/outbound/own-addresses.ts'
import { createInspector } from './inspector.ts'

describe('S13 an address that hands out credentials, or is this very host, is forbidden', () => {
  test.each([
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    '[::1]',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '::169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    'not-an-address',
    '',
  ])('%s', (address) => expect(isForbiddenAddress(address)).toBe(true))

  test.each([
    '10.96.0.1',
    '192.168.1.7',
    '172.20.0.3',
    '203.0.113.9',
    'fd12:3456::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
  ])('and %s is not', (address) => expect(isForbiddenAddress(address)).toBe(false))
})

describe('S13 the other addresses of this host, and what Kubernetes serves, are not asked', () => {
  const [ours] = [...addressesOfThisHost()].filter((a) => a !== '127.0.0.1' && a !== '::1')
  test.skipIf(ours === undefined)('an address of an interface, written or behind a name', async () => {
    const host = ours?.includes(':') === true ? `[${ours}]` : ours
    expect(await ask(`http://${host}/`, limits())).toMatchObject({ kind: 'Refused' })
    const behind = await ask('http://inner.example.org/', limits([], { resolve: names([ours ?? '']) }))
    expect(behind).toMatchObject({ kind: 'Refused' })
  })

  test.each([
    'http://10.0.0.5:10255/pods',
    'https://node.example.org:10250/',
    'https://kubernetes.default.svc/version',
  ])('%s', async (url) => {
    const resolve = names(['10.0.0.5'])
    expect(await ask(url, limits([], { resolve }))).toMatchObject({ kind: 'Refused' })
  })

  test('the API server of the program, by address and behind a name', async () => {
    const resolve = names(['203.0.113.7'])
    const apiServers = ['203.0.113.7']
    for (const url of ['https://203.0.113.7/', 'https://inner.example.org/'])
      expect(await ask(url, limits([], { resolve, apiServers }))).toMatchObject({ kind: 'Refused' })
  })
})

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const limits = (allow: readonly string[] = [], more: Partial<HttpLimits> = {}): HttpLimits => ({
  allow: new Set(allow),
  deadlineMs: 5_000,
  maxBytes: 1_000,
  ...more,
})

/** A test name server: each query gets the next answer. */
const names = (...answers: readonly string[][]) => {
  let n = 0
  return ((_: string, __: object, callback: (e: null, found: readonly object[]) => void) => {
    const found = answers[Math.min(n++, answers.length - 1)] ?? []
    callback(
      null,
      found.map((address) => ({ address, family: 4 })),
    )
  }) as unknown as typeof lookup
}

describe('S13 a URL is asked', () => {
  test('where the operator of the controllers allows its origin, and refused otherwise', async () => {
    const origin = await serve((_, response) => response.end('fine'))
    expect(await ask(`${origin}/healthz`, limits([origin]))).toEqual({ kind: 'Answered', status: 200, text: 'fine' })
    expect(await ask(`${origin}/healthz`, limits())).toMatchObject({
      kind: 'Refused',
      message: expect.stringContaining('leads to 127.0.0.1, which is not asked'),
    })
  })

  test.each([
    ['file:///etc/passwd', 'http and https only'],
    ['ftp://example.org/', 'http and https only'],
    ['unix:/run/containerd.sock', 'http and https only'],
    ['http://user:secret@example.org/', 'credentials in the URL'],
    ['http://169.254.169.254/latest/meta-data/', 'leads to 169.254.169.254'],
    ['http://0x7f000001/', 'leads to 127.0.0.1'],
    ['http://[::ffff:169.254.169.254]/', 'is not asked'],
    ['http://2130706433/', 'leads to 127.0.0.1'],
    ['nonsense', 'not a valid URL'],
  ])('but never %s', async (url, message) => {
    expect(await ask(url, limits())).toMatchObject({ kind: 'Refused', message: expect.stringContaining(message) })
  })

  test('and not when its name leads to a forbidden address, also beside a good one', async () => {
    const found = await ask('http://rebind.test/', limits([], { resolve: names(['203.0.113.9', '169.254.169.254']) }))
    expect(found).toMatchObject({ kind: 'Refused', message: expect.stringContaining('leads to 169.254.169.254') })
  })

  test('at the address that was looked at: a name that changes its mind is asked about once', async () => {
    let asked = 0
    const origin = await serve((_, response) => {
      asked++
      response.end()
    })
    const port = new URL(origin).port
    // The first answer is forbidden. The second would be good, and is never used.
    const found = await ask(
      `http://rebind.test:${port}/`,
      limits([], { resolve: names(['127.0.0.1'], ['203.0.113.9']) }),
    )
    expect([found.kind, asked]).toEqual(['Refused', 0])
  })

  test('along redirects of its own origin, and to no other one', async () => {
    const other = await serve((_, response) => response.end('secret'))
    const origin = await serve(({ url = '' }, response) => {
      const to = { '/moved': '/here', '/away': `${other}/`, '/loop': '/loop', '/file': 'file:///etc/passwd' }[url]
      if (to === undefined) response.end('here')
      else response.writeHead(302, { location: to }).end()
    })
    const allowed = limits([origin, other])
    expect(await ask(`${origin}/moved`, allowed)).toMatchObject({ kind: 'Answered', text: 'here' })
    expect(await ask(`${origin}/away`, allowed)).toMatchObject({
      kind: 'Refused',
      message: expect.stringContaining('another origin'),
    })
    expect(await ask(`${origin}/file`, allowed)).toMatchObject({ kind: 'Refused' })
    expect(await ask(`${origin}/loop`, allowed)).toMatchObject({
      kind: 'Refused',
      message: expect.stringContaining('more than 3 redirects'),
    })
  })

  test('no longer than its deadline, and no more than its size is read', async () => {
    const origin = await serve(({ url }, response) => {
      if (url === '/endless') response.end('x'.repeat(5_000))
      // Sends headers, and nothing after them.
      else response.writeHead(200).write('a')
    })
    const allowed = limits([origin], { deadlineMs: 200 })
    expect(await ask(`${origin}/endless`, { ...allowed, deadlineMs: 5_000 })).toMatchObject({
      kind: 'Silent',
      message: expect.stringContaining('exceeds 1000 bytes'),
    })
    expect(await ask(`${origin}/slow`, allowed)).toEqual({
      kind: 'Silent',
      message: 'no complete response within 200 ms',
    })
  })

  test.each([
    ['speaks another protocol', 'SSH-2.0-x\r\n', 'the response is not valid HTTP'],
    [
      'ends in the middle',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab',
      'the connection ended before the response was complete',
    ],
    ['ends without an answer', '', 'the connection ended before the response was complete'],
  ])('and a server that %s is described in plain words', async (_, bytes, message) => {
    const origin = await serve(({ socket }) => void socket.end(bytes))
    expect(await ask(origin, limits([origin]))).toEqual({ kind: 'Silent', message })
  })
})

describe('an inspection', () => {
  const look = async (answer: string, bounds: { readonly min?: string; readonly max?: string }, status = 200) => {
    const prometheus = await serve((_, response) => response.writeHead(status).end(answer))
    const inspector = createInspector({ prometheus: `${prometheus}/prom/` })
    const inspection = { name: 'errors', prometheus: { query: 'sum(rate(errors[5m]))', ...bounds }, timeout: '5m' }
    return inspector.check(inspection, new AbortController().signal)
  }
  const vector = (...values: readonly string[]) =>
    JSON.stringify({
      status: 'success',
      data: { resultType: 'vector', result: values.map((v) => ({ metric: {}, value: [1, v] })) },
    })

  test.each([
    ['holds within its bounds', vector('0.5'), { min: '0', max: '1' }, true],
    ['does not hold above them', vector('1.5'), { max: '1' }, false],
    ['does not hold below them', vector('-1'), { min: '0' }, false],
    ['does not hold without a value', vector(), { max: '1' }, false],
    ['does not hold with two values', vector('0', '0'), { max: '1' }, false],
    ['does not hold when the value is no number', vector('NaN'), {}, false],
    [
      'holds for a plain number',
      JSON.stringify({ data: { resultType: 'scalar', result: [1, '3'] } }),
      { min: '3' },
      true,
    ],
    ['knows infinity', vector('+Inf'), { max: '10' }, false],
    ['does not hold when the answer is none', '<html>', {}, false],
  ])('that is a query %s', async (_, answer, bounds, holds) => {
    expect((await look(answer, bounds)).holds).toBe(holds)
  })

  test('that is a query does not hold when Prometheus is in trouble', async () => {
    expect(await look(vector('0'), {}, 503)).toEqual({ holds: false, seen: 'Prometheus returned HTTP 503' })
  })

  test('that is a URL holds with the status that is expected', async () => {
    const origin = await serve((_, response) => response.writeHead(204).end())
    const inspector = createInspector({ allow: [`${origin}/ignored`] })
    const { signal } = new AbortController()
    const http = { url: `${origin}/`, expectedStatus: 204 }
    expect((await inspector.check({ name: 'i', http, timeout: '5m' }, signal)).holds).toBe(true)
    const found = await inspector.check({ name: 'i', http: { ...http, expectedStatus: 200 }, timeout: '5m' }, signal)
    expect(found).toMatchObject({ holds: false, seen: expect.stringContaining('answers 204, 200 is expected') })
  })
})
