// In place of kube-apiserver where the real one cannot be had: it takes its flags, checks certificates of clients, and keeps what it is given in the etcd that it is
// pointed at. Knows no kinds and no rights; enough to try how programs are started, ended, given credentials, copied and put back.
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer, request, type RequestOptions } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { isObject } from '#lib/json.ts'

const VERSION = 'v1.36.0'
const args = new Map(
  process.argv.slice(2).map((arg) => {
    const [flag = '', ...value] = arg.replace(/^--/, '').split('=')
    return [flag, value.join('=')] as const
  }),
)
if (args.has('version')) {
  process.stdout.write(`Kubernetes ${VERSION}\n`)
  process.exit(0)
}
const flag = (name: string): string => {
  const value = args.get(name)
  if (value === undefined) throw new Error(`--${name} is missing`)
  return value
}
const file = (name: string): Buffer => readFileSync(flag(name))
// As the real one, it does not start without what it would need later.
for (const needed of ['service-account-key-file', 'service-account-signing-key-file', 'requestheader-client-ca-file'])
  file(needed)
if (flag('service-cluster-ip-range') === '' || flag('service-account-issuer') === '') throw new Error('a flag is empty')

const store: RequestOptions = {
  ca: file('etcd-cafile'),
  cert: file('etcd-certfile'),
  key: file('etcd-keyfile'),
}
type Json = Readonly<Record<string, unknown>>

const textOf = async (stream: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of stream as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
const etcd = (path: string, body: Json): Promise<Json> =>
  new Promise((resolve, reject) => {
    const sent = request(`${flag('etcd-servers')}/v3/kv/${path}`, { ...store, method: 'POST' }, (answer) => {
      textOf(answer).then((text) => resolve(JSON.parse(text) as Json), reject)
    })
    sent.once('error', reject)
    sent.end(JSON.stringify(body))
  })

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const plain = (text: unknown): string => Buffer.from(String(text), 'base64').toString('utf8')
const kvsOf = (answer: Json): readonly Json[] => (Array.isArray(answer['kvs']) ? answer['kvs'].filter(isObject) : [])
const revisionOf = ({ header }: Json): string => (isObject(header) ? String(header['revision']) : '0')
const objectOf = (kv: Json): Json => {
  const object = JSON.parse(plain(kv['value'])) as { readonly metadata: object }
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(kv['mod_revision']) } }
}
const get = async (path: string): Promise<Json | undefined> => {
  const [kv] = kvsOf(await etcd('range', { key: base64(`/registry${path}`) }))
  return kv === undefined ? undefined : objectOf(kv)
}
const COLLECTION = /^(?:\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/[a-z]+$/

async function answered(asked: IncomingMessage): Promise<readonly [number, unknown]> {
  const { pathname } = new URL(asked.url ?? '/', 'https://localhost')
  const user = (asked.socket as TLSSocket).getPeerCertificate().subject?.CN
  if (user === undefined) return [401, { kind: 'Status', status: 'Failure', code: 401 }]
  if (pathname === '/readyz') return [isObject((await etcd('range', { key: base64('x') }))['header']) ? 200 : 500, 'ok']
  if (pathname === '/version') return [200, { gitVersion: VERSION }]
  const body = await textOf(asked)
  if (pathname.endsWith('/selfsubjectreviews')) return [201, { status: { userInfo: { username: user } } }]
  const details = { name: pathname.split('/').at(-1) }
  const notFound = [404, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, details }] as const
  if (asked.method === 'PATCH' || asked.method === 'PUT') {
    await etcd('put', { key: base64(`/registry${pathname}`), value: base64(body) })
    return [200, await get(pathname)]
  }
  if (asked.method !== 'GET') return notFound
  if (!COLLECTION.test(pathname)) {
    const found = await get(pathname)
    return found === undefined ? notFound : [200, found]
  }
  const prefix = `/registry${pathname}/`
  const answer = await etcd('range', { key: base64(prefix), range_end: base64(`${prefix.slice(0, -1)}0`) })
  const items = kvsOf(answer).map(objectOf)
  return [200, { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: revisionOf(answer) }, items }]
}

const server = createServer(
  {
    cert: file('tls-cert-file'),
    key: file('tls-private-key-file'),
    ca: file('client-ca-file'),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (asked, answer) => {
    answered(asked).then(
      ([status, body]) => {
        answer.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' })
        answer.end(typeof body === 'string' ? body : JSON.stringify(body))
      },
      (e: unknown) => {
        answer.statusCode = 500
        answer.end(String(e))
      },
    )
  },
)
server.listen(Number(flag('secure-port')), flag('bind-address'))
process.once('SIGTERM', () => process.exit(0))
