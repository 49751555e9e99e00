import { once } from 'node:events'
import { request } from 'node:https'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { loggerTo } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import type { KubeClient, RawRequest } from '#kube/client.ts'
import { realFiles } from '../files/real.ts'
import { ScrapeServer } from './scrape-server.ts'

const folders: string[] = []
const servers: ScrapeServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

/** An API server that accepts tokens starting with `good`, and lets users `good-1` and prometheus get nodes/metrics of `n-1`. */
function api() {
  const reviews: unknown[] = []
  const raw = async ({ path, body }: RawRequest) => {
    const { spec } = body as { readonly spec: Readonly<Record<string, unknown>> }
    reviews.push(spec)
    const token = String(spec['token'])
    const status = path.endsWith('tokenreviews')
      ? { authenticated: token.startsWith('good'), user: { username: token, groups: [] } }
      : { allowed: spec['user'] === 'good-1' || spec['user'] === 'prometheus' }
    return { status: 201, headers: {}, text: JSON.stringify({ status }) }
  }
  return { reviews, client: { raw } as unknown as KubeClient }
}

async function served(more: { readonly clientCa?: string; readonly cert?: string; readonly key?: string } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'kubenode-scrape-'))
  folders.push(folder)
  const { client, reviews } = api()
  const lines: string[] = []
  const keyFile = join(folder, 'scrape-tls.json')
  const make = () => {
    const server = new ScrapeServer({
      settings: { port: 0, cert: more.cert, key: more.key, clientCa: more.clientCa },
      client,
      clock: systemClock,
      log: loggerTo((_level, message) => void lines.push(message)),
      files: realFiles,
      keyFile,
      node: 'n-1',
      address: '127.0.0.1',
      text: () => 'node_load1 1\n',
    })
    servers.push(server)
    return server
  }
  return { make, reviews, lines, keyFile }
}

interface Asked {
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

async function ask(port: number | undefined, { token, cert, key }: Asked = {}): Promise<string> {
  const one = request({
    host: '127.0.0.1',
    port,
    path: '/metrics',
    rejectUnauthorized: false,
    agent: false,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...(cert !== undefined && { cert, key }),
  }).end()
  const [response] = (await once(one, 'response')) as [AsyncIterable<Buffer> & { readonly statusCode: number }]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return `${response.statusCode} ${text}`
}

test('a scraper reads what the API server lets it read of this node, and nobody else does', async () => {
  const { make, reviews } = await served()
  const server = make()
  await server.start()
  expect(await ask(server.port)).toMatch(/^401/)
  expect(await ask(server.port, { token: 'bad' })).toMatch(/^401/)
  expect(await ask(server.port, { token: 'good-2' })).toMatch(/^403/)
  expect(await ask(server.port, { token: 'good-1' })).toBe('200 node_load1 1\n')
  expect(reviews.at(-1)).toMatchObject({
    user: 'good-1',
    resourceAttributes: { resource: 'nodes', subresource: 'metrics', name: 'n-1', verb: 'get' },
  })
})

test('a client certificate counts only of the authority that the configuration names', async () => {
  const validity = { now: Date.now(), days: 1, earlierMs: 1_000 }
  const [ours, foreign] = [newAuthority('ours', validity), newAuthority('foreign', validity)]
  const clientCa = join(await mkdtemp(join(tmpdir(), 'kubenode-scrape-')), 'ca.crt')
  folders.push(dirname(clientCa))
  await writeFile(clientCa, ours.certificate)
  const { make } = await served({ clientCa })
  const server = make()
  await server.start()
  const pair = (authority: typeof ours, commonName: string) => {
    const { certificate, key } = issueCertificate(authority, { subject: { commonName }, validity, usage: 'client' })
    return { cert: certificate, key }
  }
  expect(await ask(server.port, pair(ours, 'prometheus'))).toMatch(/^200/)
  expect(await ask(server.port, pair(ours, 'somebody'))).toMatch(/^403/)
  expect(await ask(server.port, pair(foreign, 'prometheus'))).toMatch(/^401/)
})

test('the certificate is its own, stays over restarts, and only the agent reads its key', async () => {
  const { make, keyFile } = await served()
  const first = make()
  await first.start()
  const kept = await readFile(keyFile, 'utf8')
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  await first.stop()
  expect(first.port).toBeUndefined()
  const again = make()
  await again.start()
  expect(await ask(again.port, { token: 'good-1' })).toMatch(/^200/)
  expect(await readFile(keyFile, 'utf8')).toBe(kept)
})

test('a port in use, or an authority that is not there, stops nothing but the scrapes', async () => {
  const { make } = await served()
  const first = make()
  await first.start()
  const { make: other, lines } = await served({ clientCa: '/nonexistent/ca.crt' })
  const blind = other()
  await blind.start()
  expect(blind.port).toBeUndefined()
  expect(lines).toEqual(['Prometheus cannot scrape this node'])
})
