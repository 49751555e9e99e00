import { type Server, createServer } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isForbiddenAddress } from './forbidden-address.ts'
import { judgeUrl, parsePlaces } from './places.ts'
import { type Post, post } from './post.ts'

const PLACES = parsePlaces(['https://hooks.example.org/repairs', 'http://plain.example.org:8080'])

describe('S13 a URL from an object', () => {
  const allowed = [
    'https://hooks.example.org/repairs',
    'https://hooks.example.org/repairs/x?y=z',
    'https://HOOKS.example.org:443/repairs/x',
    'http://plain.example.org:8080/anything',
  ]
  test.each(allowed)('is called where the operator allowed it: %s', (url) =>
    expect(judgeUrl(url, PLACES).kind).toBe('Allowed'),
  )
  const refused = [
    'https://hooks.example.org/other',
    'https://hooks.example.org/repairs-not',
    'https://hooks.example.org/repairs/../other',
    'https://hooks.example.org/repairs/%2e%2e/other',
    'https://hooks.example.org/repairs/..%2fother',
    'http://hooks.example.org/repairs',
    'https://hooks.example.org:8443/repairs',
    'https://hooks.example.org.evil.example/repairs',
    'https://user:word@hooks.example.org/repairs',
    'https://hooks.example.org@169.254.169.254/repairs',
    'https://169.254.169.254/latest',
    'file:///etc/passwd',
    'ext::sh -c x',
    'unix:///run/x.sock',
    'gopher://hooks.example.org/repairs',
  ]
  test.each(refused)('is called nowhere else: %s', (url) => expect(judgeUrl(url, PLACES).kind).toBe('Refused'))
  test('is called nowhere where nothing is allowed', () =>
    expect(judgeUrl('https://hooks.example.org/repairs', { places: [] }).kind).toBe('Refused'))
})

describe('S13 an address that only this machine or its link can reach', () => {
  const local = [
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '224.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    // Other addresses of the metadata services, as inspections knew them.
    'fd00:ec2::23',
    'fd20:ce::254',
    // What carries an IPv4 address may lead anywhere.
    '64:ff9b::a00:1',
    '64:ff9b:1::a9fe:a9fe',
    '::ffff:0:169.254.169.254',
    '[::1]',
    'not an address',
  ]
  test.each(local)('is one: %s', (address) => expect(isForbiddenAddress(address)).toBe(true))
  test.each(['10.0.0.1', '192.0.2.1', '2001:db8::1', '::ffff:10.0.0.1', 'fd12:3456::1'])('is not: %s', (address) =>
    expect(isForbiddenAddress(address)).toBe(false),
  )
})

const bad = ['ftp://x', 'https://u:p@x', 'https://x/?q=1', 'x', '']
test.each(bad)('an address that cannot be meant is reported to the operator: %s', (text) =>
  expect(() => parsePlaces([text])).toThrow(/KN1002/),
)

describe('a call', () => {
  let server: Server
  const heard: { readonly url: string; readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[] = []
  const at = (path: string, host = '127.0.0.1') => `http://${host}:${(server.address() as AddressInfo).port}${path}`
  const wish = (more: Partial<Post>): Post => ({
    url: at('/ok'),
    body: { a: 1 },
    timeoutMs: 5_000,
    signal: new AbortController().signal,
    ...more,
  })
  const here = () => parsePlaces([at('')])
  const resolvesTo =
    (address: string): LookupFunction =>
    (_name, _options, callback) =>
      callback(null, [{ address, family: 4 }])

  beforeAll(async () => {
    server = createServer((req, res) => {
      let body = ''
      req.on('data', (d: Buffer) => (body += d.toString()))
      req.on('end', () => {
        heard.push({ url: req.url ?? '', headers: req.headers, body })
        if (req.url === '/redirect') return res.writeHead(307, { location: at('/elsewhere') }).end()
        if (req.url === '/silent') return undefined
        if (req.url === '/endless') {
          const more = () => void (res.destroyed || (res.write('x'.repeat(65_536)), setImmediate(more)))
          return more()
        }
        return res.end(`heard ${String(req.headers['authorization'])}`)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  test('says what it was given, as one call that differs from any other', async () => {
    const answer = await post({ places: here() }, wish({ idempotencyKey: 'k', headers: { 'x-a': 'b', Host: 'evil' } }))
    expect(answer).toMatchObject({ kind: 'Answered', status: 200 })
    expect(heard.at(-1)).toMatchObject({ body: '{"a":1}', headers: { 'idempotency-key': 'k', 'x-a': 'b' } })
    expect(heard.at(-1)?.headers['host']).not.toBe('evil')
  })

  test.each([{ 'a b': 'x' }, { 'x-a': 'b\r\nx-evil: c' }, { 'x-a': 'é\u{1F600}' }])(
    'S13 an invalid header is not sent, and is reported: %j',
    async (headers) => {
      const before = heard.length
      expect(await post({ places: here() }, wish({ headers }))).toMatchObject({ kind: 'Refused' })
      expect(heard).toHaveLength(before)
    },
  )

  test('S13 a redirect is an answer and is not followed', async () => {
    const before = heard.length
    expect(await post({ places: here() }, wish({ url: at('/redirect') }))).toMatchObject({ status: 307 })
    expect(heard.slice(before).map((h) => h.url)).toEqual(['/redirect'])
  })

  test('S13 a name that turns out to stand for a local address is not connected to', async () => {
    const before = heard.length
    const url = at('/ok', 'rebound.example')
    const answer = await post({ places: parsePlaces([url]), lookup: resolvesTo('127.0.0.1') }, wish({ url }))
    expect(answer).toMatchObject({ kind: 'Failed', why: expect.stringContaining('leads to 127.0.0.1') as string })
    expect(heard).toHaveLength(before)
  })

  test('S13 a webhook whose name has a forbidden address beside a good one is not called', async () => {
    const url = at('/ok', 'both.example')
    const lookup: LookupFunction = (_name, _options, callback) =>
      callback(null, [
        { address: '203.0.113.9', family: 4 },
        { address: 'fd20:ce::254', family: 6 },
      ])
    const answer = await post({ places: parsePlaces([url]), lookup }, wish({ url }))
    expect(answer).toMatchObject({ kind: 'Failed', why: expect.stringContaining('leads to fd20:ce::254') as string })
  })

  test('S13 a token goes over http to no other machine, and is not in what is reported of the answer', async () => {
    const url = at('/ok', 'plain.example')
    const away = await post(
      { places: parsePlaces([url]), lookup: resolvesTo('127.0.0.1') },
      wish({ url, token: 'secret' }),
    )
    expect(away).toMatchObject({ kind: 'Refused' })
    const answer = await post({ places: here() }, wish({ token: 'secret', headers: { Authorization: 'other' } }))
    expect(heard.at(-1)?.headers['authorization']).toBe('Bearer secret')
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  test('an answer without end is cut, and one that never comes is given up', async () => {
    const endless = await post({ places: here() }, wish({ url: at('/endless') }))
    expect(endless.kind === 'Answered' && endless.text.length).toBeLessThanOrEqual(65_536)
    expect(await post({ places: here() }, wish({ url: at('/silent'), timeoutMs: 50 }))).toMatchObject({
      kind: 'Failed',
    })
  })
})
