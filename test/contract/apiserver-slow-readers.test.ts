// Watches whose reader is slower than what it watches: everything in order once it reads, or a clean 410, never a hole; and little memory meanwhile.
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { Requests } from '#test/support/servers/api-requests.ts'

interface Line {
  readonly type: string
  readonly object: {
    readonly code?: number
    readonly reason?: string
    readonly metadata: { readonly name?: string; readonly resourceVersion?: string; readonly annotations?: object }
  }
}

/** More than the buffers of a connection hold on both sides, so that the server notices a client that does not read. */
const LARGE = 700_000
const PATH = '/api/v1/namespaces/default/configmaps'
const configMap = (name: string, bytes = LARGE) => ({
  metadata: { name, labels: { of: 'x' } },
  data: { fill: name + '.'.repeat(bytes) },
})

let server: ApiServer
let api: Requests
beforeAll(async () => {
  server = await createApiServer({ loops: 'none' })
  await server.listen()
  const { certificate: cert, key } = server.credentials.admin
  api = new Requests({ url: server.url, ca: server.ca, cert, key })
})
afterAll(async () => {
  api.close()
  await server.close()
})

interface SlowWatch {
  /** Reads on, until the server ends or the lines are enough. */
  readonly read: (isEnough: (lines: readonly Line[]) => boolean) => Promise<readonly Line[]>
  readonly close: () => void
}

/** Open and accepted, but not read. */
async function slowWatch(query: string, headers = {}): Promise<SlowWatch> {
  const { hostname, port } = new URL(server.url)
  const { certificate: cert, key } = server.credentials.admin
  const sent = request({
    hostname,
    port,
    ca: server.ca,
    cert,
    key,
    agent: false,
    path: `${PATH}?watch=1&${query}`,
    headers,
  })
  sent.end()
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    sent.once('response', resolve).once('error', reject),
  )
  sent.on('error', () => undefined)
  response.on('error', () => undefined)
  response.pause()
  return {
    close: () => void sent.destroy(),
    read: async (isEnough) => {
      const lines: Line[] = []
      let rest = ''
      for await (const part of response.setEncoding('latin1')) {
        const pieces = (rest + String(part)).split('\n')
        rest = pieces.pop() ?? ''
        lines.push(...pieces.map((p) => JSON.parse(p) as Line))
        if (isEnough(lines)) break
      }
      return lines
    },
  }
}

const now = async () => (await api.get(`${PATH}?limit=1`)).body.metadata.resourceVersion ?? ''
const named = (lines: readonly Line[]) => lines.filter((l) => l.type !== 'BOOKMARK').map((l) => l.object.metadata.name)
const inOrder = (lines: readonly Line[]) => {
  const versions = lines.flatMap((l) => l.object.metadata.resourceVersion ?? []).map(Number)
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b))
}

async function made(prefix: string, count: number, bytes = LARGE): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(4, '0')}`)
  for (const name of names) await api.made(PATH, configMap(name, bytes))
  return names
}

describe('F24 a reader that is slower than the changes', () => {
  test('gets all of them in order once it reads, when the history still has them', async () => {
    const watch = await slowWatch(`resourceVersion=${await now()}`)
    const names = await made('kept', 14)
    const lines = await watch.read((l) => l.length >= names.length)
    expect(named(lines)).toEqual(names)
    inOrder(lines)
    const more = await made('after', 1, 10)
    watch.close()
    expect(more.length).toBe(1)
  })

  test('goes on live after it has caught up', async () => {
    const watch = await slowWatch(`resourceVersion=${await now()}`)
    const names = await made('first', 12)
    let last: Promise<readonly string[]> | undefined
    const lines = await watch.read((l) => {
      if (l.length >= names.length) last ??= made('then', 2, 10)
      return l.length >= names.length + 2
    })
    watch.close()
    expect(named(lines)).toEqual([...names, ...((await last) ?? [])])
    inOrder(lines)
  })

  test('gets 410 where the history ends, after an unbroken beginning', async () => {
    const from = await now()
    const watch = await slowWatch(`resourceVersion=${from}`)
    const names = await made('lost', 45)
    const lines = await watch.read(() => false)
    expect(lines.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })
    const seen = named(lines.slice(0, -1))
    expect(seen).toEqual(names.slice(0, seen.length))
    expect(seen.length).toBeLessThan(names.length)
  })

  test('gets it too where its changes are chosen by a selector or shown as a table', async () => {
    const version = await now()
    const tables = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    const chosen = await slowWatch(`labelSelector=of%3Dx&resourceVersion=${version}`)
    const table = await slowWatch(`resourceVersion=${version}&includeObject=Object`, tables)
    const names = await made('chosen', 45)
    for (const watch of [chosen, table]) {
      const lines = await watch.read(() => false)
      expect(lines.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } })
      expect(lines.length).toBeLessThan(names.length)
    }
  })

  test('delays no other client', async () => {
    const version = await now()
    const slow = await slowWatch(`resourceVersion=${version}`)
    const quick = await api.watch(`${PATH}?watch=1&resourceVersion=${version}`)
    const names = await made('both', 20)
    const lines = await quick.until((l) => l.length >= names.length)
    expect(lines.map((l) => l.object.metadata?.name)).toEqual(names)
    quick.close()
    slow.close()
  })
})

describe('F24 the present state of a large collection', () => {
  test('reaches a reader whole, then what changed meanwhile, then the mark that it is complete', async () => {
    const before = (await api.get(PATH)).body.items?.map((o) => o.metadata.name ?? '') ?? []
    expect(before.length * LARGE).toBeGreaterThan(20_000_000)
    const query = 'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
    const watch = await slowWatch(query)
    await api.made(PATH, configMap('zz-meanwhile', 10))
    const isMark = (l: Line) =>
      l.type === 'BOOKMARK' && 'k8s.io/initial-events-end' in (l.object.metadata.annotations ?? {})
    const lines = await watch.read((l) => l.some(isMark) && named(l).includes('zz-meanwhile'))
    watch.close()
    expect(named(lines)).toEqual([...before, 'zz-meanwhile'])
    const mark = lines.findIndex(isMark)
    expect(mark).toBe(before.length)
    // the mark promises nothing that comes after it
    expect(Number(lines[mark]?.object.metadata.resourceVersion)).toBeLessThan(
      Number(lines.at(-1)?.object.metadata.resourceVersion),
    )
  })
})
