// For any request the embedded server returns an answer that names the problem: no exception, no hang, and a 500 only where a real server has one on record.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodies, cel, directives, json, keys, leaves, schemas } from '#test/support/fuzzing/arbitrary-api.ts'
import { startFuzzed, type FuzzedServer, type Shot } from '#test/support/fuzzing/fuzz-api.ts'
import { inFull } from '#test/support/tools/full.ts'

const RUNS = inFull(4_000, 120)
const CORPUS = JSON.parse(readFileSync(join(import.meta.dirname, 'corpus/apiserver.json'), 'utf8')) as readonly Shot[]

let server: FuzzedServer
beforeAll(async () => {
  server = await startFuzzed()
  for (const [path, body] of SEEDS) {
    const { code, text } = await server.shoot({
      method: 'POST',
      path,
      type: 'application/json',
      body: JSON.stringify(body),
    })
    if (code !== 201) throw new Error(`${path}: ${text}`)
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
})
afterAll(() => server?.stop())

/** Shot after shot; the whole sequence is what a failure shows. */
async function unharmed(shots: readonly Shot[]): Promise<void> {
  for (const shot of shots) await server.shoot(shot)
  expect(server.harm()).toEqual([])
}

const NAMESPACE = '/api/v1/namespaces/default'
const GROUP = 'fuzz.example.org'
const THINGS = `/apis/${GROUP}/v1/namespaces/default/things`
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const container = { name: 'c', image: 'i', ports: [{ containerPort: 80 }, { containerPort: 81, protocol: 'UDP' }] }
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container, { name: 'd', image: 'i' }] } }

const thingSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 0 },
        s: { type: 'string', maxLength: 20 },
        set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        map: {
          type: 'array',
          items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'string' } }, required: ['k'] },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        },
        any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        either: { 'x-kubernetes-int-or-string': true },
      },
      'x-kubernetes-validations': [{ rule: '!has(self.n) || self.n < 1000', message: 'too many' }],
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
}
const definition = (plural: string, kind: string, schema: unknown) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
    ],
  },
})
const SEEDS: readonly (readonly [string, object])[] = [
  [`${NAMESPACE}/configmaps`, { metadata: { name: 'x', labels: { a: 'b' } }, data: { k: 'v' } }],
  [`${NAMESPACE}/pods`, { metadata: { name: 'x' }, spec: { containers: [container] } }],
  [DEPLOYMENTS, { metadata: { name: 'x' }, spec: { selector: { matchLabels: { a: 'b' } }, template } }],
  [CRDS, definition('things', 'Thing', thingSchema)],
]

const TYPES = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'text/plain',
  '',
  'application/json; charset=utf-8',
  'application/cbor',
] as const
const PATCHES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

const OBJECTS = [
  `${NAMESPACE}/configmaps/x`,
  `${NAMESPACE}/pods/x`,
  `${NAMESPACE}/pods/x/status`,
  `${DEPLOYMENTS}/x`,
  `${DEPLOYMENTS}/x/scale`,
  `${THINGS}/x`,
  `${THINGS}/x/status`,
  `${NAMESPACE}/serviceaccounts/x`,
  '/api/v1/nodes/x',
  '/api/v1/namespaces/default',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/x',
] as const
const COLLECTIONS = [
  `${NAMESPACE}/configmaps`,
  `${NAMESPACE}/pods`,
  DEPLOYMENTS,
  THINGS,
  '/api/v1/nodes',
  `${NAMESPACE}/events`,
  `${NAMESPACE}/pods/x/eviction`,
  `${NAMESPACE}/pods/x/binding`,
  `${NAMESPACE}/serviceaccounts/x/token`,
  '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  '/apis/authentication.k8s.io/v1/tokenreviews',
  '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
  CRDS,
] as const

const kindOfPath = (path: string) => ({
  apiVersion: path.startsWith('/api/v1') ? 'v1' : path.split('/').slice(2, 4).join('/'),
})

const LIMITS = {
  numRuns: RUNS,
  interruptAfterTimeLimit: inFull(100_000, 8_000),
  markInterruptAsFailure: false,
} as const

