// Watches and lists as clients rely on them: nothing twice, nothing missing, in order; pages of one moment; the way back after 410.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rulesInForce } from '#test/support/servers/rules-in-force.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests, type WatchLine } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const configMap = (name: string, metadata = {}, data = {}) => ({ metadata: { name, ...metadata }, data })
const said = (lines: readonly WatchLine[]) => lines.map((l) => `${l.type} ${l.object.metadata?.name ?? ''}`)
const version = (o: { readonly metadata: { readonly resourceVersion?: string } }) => Number(o.metadata.resourceVersion)

describe.each(apiServers)('watches of $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  const space = async (): Promise<string> => {
    return `/api/v1/namespaces/${await api.namespace('watch')}/configmaps`
  }
  const nowOf = async (path: string): Promise<string> => (await api.get(path)).body.metadata.resourceVersion ?? ''
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })

  describe('events', () => {
    test.concurrent('creation, change and deletion arrive in order, each with its version', async () => {
      const path = await space()
      const watch = await api.watch(`${path}?watch=true&resourceVersion=${await nowOf(path)}`)
      await api.made(path, configMap('a'))
      await api.patch('merge', `${path}/a`, { data: { x: '1' } })
      await api.delete(`${path}/a`)
      const lines = await watch.until((l) => l.length >= 3)
      watch.close()
      expect(said(lines)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a'])
      const versions = lines.map((l) => version(l.object))
      expect(versions).toEqual(versions.toSorted((a, b) => a - b))
      expect(new Set(versions).size).toBe(3)
    })

    test.concurrent('changes that come faster than they are sent arrive all, each once and in order', async () => {
      const path = await space()
      for (const name of ['a', 'b', 'c', 'd']) await api.made(path, configMap(name))
      const from = await nowOf(path)
      const watches = await Promise.all([1, 2].map(() => api.watch(`${path}?watch=true&resourceVersion=${from}`)))
      const write = async (name: string): Promise<void> => {
        for (let i = 0; i < 25; i++) await api.patch('merge', `${path}/${name}`, { data: { x: String(i) } })
      }
      await Promise.all(['a', 'b', 'c', 'd'].map(write))
      const told = await Promise.all(watches.map((w) => w.until((l) => l.length >= 100)))
      for (const w of watches) w.close()
      const [versions = [], others] = told.map((lines) => lines.map((l) => version(l.object)))
      expect(versions).toEqual(versions.toSorted((x, y) => x - y))
      expect(new Set(versions).size).toBe(100)
      expect(others).toEqual(versions)
    })

    test.concurrent('without a version it begins with what is there', async () => {
      const path = await space()
      await api.made(path, configMap('a'))
      await api.made(path, configMap('b'))
      const watch = await api.watch(`${path}?watch=true`)
      await watch.until((l) => l.length >= 2)
      await api.made(path, configMap('c'))
      const lines = await watch.until((l) => l.length >= 3)
      watch.close()
      expect(said(lines)).toEqual(['ADDED a', 'ADDED b', 'ADDED c'])
    })

    test.concurrent('from a version it brings all that came after, and nothing before', async () => {
      const path = await space()
      const a = await api.made(path, configMap('a'))
      for (const name of ['b', 'c', 'd']) await api.made(path, configMap(name))
      const watch = await api.watch(`${path}?watch=true&resourceVersion=${a.metadata.resourceVersion}`)
      const lines = await watch.until((l) => l.length >= 3)
      watch.close()
      expect(said(lines)).toEqual(['ADDED b', 'ADDED c', 'ADDED d'])
    })

    test.concurrent('a write that changes nothing is no event', async () => {
      const path = await space()
      await api.made(path, configMap('a', {}, { x: '1' }))
      const watch = await api.watch(`${path}?watch=true&resourceVersion=${await nowOf(path)}`)
      await api.patch('merge', `${path}/a`, { data: { x: '1' } })
      await api.made(path, configMap('end'))
      const lines = await watch.until((l) => l.some((x) => x.object.metadata?.name === 'end'))
      watch.close()
      expect(said(lines)).toEqual(['ADDED end'])
    })

    test.concurrent('a dry run is no event', async () => {
      const path = await space()
      const watch = await api.watch(`${path}?watch=true&resourceVersion=${await nowOf(path)}`)
      await api.made(`${path}?dryRun=All`, configMap('dry'))
      await api.made(path, configMap('end'))
      const lines = await watch.until((l) => l.length > 0)
      watch.close()
      expect(said(lines)).toEqual(['ADDED end'])
    })

    test.concurrent('what a selector no longer matches is shown as deleted, what begins to match as added', async () => {
      const path = await space()
      await api.made(path, configMap('a', { labels: { in: 'yes' } }))
      const watch = await api.watch(`${path}?watch=true&labelSelector=in%3Dyes&resourceVersion=${await nowOf(path)}`)
      await api.patch('merge', `${path}/a`, { metadata: { labels: { in: 'no' } } })
      await api.patch('merge', `${path}/a`, { data: { unseen: '1' } })
      await api.patch('merge', `${path}/a`, { metadata: { labels: { in: 'yes' } } })
      const lines = await watch.until((l) => l.length >= 2)
      watch.close()
      expect(said(lines)).toEqual(['DELETED a', 'ADDED a'])
    })

    test.concurrent('one name: only that one, over deletion and rebirth', async () => {
      const path = await space()
      const watch = await api.watch(
        `${path}?watch=true&fieldSelector=metadata.name%3Da&resourceVersion=${await nowOf(path)}`,
      )
      for (const name of ['b', 'a', 'c']) await api.made(path, configMap(name))
      await api.delete(`${path}/a`)
      await api.made(path, configMap('a'))
      const lines = await watch.until((l) => l.length >= 3)
      watch.close()
      expect(said(lines)).toEqual(['ADDED a', 'DELETED a', 'ADDED a'])
    })

    test.concurrent('one name in all namespaces', async () => {
      const [one, two] = [await space(), await space()]
      const name = fresh('shared')
      const watch = await api.watch(`/api/v1/configmaps?watch=true&fieldSelector=metadata.name%3D${name}`)
      await api.made(one, configMap(name))
      await api.made(one, configMap('other'))
      await api.made(two, configMap(name))
      const lines = await watch.until((l) => l.length >= 2)
      watch.close()
      expect(said(lines)).toEqual([`ADDED ${name}`, `ADDED ${name}`])
    })

    test.concurrent('another namespace is not seen', async () => {
      const [one, two] = [await space(), await space()]
      const watch = await api.watch(`${one}?watch=true&resourceVersion=${await nowOf(one)}`)
      await api.made(two, configMap('there'))
      await api.made(one, configMap('here'))
      const lines = await watch.until((l) => l.length > 0)
      watch.close()
      expect(said(lines)).toEqual(['ADDED here'])
    })

    test.concurrent('metadata alone when that is asked for', async () => {
      const path = await space()
      await api.made(path, configMap('a', {}, { secret: 'content' }))
      const watch = await api.watch(`${path}?watch=true`, {
        headers: { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' },
      })
      const [line] = await watch.until((l) => l.length > 0)
      watch.close()
      expect(line?.object.kind).toBe('PartialObjectMetadata')
      expect(JSON.stringify(line)).not.toContain('content')
    })
  })

  describe('going on', () => {
    test.concurrent('a watcher that resumes again and again misses nothing while many write', async () => {
      const path = await space()
      let at = await nowOf(path)
      const total = 120
      const writing = Promise.all(
        Array.from({ length: 6 }, async (_, w) => {
          for (let i = 0; i < total / 6; i++) await api.made(path, configMap(`w${w}-${i}`))
        }),
      )
      const seen: string[] = []
      while (seen.length < total) {
        const watch = await api.watch(`${path}?watch=true&resourceVersion=${at}`)
        const lines = (await watch.until((l) => l.length > 0)).slice()
        watch.close()
        seen.push(...lines.map((l) => l.object.metadata.name ?? ''))
        at = lines.at(-1)?.object.metadata.resourceVersion ?? at
      }
      await writing
      expect([seen.length, new Set(seen).size]).toEqual([total, total])
    })

    test.concurrent('many watchers of one place all see the same in the same order', async () => {
      const path = await space()
      const at = await nowOf(path)
      const watches = await Promise.all(
        Array.from({ length: 20 }, () => api.watch(`${path}?watch=true&resourceVersion=${at}`)),
      )
      await Promise.all(Array.from({ length: 30 }, (_, i) => api.made(path, configMap(`n${i}`))))
      const all = await Promise.all(watches.map((w) => w.until((l) => l.length >= 30)))
      for (const w of watches) w.close()
      expect(new Set(all.map((l) => JSON.stringify(said(l)))).size).toBe(1)
    })

    test.concurrent('initial events end with a marked bookmark, then changes follow', async () => {
      const path = await space()
      await api.made(path, configMap('a'))
      const query = 'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
      const watch = await api.watch(`${path}?${query}`)
      await watch.until((l) => l.length >= 2)
      await api.made(path, configMap('b'))
      const all = await watch.until((l) => l.filter((line) => line.type === 'ADDED').length >= 2)
      watch.close()
      // A server adds bookmarks of its own about once a minute.
      const lines = all.filter((l, n) => n < 2 || l.type !== 'BOOKMARK')
      expect(lines.map((l) => l.type)).toEqual(['ADDED', 'BOOKMARK', 'ADDED'])
      expect(lines[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' })
      const [added, bookmark] = lines.map((l) => version(l.object))
      expect(bookmark).toBeGreaterThanOrEqual(added ?? Infinity)
    })

    test.concurrent('an old version is gone on from, or 410 in the stream, but never silence', async () => {
      const path = await space()
      for (let i = 0; i < 3; i++) await api.made(path, configMap(`n${i}`))
      const watch = await api.watch('/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=1')
      const first = watch.until((l) => l.length > 0)
      // a server that still has all its history resumes from there
      await api.made('/api/v1/namespaces/default/configmaps', configMap(fresh('later')))
      const [line] = await first
      watch.close()
      expect(line?.type === 'ERROR' ? line.object.code : line?.type).toBe(line?.type === 'ERROR' ? 410 : 'ADDED')
    })

    test.concurrent('the time that a client asks for ends the watch', async () => {
      const path = await space()
      const watch = await api.watch(`${path}?watch=true&timeoutSeconds=1`)
      await watch.ended
      expect(watch.lines).toEqual([])
    })

    test.concurrent.each([
      ['initial events without a match', 'sendInitialEvents=true', 422],
      ['a match without a watch list', 'resourceVersionMatch=Exact', 422],
      ['a version that is no number', 'resourceVersion=abc', 500],
      ['a selector that cannot be read', 'labelSelector=a%3Db%3Dc', 400],
    ])('refused: %s', async (_, query, code) => {
      const path = await space()
      expect((await api.get(`${path}?watch=true&${query}`)).code).toBe(code)
    })

    test.concurrent('who may only list may not watch', async () => {
      const path = await space()
      const [, , , namespace = ''] = path.split('/').slice(1)
      const user = fresh('lister')
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
      const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
      await api.made(`${rbac}/roles`, { metadata: { name: 'list' }, rules })
      await api.made(`${rbac}/rolebindings`, {
        metadata: { name: 'list' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'list' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      })
      await rulesInForce(api, user, rules, namespace)
      expect((await api.get(path, { as: user })).code).toBe(200)
      expect((await api.get(`${path}?watch=true`, { as: user })).code).toBe(403)
    })
  })

  describe('pages', () => {
    const pagesOf = async (
      path: string,
      limit: number,
      between: (page: number) => Promise<void> = async () => undefined,
    ) => {
      const pages: { readonly names: readonly string[]; readonly version: string | undefined }[] = []
      let token = ''
      do {
        const { body, code } = await api.get(
          `${path}?limit=${limit}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`,
        )
        expect(code).toBe(200)
        pages.push({
          names: (body.items ?? []).map((o) => o.metadata.name ?? ''),
          version: body.metadata.resourceVersion,
        })
        token = (body.metadata as { readonly continue?: string }).continue ?? ''
        await between(pages.length)
      } while (token !== '')
      return pages
    }

    test.concurrent('all pages show one moment, whatever is written between them', async () => {
      const path = await space()
      const names = Array.from({ length: 23 }, (_, i) => `n${String(i).padStart(2, '0')}`)
      for (const name of names) await api.made(path, configMap(name))
      const pages = await pagesOf(path, 5, async (page) => {
        await api.delete(`${path}/n22`)
        await api.delete(`${path}/n00`)
        await api.post(path, configMap(`n05-new-${page}`))
        await api.patch('merge', `${path}/n10`, { metadata: { labels: { page: String(page) } } })
      })
      expect(pages.flatMap((p) => p.names)).toEqual(names)
      expect(new Set(pages.map((p) => p.version)).size).toBe(1)
    })

    test.concurrent.each([1, 2, 3, 7, 100])('in pages of %i nothing is missing or twice', async (limit) => {
      const path = await space()
      const names = ['a', 'a-b', 'a.b', 'ab', 'b', 'b0', 'z']
      for (const name of names.toReversed()) await api.made(path, configMap(name))
      expect((await pagesOf(path, limit)).flatMap((p) => p.names)).toEqual(names.toSorted())
    })

    test.concurrent('the first page says how many more there are', async () => {
      const path = await space()
      for (const name of ['a', 'b', 'c']) await api.made(path, configMap(name))
      const { body } = await api.get(`${path}?limit=1`)
      expect(body.metadata).toMatchObject({ remainingItemCount: 2 })
    })

    test.concurrent('a watch from the version of a list sees exactly what came after it', async () => {
      const path = await space()
      await api.made(path, configMap('before'))
      const at = await nowOf(path)
      await api.made(path, configMap('after'))
      const watch = await api.watch(`${path}?watch=true&resourceVersion=${at}`)
      const lines = await watch.until((l) => l.length > 0)
      watch.close()
      expect(said(lines)).toEqual(['ADDED after'])
    })

    test.concurrent('an exact version is read as it was', async () => {
      const path = await space()
      await api.made(path, configMap('a'))
      const at = await nowOf(path)
      await api.delete(`${path}/a`)
      const { body } = await api.get(`${path}?resourceVersion=${at}&resourceVersionMatch=Exact`)
      expect(body.items?.map((o) => o.metadata.name)).toEqual(['a'])
    })

    test.concurrent('a token that is none is refused', async () => {
      expect((await api.get(`${await space()}?continue=nonsense`)).code).toBe(400)
    })
  })
})
