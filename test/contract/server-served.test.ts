// What a kube-apiserver 1.36 does between a request and its answer that clients come to rely on: rights of a PUT that creates, pages
// of a selection, watches of one name, compression, discovery that is asked for again, paths and bodies that are none.
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { type RawReply, type Reply, Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const NO_PAGE = '404 page not found\n'
const NOT_SERVED = 'the server could not find the requested resource'
const said = ({ code, body }: Reply): readonly [number, string] => [code, body.message ?? '']
const has = (text: string): unknown => expect.stringContaining(text)

describe.each(apiServers)('requests to $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  let space = ''
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    space = await api.namespace('served')
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const core = (plural: string, namespace = space) => `/api/v1/namespaces/${namespace}/${plural}`
  const inGroup = (group: string, plural: string) => `/apis/${group}/namespaces/${space}/${plural}`

  describe('a PUT of a name that is not there', () => {
    const leases = () => inGroup('coordination.k8s.io/v1', 'leases')
    const lease = (name: string, spec: object = {}) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name },
      spec,
    })
    /** A user who may do this with Leases. */
    const someone = async (verbs: readonly string[]): Promise<string> => {
      const name = fresh('user')
      const group = 'rbac.authorization.k8s.io'
      const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs }]
      await api.made(`${RBAC}/namespaces/${space}/roles`, { metadata: { name }, rules })
      await api.made(`${RBAC}/namespaces/${space}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: group, kind: 'Role', name },
        subjects: [{ apiGroup: group, kind: 'User', name }],
      })
      return name
    }
    const cannot = (as: string, name: string) => [
      403,
      `leases.coordination.k8s.io "${name}" is forbidden: User "${as}" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "${space}"`,
    ]

    test.concurrent('needs the right to create, beside that to update', async () => {
      const as = await someone(['update', 'get'])
      const name = fresh('lease')
      const put = () => api.put(`${leases()}/${name}`, lease(name), { as })
      // a real server learns of a binding a moment later
      await vi.waitFor(async () => expect(said(await put())).toEqual(cannot(as, name)), 60_000)
      expect((await api.get(`${leases()}/${name}`)).code).toBe(404)
      const { metadata } = await api.made(leases(), lease(name))
      // A Lease is updated over a version only.
      const object = { ...lease(name), metadata }
      expect((await api.put(`${leases()}/${name}`, object, { as })).code).toBe(200)
    })
    test.concurrent('needs it for a dry run too', async () => {
      const as = await someone(['update'])
      const name = fresh('lease')
      const put = () => api.put(`${leases()}/${name}?dryRun=All`, lease(name), { as })
      await vi.waitFor(async () => expect(said(await put())).toEqual(cannot(as, name)), 60_000)
    })
    test.concurrent('creates for those who have both', async () => {
      const as = await someone(['update', 'create'])
      const name = fresh('lease')
      await vi.waitFor(
        async () => expect((await api.put(`${leases()}/${name}`, lease(name), { as })).code).toBe(201),
        10_000,
      )
    })
    test.concurrent('is judged as an object before as a right', async () => {
      const as = await someone(['update'])
      const name = fresh('lease')
      const bad = lease(name, { leaseDurationSeconds: -1 })
      await vi.waitFor(async () => expect((await api.put(`${leases()}/${name}`, bad, { as })).code).toBe(422), 60_000)
    })
  })

  describe('pages of a selection', () => {
    let paged = ''
    const path = (query: string) => `${core('configmaps', paged)}?${query}`
    beforeAll(async () => {
      paged = await api.namespace('paged')
      for (const [name, of] of Object.entries({ a: 'x', b: 'y', c: 'x', d: 'y', e: 'x', f: 'y' }))
        await api.made(core('configmaps', paged), { metadata: { name, labels: { of } } })
    })
    /** Names page by page, and what each page says of what is left. */
    const pages = async (query: string) => {
      const found: [string, boolean, unknown][] = []
      for (let token = ''; found.length < 10;) {
        const { code, body } = await api.get(path(`${query}${token === '' ? '' : `&continue=${token}`}`))
        expect(code).toBe(200)
        const meta = body.metadata as unknown as Record<string, string | number | undefined>
        const next = String(meta['continue'] ?? '')
        found.push([(body.items ?? []).map((i) => i.metadata.name).join(), next !== '', meta['remainingItemCount']])
        if (next === '') return found
        token = encodeURIComponent(next)
      }
      throw new Error('the pages do not end')
    }
    test.concurrent.each<[string, string, [string, boolean, unknown][]]>([
      [
        'the last page of labels may be empty: who asks is not told what else is there',
        'limit=1&labelSelector=of%3Dx',
        [
          ['a', true, undefined],
          ['c', true, undefined],
          ['e', true, undefined],
          ['', false, undefined],
        ],
      ],
      [
        'a page that ends with the last object is the last',
        'limit=3&labelSelector=of%3Dy',
        [['b,d,f', false, undefined]],
      ],
      [
        'a page that ends before other objects has a next one',
        'limit=3&labelSelector=of%3Dx',
        [
          ['a,c,e', true, undefined],
          ['', false, undefined],
        ],
      ],
      ['a selection of nothing is one page', 'limit=1&labelSelector=of%3Dz', [['', false, undefined]]],
      [
        'fields select page by page too',
        'limit=2&fieldSelector=metadata.name!%3Da',
        [
          ['b,c', true, undefined],
          ['d,e', true, undefined],
          ['f', false, undefined],
        ],
      ],
      ['one name is one page', 'limit=1&fieldSelector=metadata.name%3Da', [['a', false, undefined]]],
    ])('%s', async (_, query, expected) => {
      expect(await pages(query)).toEqual(expected)
    })
    test.concurrent('without a selector they say how many are left', async () => {
      const [[, , first] = []] = await pages('limit=5')
      expect(first).toBeGreaterThanOrEqual(1)
    })
  })

  describe('a watch by path', () => {
    const made = async () => {
      const [one, other] = [fresh('one'), fresh('other')]
      for (const name of [one, other]) await api.made(core('configmaps'), { metadata: { name } })
      return { one, other, path: `/api/v1/watch/namespaces/${space}/configmaps/${one}` }
    }
    const change = (name: string, data: object) => api.patch('merge', `${core('configmaps')}/${name}`, { data })

    test.concurrent('of one name shows that one, from its state to its end', async () => {
      const { one, other, path } = await made()
      const watch = await api.watch(path)
      await watch.until((lines) => lines.length > 0)
      await change(other, { k: '1' })
      await change(one, { k: '2' })
      await api.delete(`${core('configmaps')}/${one}`)
      const lines = await watch.until((l) => l.some((x) => x.type === 'DELETED'))
      watch.close()
      expect(lines.map((l) => [l.type, l.object.metadata.name])).toEqual(
        ['ADDED', 'MODIFIED', 'DELETED'].map((type) => [type, one]),
      )
    })
    test.concurrent('of one name takes a selector for the same name, and none for another', async () => {
      const { one, other, path } = await made()
      const watch = await api.watch(`${path}?fieldSelector=metadata.name%3D${one}`)
      await watch.until((lines) => lines.length > 0)
      watch.close()
      for (const selector of [`metadata.name%3D${other}`, `metadata.name!%3D${other}`, `metadata.namespace%3D${space}`])
        expect(said(await api.get(`${path}?fieldSelector=${selector}`))).toEqual([
          400,
          "fieldSelector metadata.name doesn't match requested name",
        ])
    })
    test.concurrent('of one name follows labels as well', async () => {
      const { one, path } = await made()
      const watch = await api.watch(`${path}?labelSelector=on%3Dyes`)
      const label = (on: string | null) =>
        api.patch('merge', `${core('configmaps')}/${one}`, { metadata: { labels: { on } } })
      await label('yes')
      await label(null)
      const lines = await watch.until((l) => l.length >= 2)
      watch.close()
      expect(lines.map((l) => l.type)).toEqual(['ADDED', 'DELETED'])
    })
    test.concurrent('of a name that is not there begins with its creation', async () => {
      const name = fresh('later')
      const watch = await api.watch(`/api/v1/watch/namespaces/${space}/configmaps/${name}`)
      await api.made(core('configmaps'), { metadata: { name } })
      const lines = await watch.until((l) => l.length >= 1)
      watch.close()
      expect(lines.map((l) => [l.type, l.object.metadata.name])).toEqual([['ADDED', name]])
    })
    test.concurrent('of one object without a namespace', async () => {
      const watch = await api.watch(`/api/v1/watch/namespaces/${space}`)
      const lines = await watch.until((l) => l.length >= 1)
      watch.close()
      expect(lines[0]?.object).toMatchObject({ kind: 'Namespace', metadata: { name: space } })
    })
    test.concurrent('needs the right to watch that name', async () => {
      const { one, path } = await made()
      const as = fresh('nobody')
      expect(said(await api.get(path, { as }))).toEqual([
        403,
        `configmaps "${one}" is forbidden: User "${as}" cannot watch resource "configmaps" in API group "" in the namespace "${space}"`,
      ])
    })
  })

  describe('compression', () => {
    let large = ''
    const list = () => core('configmaps', large)
    beforeAll(async () => {
      large = await api.namespace('large')
      for (const name of ['a', 'b', 'c'])
        await api.made(list(), {
          metadata: { name, labels: { name } },
          data: { k: `${name}-${'0123456789'.repeat(6_000)}` },
        })
      await api.made(list(), { metadata: { name: 'whole' }, data: { k: 'x'.repeat(140_000) } })
    })
    const packed = ({ headers }: RawReply) => [headers['content-encoding'], headers['vary']]
    const read = ({ bytes, headers }: RawReply): unknown =>
      JSON.parse((headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8'))
    const asking = (encoding: string) => ({ headers: { 'accept-encoding': encoding } })

    test.concurrent.each<[string, string, () => string, boolean]>([
      ['a large list', 'gzip', list, true],
      ['a large object', 'gzip', () => `${list()}/whole`, true],
      ['a large list for who takes several encodings', 'br, gzip, deflate', list, true],
      ['a large list for who takes another one', 'br', list, false],
      ['a large list for who takes it with a weight', 'gzip;q=1', list, false],
      ['a small list', 'gzip', () => `${list()}?labelSelector=name%3Da`, false],
      ['a small object', 'gzip', () => `${list()}/a`, false],
    ])('of %s (%s)', async (_, encoding, path, isPacked) => {
      const answer = await api.raw(path(), asking(encoding))
      expect([answer.code, ...packed(answer)]).toEqual([
        200,
        ...(isPacked ? ['gzip', 'Accept-Encoding'] : [undefined, undefined]),
      ])
      expect(answer.headers['content-type']).toBe('application/json')
      const plain = await api.raw(path())
      expect(packed(plain)).toEqual([undefined, undefined])
      if (isPacked) expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 4)
      expect((read(answer) as { items?: unknown }).items).toEqual((read(plain) as { items?: unknown }).items)
      expect(JSON.stringify(read(answer)).length).toBe(JSON.stringify(read(plain)).length)
    })
    test.concurrent('of pages and of YAML and of tables', async () => {
      for (const [path, accept] of [
        [`${list()}?limit=4`, 'application/json'],
        [list(), 'application/yaml'],
        [`${list()}?includeObject=Object`, 'application/json;as=Table;v=v1;g=meta.k8s.io'],
      ] as const) {
        const [zipped, plain] = await Promise.all(
          [asking('gzip'), { headers: {} }].map(({ headers }) => api.raw(path, { headers: { ...headers, accept } })),
        )
        expect(zipped?.headers['content-encoding']).toBe('gzip')
        expect(gunzipSync(zipped?.bytes ?? Buffer.alloc(0)).length).toBe(plain?.bytes.length)
      }
    })
  })

  describe('aggregated discovery', () => {
    const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const ask = (path: string, more: Readonly<Record<string, string>> = {}) =>
      api.raw(path, { headers: { accept: AGGREGATED, ...more } })

    test.each(['/api', '/apis'])('%s has a tag, and is not sent again to who has it', async (path) => {
      const first = await ask(path)
      const tag = first.headers.etag ?? ''
      expect([first.code, first.headers.vary, first.headers['cache-control']]).toEqual([200, 'Accept', 'public'])
      expect(tag).toMatch(/^"[0-9A-F]{128}"$/)
      const second = await ask(path, { 'if-none-match': tag })
      expect([second.code, second.bytes.length, second.headers.etag, second.headers.vary]).toEqual([
        304,
        0,
        tag,
        'Accept',
      ])
      for (const other of ['"ABC"', tag.slice(1, -1), '*', `W/${tag}`])
        expect((await ask(path, { 'if-none-match': other })).code).toBe(200)
    })
    test('a definition changes the tag of /apis', async () => {
      const before = (await ask('/apis')).headers.etag
      await api.made(DEFINITIONS, definition(`${fresh('tag')}.example.org`))
      await vi.waitFor(async () => expect((await ask('/apis')).headers.etag).not.toBe(before), 60_000)
    })
    test('the old form has none', async () => {
      const { headers } = await api.raw('/apis')
      expect([headers.etag, headers.vary, headers['cache-control']]).toEqual([
        undefined,
        undefined,
        'no-cache, private',
      ])
    })
  })

  const definition = (group: string, more: object = {}) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                inner: {
                  type: 'object',
                  'x-kubernetes-embedded-resource': true,
                  'x-kubernetes-preserve-unknown-fields': true,
                },
              },
            },
          },
        },
      ],
      ...more,
    },
  })
  const established = async (group: string, more: object = {}): Promise<string> => {
    await api.made(DEFINITIONS, definition(group, more))
    await vi.waitFor(async () => {
      const { body } = await api.get(`${DEFINITIONS}/widgets.${group}`)
      expect(JSON.stringify(body['status'])).toContain('"the initial names have been accepted"')
      expect((await api.get(`/apis/${group}/v1/widgets`)).code).toBe(200)
    }, 60_000)
    return `/apis/${group}/v1/namespaces/${space}/widgets`
  }
  const widget = (group: string, name: string, more: object = {}) => ({
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name },
    ...more,
  })

  test.concurrent('the removal of a definition waits for the finalizers of its objects', async () => {
    const group = `${fresh('gone')}.example.org`
    const widgets = await established(group)
    await api.made(widgets, widget(group, 'free'))
    await api.made(widgets, widget(group, 'held', { metadata: { name: 'held', finalizers: ['example.org/hold'] } }))
    const at = `${DEFINITIONS}/widgets.${group}`
    const deleted = await api.delete(at)
    expect([deleted.code, deleted.body.metadata.finalizers]).toEqual([
      200,
      ['customresourcecleanup.apiextensions.k8s.io'],
    ])
    await vi.waitFor(async () => {
      const { code, body } = await api.get(at)
      const { conditions = [] } = body['status'] as { readonly conditions?: readonly Record<string, unknown>[] }
      expect([code, conditions.find((c) => c['type'] === 'Terminating')]).toMatchObject([
        200,
        {
          status: 'True',
          reason: 'InstanceDeletionInProgress',
          message: 'CustomResource deletion is in progress',
          lastTransitionTime: expect.any(String),
        },
      ])
      expect((await api.get(`${widgets}/free`)).code).toBe(404)
      expect((await api.get(`${widgets}/held`)).body.metadata.deletionTimestamp).toBeDefined()
    }, 60_000)
    const refused = [
      403,
      `widgets.${group} "late" is forbidden: create not allowed while custom resource definition is terminating`,
    ]
    expect(said(await api.post(widgets, widget(group, 'late')))).toEqual(refused)
    expect(said(await api.patch('apply', `${widgets}/late?fieldManager=one`, widget(group, 'late')))).toEqual(refused)
    const { body: list } = await api.get(`/apis/${group}/v1`)
    const resources = list['resources'] as readonly { readonly name: string; readonly verbs: readonly string[] }[]
    expect(resources.find((r) => r.name === 'widgets')?.verbs).toEqual([
      'delete',
      'deletecollection',
      'get',
      'list',
      'watch',
    ])
    // existing objects may still change: their finalizers most of all
    expect((await api.patch('merge', `${widgets}/held`, { metadata: { labels: { a: 'b' } } })).code).toBe(200)
    expect((await api.get(at)).code).toBe(200)
    expect((await api.patch('merge', `${widgets}/held`, { metadata: { finalizers: null } })).code).toBe(200)
    await vi.waitFor(async () => expect((await api.get(at)).code).toBe(404), 60_000)
    await vi.waitFor(async () => expect(await api.text(widgets)).toBe(NO_PAGE), 60_000)
    // the same name again holds nothing of what was
    await established(group)
    expect((await api.get(widgets)).body.items).toEqual([])
  })

  describe('paths that do not exist', () => {
    const group = `${fresh('paths')}.example.org`
    const bare = `${fresh('bare')}.example.org`
    beforeAll(async () => {
      await established(group)
      await established(bare, { scope: 'Cluster' })
    })
    test.concurrent.each<[string, () => string, string]>([
      ['a root', () => '/nope', NO_PAGE],
      ['below a root', () => '/nope/deeper', NO_PAGE],
      ['a group', () => '/apis/nope.example.org', NO_PAGE],
      ['a version of no group', () => '/apis/nope.example.org/v1', NO_PAGE],
      ['a resource of no group', () => '/apis/nope.example.org/v1/things', NO_PAGE],
      ['a version of a custom group', () => `/apis/${group}/v9`, NO_PAGE],
      ['a resource in a version of a custom group', () => `/apis/${group}/v9/widgets`, NO_PAGE],
      ['a resource of a custom group', () => `/apis/${group}/v1/gadgets`, NO_PAGE],
      ['an object of no resource', () => `/apis/${group}/v1/namespaces/default/gadgets/a`, NO_PAGE],
      ['a custom object in a namespace that has none', () => `/apis/${bare}/v1/namespaces/default/widgets/a`, NO_PAGE],
      ['a custom object outside of its namespace', () => `/apis/${group}/v1/widgets/a`, NO_PAGE],
      ['a resource of a built-in group', () => '/apis/apps/v1/gadgets', NOT_SERVED],
      ['a version of a built-in group', () => '/apis/apps/v9', NOT_SERVED],
      ['a resource in a version of a built-in group', () => '/apis/apps/v9/deployments', NOT_SERVED],
      ['a version of the core', () => '/api/v9', NOT_SERVED],
      ['a subresource of a built-in kind', () => `/api/v1/namespaces/default/configmaps/a/parts`, NOT_SERVED],
      ['a check of health', () => '/healthz/nope', NO_PAGE],
      ['a check of life', () => '/livez/nope', NO_PAGE],
      ['a check of readiness', () => '/readyz/nope', NO_PAGE],
      ['below the version', () => '/version/nope', NOT_SERVED],
      ['a document of OpenAPI', () => '/openapi/v9', NO_PAGE],
    ])('%s', async (_, path, text) => {
      const { code, headers, bytes } = await api.raw(path())
      const isText = text === NO_PAGE
      const body = bytes.toString('utf8')
      expect([
        code,
        headers['content-type'],
        isText ? body : (JSON.parse(body) as { message: string }).message,
      ]).toEqual([404, isText ? 'text/plain; charset=utf-8' : 'application/json', text])
    })
    test.concurrent('a subresource that a custom kind has not', async () => {
      expect(said(await api.get(`/apis/${group}/v1/namespaces/default/widgets/a/parts`))).toEqual([
        404,
        `widgets.${group} "a" not found`,
      ])
    })
    test.concurrent('a check of health that there is', async () => {
      expect((await api.raw('/livez/ping')).bytes.toString('utf8')).toBe('ok')
    })
  })

  describe('a body of a DELETE', () => {
    const target = async () => {
      const name = fresh('body')
      await api.made(core('configmaps'), { metadata: { name, labels: { name } } })
      return name
    }
    const remove = (path: string, type: string, text: string) => api.send('DELETE', path, undefined, { type, text })
    const GO =
      'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    const unreadable = `couldn't get version/kind; json parse error: `

    test.concurrent.each<[string, string, string, number, string]>([
      [
        'of words',
        'application/json',
        'hello',
        400,
        `${unreadable}invalid character 'h' looking for beginning of value`,
      ],
      ['without a type', '', 'hello', 400, `${unreadable}invalid character 'h' looking for beginning of value`],
      ['that is cut off', 'application/json', '{"kind":', 400, `${unreadable}unexpected end of JSON input`],
      ['of a list', 'application/json', '[]', 400, `${unreadable}json: cannot unmarshal array into ${GO}`],
      ['of a text', 'application/json', '"Foreground"', 400, `${unreadable}json: cannot unmarshal string into ${GO}`],
      [
        'of a form',
        'application/x-www-form-urlencoded',
        'a=b',
        415,
        'the body of the request was in an unknown format - accepted media types include: ',
      ],
      [
        'of plain text',
        'text/plain',
        '{}',
        415,
        'the body of the request was in an unknown format - accepted media types include: ',
      ],
    ])('%s is refused, and nothing is deleted', async (_, type, text, code, message) => {
      const name = await target()
      for (const path of [`${core('configmaps')}/${name}`, `${core('configmaps')}?labelSelector=name%3D${name}`]) {
        const reply = await remove(path, type, text)
        expect([reply.code, String(reply.body.message).slice(0, message.length)]).toEqual([code, message])
        expect(reply.body.reason).toBe(code === 400 ? 'BadRequest' : 'UnsupportedMediaType')
      }
      expect((await api.get(`${core('configmaps')}/${name}`)).code).toBe(200)
    })
    test.concurrent('of options in YAML is read', async () => {
      const name = await target()
      const yaml = 'kind: DeleteOptions\napiVersion: v1\ndryRun: [All]\n'
      expect((await remove(`${core('configmaps')}/${name}`, 'application/yaml', yaml)).code).toBe(200)
      expect((await api.get(`${core('configmaps')}/${name}`)).code).toBe(200)
    })
  })

  describe('an object inside of an object', () => {
    const group = `${fresh('inner')}.example.org`
    let widgets = ''
    beforeAll(async () => {
      widgets = await established(group)
    })
    const inner = (metadata: object) => ({ inner: { apiVersion: 'v1', kind: 'Thing', metadata } })
    test.concurrent.each<[object, string]>([
      [{ name: 'a/b' }, `inner.metadata.name: Invalid value: "a/b": may not contain '/'`],
      [{ name: 'a%b' }, `inner.metadata.name: Invalid value: "a%b": may not contain '%'`],
      [{ name: '..' }, `inner.metadata.name: Invalid value: "..": may not be '..'`],
      [{ generateName: 'a/b' }, `inner.metadata.generateName: Invalid value: "a/b": may not contain '/'`],
      [
        { name: 'a', namespace: 'A_B' },
        'inner.metadata.namespace: Invalid value: "A_B": a lowercase RFC 1123 label must',
      ],
      [{ name: 'a', labels: { 'a b': 'c' } }, 'inner.metadata.labels: Invalid value: "a b": '],
      [{ name: 'a', annotations: { '/': 'c' } }, 'inner.metadata.annotations: Invalid value: "/": '],
      [{ name: 'a', finalizers: ['a b'] }, 'inner.metadata.finalizers: Invalid value: "a b": '],
    ])('with the metadata %j is refused', async (metadata, message) => {
      const name = fresh('w')
      expect(said(await api.post(widgets, widget(group, name, inner(metadata))))).toEqual([422, has(message)])
      await api.made(widgets, widget(group, name))
      expect(said(await api.patch('merge', `${widgets}/${name}`, inner(metadata)))).toEqual([422, has(message)])
    })
    test.concurrent('with a name that no kind of Kubernetes could have is taken', async () => {
      await api.made(widgets, widget(group, fresh('w'), inner({ name: 'Any Name:at all', namespace: 'there' })))
      await api.made(widgets, widget(group, fresh('w'), inner({})))
    })
  })

  describe('a policy', () => {
    const policy = (reason: string) => ({
      metadata: { name: fresh('reason') },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ['nowhere.example.org'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] },
          ],
        },
        validations: [{ expression: 'true' }, { expression: 'true', reason }],
      },
    })
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
    test.concurrent.each(['NotFound', 'Teapot', 'forbidden', ''])('with the reason %j is refused', async (reason) => {
      expect(said(await api.post(`${policies}?dryRun=All`, policy(reason)))).toEqual([
        422,
        has(
          `spec.validations[1].reason: Unsupported value: ${JSON.stringify(reason)}: supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`,
        ),
      ])
    })
    test.concurrent.each(['Forbidden', 'Invalid', 'RequestEntityTooLarge'])(
      'with the reason %s is taken',
      async (reason) => {
        expect((await api.post(`${policies}?dryRun=All`, policy(reason))).code).toBe(201)
      },
    )
  })
})
