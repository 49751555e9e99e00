// Patches in their four formats, case by case: the result, or the refusal.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

type Fields = Readonly<Record<string, unknown>>
interface Case {
  readonly patch: unknown
  /** The data of the config map, or the answer's code. */
  readonly data?: Fields
  readonly code?: number
  readonly from?: Fields
}

const JSON_CASES: Readonly<Record<string, Case>> = {
  'add makes a member': { patch: [{ op: 'add', path: '/data/b', value: '2' }], data: { a: '1', b: '2' } },
  'add overwrites a member': { patch: [{ op: 'add', path: '/data/a', value: '2' }], data: { a: '2' } },
  'replace of what is there': { patch: [{ op: 'replace', path: '/data/a', value: '2' }], data: { a: '2' } },
  'replace of what is not there adds it, as the real server does': {
    patch: [{ op: 'replace', path: '/data/x', value: '2' }],
    data: { a: '1', x: '2' },
  },
  'remove takes a member': { patch: [{ op: 'remove', path: '/data/a' }], from: { a: '1', b: '2' }, data: { b: '2' } },
  'remove of what is not there': { patch: [{ op: 'remove', path: '/data/x' }], code: 422 },
  copy: { patch: [{ op: 'copy', from: '/data/a', path: '/data/b' }], data: { a: '1', b: '1' } },
  move: { patch: [{ op: 'move', from: '/data/a', path: '/data/b' }], data: { b: '1' } },
  'move of nothing': { patch: [{ op: 'move', from: '/data/x', path: '/data/b' }], code: 422 },
  'a test that holds lets the rest happen': {
    patch: [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'add', path: '/data/b', value: '2' },
    ],
    data: { a: '1', b: '2' },
  },
  'a test that fails undoes the rest': {
    patch: [
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'test', path: '/data/a', value: '9' },
    ],
    code: 422,
  },
  'an operation that does not exist': { patch: [{ op: 'swap', path: '/data/a' }], code: 422 },
  'an operation without an op': { patch: [{ path: '/data/a', value: '1' }], code: 422 },
  'a slash in a key is written ~1': { patch: [{ op: 'add', path: '/data/b~1c', value: '2' }], code: 422 },
  'a dot in a key needs nothing': {
    patch: [{ op: 'add', path: '/data/b.c', value: '2' }],
    data: { a: '1', 'b.c': '2' },
  },
  'no operation changes nothing': { patch: [], data: { a: '1' } },
  'an object is no JSON patch': { patch: { op: 'add' }, code: 400 },
  'a value of the wrong type': { patch: [{ op: 'add', path: '/data/b', value: 2 }], code: 422 },
  'many in order': {
    patch: [
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'replace', path: '/data/b', value: '3' },
      { op: 'move', from: '/data/b', path: '/data/c' },
    ],
    data: { a: '1', c: '3' },
  },
}

const MERGE_CASES: Readonly<Record<string, Case>> = {
  'a member is set': { patch: { data: { b: '2' } }, data: { a: '1', b: '2' } },
  'null removes a member': { patch: { data: { a: null } }, from: { a: '1', b: '2' }, data: { b: '2' } },
  'null of what is not there changes nothing': { patch: { data: { x: null } }, data: { a: '1' } },
  'null of all data': { patch: { data: null }, data: undefined as unknown as Fields },
  'an empty patch changes nothing': { patch: {}, data: { a: '1' } },
  'a list is no merge patch': { patch: [], code: 400 },
  'a number where a text belongs': { patch: { data: { b: 2 } }, code: 422 },
  'a text where a map belongs': { patch: { data: 'x' }, code: 422 },
  'another name': { patch: { metadata: { name: 'other' } }, code: 400 },
  'another namespace': { patch: { metadata: { namespace: 'other' } }, code: 400 },
  'a key that data cannot have': { patch: { data: { 'a b': 'x' } }, code: 422 },
}

const STRATEGIC_CASES: Readonly<
  Record<string, { readonly patch: unknown; readonly containers?: unknown; readonly code?: number }>
