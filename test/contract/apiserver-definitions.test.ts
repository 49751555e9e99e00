// A definition that is being deleted on the embedded server, when the server stops in between or objects arrive at the last moment.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { newCredentials } from '#lib/x509/server-keys.ts'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const AT = `${DEFINITIONS}/widgets.going.example.org`
const WIDGETS = '/apis/going.example.org/v1/namespaces/default/widgets'
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.going.example.org' },
  spec: {
    group: 'going.example.org',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}
const widget = (name: string, finalizers: readonly string[] = []) => ({
  apiVersion: 'going.example.org/v1',
  kind: 'Widget',
  metadata: { name, finalizers },
})
const codeOf = async (api: Requests, path: string) => (await api.get(path)).code

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function started(
  options: Parameters<typeof startEmbedded>[0] = {},
): Promise<Requests & { stop: () => Promise<void> }> {
  const server: RunningServer = await startEmbedded({ loops: 'none', ...options })
  const api = new Requests(server)
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    api.close()
    await server.stop()
  }
  stops.push(stop)
  return Object.assign(api, { stop })
}

describe('a definition that is being removed', () => {
  test('goes on waiting after a restart, and goes when its last object does', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubenode-definitions-'))
    stops.push(async () => rmSync(folder, { recursive: true, force: true }))
    const credentials = newCredentials(Date.now(), ['127.0.0.1'])
    const again = () => started({ storage: sqliteStorage(join(folder, 'objects.db')), credentials })
    const first = await again()
    await first.made(DEFINITIONS, definition)
    await first.made(WIDGETS, widget('held', ['example.org/hold']))
    expect((await first.delete(AT)).code).toBe(200)
    await first.stop()
    const second = await again()
    expect((await second.get(AT)).body['status']).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Terminating', status: 'True' })]),
    })
    expect((await second.post(WIDGETS, widget('late'))).code).toBe(403)
    expect((await second.patch('merge', `${WIDGETS}/held`, { metadata: { finalizers: null } })).code).toBe(200)
    await expect.poll(() => codeOf(second, AT)).toBe(404)
  })

  test('takes hundreds of objects with it, and none is left when it is declared again', async () => {
    const api = await started()
    await api.made(DEFINITIONS, definition)
    const names = Array.from({ length: 240 }, (_, i) => `w-${i}`)
    await Promise.all(names.map((name) => api.made(WIDGETS, widget(name))))
    expect((await api.delete(AT)).code).toBe(200)
    await expect.poll(() => codeOf(api, AT)).toBe(404)
    await api.made(DEFINITIONS, definition)
    expect((await api.get(WIDGETS)).body.items).toEqual([])
  })

  test('deletes an object too that arrives after the others were counted', async () => {
    const api = await started()
    await api.made(DEFINITIONS, definition)
    await api.made(WIDGETS, widget('held', ['example.org/hold']))
    const [deleted, ...late] = await Promise.all([
      api.delete(AT),
      ...Array.from({ length: 40 }, (_, i) => api.post(WIDGETS, widget(`late-${i}`))),
    ])
    expect([deleted.code, late.filter((r) => r.code !== 201 && r.code !== 403)]).toEqual([200, []])
    await expect.poll(async () => (await api.get(WIDGETS)).body.items?.map((i) => i.metadata.name)).toEqual(['held'])
    await api.patch('merge', `${WIDGETS}/held`, { metadata: { finalizers: null } })
    await expect.poll(() => codeOf(api, AT)).toBe(404)
  })

  test('held by a finalizer of another program is empty and served until that is removed', async () => {
    const api = await started()
    const { metadata } = definition
    await api.made(DEFINITIONS, { ...definition, metadata: { ...metadata, finalizers: ['example.org/mine'] } })
    await api.made(WIDGETS, widget('a'))
    expect((await api.delete(AT)).code).toBe(200)
    await expect.poll(async () => (await api.get(AT)).body.metadata.finalizers).toEqual(['example.org/mine'])
    expect((await api.get(AT)).body['status']).toMatchObject({
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted' }),
      ]),
    })
    expect([(await api.get(WIDGETS)).body.items, (await api.post(WIDGETS, widget('b'))).code]).toEqual([[], 403])
    await api.patch('merge', AT, { metadata: { finalizers: null } })
    await expect.poll(() => codeOf(api, AT)).toBe(404)
  })
})
