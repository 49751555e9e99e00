// What can be wrong with the certificate of the webhook, its authority and its registration: reviews fail while it is, and the leader mends it by itself. Each
// case begins with connections of its own, as an API server does that starts again.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { API_GROUP } from '#api/kind.ts'
import { WEBHOOK_NAMESPACE, WEBHOOK_SECRET } from '#api/names.ts'
import { ResourceTypes } from '#delivery/resource-types.ts'
import { webhookProblem } from '#install/ready.ts'
import { newCertificate } from '#defender/webhook/certificate.ts'
import { WebhookRegistrar } from '#defender/webhook/registrar.ts'
import { webhookConfigurationType } from '#defender/webhook/registration.ts'
import { WebhookReplica } from '#defender/webhook/replica.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { createEventRecorder } from '#kube/events.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { installAll } from '#test/support/servers/installed.ts'
import type { RunningServer } from '#test/support/servers/api-servers.ts'
import { serveWebhookAt, serviceServers, WEBHOOK } from '#test/support/servers/service-servers.ts'

const DAY = 86_400_000
const HOST = `${WEBHOOK.name}.${WEBHOOK.namespace}.svc`
const secretType = coreKind('Secret')
const SECRET = { namespace: WEBHOOK_NAMESPACE, name: WEBHOOK_SECRET }
const made = (daysAgo = 1, host = HOST) => newCertificate(host, Date.now() - daysAgo * DAY)
type Certificate = ReturnType<typeof made>
const current = ({ ca, cert, key }: Certificate) => ({ 'current-ca.crt': ca, 'tls.crt': cert, 'tls.key': key })

