// Versions of custom resources: the same fields under another name (None), or converted by a webhook (Webhook), for every way to read and write objects.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'
import { startWebhookEndpoint, type WebhookEndpoint } from '#test/support/servers/webhook-endpoint.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const WITHIN = { interval: 50 }

/** v1 has `hostPort: "host:port"`, v2 has `host` and `port`. */
const v1Schema = {
  type: 'object',
  properties: { spec: { type: 'object', properties: { hostPort: { type: 'string' }, replicas: { type: 'integer' } } } },
}
const v2Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        host: { type: 'string' },
        port: { type: 'string' },
        tier: { type: 'string', default: 'low' },
        replicas: { type: 'integer' },
      },
    },
  },
}

interface Choice {
  readonly storage?: 'v1' | 'v2'
  readonly conversion?: object
}

function definition(group: string, { storage = 'v1', conversion = { strategy: 'None' } }: Choice) {
  const version = (name: 'v1' | 'v2', openAPIV3Schema: object) => ({
    name,
    served: true,
    storage: name === storage,
    schema: { openAPIV3Schema },
    ...(name === 'v2' ? { selectableFields: [{ jsonPath: '.spec.host' }] } : {}),
    additionalPrinterColumns:
      name === 'v2'
        ? [{ name: 'Host', type: 'string', jsonPath: '.spec.host' }]
        : [{ name: 'HostPort', type: 'string', jsonPath: '.spec.hostPort' }],
    subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `doors.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'doors', singular: 'door', kind: 'Door', listKind: 'DoorList' },
      versions: [version('v1', v1Schema), version('v2', v2Schema)],
      conversion,
    },
  }
}

type Converted = Record<string, unknown> & { spec?: Record<string, unknown> }

function converted(o: KubeObject, desired: string): unknown {
  const { hostPort, host, port, ...spec } = (o['spec'] ?? {}) as Record<string, string>
  const next: Converted = { ...o, apiVersion: desired }
  if (desired.endsWith('/v2') && hostPort !== undefined)
    next.spec = { ...spec, host: hostPort.split(':')[0], port: hostPort.split(':')[1] }
  else if (desired.endsWith('/v1') && host !== undefined) {
    const { tier: _, ...rest } = spec
    next.spec = { ...rest, hostPort: `${host}:${port}` }
  }
  return next
}

interface ReviewRequest {
  readonly uid: string
  readonly desiredAPIVersion: string
  readonly objects: readonly KubeObject[]
}

describe.each(apiServers)('versions of a custom resource on $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  let endpoint: WebhookEndpoint
  let review: (request: ReviewRequest) => unknown
  let reviews: ReviewRequest[] = []
  const honest = ({ uid, desiredAPIVersion, objects }: ReviewRequest) => ({
    uid,
    result: { status: 'Success' },
    convertedObjects: objects.map((o) => converted(o, desiredAPIVersion)),
  })
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
    endpoint = await startWebhookEndpoint()
    endpoint.on('/convert', ({ request }, response) => {
      const asked = request as unknown as ReviewRequest
      reviews.push(asked)
      void Promise.resolve(review(asked)).then((answer) =>
        response.end(
          JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response: answer }),
        ),
      )
    })
  })
  afterEach(() => {
    review = honest
    reviews = []
  })
  afterAll(async () => {
    api.close()
    await endpoint.stop()
    await server.stop()
  })

  const webhook = () => ({
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: { url: `${endpoint.url}/convert`, caBundle: endpoint.caBundle },
    },
  })

  async function doors(choice: Choice) {
    review = honest
    const group = `${fresh('g')}.example.org`
    const body = definition(group, choice)
    await api.made(CRDS, body)
    const path = (v: 'v1' | 'v2') => `/apis/${group}/${v}/namespaces/default/doors`
    for (const v of ['v1', 'v2'] as const)
      await expect.poll(async () => (await api.get(path(v))).code, WITHIN).toBe(200)
    const door = (v: 'v1' | 'v2', name: string, spec: object, metadata = {}) => ({
      apiVersion: `${group}/${v}`,
      kind: 'Door',
      metadata: { name, ...metadata },
      spec,
    })
    return { group, v1: path('v1'), v2: path('v2'), door, crd: `${CRDS}/${body.metadata.name}` }
  }
  const specOf = (o: KubeObject | undefined) => o?.['spec'] as Record<string, unknown> | undefined

  describe('strategy None', () => {
    test('an object is shown under each version with the fields that the version knows', async () => {
      const { v1, v2, door, group } = await doors({})
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      const { body } = await api.get(`${v2}/a`)
      // Defaults are those of the version that is stored.
      expect([body.apiVersion, body['spec']]).toEqual([`${group}/v2`, {}])
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:1' })
    })

    test('the storage version may change: objects stored before are read in both versions, and stored in the new one when written', async () => {
      const { v1, v2, door, crd, group } = await doors({})
      await api.made(v1, door('v1', 'old', { hostPort: 'h:1', replicas: 1 }))
      const { body } = await api.get(crd)
      const changed = await api.put(crd, { ...definition(group, { storage: 'v2' }), metadata: body.metadata })
      expect(changed.code).toBe(200)
      expect(changed.body['status']).toMatchObject({ storedVersions: ['v1', 'v2'] })
      expect(specOf((await api.get(`${v1}/old`)).body)).toEqual({ hostPort: 'h:1', replicas: 1 })
      expect((await api.patch('merge', `${v2}/old`, { spec: { host: 'h' } })).body['spec']).toEqual({
        host: 'h',
        tier: 'low',
        replicas: 1,
      })
      expect(specOf((await api.get(`${v1}/old`)).body)).toEqual({ replicas: 1 })
    })

    test('a version that objects may be stored in cannot be dropped from storedVersions by dropping it from the definition', async () => {
      const { crd, group } = await doors({})
      const { body } = await api.get(crd)
      const only = definition(group, { storage: 'v2' })
      const without = { ...only, spec: { ...only.spec, versions: only.spec.versions.slice(1) } }
      const { code, body: answer } = await api.put(crd, { ...without, metadata: body.metadata })
      expect([code, answer.message]).toEqual([
        422,
        expect.stringContaining('was previously a storage version, and must remain in spec.versions'),
      ])
    })
  })

  describe('strategy Webhook', () => {
    test('is asked for the other version when an object is read, and not for its own', async () => {
      const { v1, v2, door, group } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      reviews = []
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:1' })
      // A server may keep the other version at hand for watchers before a client asks.
      expect(reviews.filter((r) => r.desiredAPIVersion === `${group}/v1`)).toEqual([])
      const { body } = await api.get(`${v2}/a`)
      expect([body.apiVersion, body['spec']]).toEqual([`${group}/v2`, { host: 'h', port: '1' }])
      expect(reviews.length).toBeGreaterThan(0)
      expect(reviews[0]).toMatchObject({
        desiredAPIVersion: `${group}/v2`,
        objects: [{ apiVersion: `${group}/v1`, kind: 'Door' }],
      })
    })

    test('an object that is made in the other version is stored in the storage version', async () => {
      const { v1, v2, door, group } = await doors({ conversion: webhook() })
      const made = await api.made(v2, door('v2', 'a', { host: 'h', port: '1' }))
      expect([made.apiVersion, specOf(made)]).toEqual([`${group}/v2`, { host: 'h', port: '1' }])
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:1' })
    })

    test.each([
      ['merge', { spec: { port: '2' } }],
      ['json', [{ op: 'replace', path: '/spec/port', value: '2' }]],
    ] as const)('a %s patch in the other version', async (kind, patch) => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1', replicas: 3 }))
      const { code, body } = await api.patch(kind, `${v2}/a`, patch)
      expect([code, specOf(body)]).toEqual([200, { host: 'h', port: '2', replicas: 3 }])
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:2', replicas: 3 })
    })

    test('an apply in the other version', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      const { code, body } = await api.patch(
        'apply',
        `${v2}/a?fieldManager=me&force=true`,
        door('v2', 'a', { port: '7' }),
      )
      expect([code, body.message, specOf(body)]).toEqual([200, undefined, { host: 'h', port: '7' }])
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:7' })
    })

    test('an update with an old resourceVersion is a conflict in the other version too', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      const made = await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      await api.patch('merge', `${v1}/a`, { spec: { hostPort: 'h:2' } })
      const { resourceVersion } = made.metadata
      const { code } = await api.put(`${v2}/a`, door('v2', 'a', { host: 'x', port: '1' }, { resourceVersion }))
      expect(code).toBe(409)
    })

    test('lists hold objects of both origins in the version that was asked for', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      for (const i of [1, 2, 3]) await api.made(v1, door('v1', `a${i}`, { hostPort: `h${i}:1` }))
      await api.made(v2, door('v2', 'b', { host: 'hb', port: '1' }))
      const { body } = await api.get(v2)
      expect((body.items ?? []).map((o) => specOf(o)?.['host'])).toEqual(['h1', 'h2', 'h3', 'hb'])
      expect(new Set((body.items ?? []).map((o) => o.apiVersion.split('/')[1]))).toEqual(new Set(['v2']))
    })

    test('pages of an older list', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      for (const i of [1, 2, 3]) await api.made(v1, door('v1', `a${i}`, { hostPort: `h${i}:1` }))
      const first = await api.get(`${v2}?limit=2`)
      await api.patch('merge', `${v1}/a3`, { spec: { hostPort: 'new:1' } })
      const rest = await api.get(`${v2}?limit=2&continue=${first.body.metadata['continue' as keyof object] as string}`)
      expect([rest.code, (rest.body.items ?? []).map((o) => specOf(o)?.['host'])]).toEqual([200, ['h3']])
    })

    test('field selectors and tables see the fields of the version that was asked for', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      for (const i of [1, 2]) await api.made(v1, door('v1', `a${i}`, { hostPort: `h${i}:1` }))
      const { body } = await api.get(`${v2}?fieldSelector=spec.host%3Dh2`)
      expect((body.items ?? []).map((o) => o.metadata.name)).toEqual(['a2'])
      const table = await api.get(v2, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
      expect((table.body['rows'] as { cells: unknown[] }[]).map((r) => r.cells)).toEqual([
        ['a1', 'h1'],
        ['a2', 'h2'],
      ])
    })

    test('a watch in the other version shows every change, converted and in order, also when the webhook is slow', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h0:1' }))
      const watch = await api.watch(`${v2}?watch=true`)
      await watch.until((l) => l.length > 0)
      let n = 0
      review = async (request) => {
        await new Promise((resolve) => setTimeout(resolve, ++n % 3 === 0 ? 60 : 5))
        return honest(request)
      }
      for (let i = 1; i <= 8; i++) await api.patch('merge', `${v1}/a`, { spec: { hostPort: `h${i}:1` } })
      await api.delete(`${v1}/a`)
      const lines = await watch.until((l) => l.some((x) => x.type === 'DELETED'))
      watch.close()
      expect(lines.map((l) => `${l.type} ${String(specOf(l.object)?.['host'])}`)).toEqual([
        'ADDED h0',
        ...Array.from({ length: 8 }, (_, i) => `MODIFIED h${i + 1}`),
        'DELETED h8',
      ])
      expect(new Set(lines.map((l) => l.object.apiVersion.split('/')[1]))).toEqual(new Set(['v2']))
    })

    test('a watch whose selection an object leaves shows it as deleted, in its version', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'here:1' }))
      const watch = await api.watch(`${v2}?watch=true&fieldSelector=spec.host%3Dhere`)
      await watch.until((l) => l.length > 0)
      await api.patch('merge', `${v1}/a`, { spec: { hostPort: 'there:1' } })
      const lines = await watch.until((l) => l.length > 1)
      watch.close()
      expect(lines.map((l) => [l.type, specOf(l.object)?.['host']])).toEqual([
        ['ADDED', 'here'],
        ['DELETED', 'here'],
      ])
    })

    test('scale in the other version', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1', replicas: 2 }))
      expect((await api.get(`${v2}/a/scale`)).body['spec']).toEqual({ replicas: 2 })
      expect((await api.patch('merge', `${v2}/a/scale`, { spec: { replicas: 5 } })).code).toBe(200)
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:1', replicas: 5 })
    })

    test('deletion and deletion of many in the other version', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      for (const i of [1, 2, 3]) await api.made(v1, door('v1', `a${i}`, { hostPort: `h${i}:1` }))
      expect((await api.delete(`${v2}/a1`)).code).toBe(200)
      expect((await api.delete(`${v2}?fieldSelector=spec.host%3Dh2`)).code).toBe(200)
      expect(((await api.get(v1)).body.items ?? []).map((o) => o.metadata.name)).toEqual(['a3'])
    })

    test('a dry run asks too, and stores nothing', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      const { body } = await api.patch('merge', `${v2}/a?dryRun=All`, { spec: { port: '9' } })
      expect(specOf(body)).toMatchObject({ host: 'h', port: '9' })
      expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:1' })
    })

    test('the storage version may change under a webhook: old objects are converted as they are read', async () => {
      const { v1, v2, door, crd, group } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'old', { hostPort: 'h:1' }))
      const { body } = await api.get(crd)
      await api.put(crd, { ...definition(group, { storage: 'v2', conversion: webhook() }), metadata: body.metadata })
      await api.made(v2, door('v2', 'new', { host: 'n', port: '1' }))
      await expect
        .poll(async () => ((await api.get(v1)).body.items ?? []).map((o) => specOf(o)?.['hostPort']), WITHIN)
        .toEqual(['n:1', 'h:1'])
      expect(((await api.get(v2)).body.items ?? []).map((o) => specOf(o)?.['host'])).toEqual(['n', 'h'])
    })

    test('labels and annotations may be changed by it', async () => {
      const { v1, v2, door } = await doors({ conversion: webhook() })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      review = (request) => {
        const answer = honest(request)
        return {
          ...answer,
          convertedObjects: answer.convertedObjects.map((o) => ({
            ...(o as KubeObject),
            metadata: { ...(o as KubeObject).metadata, labels: { seen: 'yes' } },
          })),
        }
      }
      expect((await api.get(`${v2}/a`)).body.metadata.labels).toEqual({ seen: 'yes' })
    })

    test.each([
      [
        'says that it failed',
        () => ({ result: { status: 'Failed', message: 'no such door' } }),
        /failed: no such door/,
      ],
      [
        'answers for another request',
        () => ({ uid: 'other', result: { status: 'Success' }, convertedObjects: [] }),
        /uid/,
      ],
      [
        'leaves an object out',
        () => ({ result: { status: 'Success' }, convertedObjects: [] }),
        /returned 0 objects, expected 1/,
      ],
      [
        'gives another version',
        (r: ReviewRequest) => ({ result: { status: 'Success' }, convertedObjects: r.objects }),
        /invalid groupVersion \(expected .*\/v2, received .*\/v1\)/,
      ],
      [
        'gives another kind',
        (r: ReviewRequest) => ({
          result: { status: 'Success' },
          convertedObjects: r.objects.map((o) => ({ ...o, apiVersion: r.desiredAPIVersion, kind: 'Window' })),
        }),
        /invalid kind/,
      ],
      [
        'renames an object',
        (r: ReviewRequest) => ({
          result: { status: 'Success' },
          convertedObjects: r.objects.map((o) => ({
            ...o,
            apiVersion: r.desiredAPIVersion,
            metadata: { ...o.metadata, name: 'other' },
          })),
        }),
        /returned invalid object: must have the same name: a != other/,
      ],
    ] as const)(
      'a webhook that %s: 500 with the reason, and the storage version is still read',
      async (_, answer, message) => {
        const { v1, v2, door } = await doors({ conversion: webhook() })
        await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
        review = (request) => ({ uid: request.uid, ...answer(request) })
        const { code, body } = await api.get(`${v2}/a`)
        expect([code, body.message]).toEqual([500, expect.stringMatching(/^conversion webhook for .*Kind=Door/)])
        expect(body.message).toMatch(message)
        expect((await api.get(`${v1}/a`)).code).toBe(200)
        // nothing half: a write in that version is refused too, and changes nothing
        expect((await api.patch('merge', `${v2}/a`, { spec: { port: '2' } })).code).toBe(500)
        expect(specOf((await api.get(`${v1}/a`)).body)).toEqual({ hostPort: 'h:1' })
        review = honest
        expect((await api.get(`${v2}/a`)).code).toBe(200)
      },
    )

    test('a webhook without a server: 500 with the reason', async () => {
      const conversion = {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:1/convert' } },
      }
      const { v1, v2, door } = await doors({ conversion })
      await api.made(v1, door('v1', 'a', { hostPort: 'h:1' }))
      const { code, body } = await api.get(`${v2}/a`)
      expect([code, body.message]).toEqual([
        500,
        expect.stringMatching(/^conversion webhook for .*failed: Post .*connection refused/),
      ])
    })

    test('definitions that cannot work are refused', async () => {
      const group = `${fresh('g')}.example.org`
      const refused = async (conversion: object) => (await api.post(CRDS, definition(group, { conversion }))).code
      expect(await refused({ strategy: 'Webhook' })).toBe(422)
      expect(
        await refused({
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: [], clientConfig: { url: 'https://127.0.0.1:1' } },
        }),
      ).toBe(422)
      expect(
        await refused({
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: ['v7'], clientConfig: { url: 'https://127.0.0.1:1' } },
        }),
      ).toBe(422)
      expect(
        await refused({ strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: {} } }),
      ).toBe(422)
      expect(
        await refused({
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'http://127.0.0.1:1' } },
        }),
      ).toBe(422)
    })
  })
})