describe('the embedded server under fuzz', () => {
  test('crashers of before stay fixed', async () => {
    for (const shot of CORPUS) await unharmed([shot])
  })

  test('bodies of any shape and type', async () => {
    const shots = fc.record({
      method: fc.constantFrom('POST', 'PUT', 'DELETE', 'PATCH', 'GET'),
      path: fc.constantFrom(...OBJECTS, ...COLLECTIONS),
      type: fc.constantFrom(...TYPES, ...Object.values(PATCHES)),
      body: bodies,
    })
    await fc.assert(
      fc.asyncProperty(shots, (shot) => unharmed([shot])),
      LIMITS,
    )
  })

  test('objects of the right kind with wrong fields', async () => {
    const shots = fc
      .tuple(
        fc.constantFrom(...COLLECTIONS),
        json,
        json,
        json,
        fc.constantFrom('', '?dryRun=All', '?fieldValidation=Strict', '?fieldValidation=Ignore', '?fieldManager=a'),
      )
      .map(([path, metadata, spec, more, query]): readonly Shot[] => {
        const name = 'y'
        const body = {
          ...kindOfPath(path),
          ...(typeof more === 'object' ? more : {}),
          metadata:
            typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
              ? { name, ...metadata }
              : { name },
          spec,
        }
        return [
          { method: 'POST', path: path + query, type: 'application/json', body: JSON.stringify(body) },
          { method: 'PUT', path: `${path}/${name}${query}`, type: 'application/json', body: JSON.stringify(body) },
          { method: 'GET', path: `${path}/${name}` },
          { method: 'DELETE', path: `${path}/${name}`, type: 'application/json', body: JSON.stringify(more) },
        ]
      })
    await fc.assert(fc.asyncProperty(shots, unharmed), LIMITS)
  })

  test('patches in all four languages', async () => {
    const pointer = fc
      .array(fc.oneof(keys, fc.constantFrom('0', '-', '1', '99', '-1', '00')), { maxLength: 4 })
      .map((k) => k.map((p) => `/${p.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''))
    const operation = fc.record(
      {
        op: fc.constantFrom<unknown>('add', 'remove', 'replace', 'move', 'copy', 'test', 'x', 1),
        path: fc.oneof<fc.Arbitrary<unknown>[]>(pointer, leaves),
        value: json,
        from: pointer,
      },
      { requiredKeys: ['op'] },
    )
    const patch = fc.oneof(
      fc.tuple(
        fc.constant('json' as const),
        fc.oneof<fc.Arbitrary<unknown>[]>(fc.array(operation, { maxLength: 4 }), json),
      ),
      fc.tuple(
        fc.constantFrom('merge' as const, 'strategic' as const),
        fc.oneof<fc.Arbitrary<unknown>[]>(json, fc.record({ metadata: json, spec: json }), directives(json)),
      ),
    )
    const shots = fc
      .tuple(fc.constantFrom(...OBJECTS), patch, fc.constantFrom('', '?dryRun=All', '?fieldValidation=Strict'))
      .map(([path, [kind, body], query]): readonly Shot[] => [
        { method: 'PATCH', path: path + query, type: PATCHES[kind], body: JSON.stringify(body) },
      ])
    await fc.assert(fc.asyncProperty(shots, unharmed), LIMITS)
  })

  test('selectors, pages and versions in the query', async () => {
    const pieces = fc.constantFrom(
      'a',
      'b',
      '=',
      '==',
      '!=',
      '!',
      ' in ',
      ' notin ',
      '(',
      ')',
      ',',
      ' ',
      'a.b/c',
      'metadata.name',
      'spec.nodeName',
      '\\',
      '%',
      '>',
      '<',
      '1',
      '"',
      '\u0000',
      'ä',
      'x'.repeat(70),
    )
    const selector = fc.array(pieces, { maxLength: 8 }).map((p) => p.join(''))
    const token = fc.oneof(
      selector,
      fc.base64String({ maxLength: 24 }),
      json.map((v) => Buffer.from(JSON.stringify(v) ?? '').toString('base64url')),
    )
    const query = fc.record(
      {
        labelSelector: selector,
        fieldSelector: selector,
        limit: fc.constantFrom('0', '1', '-1', 'x', '99999999999999999999', '1.5', ''),
        continue: token,
        resourceVersion: fc.constantFrom('', '0', '1', '-1', 'x', '99999999999999999999', '1e3'),
        resourceVersionMatch: fc.constantFrom('Exact', 'NotOlderThan', 'x', ''),
        sendInitialEvents: fc.constantFrom('true', 'x'),
        timeoutSeconds: fc.constantFrom('1', 'x', '-5'),
        pretty: fc.constantFrom('1', 'x'),
        fieldManager: fc.constantFrom('', 'x'.repeat(200), '\u0007'),
      },
      { requiredKeys: [] },
    )
    const shots = fc
      .tuple(fc.constantFrom('GET', 'DELETE'), fc.constantFrom(...COLLECTIONS.slice(0, 4)), query)
      .map(([method, path, q]): readonly Shot[] => {
        const asked = new URLSearchParams(q)
        // a real wait for a version to come is not what is tried here
        if (asked.get('resourceVersion')?.startsWith('9999') === true) asked.delete('resourceVersion')
        if (method === 'DELETE') asked.set('dryRun', 'All')
        return [{ method, path: `${path}?${asked.toString()}` }]
      })
    await fc.assert(fc.asyncProperty(shots, unharmed), LIMITS)
  })

  test('schemas of definitions, and objects of those that are taken', async () => {
    let n = 0
    const shots = fc.tuple(schemas(), json, json).map(([schema, spec, status]): readonly Shot[] => {
      const plural = `f${n++}s`
      const path = `/apis/${GROUP}/v1/namespaces/default/${plural}`
      const kind = `F${n}`
      const object = { apiVersion: `${GROUP}/v1`, kind, metadata: { name: 'a' }, spec, status }
      const post = { method: 'POST', path, type: 'application/json', body: JSON.stringify(object) }
      return [
        {
          method: 'POST',
          path: CRDS,
          type: 'application/json',
          body: JSON.stringify(definition(plural, kind, schema)),
        },
        post,
        {
          method: 'PATCH',
          path: `${path}/a?fieldManager=f&force=true`,
          type: PATCHES.apply,
          body: JSON.stringify(object),
        },
        { method: 'PATCH', path: `${path}/a`, type: PATCHES.merge, body: JSON.stringify({ spec: status }) },
        { method: 'GET', path, headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } },
        { method: 'DELETE', path: `${CRDS}/${plural}.${GROUP}` },
      ]
    })
    await fc.assert(fc.asyncProperty(shots, unharmed), { ...LIMITS, numRuns: Math.ceil(RUNS / 3) })
  })

  test('sequences of applies by several managers', async () => {
    const spec = fc.record(
      {
        n: fc.integer({ min: -1, max: 2_000 }),
        s: fc.string({ maxLength: 4 }),
        set: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
        map: fc.array(fc.record({ k: fc.constantFrom('a', 'b'), v: fc.constantFrom('1', '2') }, { requiredKeys: [] }), {
          maxLength: 3,
        }),
        any: json,
        either: leaves,
      },
      { requiredKeys: [] },
    )
    const step = fc.record({
      manager: fc.constantFrom('a', 'b', 'kubectl', ''),
      force: fc.boolean(),
      spec,
      status: fc.boolean(),
      remove: fc.boolean(),
      labels: fc.dictionary(fc.constantFrom('a', 'b', 'c/d'), fc.constantFrom('1', '2'), { maxKeys: 2 }),
    })
    const sequence = fc.array(step, { minLength: 1, maxLength: 6 }).map((steps): readonly Shot[] => [
      ...steps.map((s): Shot => {
        const path = `${THINGS}/applied${s.status ? '/status' : ''}?fieldManager=${s.manager}&force=${s.force}`
        const object = {
          apiVersion: `${GROUP}/v1`,
          kind: 'Thing',
          metadata: { name: 'applied', labels: s.labels },
          ...(s.remove ? {} : { spec: s.spec, status: s.spec }),
        }
        return { method: 'PATCH', path, type: PATCHES.apply, body: JSON.stringify(object) }
      }),
      { method: 'GET', path: `${THINGS}/applied` },
      { method: 'DELETE', path: `${THINGS}/applied` },
    ])
    await fc.assert(fc.asyncProperty(sequence, unharmed), { ...LIMITS, numRuns: Math.ceil(RUNS / 2) })
  })

  test('CEL expressions in definitions and policies', async () => {
    let n = 0
    const shots = fc.tuple(cel(), json).map(([rule, spec]): readonly Shot[] => {
      const plural = `c${n++}s`
      const path = `/apis/${GROUP}/v1/namespaces/default/${plural}`
      const schema = {
        type: 'object',
        properties: { spec: { ...thingSchema.properties.spec, 'x-kubernetes-validations': [{ rule }] } },
      }
      const policy = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name: `p${n}` },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
            ],
          },
          validations: [{ expression: rule.replaceAll('self', 'object') }],
        },
      }
      return [
        {
          method: 'POST',
          path: CRDS,
          type: 'application/json',
          body: JSON.stringify(definition(plural, `C${n}`, schema)),
        },
        {
          method: 'POST',
          path,
          type: 'application/json',
          body: JSON.stringify({ apiVersion: `${GROUP}/v1`, kind: `C${n}`, metadata: { name: 'a' }, spec }),
        },
        { method: 'DELETE', path: `${CRDS}/${plural}.${GROUP}` },
        {
          method: 'POST',
          path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
          type: 'application/json',
          body: JSON.stringify(policy),
        },
        { method: 'DELETE', path: `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p${n}` },
      ]
    })
    await fc.assert(fc.asyncProperty(shots, unharmed), { ...LIMITS, numRuns: Math.ceil(RUNS / 2) })
  })
})
