// What every implementation of the client port must do, on the fake, over HTTPS and on any real API server: one suite, many servers.
import { describe, expect, it } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient, WatchEvent } from '#kube/client.ts'
import { ApiError, isAlreadyExists, isConflict, isGone, isInvalid, isNotFound } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

export const CONFIG_MAPS = coreKind('ConfigMap')
export const NODES = coreKind('Node')
const DEPLOYMENTS: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

export interface ContractServer {
  readonly client: KubeClient
  /** An existing namespace that no other test uses. */
  readonly namespace: string
  /** Compacts; a server that runs for real cannot be told to. */
  readonly forgetHistory?: () => Promise<void>
  readonly close: () => Promise<void>
}

let counter = 0
/** Names that do not collide on a server that is used twice. */
const fresh = (base: string): string => `${base}-${Date.now().toString(36)}${(++counter).toString(36)}`

const config = (
  namespace: string,
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
  data,
})

async function failureOf(run: Promise<unknown>): Promise<ApiError> {
  try {
    await run
  } catch (e) {
    if (e instanceof ApiError) return e
    throw e
  }
  throw new Error('it was not refused')
}

/** The first `n` events that are no bookmarks. */
async function take(events: AsyncIterable<WatchEvent>, n: number): Promise<string[]> {
  const out: string[] = []
  if (n === 0) return out
  for await (const e of events) {
    if (e.type === 'BOOKMARK') continue
    out.push(`${e.type} ${e.object.metadata.name} ${JSON.stringify(e.object['data'] ?? {})}`)
    if (out.length === n) break
  }
  return out
}

