// Metrics on the address of a pod, against the embedded server with the shipped roles: who reads them, what is kept of an answer, and a certificate that scrapers verify.
import { request } from 'node:https'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  METRICS_READER,
  METRICS_SERVER_NAME,
  metricsSecretName,
  hostedAccount,
  programAccount,
  programUser,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import type { RawRequest } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { install } from '#programs/local/install.ts'
import { KEPT_MS } from '#runtime/metrics-access.ts'
import { MetricsServer } from '#runtime/metrics-server.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { readSecret } from '#runtime/tls/shared-secret.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { METERED } from '../../deploy/charts/system.ts'

const secretOf = (program: string) => ({ namespace: SYSTEM_NAMESPACE, name: metricsSecretName(program) })
const SECRET = secretOf('defender')
let server: RunningServer
let admin: HttpKubeClient
let defender: HttpKubeClient
let clientAs: (user: string) => HttpKubeClient
const ends: (() => unknown)[] = []

const account = (kind: string, plural: string, group = '') => ({ group, version: 'v1', kind, plural, namespaced: true })
const ACCOUNTS = account('ServiceAccount', 'serviceaccounts')
const BINDINGS = {
  ...account('ClusterRoleBinding', 'clusterrolebindings', 'rbac.authorization.k8s.io'),
  namespaced: false,
}

beforeAll(async () => {
  server = await startEmbedded()
  const connection = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  admin = new HttpKubeClient(connection)
  clientAs = (user) => new HttpKubeClient({ ...connection, impersonate: { user, groups: ['system:authenticated'] } })
  defender = clientAs(programUser('defender'))
  await install(admin, join(import.meta.dirname, '../../deploy'), systemClock)
  for (const name of ['prometheus', 'stranger'])
    await admin.create(ACCOUNTS, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } })
  await bind('prometheus', [
    { kind: 'ServiceAccount', name: 'prometheus', namespace: 'default' },
    { kind: 'Group', name: 'scrapers', apiGroup: 'rbac.authorization.k8s.io' },
  ])
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})
afterAll(async () => {
  admin.close()
  defender.close()
  await server.stop()
})

const bind = (name: string, subjects: readonly object[]) =>
  admin.create(BINDINGS, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: METRICS_READER },
    subjects,
  })

async function tokenOf(name: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { text } = await admin.raw({ method: 'POST', path, body })
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
}

interface Change {
  readonly clientCa?: string
  readonly client?: HttpKubeClient
  readonly secret?: typeof SECRET
}

async function serve(change: Change = {}) {
  const clock = new VirtualClock(Date.now())
  const asked: string[] = []
  const client = change.client ?? defender
  const counted = Object.assign(Object.create(client) as HttpKubeClient, {
    raw: (r: RawRequest) => {
      asked.push(r.path.split('/').at(-1) ?? '')
      return client.raw(r)
    },
    get: client.get.bind(client),
    update: client.update.bind(client),
  })
  const part = new MetricsServer({
    metrics: createMetrics({ cluster: 'edge' }).registry,
    client: counted,
    clock,
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
    keys: { secret: change.secret ?? SECRET, serverName: METRICS_SERVER_NAME },
    ...defined({ clientCa: change.clientCa }),
  })
  await part.start()
  ends.push(() => part.stop())
  const ca = (await readSecret(admin, change.secret ?? SECRET)).data['ca.crt'] ?? ''
  return { part, clock, asked, ca, get: getter(part, ca) }
}

const getter =
  (part: MetricsServer, ca: string) =>
  (
    token?: string,
    more: { readonly path?: string; readonly method?: string; readonly cert?: string; readonly key?: string } = {},
  ) =>
    new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
      const { path = '/metrics', ...rest } = more
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const options = {
        host: '127.0.0.1',
        port: part.port,
        path,
        ca,
        servername: METRICS_SERVER_NAME,
        headers,
        agent: false,
        ...rest,
      }
      request(options as object, (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (body += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      })
        .on('error', reject)
        .end()
    })

test.each(METERED)('the account of %s is enough to serve its metrics', async (program) => {
  // Each program that is hosted has an account of its own; all of them share the name of their metrics.
  const client = clientAs(programAccount(program === 'hosted' ? hostedAccount('controllers') : program))
  ends.push(() => client.close())
  const { get } = await serve({ client, secret: secretOf(program) })
  expect((await get(await tokenOf('prometheus'))).status).toBe(200)
})

test('a scraper that may read them gets them by the shared authority; each series names the cluster', async () => {
  const { get } = await serve()
  const { status, body } = await get(await tokenOf('prometheus'))
  expect(status).toBe(200)
  expect(body).toMatch(/^kubenode_leader\{cluster="edge"\} 0$/m)
})

test('a client that is unknown or may not read them is refused, and nothing else is served', async () => {
  const { get } = await serve()
  expect((await get()).status).toBe(401)
  expect((await get('nonsense')).status).toBe(401)
  expect(await get(await tokenOf('stranger'))).toMatchObject({
    status: 403,
    body: expect.stringContaining('kubenode-metrics-reader') as string,
  })
  const token = await tokenOf('prometheus')
  expect((await get(token, { path: '/readyz' })).status).toBe(404)
  expect((await get(token, { method: 'POST' })).status).toBe(405)
})

test('an answer counts for a minute, also for many scrapes at once; a right that is taken away counts then', async () => {
  const { get, asked, clock } = await serve()
  const token = await tokenOf('prometheus')
  await Promise.all(Array.from({ length: 10 }, () => get(token)))
  await get(token)
  expect(asked).toEqual(['tokenreviews', 'subjectaccessreviews'])
  await admin.delete(BINDINGS, { name: 'prometheus' })
  await clock.advance(KEPT_MS - 1)
  expect((await get(token)).status).toBe(200)
  await clock.advance(1)
  expect((await get(token)).status).toBe(403)
  await bind('prometheus', [
    { kind: 'ServiceAccount', name: 'prometheus', namespace: 'default' },
    { kind: 'Group', name: 'scrapers', apiGroup: 'rbac.authorization.k8s.io' },
  ])
})

test('an API server that cannot be asked lets no client in, and its silence is not kept', async () => {
  const token = await tokenOf('prometheus')
  let isAway = true
  const client = Object.assign(Object.create(defender) as HttpKubeClient, {
    get: defender.get.bind(defender),
    update: defender.update.bind(defender),
    raw: (r: RawRequest) => (isAway ? Promise.reject(new Error('away')) : defender.raw(r)),
  })
  const { get } = await serve({ client })
  expect((await get(token)).status).toBe(503)
  isAway = false
  expect((await get(token)).status).toBe(200)
})

test('a client certificate of the given authority counts instead of a token', async () => {
  const [authority, other] = await Promise.all([newAuthority(), newAuthority()])
  const { get } = await serve({ clientCa: authority.cert })
  expect((await get(undefined, await authority.client('prometheus', ['scrapers']))).status).toBe(200)
  expect((await get(undefined, await authority.client('prometheus'))).status).toBe(403)
  expect((await get(undefined, await other.client('prometheus', ['scrapers']))).status).toBe(401)
})

test('two replicas serve one certificate', async () => {
  const [one, two] = [await serve(), await serve()]
  expect(two.ca).toBe(one.ca)
  expect((await two.get(await tokenOf('prometheus'))).status).toBe(200)
})
