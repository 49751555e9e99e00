// The administrator of a cluster fills it with objects of any size and number, or answers for its API server. The programs of the hub that read all clusters keep a
// bounded part of one in memory, and still read what an honest cluster with large objects has.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inventory } from '#api/kinds/inventory.ts'
import { oldestKubelet } from '#controlplanes/upgrade/cluster-readiness.ts'
import { readKind } from '#delivery/read-kind.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { listAll, listWanted } from '#kube/list-all.ts'
import { KIB } from '#lib/bytes.ts'

const BOUNDS = { parsed: 512 * KIB, text: 512 * KIB, listed: 1_024 * KIB }
const CONFIG_MAPS = coreKind('ConfigMap')

let server: Server
let client: HttpKubeClient
let asked: string[]
/** Sizes of the answers. */
let sent: number[]
let objects: readonly object[]
let isHonest: boolean
/** What each request is refused with, if it is. */
let refusal: string | undefined
/** The line of each watch. */
let event: object

beforeEach(async () => {
  asked = []
  sent = []
  isHonest = true
  refusal = undefined
  server = createServer(({ url = '/' }, answer) => {
    const { searchParams: query } = new URL(url, 'http://cluster')
    const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit') ?? objects.length)]
    asked.push(`${from}+${limit}`)
    answer.on('error', () => undefined)
    if (refusal !== undefined) return answer.writeHead(403, { 'content-type': 'application/json' }).end(refusal)
    if (query.has('watch')) return answer.writeHead(200).end(`${JSON.stringify(event)}\n`)
    const end = isHonest ? from + limit : objects.length
    const more = isHonest && end < objects.length ? { continue: String(end) } : {}
    const text = JSON.stringify({ metadata: { resourceVersion: '1', ...more }, items: objects.slice(from, end) })
    sent.push(text.length)
    return answer.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  client = new HttpKubeClient({ server: `http://127.0.0.1:${port}` }, { bounds: BOUNDS })
})
afterEach(() => {
  client.close()
  server.closeAllConnections()
  server.close()
})

const filled = (count: number, chars: number, more: (n: number) => object = () => ({})): readonly object[] =>
  Array.from({ length: count }, (_, n) => ({
    metadata: { name: `o-${n}`, namespace: 'default', uid: `u-${n}`, annotations: { a: 'x'.repeat(chars) } },
    ...more(n),
  }))

describe('a cluster with large objects', () => {
  test('is read in smaller pages, and of each object what is wanted', async () => {
    objects = filled(300, 10 * KIB)
    const names = await listWanted(client, CONFIG_MAPS, {}, ({ metadata }) => [metadata.name ?? ''])
    expect(names).toHaveLength(300)
    expect(asked.slice(0, 4)).toEqual(['0+500', '0+125', '0+32', '32+32'])
  })

  test('has its kubelets read, however much its Nodes carry', async () => {
    objects = filled(300, 10 * KIB, (n) => ({ status: { nodeInfo: { kubeletVersion: `v1.35.${n}` } } }))
    expect(await oldestKubelet(client, {})).toBe('1.35.0')
  })

  test('has what was declared read among everything else of its kind', async () => {
    objects = filled(300, 10 * KIB)
    const refs = Array.from({ length: 20 }, (_, n) => ({
      group: '',
      kind: 'ConfigMap',
      namespace: 'default',
      name: `o-${n * 20}`,
    }))
    const found = await readKind({ client, type: CONFIG_MAPS, signal: undefined }, refs)
    expect([...found.values()].filter((o) => typeof o === 'object')).toHaveLength(15)
  })
})

describe('a cluster that is filled to end the program', () => {
  test('has no list kept beyond the bound', async () => {
    objects = filled(1_000, 10 * KIB)
    await expect(listAll(client, inventory)).rejects.toThrow(
      /^KN2005: cannot list inventories.kubenode.io: all of them/,
    )
    const read = sent.slice(2).reduce((sum, size) => sum + size, 0)
    expect(read).toBeLessThan(BOUNDS.listed + BOUNDS.parsed)
  })

  test('has a page that is never small enough given up', async () => {
    objects = filled(1_000, 10 * KIB)
    isHonest = false
    await expect(listAll(client, inventory)).rejects.toThrow(/^KN2005: .* has more than 524288 characters/)
    expect(asked.at(-1)).toBe('0+1')
    expect(asked.length).toBeLessThan(10)
  })

  test('is asked once for an object that is too large', async () => {
    objects = filled(1, 2_048 * KIB)
    await expect(client.get(CONFIG_MAPS, { namespace: 'default', name: 'o-0' })).rejects.toThrow(/^KN2005/)
    await expect(client.raw({ method: 'GET', path: '/metrics' })).rejects.toThrow(/^KN2005/)
    expect(asked).toHaveLength(2)
  })

  test('has a watch ended whose versions are too long to keep', async () => {
    const metadata = { name: 'a', resourceVersion: '1'.repeat(2_000) }
    for (const type of ['ADDED', 'DELETED', 'BOOKMARK']) {
      event = { type, object: { metadata } }
      await expect(client.watch(CONFIG_MAPS).next()).rejects.toThrow(/^KN2410: .* very long resourceVersion/)
    }
  })

  test('has a refusal read up to a bound, and counted as a refusal', async () => {
    const status = (chars: number) =>
      JSON.stringify({ kind: 'Status', message: 'not you', reason: 'Forbidden', code: 403, fill: 'x'.repeat(chars) })
    refusal = status(8 * KIB)
    const reads = () => client.get(CONFIG_MAPS, { namespace: 'default', name: 'o-0' })
    await expect(reads()).rejects.toThrow(/^KN2403: .*Forbidden: not you/)
    refusal = status(4_096 * KIB)
    await expect(reads()).rejects.toThrow(/^KN2403: .*Forbidden: HTTP status 403 with more than 1048576 characters/)
    await expect(client.watch(CONFIG_MAPS).next()).rejects.toThrow(/^KN2403: .* with more than 1048576 characters/)
    expect(asked).toHaveLength(3)
  })
})