export function kubeClientContract(name: string, open: () => Promise<ContractServer>, canForget = false): void {
  const check = (title: string, run: (s: ContractServer) => Promise<void>) =>
    it(title, async () => {
      const server = await open()
      try {
        await run(server)
      } finally {
        await server.close()
      }
    })

  describe(`${name}: objects`, () => {
    check(
      'a created object has uid, creation time and resourceVersion and is read back the same',
      async ({ client, namespace }) => {
        const made = await client.create(CONFIG_MAPS, config(namespace, fresh('made'), { a: '1' }))
        expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
        expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
        expect(await client.get(CONFIG_MAPS, { namespace, name: made.metadata.name ?? '' })).toEqual(made)
      },
    )

    check('a missing object is undefined, not an error', async ({ client, namespace }) => {
      expect(await client.get(CONFIG_MAPS, { namespace, name: 'nothing-here' })).toBeUndefined()
    })

    check('a kind that is not installed is an error, not a missing object', async ({ client, namespace }) => {
      const nothing: ResourceType = {
        group: 'nothing.example',
        version: 'v1',
        kind: 'Nothing',
        plural: 'nothings',
        namespaced: true,
      }
      expect(isNotFound(await failureOf(client.get(nothing, { namespace, name: 'x' })))).toBe(true)
      expect(isNotFound(await failureOf(client.list(nothing, { namespace })))).toBe(true)
    })

    check('creating twice is AlreadyExists, which is no Conflict', async ({ client, namespace }) => {
      const object = config(namespace, fresh('twice'))
      await client.create(CONFIG_MAPS, object)
      const error = await failureOf(client.create(CONFIG_MAPS, object))
      expect([isAlreadyExists(error), isConflict(error), error.status]).toEqual([true, false, 409])
    })

    check('generateName makes a new name each time', async ({ client, namespace }) => {
      const wish = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-', namespace } }
      const [a, b] = [await client.create(CONFIG_MAPS, wish), await client.create(CONFIG_MAPS, wish)]
      expect(a.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/)
      expect(a.metadata.name).not.toBe(b.metadata.name)
    })

    check('a name that is no DNS subdomain is Invalid and names the field', async ({ client, namespace }) => {
      const error = await failureOf(client.create(CONFIG_MAPS, config(namespace, 'No_Good')))
      expect(isInvalid(error)).toBe(true)
      expect(error.causes.map((c) => c.field)).toContain('metadata.name')
    })

    check('an update from a stale copy is a Conflict and changes nothing', async ({ client, namespace }) => {
      const first = await client.create(CONFIG_MAPS, config(namespace, fresh('stale'), { a: '1' }))
      await client.update(CONFIG_MAPS, { ...first, data: { a: '2' } })
      const outcome = await outcomeOf(() => client.update(CONFIG_MAPS, { ...first, data: { a: '3' } }))
      expect(outcome.kind).toBe('Conflict')
      const now = await client.get(CONFIG_MAPS, { namespace, name: first.metadata.name ?? '' })
      expect(now?.['data']).toEqual({ a: '2' })
    })

    check('an update that changes nothing keeps the resourceVersion', async ({ client, namespace }) => {
      const first = await client.create(CONFIG_MAPS, config(namespace, fresh('noop'), { a: '1' }))
      const again = await client.update(CONFIG_MAPS, { ...first, data: { a: '1' } })
      expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    })

    check('an update for another uid is Stale', async ({ client, namespace }) => {
      const first = await client.create(CONFIG_MAPS, config(namespace, fresh('uid')))
      const other = { ...first, metadata: { ...first.metadata, uid: '00000000-0000-4000-8000-000000000000' } }
      expect((await outcomeOf(() => client.update(CONFIG_MAPS, other))).kind).toBe('Stale')
    })

    check('a dry run answers as the real thing and leaves nothing', async ({ client, namespace }) => {
      const name = fresh('dry')
      const seen = await client.create(CONFIG_MAPS, config(namespace, name, { a: '1' }), { dryRun: true })
      expect(seen['data']).toEqual({ a: '1' })
      expect(await client.get(CONFIG_MAPS, { namespace, name })).toBeUndefined()
    })
  })

  describe(`${name}: patches and apply`, () => {
    check('a merge patch sets and removes', async ({ client, namespace }) => {
      const name = fresh('merge')
      await client.create(CONFIG_MAPS, config(namespace, name, { a: '1', b: '2' }))
      const after = await client.patch(
        CONFIG_MAPS,
        { namespace, name },
        { type: 'merge', value: { data: { a: null, c: '3' } } },
      )
      expect(after['data']).toEqual({ b: '2', c: '3' })
    })

    check('a JSON patch whose test fails is refused and changes nothing', async ({ client, namespace }) => {
      const name = fresh('json')
      await client.create(CONFIG_MAPS, config(namespace, name, { a: '1' }))
      const operations = (seen: string) => [
        { op: 'test', path: '/data/a', value: seen },
        { op: 'replace', path: '/data/a', value: '2' },
      ]
      expect(
        (await failureOf(client.patch(CONFIG_MAPS, { namespace, name }, { type: 'json', operations: operations('9') })))
          .status,
      ).toBe(422)
      const after = await client.patch(CONFIG_MAPS, { namespace, name }, { type: 'json', operations: operations('1') })
      expect(after['data']).toEqual({ a: '2' })
    })

    check('a strategic merge patch merges conditions by type', async ({ client }) => {
      const name = fresh('node')
      await client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
      const patch = (type: string, status: string) =>
        client.patch(
          NODES,
          { name },
          { type: 'strategic', value: { status: { conditions: [{ type, status }] } } },
          { subresource: 'status' },
        )
      await patch('Ready', 'True')
      await patch('DiskPressure', 'False')
      const after = await patch('Ready', 'False')
      const conditions = after.status?.conditions
      expect(conditions?.map((c) => `${c.type}=${c.status}`).sort()).toEqual(['DiskPressure=False', 'Ready=False'])
      await client.delete(NODES, { name })
    })

    check(
      'apply owns its fields, refuses those of others, takes them with force, and removes what is not wanted any more',
      async ({ client, namespace }) => {
        const name = fresh('apply')
        const apply = (fieldManager: string, data: Record<string, string>, force = false) =>
          client.apply(
            CONFIG_MAPS,
            { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data },
            { fieldManager, force },
          )
        await apply('one', { a: '1', b: '1' })
        const refused = await failureOf(apply('two', { a: '2' }))
        expect(isConflict(refused)).toBe(true)
        expect(refused.causes.map((c) => c.field)).toEqual(['.data.a'])
        const taken = await apply('two', { a: '2' }, true)
        expect(taken['data']).toEqual({ a: '2', b: '1' })
        expect((await apply('one', {}))['data']).toEqual({ a: '2' })
        expect(taken.metadata.managedFields?.map((m) => m.manager).sort()).toEqual(['one', 'two'])
      },
    )

    check('applying the same again changes nothing', async ({ client, namespace }) => {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: fresh('same'), namespace },
        data: { a: '1' },
      }
      const first = await client.apply(CONFIG_MAPS, object, { fieldManager: 'one' })
      const again = await client.apply(CONFIG_MAPS, object, { fieldManager: 'one' })
      expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    })

    check('status and the rest are written apart', async ({ client }) => {
      const name = fresh('split')
      const made = await client.create(NODES, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name },
        spec: { podCIDR: '10.0.0.0/24' },
      })
      await client.update(NODES, { ...made, spec: {}, status: { phase: 'Running' } }, { subresource: 'status' })
      const after = await client.get(NODES, { name })
      expect(after?.['spec']).toMatchObject({ podCIDR: '10.0.0.0/24' })
      expect(after?.['status']).toMatchObject({ phase: 'Running' })
      await client.delete(NODES, { name })
    })

    check('scale sets replicas and nothing else', async ({ client, namespace }) => {
      const name = fresh('scale')
      const labels = { app: name }
      await client.create(DEPLOYMENTS, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name, namespace },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      })
      await client.scale(DEPLOYMENTS, { namespace, name }, 0)
      const after = await client.get(DEPLOYMENTS, { namespace, name })
      expect(after?.['spec']).toMatchObject({ replicas: 0, selector: { matchLabels: labels } })
      await client.delete(DEPLOYMENTS, { namespace, name })
    })
  })

  describe(`${name}: deletion`, () => {
    check('deleting says Deleted, and Gone when there is nothing', async ({ client, namespace }) => {
      const name = fresh('del')
      await client.create(CONFIG_MAPS, config(namespace, name))
      expect(await client.delete(CONFIG_MAPS, { namespace, name })).toBe('Deleted')
      expect(await client.delete(CONFIG_MAPS, { namespace, name })).toBe('Gone')
    })

    check(
      'a finalizer holds the object until it is taken off, and none can be added meanwhile',
      async ({ client, namespace }) => {
        const name = fresh('fin')
        const key = { namespace, name }
        await client.create(CONFIG_MAPS, {
          ...config(namespace, name),
          metadata: { name, namespace, finalizers: ['kubenode.io/test'] },
        })
        expect(await client.delete(CONFIG_MAPS, key)).toBe('Deleting')
        const held = await client.get(CONFIG_MAPS, key)
        expect(held?.metadata.deletionTimestamp).toBeDefined()
        const more = {
          type: 'merge',
          value: { metadata: { finalizers: ['kubenode.io/test', 'kubenode.io/more'] } },
        } as const
        expect(isInvalid(await failureOf(client.patch(CONFIG_MAPS, key, more)))).toBe(true)
        await client.patch(CONFIG_MAPS, key, { type: 'merge', value: { metadata: { finalizers: null } } })
        expect(await client.get(CONFIG_MAPS, key)).toBeUndefined()
      },
    )

    check('preconditions keep another object of the same name alive', async ({ client, namespace }) => {
      const name = fresh('pre')
      const key = { namespace, name }
      const first = await client.create(CONFIG_MAPS, config(namespace, name))
      const uid = '00000000-0000-4000-8000-000000000000'
      expect((await outcomeOf(() => client.delete(CONFIG_MAPS, key, { preconditions: { uid } }))).kind).toBe('Stale')
      await client.patch(CONFIG_MAPS, key, { type: 'merge', value: { data: { a: '1' } } })
      const resourceVersion = first.metadata.resourceVersion ?? ''
      expect(
        (await outcomeOf(() => client.delete(CONFIG_MAPS, key, { preconditions: { resourceVersion } }))).kind,
      ).toBe('Conflict')
      expect(await client.get(CONFIG_MAPS, key)).toBeDefined()
    })
  })

  describe(`${name}: lists and watches`, () => {
    check(
      'pages of a list are one consistent state, whatever is written between them',
      async ({ client, namespace }) => {
        const names = ['p1', 'p2', 'p3', 'p4', 'p5'].map((n) => fresh(n))
        const labels = { suite: fresh('pages') }
        for (const n of names) await client.create(CONFIG_MAPS, config(namespace, n, {}, labels))
        const selector = { namespace, labelSelector: `suite=${labels.suite}`, limit: 2 }
        const first = await client.list(CONFIG_MAPS, selector)
        await client.delete(CONFIG_MAPS, { namespace, name: names[4] ?? '' })
        await client.create(CONFIG_MAPS, config(namespace, fresh('p6'), {}, labels))
        const second = await client.list(CONFIG_MAPS, { ...selector, continue: first.continue ?? '' })
        const third = await client.list(CONFIG_MAPS, { ...selector, continue: second.continue ?? '' })
        const seen = [first, second, third].flatMap((p) => p.items.map((o) => o.metadata.name))
        expect(seen).toEqual(names.toSorted())
        expect(third.continue).toBeUndefined()
        expect(new Set([first, second, third].map((p) => p.resourceVersion)).size).toBe(1)
      },
    )

    check('items of a list carry kind and apiVersion', async ({ client, namespace }) => {
      await client.create(CONFIG_MAPS, config(namespace, fresh('kind')))
      const { items } = await client.list(CONFIG_MAPS, { namespace, limit: 1 })
      expect(items.map((o) => [o.apiVersion, o.kind])).toEqual([['v1', 'ConfigMap']])
    })

    check('label and field selectors choose', async ({ client, namespace }) => {
      const tag = fresh('sel')
      const [a, b, c] = [fresh('a'), fresh('b'), fresh('c')]
      await client.create(CONFIG_MAPS, config(namespace, a, {}, { tag, tier: 'x' }))
      await client.create(CONFIG_MAPS, config(namespace, b, {}, { tag, tier: 'y' }))
      await client.create(CONFIG_MAPS, config(namespace, c, {}, { tag }))
      const names = async (labelSelector: string, fieldSelector = '') =>
        (
          await client.list(CONFIG_MAPS, { namespace, labelSelector: `tag=${tag},${labelSelector}`, fieldSelector })
        ).items.map((o) => o.metadata.name)
      expect(await names('tier in (x,y)')).toEqual([a, b].toSorted())
      expect(await names('tier!=x')).toEqual([b, c].toSorted())
      expect(await names('!tier')).toEqual([c])
      expect(await names('tier', `metadata.name=${b}`)).toEqual([b])
    })

    check('a watch from a list sees every later change, in order', async ({ client, namespace }) => {
      const name = fresh('watch')
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace })
      const fieldSelector = `metadata.name=${name}`
      await client.create(CONFIG_MAPS, config(namespace, name, { a: '1' }))
      const seen = take(client.watch(CONFIG_MAPS, { namespace, fieldSelector, resourceVersion }), 3)
      await client.patch(CONFIG_MAPS, { namespace, name }, { type: 'merge', value: { data: { a: '2' } } })
      await client.delete(CONFIG_MAPS, { namespace, name })
      expect(await seen).toEqual([`ADDED ${name} {"a":"1"}`, `MODIFIED ${name} {"a":"2"}`, `DELETED ${name} {"a":"2"}`])
    })

    check('an object that leaves the selection of a watch is seen as deleted', async ({ client, namespace }) => {
      const name = fresh('leave')
      const tag = fresh('tag')
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace })
      await client.create(CONFIG_MAPS, config(namespace, name, {}, { tag }))
      await client.patch(
        CONFIG_MAPS,
        { namespace, name },
        { type: 'merge', value: { metadata: { labels: { tag: null } } } },
      )
      const seen = await take(client.watch(CONFIG_MAPS, { namespace, labelSelector: `tag=${tag}`, resourceVersion }), 2)
      expect(seen.map((s) => s.split(' ')[0])).toEqual(['ADDED', 'DELETED'])
    })

    check('a watch ends by itself after its timeout', async ({ client, namespace }) => {
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace })
      const seen = await take(
        client.watch(CONFIG_MAPS, {
          namespace,
          fieldSelector: 'metadata.name=nobody',
          resourceVersion,
          timeoutSeconds: 1,
        }),
        1,
      )
      expect(seen).toEqual([])
    })

    if (canForget)
      check(
        'a watch and a page from before forgotten history are Gone',
        async ({ client, namespace, forgetHistory }) => {
          for (const n of ['one', 'two', 'three']) await client.create(CONFIG_MAPS, config(namespace, fresh(n)))
          const page = await client.list(CONFIG_MAPS, { namespace, limit: 1 })
          await client.create(CONFIG_MAPS, config(namespace, fresh('later')))
          await forgetHistory?.()
          const watch = client.watch(CONFIG_MAPS, { namespace, resourceVersion: page.resourceVersion })
          expect(isGone(await failureOf(take(watch, 1)))).toBe(true)
          expect(
            isGone(await failureOf(client.list(CONFIG_MAPS, { namespace, limit: 1, continue: page.continue ?? '' }))),
          ).toBe(true)
        },
      )

    check('a watch that its reader leaves rejects nothing and frees its connection', async ({ client, namespace }) => {
      const stop = new AbortController()
      const seen = take(
        client.watch(CONFIG_MAPS, { namespace, fieldSelector: 'metadata.name=nobody', signal: stop.signal }),
        1,
      )
      setTimeout(() => stop.abort(new Error('enough')), 50)
      await expect(seen).rejects.toThrow('enough')
    })
  })
}
