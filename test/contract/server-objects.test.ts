// Objects from birth to death, case by case: names, versions, finalizers, preconditions, selection, tables, subresources.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const TABLE = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }
const METADATA = { headers: { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' } }
const METADATA_LIST = { headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' } }
const podSpec = { containers: [{ name: 'main', image: 'i' }], terminationGracePeriodSeconds: 0 }

const BAD_NAMES: Readonly<Record<string, string>> = {
  'a capital letter': 'Aa',
  'an underscore': 'a_b',
  'a dash at the end': 'a-',
  'a dot at the beginning': '.a',
  'too long': 'a'.repeat(254),
  'a slash': 'a/b',
}
const GOOD_NAMES = ['a', '0', 'a-b', 'a.b.c', 'a'.repeat(253)] as const

const LABELS: Readonly<Record<string, readonly string[]>> = {
  'tier=web': ['a', 'b'],
  'tier==web': ['a', 'b'],
  'tier!=web': ['c', 'd'],
  tier: ['a', 'b', 'c'],
  '!tier': ['d'],
  'tier in (web,db)': ['a', 'b', 'c'],
  'tier in (db)': ['c'],
  'tier notin (web)': ['c', 'd'],
  'tier=web,env=prod': ['a'],
  'tier=web,env!=prod': ['b'],
  env: ['a', 'b'],
  'level>3': ['b'],
  'level<3': ['a'],
  'tier=': [],
  '': ['a', 'b', 'c', 'd'],
  'example.org/x=1': ['d'],
}
const BAD_LABELS = [
  'tier in web',
  'tier in (web',
  '=',
  'tier===web',
  'a b',
  'tier=web,',
  '!',
  'level>x',
  `${'x'.repeat(64)}=1`,
] as const

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  'metadata.name=a': ['a'],
  'metadata.name==a': ['a'],
  'metadata.name!=a': ['b', 'c'],
  'spec.nodeName=n1': ['a', 'b'],
  'spec.nodeName=': ['c'],
  'spec.nodeName=n1,metadata.name=b': ['b'],
  'status.phase=Pending': ['a', 'b', 'c'],
  'spec.restartPolicy=Always': ['a', 'b', 'c'],
}
const BAD_FIELDS = ['metadata.labels=x', 'spec.unknown=x', 'nonsense'] as const

describe.each(apiServers)('objects on $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  const space = async (): Promise<string> => {
    return `/api/v1/namespaces/${await api.namespace('objects')}`
  }
  let shared = ''
  let maps = ''
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    shared = await space()
    maps = `${shared}/configmaps`
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const make = (metadata: object = {}, more: object = {}) =>
    api.made(maps, { metadata: { name: fresh('m'), ...metadata }, ...more })
  const at = (o: { readonly metadata: { readonly name?: string } }) => `${maps}/${o.metadata.name}`

  describe('names', () => {
    test.concurrent.each(Object.entries(BAD_NAMES))('with %s are refused', async (_, name) => {
      const { code, body } = await api.post(maps, { metadata: { name } })
      expect([code, body.reason]).toEqual([422, 'Invalid'])
    })
    test.concurrent.each(GOOD_NAMES)('such as %s are taken', async (name) => {
      const path = `${await space()}/configmaps`
      expect((await api.post(path, { metadata: { name } })).code).toBe(201)
    })
    test.concurrent('none at all is refused', async () =>
      expect((await api.post(maps, { metadata: {} })).code).toBe(422))
    test.concurrent('one that is taken is 409 AlreadyExists', async () => {
      const { code, body } = await api.post(maps, { metadata: { name: (await make()).metadata.name } })
      expect([code, body.reason]).toEqual([409, 'AlreadyExists'])
    })
    test.concurrent('another namespace than that of the path is refused', async () => {
      expect((await api.post(maps, { metadata: { name: 'x', namespace: 'other' } })).code).toBe(400)
    })
    test.concurrent('a namespace that is not there is 404', async () => {
      expect((await api.post('/api/v1/namespaces/nowhere/configmaps', { metadata: { name: 'x' } })).code).toBe(404)
    })
    test.concurrent('generateName makes one: the prefix and five characters', async () => {
      const o = await api.made(maps, { metadata: { generateName: 'made-' } })
      expect(o.metadata.name).toMatch(/^made-[a-z0-9]{5}$/)
    })
    test.concurrent('a name beside generateName wins', async () => {
      const name = fresh('m')
      expect((await api.made(maps, { metadata: { name, generateName: 'made-' } })).metadata.name).toBe(name)
    })
    test.concurrent('a long generateName is cut', async () => {
      const o = await api.made(maps, { metadata: { generateName: 'x'.repeat(100) } })
      expect(o.metadata.name).toMatch(/^x{58}[a-z0-9]{5}$/)
    })
    test.concurrent('many with one generateName are all different', async () => {
      const made = await Promise.all(
        Array.from({ length: 20 }, () => api.made(maps, { metadata: { generateName: 'many-' } })),
      )
      expect(new Set(made.map((o) => o.metadata.name)).size).toBe(20)
    })
    test.concurrent('generateName in a dry run makes nothing', async () => {
      const path = `${await space()}/secrets`
      expect((await api.post(`${path}?dryRun=All`, { metadata: { generateName: 'dry-' } })).code).toBe(201)
      expect((await api.get(path)).body.items).toEqual([])
    })
  })

  describe('birth', () => {
    test.concurrent('what only the server knows is its own: uid, time, version', async () => {
      const o = await make({ uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z', generation: 7, selfLink: 'x' })
      expect(o.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
      // this kind has no generations, so the client's value is kept
      expect([o.metadata.creationTimestamp?.startsWith('2001'), o.metadata.generation]).toEqual([false, 7])
    })
    test.concurrent('a resourceVersion may not be sent', async () => {
      expect((await api.post(maps, { metadata: { name: fresh('m'), resourceVersion: '5' } })).code).toBe(500)
    })
    test.concurrent('a deletionTimestamp that is sent is not kept', async () => {
      expect((await make({ deletionTimestamp: '2001-01-01T00:00:00Z' })).metadata.deletionTimestamp).toBeUndefined()
    })
    test.concurrent('a second object of a name has another uid and a later version', async () => {
      const first = await make()
      await api.delete(at(first))
      const second = await make({ name: first.metadata.name })
      expect(second.metadata.uid).not.toBe(first.metadata.uid)
      expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion))
    })
    test.concurrent('the managedFields name who made it', async () => {
      const o = await api.made(`${maps}?fieldManager=me`, { metadata: { name: fresh('m') }, data: { a: '1' } })
      expect(o.metadata.managedFields?.map((m) => [m.manager, m.operation])).toEqual([['me', 'Update']])
    })
    test.concurrent('an unknown field is warned about by itself, refused when strict', async () => {
      const name = fresh('m')
      const { code, warnings } = await api.post(maps, { metadata: { name }, extra: 1 })
      expect([code, warnings]).toEqual([201, ['unknown field "extra"']])
      expect(
        (await api.post(`${maps}?fieldValidation=Strict`, { metadata: { name: fresh('m') }, extra: 1 })).code,
      ).toBe(400)
    })
    test.concurrent('a fieldValidation that does not exist is refused', async () => {
      expect((await api.post(`${maps}?fieldValidation=Loose`, { metadata: { name: fresh('m') } })).code).toBe(422)
    })
    test.concurrent('a dryRun that does not exist is refused', async () => {
      expect((await api.post(`${maps}?dryRun=Some`, { metadata: { name: fresh('m') } })).code).toBe(422)
    })
    test.concurrent('POST to an object is 405', async () => {
      expect((await api.post(at(await make()), {})).code).toBe(405)
    })
  })

  describe('updates', () => {
    test.concurrent('with the version that is there', async () => {
      const o = await make()
      const { code, body } = await api.put(at(o), { ...o, data: { a: '1' } })
      expect([code, body['data']]).toEqual([200, { a: '1' }])
    })
    test.concurrent('with an older version: 409, and what to do', async () => {
      const o = await make()
      await api.put(at(o), { ...o, data: { a: '1' } })
      const { code, body } = await api.put(at(o), { ...o, data: { a: '2' } })
      expect([code, body.message]).toEqual([
        409,
        expect.stringContaining('please apply your changes to the latest version'),
      ])
    })
    test.concurrent('without a version overwrite', async () => {
      const o = await make()
      expect((await api.put(at(o), { metadata: { name: o.metadata.name }, data: { a: '1' } })).code).toBe(200)
    })
    test.concurrent('of what is not there: 404', async () => {
      expect((await api.put(`${maps}/none`, { metadata: { name: 'none' } })).code).toBe(404)
    })
    test.concurrent('under another name: 400', async () => {
      expect((await api.put(at(await make()), { metadata: { name: 'other' } })).code).toBe(400)
    })
    test.concurrent('with another uid: 409', async () => {
      const o = await make()
      expect((await api.put(at(o), { metadata: { name: o.metadata.name, uid: 'other' } })).code).toBe(409)
    })
    test.concurrent('that change nothing give no new version', async () => {
      const o = await make({}, { data: { a: '1' } })
      expect((await api.put(at(o), o)).body.metadata.resourceVersion).toBe(o.metadata.resourceVersion)
    })
    test.concurrent('of many at once with one version: one wins', async () => {
      const o = await make()
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => api.put(at(o), { ...o, data: { i: String(i) } })),
      )
      expect(answers.filter((a) => a.code === 200)).toHaveLength(1)
      expect(answers.filter((a) => a.code === 409)).toHaveLength(7)
    })
  })

  describe('the end', () => {
    test.concurrent('a deletion answers Success with the uid', async () => {
      const o = await make()
      const { code, body } = await api.delete(at(o))
      expect([code, body['status'], body['details']]).toEqual([
        200,
        'Success',
        { name: o.metadata.name, kind: 'configmaps', uid: o.metadata.uid },
      ])
      expect((await api.get(at(o))).code).toBe(404)
    })
    test.concurrent('of what is not there: 404', async () => expect((await api.delete(`${maps}/none`)).code).toBe(404))
    test.concurrent('with another uid as precondition: 409, and it stays', async () => {
      const o = await make()
      expect((await api.delete(at(o), { preconditions: { uid: 'other' } })).code).toBe(409)
      expect((await api.get(at(o))).code).toBe(200)
    })
    test.concurrent('with its uid as precondition', async () => {
      const o = await make()
      expect((await api.delete(at(o), { preconditions: { uid: o.metadata.uid } })).code).toBe(200)
    })
    test.concurrent('with an older version as precondition: 409', async () => {
      const o = await make()
      await api.patch('merge', at(o), { data: { a: '1' } })
      expect((await api.delete(at(o), { preconditions: { resourceVersion: o.metadata.resourceVersion } })).code).toBe(
        409,
      )
    })
    test.concurrent('a dry run deletes nothing', async () => {
      const o = await make()
      expect((await api.delete(`${at(o)}?dryRun=All`)).code).toBe(200)
      expect((await api.get(at(o))).code).toBe(200)
    })
    test.concurrent('two ways to treat what is owned at once are refused', async () => {
      expect(
        (await api.delete(at(await make()), { orphanDependents: true, propagationPolicy: 'Background' })).code,
      ).toBe(422)
    })
    test.concurrent('a propagation that does not exist is refused', async () => {
      expect((await api.delete(at(await make()), { propagationPolicy: 'Sideways' })).code).toBe(422)
    })
    test.concurrent('a finalizer holds it, marked, until it is taken away', async () => {
      const o = await make({ finalizers: ['example.org/hold'] })
      const { code, body } = await api.delete(at(o))
      expect([code, body.metadata.deletionTimestamp]).toEqual([200, expect.any(String)])
      expect((await api.get(at(o))).code).toBe(200)
      expect((await api.patch('merge', at(o), { metadata: { finalizers: null } })).code).toBe(200)
      expect((await api.get(at(o))).code).toBe(404)
    })
    test.concurrent('while it is held it may be changed, but gets no new finalizer', async () => {
      const o = await make({ finalizers: ['example.org/hold'] })
      await api.delete(at(o))
      expect((await api.patch('merge', at(o), { data: { a: '1' } })).code).toBe(200)
      expect(
        (await api.patch('merge', at(o), { metadata: { finalizers: ['example.org/hold', 'example.org/more'] } })).code,
      ).toBe(422)
    })
    test.concurrent('a second deletion of what is held changes nothing', async () => {
      const o = await make({ finalizers: ['example.org/hold'] })
      const first = await api.delete(at(o))
      const second = await api.delete(at(o))
      expect([second.code, second.body.metadata.deletionTimestamp]).toEqual([
        200,
        first.body.metadata.deletionTimestamp,
      ])
    })
    test.concurrent('a name is not free while it is held', async () => {
      const o = await make({ finalizers: ['example.org/hold'] })
      await api.delete(at(o))
      expect((await api.post(maps, { metadata: { name: o.metadata.name } })).code).toBe(409)
    })
    test.concurrent('of all that a selector names, and no other', async () => {
      const path = `${await space()}/configmaps`
      for (const [name, v] of [
        ['a', '1'],
        ['b', '1'],
        ['c', '2'],
      ] as const)
        await api.made(path, { metadata: { name, labels: { v } } })
      expect((await api.delete(`${path}?labelSelector=v%3D1`)).code).toBe(200)
      expect(
        (await api.get(path)).body.items?.map((o) => o.metadata.name).filter((n) => n !== 'kube-root-ca.crt'),
      ).toEqual(['c'])
    })
  })

  describe('label selectors', () => {
    let path = ''
    beforeAll(async () => {
      path = `${await space()}/secrets`
      const labelled: Readonly<Record<string, object>> = {
        a: { tier: 'web', env: 'prod', level: '1' },
        b: { tier: 'web', env: 'test', level: '5' },
        c: { tier: 'db' },
        d: { 'example.org/x': '1' },
      }
      for (const [name, labels] of Object.entries(labelled)) await api.made(path, { metadata: { name, labels } })
    })
    const found = async (selector: string) => {
      const { body } = await api.get(`${path}?labelSelector=${encodeURIComponent(selector)}`)
      return (body.items ?? []).map((o) => o.metadata.name)
    }
    test.concurrent.each(Object.entries(LABELS))('%j', async (selector, names) =>
      expect(await found(selector)).toEqual(names),
    )
    test.concurrent.each(BAD_LABELS)('%j is refused', async (selector) => {
      expect((await api.get(`${path}?labelSelector=${encodeURIComponent(selector)}`)).code).toBe(400)
    })
  })

  describe('field selectors', () => {
    let path = ''
    beforeAll(async () => {
      path = `${await space()}/pods`
      for (const name of ['a', 'b', 'c'])
        await api.post(path, { metadata: { name }, spec: { ...podSpec, ...(name === 'c' ? {} : { nodeName: 'n1' }) } })
    })
    test.concurrent.each(Object.entries(FIELDS))('%j', async (selector, names) => {
      const { body } = await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)
      expect((body.items ?? []).map((o) => o.metadata.name)).toEqual(names)
    })
    test.concurrent.each(BAD_FIELDS)('%j is refused', async (selector) => {
      expect((await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)).code).toBe(400)
    })
  })

  describe('forms of an answer', () => {
    test.concurrent('a table of one object, of a list, and of a list with nothing in it', async () => {
      const path = `${await space()}/secrets`
      const empty = await api.get(path, TABLE)
      await api.made(path, { metadata: { name: 'a' }, data: { x: 'eA==' } })
      const one = await api.get(`${path}/a`, TABLE)
      const list = await api.get(path, TABLE)
      expect([empty.body.kind, empty.body['rows']]).toEqual(['Table', []])
      const cells = (body: typeof one.body) => (body['rows'] as { cells: unknown[] }[]).map((r) => r.cells.slice(0, 3))
      expect([cells(one.body), cells(list.body)]).toEqual([[['a', 'Opaque', 1]], [['a', 'Opaque', 1]]])
    })
    test.concurrent('rows hold metadata, nothing, or the object, as is asked for', async () => {
      const path = at(await make())
      const row = async (include: string) =>
        ((await api.get(`${path}?includeObject=${include}`, TABLE)).body['rows'] as { object?: { kind: string } }[])[0]
          ?.object
      expect((await row('Metadata'))?.kind).toBe('PartialObjectMetadata')
      expect((await row('Object'))?.kind).toBe('ConfigMap')
      expect(await row('None')).toBeFalsy()
    })
    test.concurrent('metadata alone, of one and of many', async () => {
      const o = await make({}, { data: { a: '1' } })
      const one = (await api.get(at(o), METADATA)).body
      expect([one.kind, one.metadata.uid, one['data']]).toEqual(['PartialObjectMetadata', o.metadata.uid, undefined])
      expect((await api.get(maps, METADATA_LIST)).body.kind).toBe('PartialObjectMetadataList')
    })
    test.concurrent('YAML when that is asked for', async () => {
      const { body } = await api.get(at(await make()), { headers: { accept: 'application/yaml' } })
      expect(body.message).toMatch(/^apiVersion: v1\n/m)
    })
    test.concurrent('an unknown media type is 406', async () => {
      expect((await api.get(maps, { headers: { accept: 'text/html' } })).code).toBe(406)
    })
    test.concurrent('the first form of a list that is spoken is taken', async () => {
      expect((await api.get(maps, { headers: { accept: 'text/html, application/json' } })).code).toBe(200)
    })
  })

  describe('subresources', () => {
    test.concurrent('status is written there alone, and the rest not through it', async () => {
      const path = `${shared}/pods`
      const name = fresh('p')
      await api.made(path, { metadata: { name }, spec: podSpec, status: { phase: 'Running' } })
      expect((await api.get(`${path}/${name}`)).body['status']).toMatchObject({ phase: 'Pending' })
      await api.patch('merge', `${path}/${name}/status`, {
        status: { phase: 'Running' },
        metadata: { labels: { no: 'label' } },
        spec: { activeDeadlineSeconds: 5 },
      })
      const { body } = await api.get(`${path}/${name}`)
      expect([body['status'], (body['spec'] as { activeDeadlineSeconds?: number }).activeDeadlineSeconds]).toEqual([
        expect.objectContaining({ phase: 'Running' }),
        undefined,
      ])
    })
    test.concurrent('scale is read, written and patched', async () => {
      const path = `/apis/apps/v1/namespaces/${shared.split('/').at(-1)}/deployments`
      const name = fresh('d')
      const template = { metadata: { labels: { a: name } }, spec: { containers: podSpec.containers } }
      await api.made(path, {
        metadata: { name },
        spec: { replicas: 2, selector: { matchLabels: { a: name } }, template },
      })
      const scale = await api.get(`${path}/${name}/scale`)
      expect([scale.body.kind, scale.body['spec']]).toEqual(['Scale', { replicas: 2 }])
      expect((await api.put(`${path}/${name}/scale`, { ...scale.body, spec: { replicas: 3 } })).code).toBe(200)
      expect((await api.patch('merge', `${path}/${name}/scale`, { spec: { replicas: 4 } })).body['spec']).toEqual({
        replicas: 4,
      })
      expect((await api.patch('merge', `${path}/${name}/scale`, { spec: { replicas: -1 } })).code).toBe(422)
      expect((await api.get(`${path}/${name}`)).body['spec']).toMatchObject({ replicas: 4 })
    })
    test.concurrent('a generation counts changes of the spec, not of status and labels', async () => {
      const path = `/apis/apps/v1/namespaces/${shared.split('/').at(-1)}/deployments`
      const name = fresh('d')
      const template = { metadata: { labels: { a: name } }, spec: { containers: podSpec.containers } }
      await api.made(path, { metadata: { name }, spec: { selector: { matchLabels: { a: name } }, template } })
      const generation = async (sub: string, patch: object) =>
        (await api.patch('merge', `${path}/${name}${sub}`, patch)).body.metadata.generation
      expect(await generation('', { metadata: { labels: { x: 'y' } } })).toBe(1)
      expect(await generation('/status', { status: { replicas: 1 } })).toBe(1)
      expect(await generation('', { spec: { replicas: 5 } })).toBe(2)
    })
    test.concurrent('a binding puts a pod on a node, once', async () => {
      const path = `${shared}/pods`
      const name = fresh('p')
      await api.made(path, { metadata: { name }, spec: podSpec })
      const bind = (node: string) =>
        api.post(`${path}/${name}/binding`, { metadata: { name }, target: { kind: 'Node', name: node } })
      expect((await bind('n1')).code).toBe(201)
      expect((await api.get(`${path}/${name}`)).body['spec']).toMatchObject({ nodeName: 'n1' })
      expect((await bind('n2')).code).toBe(409)
    })
    test.concurrent('one that the kind does not have is 404', async () => {
      expect((await api.get(`${at(await make())}/status`)).code).toBe(404)
    })
    test.concurrent('a token of an account, for an audience and a time', async () => {
      const path = `${shared}/serviceaccounts`
      const name = fresh('robot')
      await api.made(path, { metadata: { name } })
      const { code, body } = await api.post(`${path}/${name}/token`, {
        spec: { audiences: ['me'], expirationSeconds: 600 },
      })
      expect([code, body['status']]).toEqual([
        201,
        { token: expect.stringMatching(/^ey/), expirationTimestamp: expect.any(String) },
      ])
      expect((await api.post(`${path}/${name}/token`, { spec: { expirationSeconds: 1 } })).code).toBe(422)
      expect((await api.post(`${path}/none/token`, { spec: {} })).code).toBe(404)
    })
  })

  describe('paths and methods', () => {
    test.concurrent.each([
      ['GET', '/api/v1/namespaces/default/nothings', 404],
      ['GET', '/apis/none.example.org/v1/things', 404],
      ['GET', '/apis/apps/v9/deployments', 404],
      ['GET', '/nothing', 404],
      ['GET', '/api/v1/namespaces/default/nodes', 404],
      ['PUT', '/api/v1/namespaces/default/configmaps', 405],
      ['PATCH', '/api/v1/namespaces/default/configmaps', 405],
      ['POST', '/api/v1/configmaps', 405],
      ['DELETE', '/api/v1/configmaps', 405],
      ['OPTIONS', '/api/v1/namespaces/default/configmaps', 405],
      ['GET', '/api/v1/namespaces/nowhere/configmaps', 200],
      ['GET', '/api/v1/namespaces/nowhere/configmaps/x', 404],
    ] as const)('%s %s: %i', async (method, path, code) => {
      const body = method === 'POST' || method === 'PUT' || method === 'PATCH' ? { metadata: { name: 'x' } } : undefined
      const options = method === 'PATCH' ? { type: 'application/merge-patch+json' } : {}
      expect((await api.send(method, path, body, options)).code).toBe(code)
    })
  })
})
