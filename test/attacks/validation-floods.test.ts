// The attacker may write definitions and objects of their kinds, as the administrator of a hosted plane may: no object makes the embedded server work longer than a tenth of a second.
// Work is refused by counted steps and not by a clock. A server that counts nothing answers each of these after seconds or minutes, and with other words.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { type Reply, Requests } from '#test/support/servers/api-requests.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

let server: RunningServer
let api: Requests
beforeAll(async () => {
  server = await startEmbedded({ loops: 'none' })
  api = new Requests(server)
})
afterAll(async () => {
  api.close()
  await server.stop()
})

let made = 0
const definition = (plural: string, spec: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.flood.example.org` },
  spec: {
    group: 'flood.example.org',
    scope: 'Cluster',
    names: { plural, kind: `K${plural}` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
})

const define = (spec: object): Promise<Reply> => api.post(DEFINITIONS, definition(`x${made++}`, spec))

/** An object of a new kind, whose `spec` has this schema. */
async function create(schema: object, spec: unknown): Promise<Reply> {
  const plural = `x${made++}`
  await api.made(DEFINITIONS, definition(plural, schema))
  const object = { apiVersion: 'flood.example.org/v1', kind: `K${plural}`, metadata: { name: 'a' }, spec }
  const path = `/apis/flood.example.org/v1/${plural}`
  await expect.poll(async () => (await api.get(path)).code).toBe(200)
  return api.post(path, object)
}

/** Letters a and b without any order, the same each time. */
function mixed(length: number): string {
  let state = 1
  return Array.from({ length }, () => ((state = (state * 16_807) % 2_147_483_647) & 1 ? 'a' : 'b')).join('')
}

const TOO_EXPENSIVE = /takes too long|cost limit|cost budget/
const LARGE_PATTERN = 'a[ab]{900}'.repeat(8)
const list = (items: object, more: object = {}) => ({ type: 'array', maxItems: 500_000, items, ...more })
const rule = (text: string) => ({ 'x-kubernetes-validations': [{ rule: text }] })

test.each<[name: string, schema: object, spec: () => unknown]>([
  [
    'S12 a text of 60 KB and a pattern that needs a new state for each letter',
    string({ pattern: LARGE_PATTERN }),
    () => mixed(60_000),
  ],
  [
    'a thousand texts that cost a little each',
    list(string({ pattern: LARGE_PATTERN })),
    () => Array.from({ length: 1_000 }, (_, i) => mixed(2_000 + i)),
  ],
  [
    'a pattern under each of many alternatives',
    { type: 'string', anyOf: Array.from({ length: 40 }, (_, i) => ({ pattern: `(a|b)*a(a|b){${i + 30}}[c-z]` })) },
    () => mixed(60_000),
  ],
  [
    'a long list under many alternatives',
    {
      ...list({ type: 'integer' }),
      anyOf: Array.from({ length: 400 }, (_, i) => ({ items: { minimum: i, maximum: i } })),
    },
    () => Array.from({ length: 20_000 }, (_, i) => i),
  ],
  [
    'a long list of values that are in no long enum',
    list(string({ enum: Array.from({ length: 20_000 }, (_, i) => `v${i}`) })),
    () => Array.from({ length: 20_000 }, () => 'x'),
  ],
  [
    'an expression that matches a large pattern',
    { ...string({ maxLength: 60_000 }), ...rule(`self.matches('${LARGE_PATTERN}')`) },
    () => mixed(60_000),
  ],
  [
    'an expression that matches many texts',
    {
      ...list(string({ maxLength: 4_000 }), { maxItems: 300 }),
      ...rule("self.all(t, !t.matches('(a|b)*a(a|b){200}[c-z]'))"),
    },
    () => Array.from({ length: 300 }, (_, i) => mixed(3_600 + i)),
  ],
  [
    'an expression that compiles the patterns it is given',
    { ...list(string({ maxLength: 64 }), { maxItems: 500 }), ...rule("self.all(p, !'a'.matches(p))") },
    () => Array.from({ length: 500 }, (_, i) => `x${i}[ab]{1000}[ab]{1000}[ab]{1000}[ab]{1000}`),
  ],
])('an object is refused before it makes the server work for long: %s', async (_, schema, spec) => {
  const { code, body } = await create(schema, spec())
  expect([code, body['message']]).toEqual([422, expect.stringMatching(TOO_EXPENSIVE)])
})

test.each<[name: string, schema: object]>([
  ['a pattern of a million instructions', string({ pattern: '(?i)\\pL{1000}'.repeat(1_200) })],
  [
    'many patterns that are large',
    {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 200 }, (_, i) => [`p${i}`, string({ pattern: `x${i}${'[ab]{1000}'.repeat(15)}` })]),
      ),
    },
  ],
  ['a default that is a hard text for its pattern', string({ pattern: LARGE_PATTERN, default: mixed(60_000) })],
  [
    'many expressions with large patterns',
    {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 100 }, (_, i) => [
          `p${i}`,
          { ...string({ maxLength: 10 }), ...rule(`self.matches('x${i}${'[ab]{1000}'.repeat(15)}')`) },
        ]),
      ),
    },
  ],
])('a definition is refused before it makes the server work for long: %s', async (_, schema) => {
  const { code, body } = await define(schema)
  expect([code, body['message']]).toEqual([422, expect.stringMatching(/take too long|use smaller repetitions/)])
})

test('an object that was stored can be changed elsewhere, however hard its text is', async () => {
  const plural = `x${made++}`
  const at = `${DEFINITIONS}/${plural}.flood.example.org`
  const path = `/apis/flood.example.org/v1/${plural}`
  await api.made(DEFINITIONS, definition(plural, string({})))
  await expect.poll(async () => (await api.get(path)).code).toBe(200)
  await api.made(path, {
    apiVersion: 'flood.example.org/v1',
    kind: `K${plural}`,
    metadata: { name: 'a' },
    spec: mixed(60_000),
  })
  const { body } = await api.get(at)
  const next = { ...definition(plural, string({ pattern: LARGE_PATTERN })), metadata: body.metadata }
  expect((await api.put(at, next)).code).toBe(200)
  const other = { apiVersion: 'flood.example.org/v1', kind: `K${plural}`, metadata: { name: 'b' }, spec: mixed(60_000) }
  await expect.poll(async () => (await api.post(path, other)).code).toBe(422)
  expect((await api.patch('merge', `${path}/a`, { metadata: { labels: { touched: 'yes' } } })).code).toBe(200)
})

test('what people write passes: a thousand host names, a bundle of certificates', async () => {
  const host = '^(\\*\\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'
  const schema = {
    type: 'object',
    properties: {
      hosts: list(string({ pattern: host, maxLength: 253 })),
      bundle: string({
        pattern: '^(-----BEGIN CERTIFICATE-----\\n([A-Za-z0-9+/=]+\\n)+-----END CERTIFICATE-----\\n)+$',
      }),
    },
  }
  const hosts = Array.from({ length: 1_000 }, (_, i) => `host-${i}.part-${i % 7}.example-company.internal`)
  const line = `${'Ab1+'.repeat(16)}\n`
  const bundle = `-----BEGIN CERTIFICATE-----\n${line.repeat(30)}-----END CERTIFICATE-----\n`.repeat(100)
  const { code } = await create(schema, { hosts, bundle })
  expect(code).toBe(201)
})

function string(more: object): object {
  return { type: 'string', ...more }
}