> = {
  'merges containers by name': { patch: [{ name: 'a', image: 'new' }], containers: ['a new', 'b i'] },
  'adds a container': { patch: [{ name: 'c', image: 'i' }], containers: ['a i', 'b i', 'c i'] },
  'takes a container out': { patch: [{ name: 'a', $patch: 'delete' }], containers: ['b i'] },
  'replaces the list': { patch: [{ $patch: 'replace' }, { name: 'z', image: 'i' }], containers: ['z i'] },
  'refuses an element without its key': { patch: [{ image: 'x' }], code: 500 },
  'refuses an unknown directive': { patch: [{ name: 'a', $patch: 'explode' }], code: 500 },
  'deleting what is not there changes nothing': {
    patch: [{ name: 'x', $patch: 'delete' }],
    containers: ['a i', 'b i'],
  },
}

describe.each(apiServers)('patches on $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  let space = ''
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    space = await api.namespace('patch')
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const maps = () => `/api/v1/namespaces/${space}/configmaps`
  const made = async (data: Fields = { a: '1' }, metadata = {}): Promise<string> => {
    const name = fresh('m')
    await api.made(maps(), { metadata: { name, ...metadata }, data })
    return `${maps()}/${name}`
  }
  const tried =
    (kind: 'json' | 'merge') =>
    async (_: string, { patch, data, code = 200, from }: Case) => {
      const path = await made(from)
      const { code: answered, body } = await api.patch(kind, path, patch)
      expect([answered, body.message]).toEqual([code, code === 200 ? undefined : expect.any(String)])
      const after = (await api.get(path)).body['data']
      expect(after).toEqual(code === 200 ? data : (from ?? { a: '1' }))
    }

  describe('JSON patch', () => {
    test.concurrent.each(Object.entries(JSON_CASES))('%s', tried('json'))
  })

  describe('merge patch', () => {
    test.concurrent.each(Object.entries(MERGE_CASES))('%s', tried('merge'))
  })

  describe('strategic merge patch of the containers of a deployment', () => {
    test.concurrent.each(Object.entries(STRATEGIC_CASES))('%s', async (_, { patch, containers, code = 200 }) => {
      const name = fresh('d')
      const path = `/apis/apps/v1/namespaces/${space}/deployments`
      const template = {
        metadata: { labels: { a: name } },
        spec: {
          containers: [
            { name: 'a', image: 'i' },
            { name: 'b', image: 'i' },
          ],
        },
      }
      await api.made(path, { metadata: { name }, spec: { selector: { matchLabels: { a: name } }, template } })
      const answer = await api.patch('strategic', `${path}/${name}`, {
        spec: { template: { spec: { containers: patch } } },
      })
      expect(answer.code).toBe(code)
      if (code !== 200) return
      const spec = answer.body['spec'] as { template: { spec: { containers: { name: string; image: string }[] } } }
      expect(
        spec.template.spec.containers.map((c) => `${c.name} ${c.image}`).toSorted((a, b) => (a < b ? -1 : 1)),
      ).toEqual(containers)
    })
  })

  describe('what all patches have in common', () => {
    test.concurrent.each(['json', 'merge', 'strategic'] as const)(
      'a %s patch of an object that is not there is 404',
      async (kind) => {
        expect((await api.patch(kind, `${maps()}/none`, kind === 'json' ? [] : {})).code).toBe(404)
      },
    )
    test.concurrent('a patch of an unknown type is 415', async () => {
      const { code, body } = await api.patch('merge', await made(), {}, { type: 'application/x-patch' })
      expect([code, body.reason]).toEqual([415, 'UnsupportedMediaType'])
    })
    test.concurrent('labels, annotations and finalizers are patched as data are', async () => {
      const path = await made({}, { labels: { a: '1', b: '2' } })
      const { body } = await api.patch('merge', path, {
        metadata: { labels: { a: null, c: '3' }, annotations: { x: 'y' } },
      })
      expect([body.metadata.labels, body.metadata.annotations]).toEqual([{ b: '2', c: '3' }, { x: 'y' }])
    })
    test.concurrent('a label that none may have is refused', async () => {
      expect((await api.patch('merge', await made(), { metadata: { labels: { 'a b': 'x' } } })).code).toBe(422)
      expect((await api.patch('merge', await made(), { metadata: { labels: { a: 'not a value!' } } })).code).toBe(422)
    })
    test.concurrent('a patch that names an older version is a conflict, one that names the present one is not', async () => {
      const path = await made()
      const before = (await api.get(path)).body.metadata.resourceVersion
      const now = (await api.patch('merge', path, { data: { b: '2' } })).body.metadata.resourceVersion
      expect((await api.patch('merge', path, { metadata: { resourceVersion: before }, data: { c: '3' } })).code).toBe(
        409,
      )
      expect((await api.patch('merge', path, { metadata: { resourceVersion: now }, data: { c: '3' } })).code).toBe(200)
    })
    test.concurrent('another uid is refused', async () => {
      expect((await api.patch('merge', await made(), { metadata: { uid: 'other' } })).code).toBe(422)
    })
    test.concurrent('what the server keeps is not changed: uid, creation, generation', async () => {
      const path = await made()
      const { body } = await api.get(path)
      const { body: after } = await api.patch('merge', path, {
        metadata: { creationTimestamp: '2001-01-01T00:00:00Z', selfLink: 'x' },
      })
      expect([after.metadata.uid, after.metadata.creationTimestamp]).toEqual([
        body.metadata.uid,
        body.metadata.creationTimestamp,
      ])
    })
    test.concurrent('a patch that changes nothing gives no new version', async () => {
      const path = await made()
      const before = (await api.get(path)).body.metadata.resourceVersion
      const { body } = await api.patch('merge', path, { data: { a: '1' } })
      expect(body.metadata.resourceVersion).toBe(before)
    })
    test.concurrent('a dry run answers the outcome and stores nothing', async () => {
      const path = await made()
      const { code, body } = await api.patch('merge', `${path}?dryRun=All`, { data: { a: '2' } })
      expect([code, body['data']]).toEqual([200, { a: '2' }])
      expect((await api.get(path)).body['data']).toEqual({ a: '1' })
    })
    test.concurrent('an unknown field is dropped, warned about, or refused, as the client wishes', async () => {
      const path = await made()
      const ignored = await api.patch('merge', `${path}?fieldValidation=Ignore`, { extra: 1 })
      const warned = await api.patch('merge', `${path}?fieldValidation=Warn`, { extra: 1 })
      const strict = await api.patch('merge', `${path}?fieldValidation=Strict`, { extra: 1 })
      expect([ignored.code, ignored.warnings, warned.code, warned.warnings, strict.code]).toEqual([
        200,
        [],
        200,
        ['unknown field "extra"'],
        422,
      ])
    })
    test.concurrent('a hundred patches at once all count', async () => {
      const path = await made({})
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => api.patch('merge', path, { data: { [`k${i}`]: String(i) } })),
      )
      expect(new Set(answers.map((a) => a.code))).toEqual(new Set([200]))
      expect(Object.keys((await api.get(path)).body['data'] as object)).toHaveLength(40)
    })
    test.concurrent('immutable data stay as they are', async () => {
      const name = fresh('fixed')
      await api.made(maps(), { metadata: { name }, data: { a: '1' }, immutable: true })
      expect((await api.patch('merge', `${maps()}/${name}`, { data: { a: '2' } })).code).toBe(422)
      expect((await api.patch('merge', `${maps()}/${name}`, { metadata: { labels: { x: 'y' } } })).code).toBe(200)
    })
  })

  describe('apply', () => {
    const apply = (name: string, manager: string, data: Fields, query = '', metadata = {}) =>
      api.patch('apply', `${maps()}/${name}?fieldManager=${manager}${query}`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, ...metadata },
        data,
      })
    const ownersOf = (o: {
      readonly metadata: { readonly managedFields?: readonly { readonly manager?: string }[] }
    }) => (o.metadata.managedFields ?? []).map((m) => m.manager).toSorted((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1))

    test.concurrent('makes an object that is not there: 201', async () => {
      const { code, body } = await apply(fresh('a'), 'one', { a: '1' })
      expect([code, body['data'], ownersOf(body)]).toEqual([201, { a: '1' }, ['one']])
    })
    test.concurrent('again the same gives no new version', async () => {
      const name = fresh('a')
      const first = await apply(name, 'one', { a: '1' })
      const second = await apply(name, 'one', { a: '1' })
      expect([second.code, second.body.metadata.resourceVersion]).toEqual([200, first.body.metadata.resourceVersion])
    })
    test.concurrent('two managers of different fields both stay', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1' })
      const { body } = await apply(name, 'two', { b: '2' })
      expect([body['data'], ownersOf(body)]).toEqual([{ a: '1', b: '2' }, ['one', 'two']])
    })
    test.concurrent('a field of another is a conflict that names him, and nothing is written', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1' })
      const { code, body } = await apply(name, 'two', { a: '2' })
      expect([code, body.reason, body.message]).toEqual([
        409,
        'Conflict',
        expect.stringContaining('conflict with "one": .data.a'),
      ])
      expect((await api.get(`${maps()}/${name}`)).body['data']).toEqual({ a: '1' })
    })
    test.concurrent('the same value is no conflict: both own it', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1' })
      const { code, body } = await apply(name, 'two', { a: '1' })
      expect([code, ownersOf(body)]).toEqual([200, ['one', 'two']])
    })
    test.concurrent('by force it is taken, and the other owns it no more', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1' })
      const { code, body } = await apply(name, 'two', { a: '2' }, '&force=true')
      expect([code, body['data'], ownersOf(body)]).toEqual([200, { a: '2' }, ['two']])
    })
    test.concurrent('what is no longer applied goes', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1', b: '2' })
      expect((await apply(name, 'one', { a: '1' })).body['data']).toEqual({ a: '1' })
    })
    test.concurrent('what is no longer applied stays while another owns it', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1', b: '2' })
      await apply(name, 'two', { b: '2' })
      expect((await apply(name, 'one', { a: '1' })).body['data']).toEqual({ a: '1', b: '2' })
    })
    test.concurrent('a plain update takes fields, and the next apply gets a conflict', async () => {
      const name = fresh('a')
      await apply(name, 'one', { a: '1' })
      await api.patch('merge', `${maps()}/${name}?fieldManager=hand`, { data: { a: '2' } })
      const { code, body } = await apply(name, 'one', { a: '1' })
      expect([code, body.message]).toEqual([409, expect.stringContaining('"hand"')])
    })
    test.concurrent('without a manager it is refused', async () => {
      const name = fresh('a')
      const { code } = await api.patch('apply', `${maps()}/${name}`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
      })
      expect(code).toBe(422)
    })
    test.concurrent('managedFields may not be sent', async () => {
      expect((await apply(fresh('a'), 'one', {}, '', { managedFields: [] })).code).toBe(400)
    })
    test.concurrent('another kind than that of the path is refused', async () => {
      const name = fresh('a')
      const { code } = await api.patch('apply', `${maps()}/${name}?fieldManager=one`, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
      })
      expect(code).toBe(400)
    })
    test.concurrent('another name than that of the path is refused', async () => {
      const { code } = await api.patch('apply', `${maps()}/${fresh('a')}?fieldManager=one`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'other' },
      })
      expect(code).toBe(400)
    })
    test.concurrent('a dry run makes nothing', async () => {
      const name = fresh('a')
      expect((await apply(name, 'one', { a: '1' }, '&dryRun=All')).code).toBe(201)
      expect((await api.get(`${maps()}/${name}`)).code).toBe(404)
    })
    test.concurrent('a field that the kind does not have is refused', async () => {
      const name = fresh('a')
      const { code, body } = await api.patch('apply', `${maps()}/${name}?fieldManager=one`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
        extra: 1,
      })
      expect([code, body.message]).toEqual([500, expect.stringContaining('.extra: field not declared in schema')])
    })
    test.concurrent('two that make the same object at once agree on one', async () => {
      const name = fresh('a')
      const answers = await Promise.all(['one', 'two', 'three'].map((m) => apply(name, m, { [m]: '1' })))
      expect(answers.map((a) => a.code).toSorted((a, b) => a - b)).toEqual([200, 200, 201])
      expect((await api.get(`${maps()}/${name}`)).body['data']).toEqual({ one: '1', two: '1', three: '1' })
    })
  })
})
