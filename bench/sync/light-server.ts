// Many API servers in one process, each below a path of its own (`/c17`): objects in memory, lists, gets and server-side apply by one manager, and nothing else.
// What sync costs is measured against them, since hundreds of real servers would take the machine for themselves. Counts are answered to the parent process.
import { createServer } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Stored {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface LightCounts {
  readonly reads: number
  readonly writes: number
  /** Clusters whose ConfigMaps were listed: those that sync compared with their commit. */
  readonly compared: number
}

const CONFIG_MAPS = 'api/v1/configmaps'

const stores = new Map<string, Map<string, Stored>>()
let version = 0
let [reads, writes] = [0, 0]
const compared = new Set<string>()

const storeOf = (cluster: string): Map<string, Stored> => {
  const known = stores.get(cluster) ?? new Map<string, Stored>()
  stores.set(cluster, known)
  return known
}

/** As one manager that owns everything it sent: the object becomes what was applied. */
function applied(before: Stored | undefined, sent: Stored): Stored {
  const metadata = {
    uid: `u-${version + 1}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    generation: 1,
    ...before?.metadata,
    ...sent.metadata,
    resourceVersion: String(++version),
  }
  return { ...sent, metadata }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string
  return text
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?')
  const [, cluster = '', ...rest] = path.split('/')
  const store = storeOf(cluster)
  const key = rest.join('/')
  if (request.method === 'GET') {
    reads++
    if (key === CONFIG_MAPS) compared.add(cluster)
    const found = store.get(key)
    if (found !== undefined) return send(response, 200, found)
    const items = [...store].filter(([k]) => k.startsWith(`${key}/`) || isOfAll(k, key)).map(([, o]) => o)
    const isList = key.endsWith('s')
    if (!isList)
      return send(response, 404, {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'NotFound',
        code: 404,
        // Without a name it would be the kind that is missing.
        details: { name: rest.at(-1) },
      })
    return send(response, 200, {
      kind: 'List',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(version) },
      items,
    })
  }
  writes++
  if (request.method === 'DELETE') {
    store.delete(key)
    return send(response, 200, { kind: 'Status', apiVersion: 'v1', status: 'Success' })
  }
  const sent = JSON.parse(await bodyOf(request)) as Stored
  const next = applied(store.get(key), sent)
  store.set(key, next)
  return send(response, 200, next)
}

/** `api/v1/configmaps` lists `api/v1/namespaces/default/configmaps/a`. */
function isOfAll(key: string, list: string): boolean {
  const at = list.lastIndexOf('/')
  return key.startsWith(`${list.slice(0, at)}/namespaces/`) && key.split('/').at(-2) === list.slice(at + 1)
}

const pair = JSON.parse(process.argv[2] ?? '{}') as { readonly cert: string; readonly key: string }
const server = createServer(pair, (request, response) => {
  answer(request, response).catch((error: unknown) => send(response, 500, { kind: 'Status', message: String(error) }))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (what) => {
  if (what === 'reset') {
    ;[reads, writes] = [0, 0]
    compared.clear()
  }
  process.send?.({ reads, writes, compared: compared.size } satisfies LightCounts)
})
process.on('disconnect', () => process.exit(0))