interface Fault {
  readonly name: string
  /** Fields of the Secret, given those that are there. */
  readonly secret?: (now: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
  /** The first webhook's connection as another client left it. */
  readonly registration?: (config: Readonly<Record<string, unknown>>) => object
  readonly isDeleted?: boolean
  /** What the API server says of it; without it, reviews pass all the same. */
  readonly felt?: RegExp
}

const UNREACHED = /failed calling webhook|an invalid rule passed without its review/

const FAULTS: readonly Fault[] = [
  { name: 'an expired certificate and authority', secret: () => current(made(400)), felt: UNREACHED },
  {
    name: 'a certificate for another Service',
    secret: () => current(made(1, `webhook.${WEBHOOK.namespace}.svc`)),
    felt: UNREACHED,
  },
  {
    name: 'a certificate that another authority signed',
    secret: (now) => ({ ...current(made()), 'current-ca.crt': now['current-ca.crt'] ?? '' }),
    felt: UNREACHED,
  },
  {
    name: 'a key of another certificate',
    secret: () => ({ ...current(made()), 'tls.key': made().key }),
    felt: UNREACHED,
  },
  { name: 'a certificate of a clock that was ahead', secret: () => current(made(-10)), felt: UNREACHED },
  {
    name: 'a Secret of a backup, whose authority is not registered',
    secret: () => current(made(2)),
    felt: UNREACHED,
  },
  {
    name: 'a change that ended between the Secret and the registration',
    secret: (now) => ({ ...current(made()), 'previous-ca.crt': now['current-ca.crt'] ?? '' }),
    felt: UNREACHED,
  },
  {
    name: 'a damaged authority beside a good one, and no registration',
    secret: () => ({ 'previous-ca.crt': 'nothing that a server can read' }),
    isDeleted: true,
    felt: /has not registered it/,
  },
  {
    name: 'a registration with the bundle of another authority',
    registration: (config) => ({ ...config, caBundle: Buffer.from(made().ca).toString('base64') }),
    felt: UNREACHED,
  },
  {
    name: 'a registration without a bundle',
    registration: (config) => Object.fromEntries(Object.entries(config).filter(([field]) => field !== 'caBundle')),
    felt: UNREACHED,
  },
  {
    name: 'a registration that names another Service',
    registration: (config) => ({ ...config, service: { ...(config['service'] as object), name: 'elsewhere' } }),
    felt: UNREACHED,
  },
  {
    name: 'a registration with another path',
    registration: (config) => ({
      ...config,
      service: { ...(config['service'] as object), path: `/${'0'.repeat(64)}/admit` },
    }),
    felt: UNREACHED,
  },
]

describe.each(serviceServers)('the webhook on $name', ({ address, start }) => {
  let server: RunningServer
  let admin: HttpKubeClient
  let defender: HttpKubeClient
  let port = 0
  let replica: WebhookReplica | undefined
  let leader: WebhookRegistrar

  const connection = () => ({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  /** Ends the one before, and its connections. */
  async function restart(): Promise<WebhookReplica> {
    await replica?.stop(0)
    const next = newReplica()
    replica = next
    await next.reload()
    return next
  }
  const newReplica = () =>
    new WebhookReplica({
      client: defender,
      clock: systemClock,
      log: silentLogger,
      listen: address,
      port,
      at: WEBHOOK,
      findComponent: () => undefined,
      findMachine: () => undefined,
      guard: async () => ({ kind: 'Passes', ledger: undefined }),
    })
  /** On another replica than the one that answers. */
  const newLeader = () =>
    new WebhookRegistrar({
      client: defender,
      clock: systemClock,
      log: silentLogger,
      at: WEBHOOK,
      events: createEventRecorder({
        client: defender,
        clock: systemClock,
        controller: 'kubenode.io/defender',
        instance: 'test',
      }),
      replica: { port, adopt: async () => undefined },
    })
  const context = () => ({
    client: admin,
    types: new ResourceTypes(admin, () => systemClock.monotonic()),
    clock: systemClock,
    print: () => undefined,
    timeoutMs: 60_000,
  })
  const problem = async () => (await webhookProblem(context())) ?? 'none'
  const answers = () => eventually(problem, (p) => p === 'none')

  beforeAll(async () => {
    server = await start()
    admin = new HttpKubeClient(connection())
    defender = new HttpKubeClient({
      ...connection(),
      impersonate: { user: 'kubenode:defender', groups: ['system:authenticated'] },
    })
    await installAll(admin)
    port = await freePort()
    await serveWebhookAt(admin, address, port)
    leader = newLeader()
    expect(await leader.reload()).toBe(true)
  }, 300_000)
  afterAll(async () => {
    await replica?.stop(0)
    for (const client of [admin, defender]) client.close()
    await server.stop()
  })
  beforeEach(async () => {
    await restart()
    await answers()
  })

  const secretNow = async (): Promise<KubeObject> => {
    const found = await admin.get(secretType, SECRET)
    if (found === undefined) throw new Error('no Secret')
    return found
  }
  async function injure({ secret, registration, isDeleted = false }: Fault): Promise<void> {
    if (secret !== undefined) {
      const found = await secretNow()
      const data = Object.entries(found['data'] as Readonly<Record<string, string>>)
      const before = Object.fromEntries(data.map(([k, v]) => [k, Buffer.from(v, 'base64').toString()]))
      // A change in the middle belongs to what was there before.
      const { 'next-ca.crt': _ca, 'next.crt': _cert, 'next.key': _key, 'previous-ca.crt': _old, ...kept } = before
      const after = Object.entries({ ...kept, ...secret(before) })
      await admin.update(secretType, {
        ...found,
        data: Object.fromEntries(after.map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
      })
    }
    if (isDeleted) await admin.delete(webhookConfigurationType, { name: API_GROUP })
    const found = registration && (await admin.get(webhookConfigurationType, { name: API_GROUP }))
    if (found === undefined || registration === undefined) return
    const webhooks = (found.webhooks ?? []).map((h) => ({ ...h, clientConfig: registration({ ...h.clientConfig }) }))
    await admin.update<KubeObject>(webhookConfigurationType, { ...found, webhooks })
  }

  test.each(FAULTS)('$name is felt, and the leader mends it', async (fault) => {
    const { felt = /./ } = fault
    await injure(fault)
    const served = await restart()
    expect(await eventually(problem, (p) => felt.test(p))).toMatch(felt)
    await leader.check()
    expect(await leader.reload()).toBe(true)
    await served.reload()
    expect(await answers()).toBe('none')
  })

  test('a new leader mends what it finds as well', async () => {
    await injure({ name: '', secret: () => current(made(400)), isDeleted: true })
    leader = newLeader()
    expect(await leader.reload()).toBe(true)
    await replica?.reload()
    expect(await answers()).toBe('none')
  })

  test('a replica that still serves the certificate of before is trusted while its authority is in the bundle', async () => {
    const before = (await secretNow())['data']
    const { 'current-ca.crt': old = '' } = before as Readonly<Record<string, string>>
    await injure({
      name: '',
      secret: () => ({ ...current(made()), 'previous-ca.crt': Buffer.from(old, 'base64').toString() }),
    })
    expect(await leader.reload()).toBe(true)
    expect(await answers()).toBe('none')
    await replica?.reload()
    expect(await answers()).toBe('none')
  })
})
