// Fields that no part of KubeNode acts on: lint and admission refuse them, and an object that was stored before can be changed elsewhere, finalized and deleted.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { API_GROUP_VERSION, type ApiKind } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { EACH, unservedFields } from '#api/unserved.ts'
import { createValidator } from '#api/validate.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Json } from '#lib/json.ts'
import { installManifests } from '#programs/local/install.ts'
import { manifests } from '#test/support/servers/installed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'

const ladder = (probe: object) => [{ operations: [{ cordon: {} }], verify: { probe: { component: 'a', ...probe } } }]
const STORED: KubeObject = {
  apiVersion: API_GROUP_VERSION,
  kind: 'NodeRemedier',
  metadata: { name: 'stored', finalizers: ['example.org/kept'] },
  spec: { ...nodeRemedier.example.spec, ladder: ladder({ name: 'http' }) },
}

/** A spec for each field, whole enough for the rules of its definition. */
const USES: Readonly<Record<string, object>> = {
  'NodeRemedier spec.ladder[].verify.probe.name': { ladder: ladder({ name: 'http' }) },
}

const named = (path: readonly string[]): string => path.join('.').replaceAll(`.${EACH}`, EACH)
const cases = KINDS.flatMap((kind) => unservedFields(kind).map((field) => ({ kind, name: named(field.path) })))
const title = ({ kind, name }: (typeof cases)[number]) => `${kind.kind} ${name}`

function objectOf(kind: ApiKind, use: object): KubeObject {
  const { spec } = kind.example as unknown as { readonly spec: object }
  return { ...kind.example, spec: { ...spec, ...use } }
}

test('every such field has a case here', () => expect(Object.keys(USES).sort()).toEqual(cases.map(title).sort()))

describe('on a server', () => {
  let server: RunningServer
  let client: HttpKubeClient
  beforeAll(async () => {
    server = await startEmbedded()
    const clientCertificate = { cert: { data: server.cert }, key: { data: server.key } }
    client = new HttpKubeClient({ server: server.url, ca: { data: server.ca }, clientCertificate })
    await client.create(coreKind('Namespace'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fleet' } })
    const { kinds, rest } = manifests()
    await installManifests(client, { kinds, rest: [], hub: [] }, systemClock, false)
    await client.create(nodeRemedier, STORED as never)
    await installManifests(client, { kinds: [], rest, hub: [] }, systemClock, false)
  })
  afterAll(async () => {
    client.close()
    await server.stop()
  })

  test.each(cases.map((c) => [title(c), c] as const))('%s is refused', async (name, { kind }) => {
    const object = objectOf(kind, USES[name] ?? {})
    const namespace = kind.namespaced ? 'fleet' : undefined
    const placed = { ...object, metadata: { ...object.metadata, ...(namespace && { namespace }) } }
    await expect(client.create(kind, placed as never)).rejects.toThrow(/is not served yet/)
    const lint = createValidator().problems(kind, placed)
    expect(lint.map((p) => p.message).join()).toMatch(/not served yet/)
  })

  test('a field stored before can be changed elsewhere, finalized and deleted, and not set again', async () => {
    const key = { name: 'stored' }
    const change = (patch: object) => client.patch(nodeRemedier, key, { type: 'merge', value: patch as Json })
    await change({ metadata: { labels: { a: 'b' } } })
    await change({ spec: { priority: 3 } })
    // A rung keeps the name until it gets none, and cannot get it again.
    await change({ spec: { ladder: ladder({}) } })
    await expect(change({ spec: { ladder: ladder({ name: 'http' }) } })).rejects.toThrow(
      /verify.probe.name.* is not served yet/,
    )
    await client.delete(nodeRemedier, key)
    expect(await client.get(nodeRemedier, key)).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) } })
    await change({ metadata: { finalizers: null } })
    expect(await client.get(nodeRemedier, key)).toBeUndefined()
  })
})
