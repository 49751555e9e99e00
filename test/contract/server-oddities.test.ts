// Malformed requests that clients will send all the same: paths, queries, headers, bodies and patches that are odd, each answered as a
// kube-apiserver answers it, and none of them with more work than its length is worth.
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { type Reply, Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const TYPES = {
  json: 'application/json',
  yaml: 'application/yaml',
  merge: 'application/merge-patch+json',
  jsonPatch: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

describe.each(apiServers)('odd requests to $name', ({ name: who, start }) => {
  let server: RunningServer
  let api: Requests
  let maps = ''
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    const name = await api.namespace('odd')
    maps = `/api/v1/namespaces/${name}/configmaps`
    await api.made(maps, { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } })
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const said = ({ code, body }: Reply) => [code, body.reason ?? '', body.message ?? '']
  const token = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

  describe('a query', () => {
    test.concurrent.each<[string, string, number, string]>([
      ['a limit that is empty', 'limit=', 400, 'strconv.ParseInt: parsing "": invalid syntax'],
      [
        'a limit beyond 64 bits',
        'limit=99999999999999999999',
        400,
        'strconv.ParseInt: parsing "99999999999999999999": value out of range',
      ],
      ['a limit with a fraction', 'limit=1.5', 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'],
      ['a negative limit', 'limit=-5', 200, ''],
      [
        'a time-out that is no duration',
        'timeout=abc',
        400,
        'invalid timeout specified in the request URL - time: invalid duration "abc"',
      ],
      ['a time-out of an hour', 'timeout=1h', 200, ''],
      [
        'a version beyond 64 bits',
        'resourceVersion=18446744073709551616',
        400,
        'invalid resource version: resourceVersion: Invalid value: "18446744073709551616": strconv.ParseUint: parsing "18446744073709551616": value out of range',
      ],
      ['a negative version', 'resourceVersion=-1', 400, 'invalid resource version: '],
      ['a version with a plus', 'resourceVersion=%2B1', 400, 'invalid resource version: '],
      [
        'a field selector with an escape that is none',
        'fieldSelector=metadata.name%3Da%5Cx',
        400,
        'invalid field selector: invalid escape sequence: \\x',
      ],
      ['a field selector with escapes', 'fieldSelector=metadata.name%3Da%5C%2Cb%5C%3Dc', 200, ''],
      ['a selector that is badly escaped is not there', 'labelSelector=%zz', 200, ''],
      ['a selector of nothing but brackets', `labelSelector=${'('.repeat(20_000)}`, 400, ''],
      [
        'a label key of another alphabet',
        `labelSelector=${encodeURIComponent('ключ=x')}`,
        400,
        'unable to parse requirement: ',
      ],
      [
        'a continue token from somewhere else',
        `limit=1&continue=${token({ v: 'meta.k8s.io/v1', rv: 1, start: '../../secrets/x' })}`,
        400,
        'invalid continue token: continue key is not valid: ../../secrets/x',
      ],
      [
        'a continue token with a version that is text',
        `limit=1&continue=${token({ v: 'meta.k8s.io/v1', rv: '1', start: 'a' })}`,
        400,
        'invalid continue token: continue key is not valid: json: cannot unmarshal string into Go struct field continueToken.rv of type int64',
      ],
      [
        'a continue token of another version',
        `limit=1&continue=${token(null)}`,
        400,
        'invalid continue token: continue key is not valid: ',
      ],
    ])('%s', async (_, query, code, message) => {
      const reply = await api.get(`${maps}?${query}`)
      expect([reply.code, reply.body.message ?? '']).toEqual([code, expect.stringContaining(message)])
    })

    test.concurrent.each<[string, string]>([
      ['a=b=c', "found '=', expected: ',' or 'end of string'"],
      ['(', "found '(', expected: !, identifier, or 'end of string'"],
      [',a', "found ',', expected: !, identifier, or 'end of string'"],
      ['a,', "found '', expected: identifier after ','"],
      ['a=b,,c', "found ',', expected: identifier after ','"],
      ['!', "unable to parse requirement: found '', expected: identifier"],
      ['a in b', "unable to parse requirement: found 'b' expected: '('"],
      ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
      ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
      [
        'a>x',
        `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
      ],
      ['-a=b', 'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of '],
      ['a=-b', 'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be '],
    ])('the label selector %s is refused with what is wrong with it', async (selector, message) => {
      const { code, body } = await api.get(`${maps}?labelSelector=${encodeURIComponent(selector)}`)
      expect([code, String(body.message).slice(0, message.length)]).toEqual([400, message])
    })

    test.concurrent('thousands of requirements are as many comparisons and no more', async () => {
      const values = Array.from({ length: 8_000 }, (_, i) => `v${i}`)
      const one = await api.get(`${maps}?labelSelector=${encodeURIComponent(`x in (${values.join(',')},y)`)}`)
      const all = await api.get(`${maps}?labelSelector=${encodeURIComponent(values.map((v) => `${v}!=x`).join(','))}`)
      expect([one.code, one.body.items?.length, all.code, (all.body.items?.length ?? 0) > 0]).toEqual([
        200,
        1,
        200,
        true,
      ])
    })
  })

  describe('a path', () => {
    test.concurrent.each<[string, () => string, number, string]>([
      ['of two dots as a name', () => `${maps}/..`, 400, 'Name parameter invalid: "..": may not be \'..\''],
      ['of escaped dots as a name', () => `${maps}/%2e%2e`, 400, 'Name parameter invalid: "..": may not be \'..\''],
      ['of one dot', () => `${maps}/.`, 400, 'Name parameter invalid: ".": may not be \'.\''],
      [
        'with a percent sign in its name',
        () => `${maps}/a%25b`,
        400,
        'Name parameter invalid: "a%b": may not contain \'%\'',
      ],
      [
        'with an escaped slash is a longer path',
        () => `${maps}/a%2Fb`,
        404,
        'the server could not find the requested resource',
      ],
      ['to what objects inherit', () => '/apis/__proto__', 404, ''],
      ['to a version that objects inherit', () => '/apis/apps/constructor', 404, ''],
      ['to a resource that objects inherit', () => '/api/v1/toString', 404, ''],
      ['to a namespace that objects inherit', () => '/api/v1/namespaces/constructor/configmaps', 200, ''],
    ])('%s', async (_, path, code, message) => {
      const reply = await api.get(path())
      expect([reply.code, reply.body.message ?? '']).toEqual([code, expect.stringContaining(message)])
    })

    test.concurrent('an escaped path is allowed only to users who may read it unescaped', async () => {
      const as = fresh('nobody')
      for (const path of [
        maps,
        maps.replace('configmaps', 'configmap%73'),
        maps.replaceAll('/configmaps', '%2Fconfigmaps'),
      ])
        expect((await api.get(path, { as })).code).toBe(403)
    })
  })

  describe('a header', () => {
    test.concurrent.each<[string, string, number]>([
      ['application/JSON', 'of a type in capitals', 201],
      ['application/json; charset=utf-16', 'of a charset that is not looked at', 201],
      ['application/json;', 'that ends too early', 201],
      ['application/json;=', 'with a parameter without a name', 415],
      ['application/json; q="', 'with an open quote', 415],
      ['text/plain', 'of another type', 415],
      ['application/cbor', 'of a type that is not served', 415],
      ['application/json, application/yaml', 'of two types', 415],
      ['a'.repeat(5_000), 'of nonsense', 415],
    ])('content type %s', async (type, _, code) => {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 't' } }
      expect((await api.post(maps, body, { type })).code).toBe(code)
    })

    test.concurrent('that accepts only unknown media types is answered with those served', async () => {
      const { code, body } = await api.get(`${maps}/a`, { headers: { accept: 'text/html' } })
      expect([
        code,
        body.reason,
        String(body.message).startsWith('406: Not Acceptable\n\nAvailable representations: '),
      ]).toEqual([406, 'NotAcceptable', true])
    })

    test.concurrent.each([
      { 'impersonate-group': 'system:masters' },
      { 'impersonate-uid': 'x' },
      { 'impersonate-extra-a': 'x' },
    ])('impersonating without a user: %o', async (headers) => {
      const { code, body } = await api.get(`${maps}/a`, { headers })
      expect([code, body.reason]).toEqual([400, 'BadRequest'])
    })

    test.concurrent('with an extra key that is badly escaped is taken as it is', async () => {
      const headers = { 'impersonate-user': fresh('u'), 'impersonate-extra-%zz': 'x' }
      expect((await api.get(`${maps}/a`, { headers })).code).toBe(403)
    })

    test.concurrent('with a token that is none counts for nothing beside a certificate', async () => {
      const { code } = await api.get(`${maps}/a`, { headers: { authorization: 'Bearer nonsense' } })
      expect(code).toBe(200)
    })
  })

  function send(method: string, path: string, type: string, text: string | Buffer): Promise<Reply> {
    const { hostname, port } = new URL(server.url)
    const { ca, cert, key } = server
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, method, path, ca, cert, key, headers, agent: false }, (response) => {
        let answer = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => (answer += part))
        response.on('end', () => {
          const body = answer.startsWith('{')
            ? (JSON.parse(answer) as Reply['body'])
            : ({ message: answer } as Reply['body'])
          resolve({ code: response.statusCode ?? 0, body, warnings: [] })
        })
      })
      sent.on('error', reject)
      sent.end(text)
    })
  }

  describe('a body', () => {
    const nested = (n: number) => `{"metadata":{"name":"d"},"data":${'{"a":'.repeat(n)}1${'}'.repeat(n)}}`
    const aliases = Array.from({ length: 7 }, (_, i) => `k${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]\n`).join('')
    test.concurrent.each<[string, string, string, number]>([
      ['nested 300 deep', TYPES.json, nested(300), 400],
      ['nested 100,000 deep', TYPES.json, nested(100_000), 400],
      ['of lists in lists', TYPES.json, '['.repeat(100_000), 400],
      ['of YAML in YAML', TYPES.yaml, '{a: '.repeat(20_000), 400],
      ['of aliases to aliases', TYPES.yaml, `k0: &a0 [x]\n${aliases}`, 400],
      [
        'of two documents: the first one',
        TYPES.yaml,
        'metadata: {generateName: first-}\n---\nmetadata: {name: other}\n',
        201,
      ],
      ['with what follows it', TYPES.json, '{"metadata":{"name":"w"}} x', 400],
      ['of a number that no integer holds', TYPES.json, '{"metadata":{"name":"w","generation":1e400}}', 400],
      ['of nothing', TYPES.json, '', 400],
      [
        'with names that objects inherit',
        TYPES.json,
        '{"metadata":{"generateName":"w"},"data":{"__proto__":"z","constructor":"y"}}',
        201,
      ],
    ])('%s', async (_, type, text, code) => expect((await send('POST', maps, type, text)).code).toBe(code))

    test.concurrent('of names that objects inherit has them as its own', async () => {
      const text = '{"metadata":{"name":"inherits"},"data":{"__proto__":"z","constructor":"y"}}'
      await send('POST', maps, TYPES.json, text)
      const { data } = (await api.get(`${maps}/inherits`)).body as unknown as { readonly data: object }
      expect(JSON.stringify(data)).toContain('"__proto__":"z"')
    })

    test.concurrent.each<[string, (n: number) => object]>([
      ['labels', (n) => ({ labels: Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v'])) })],
      [
        'owners',
        (n) => ({
          ownerReferences: Array.from({ length: n }, (_, i) => ({
            apiVersion: 'v1',
            kind: 'X',
            name: 'n',
            uid: `${i}`,
          })),
        }),
      ],
      ['finalizers', (n) => ({ finalizers: Array.from({ length: n }, (_, i) => `a.b/c${i}`) })],
    ])(
      'of 10,000 %s costs what it is long',
      async (_, metadata) => {
        const { code } = await api.post(maps, { metadata: { generateName: 'many-', ...metadata(10_000) } })
        expect(code).toBe(201)
      },
      30_000,
    )
  })

  describe('a patch', () => {
    const ours = async () =>
      `${maps}/${(await api.made(maps, { metadata: { generateName: 'p-' }, data: { k: 'v' } })).metadata.name}`
    test.concurrent.each<[string, keyof typeof TYPES, unknown, number, string]>([
      [
        'that makes another kind of it',
        'jsonPatch',
        [{ op: 'replace', path: '/kind', value: 'Secret' }],
        422,
        'Invalid',
      ],
      ['that makes an unknown kind of it', 'merge', { kind: 'Nope' }, 422, 'Invalid'],
      ['into another version', 'merge', { apiVersion: 'apps/v1' }, 422, 'Invalid'],
      ['that takes its kind away changes nothing', 'merge', { kind: null }, 200, ''],
      ['of null', 'merge', null, 400, 'BadRequest'],
      ['of null in JSON patch', 'jsonPatch', null, 200, ''],
      ['of null, strategic', 'strategic', null, 200, ''],
      ['of a text', 'merge', 'x', 400, 'BadRequest'],
      ['of an object where operations are asked for', 'jsonPatch', {}, 400, 'BadRequest'],
      ['that takes the whole away', 'jsonPatch', [{ op: 'remove', path: '' }], 422, 'Invalid'],
      ['of what objects inherit', 'jsonPatch', [{ op: 'add', path: '/__proto__/x', value: 1 }], 422, 'Invalid'],
      [
        'of a place that no list has',
        'jsonPatch',
        [{ op: 'add', path: '/metadata/finalizers/99999999999', value: 'a/b' }],
        422,
        'Invalid',
      ],
      ['that makes it too large', 'merge', { data: { big: 'x'.repeat(2_000_000) } }, 422, 'Invalid'],
    ])('%s', async (_, type, body, code, reason) => {
      const reply = await send('PATCH', await ours(), TYPES[type], JSON.stringify(body))
      expect([reply.code, reply.body.reason ?? '']).toEqual([code, reason])
    })

    test.concurrent('nested 50,000 deep is refused', async () => {
      const text = `{"data":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`
      expect((await send('PATCH', await ours(), TYPES.merge, text)).code).toBe(400)
    })

    test.concurrent('that copies what it copied is stopped', async () => {
      const copies = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/k${i}` }))
      const text = JSON.stringify([{ op: 'add', path: '/data', value: { a: 'x'.repeat(1_000) } }, ...copies])
      expect((await send('PATCH', await ours(), TYPES.jsonPatch, text)).code).toBe(422)
    })

    test.concurrent('that is applied without a name is of the object at its path, and makes none', async () => {
      const at = await ours()
      const config = { apiVersion: 'v1', kind: 'ConfigMap', data: { by: 'm' } }
      const there = await api.patch('apply', `${at}?fieldManager=m`, config)
      const nowhere = await api.patch('apply', `${maps}/nowhere?fieldManager=m`, config)
      expect([there.code, there.body['data'], nowhere.code]).toEqual([200, { k: 'v', by: 'm' }, 400])
    })

    test.concurrent('by a manager with invalid characters in its name is refused with each of them', async () => {
      const { code, body } = await api.patch('apply', `${maps}/a?fieldManager=%00%0a`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a' },
      })
      const { causes = [] } = body['details'] as { readonly causes?: readonly unknown[] }
      expect([code, causes.length]).toEqual([422, 2])
    })
  })

  describe('a deletion', () => {
    const made = async (): Promise<string> =>
      `${maps}/${(await api.made(maps, { metadata: { generateName: 'd-', labels: { d: fresh('l') } } })).metadata.name}`
    test.concurrent('of another object under the same name, or of an older version, is a conflict that names the kind', async () => {
      const at = await made()
      const name = at.split('/').at(-1)
      const wrong = await api.delete(at, { preconditions: { uid: 'x' } })
      const old = await api.delete(at, { preconditions: { resourceVersion: '1' } })
      expect([said(wrong), said(old)]).toEqual([
        [
          409,
          'Conflict',
          expect.stringContaining(
            `Operation cannot be fulfilled on ConfigMap "${name}": the UID in the precondition (x) does not match the UID in record (`,
          ),
        ],
        [
          409,
          'Conflict',
          expect.stringContaining(
            `Operation cannot be fulfilled on ConfigMap "${name}": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (`,
          ),
        ],
      ])
    })
    test.concurrent('of many holds each of them to the preconditions', async () => {
      const at = await made()
      const label = Object.values((await api.get(at)).body.metadata.labels ?? {})[0]
      const many = await api.delete(`${maps}?labelSelector=d%3D${label}`, { preconditions: { uid: 'x' } })
      expect([many.code, (await api.get(at)).code]).toEqual([409, 200])
    })
    test.concurrent.each<[string, object, number]>([
      ['with a grace that is a text', { gracePeriodSeconds: 'x' }, 400],
      ['with options of another kind', { kind: 'Pod', apiVersion: 'v1' }, 400],
      ['with a propagation that there is not', { propagationPolicy: 'Foo' }, 422],
      ['with two propagations', { propagationPolicy: 'Orphan', orphanDependents: true }, 422],
      ['with a field that there is not', { nope: 1, dryRun: ['All'] }, 200],
    ])('%s', async (_, options, code) => {
      const at = await made()
      expect((await api.delete(at, options)).code).toBe(code)
    })
  })

  describe('a definition with a default', () => {
    const rules = (...list: readonly object[]) => ({ 'x-kubernetes-validations': list })
    const big = (more: object = {}) => rules({ rule: 'self > 2', ...more })
    test.concurrent.each<[string, object, string | undefined]>([
      ['that keeps its rule', { type: 'integer', default: 5, ...big() }, undefined],
      [
        'that breaks its rule',
        { type: 'integer', default: 1, ...big({ message: 'big' }) },
        '.default: Invalid value: 1: big',
      ],
      [
        'that breaks it for a reason',
        {
          type: 'integer',
          default: 1,
          ...big({ messageExpression: "'no %d'.format([self])", reason: 'FieldValueForbidden' }),
        },
        '.default: Forbidden: no 1',
      ],
      [
        'whose rule reads what only its own defaults would fill in',
        {
          type: 'object',
          default: {},
          properties: { r: { type: 'integer', default: 3 } },
          ...rules({ rule: 'self.r > 1' }),
        },
        '.default: Invalid value: "object": no such key: r evaluating rule: self.r > 1',
      ],
      [
        'with a part that breaks a rule',
        { type: 'object', default: { n: 1 }, properties: { n: { type: 'integer', ...big() } } },
        '.default.n: Invalid value: 1: failed rule: self > 2',
      ],
      [
        'with an item that breaks a rule',
        { type: 'array', maxItems: 5, default: [9, 1], items: { type: 'integer', ...big() } },
        '.default[1]: Invalid value: 1: failed rule: self > 2',
      ],
      [
        'whose rule is about changes',
        { type: 'string', default: 'x', ...rules({ rule: 'self == oldSelf' }) },
        undefined,
      ],
      [
        'of null',
        {
          type: 'object',
          nullable: true,
          default: null,
          properties: { r: { type: 'integer' } },
          ...rules({ rule: 'self.r > 1' }),
        },
        undefined,
      ],
    ])('%s', async (_, schema, problem) => {
      const group = `${fresh('defaults')}.example.org`
      const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties: { at: schema } } } }
      const { code, body } = await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', {
        metadata: { name: `things.${group}` },
        spec: {
          group,
          scope: 'Cluster',
          names: { plural: 'things', singular: 'thing', kind: 'Thing' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
        },
      })
      const at = 'spec.validation.openAPIV3Schema.properties[spec].properties[at]'
      expect([code, (body.message ?? '').replace(/^.* is invalid: /, '')]).toEqual(
        problem === undefined ? [201, ''] : [422, `${at}${problem}`],
      )
    })
  })

  test('after all of that the server answers as before', async () => {
    expect((await api.get(`${maps}/a`)).code).toBe(200)
    expect([who, readFileSync(server.kubeconfig, 'utf8').length > 0]).toEqual([who, true])
  })
})
