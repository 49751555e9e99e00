// A replica whose Secret cannot be read or used: how often it reports that, and what it serves until then.
import { connect } from 'node:tls'
import { expect, test } from 'vitest'
import { loggerTo } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { certificateData } from '#runtime/tls/serving-certificate.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { newCertificate, WEBHOOK_SECRET_KEY } from './certificate.ts'
import { WebhookReplica } from './replica.ts'
import { newToken, pathData } from './secret-paths.ts'

const HOST = 'kubenode-webhook.kubenode-system.svc'
const secretType = coreKind('Secret')
const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))

/** The certificate that a new client gets. */
const servedBy = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? '')
      socket.destroy()
    })
    socket.once('error', reject)
  })

function world() {
  const clock = new VirtualClock(Date.parse('2026-01-05T00:00:00Z'))
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [] })
  const client = fake.client({ actor: 'defender' })
  const lines: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[] = []
  const log = loggerTo((_, message, fields) => void lines.push({ message, fields }))
  const replica = new WebhookReplica({
    listen: '127.0.0.1',
    port: 0,
    at: { host: HOST },
    client,
    clock,
    log,
    findComponent: () => undefined,
    findMachine: () => undefined,
    guard: async () => ({ kind: 'Passes', ledger: undefined }),
  })
  const write = async (certificate: ReturnType<typeof newCertificate>) => {
    const data = encoded({ ...certificateData({ current: certificate }), ...pathData({ token: newToken(), since: 0 }) })
    const found = await client.get(secretType, WEBHOOK_SECRET_KEY)
    if (found === undefined)
      await client.create(secretType, { apiVersion: 'v1', kind: 'Secret', metadata: WEBHOOK_SECRET_KEY, data })
    else await client.update(secretType, { ...found, data })
  }
  return { clock, client, lines, replica, write }
}

test('what goes wrong every second is logged once, and then at growing pauses', async () => {
  const { clock, client, lines, replica } = world()
  client.get = async () => Promise.reject(new Error('the API server is away'))
  for (let second = 0; second < 600; second++) {
    expect(await replica.reload()).toBe(false)
    await clock.advance(1_000)
  }
  const said = lines.filter((l) => l.message === 'cannot serve the webhook')
  expect(said.map((l) => l.fields['unlogged'])).toEqual([0, 59, 119, 239])
})

test('a certificate that does not fit its key is not served: the one of before is, until the replica is unready', async () => {
  const { clock, lines, replica, write } = world()
  const [good, other] = [newCertificate(HOST, clock.now()), newCertificate(HOST, clock.now())]
  await write(good)
  expect(await replica.reload()).toBe(true)
  try {
    await write({ ...other, key: good.key })
    expect(await replica.reload()).toBe(false)
    expect(await servedBy(replica.port ?? 0)).toBe(good.cert)
    expect(replica.problem()).toBeUndefined()
    await clock.advance(5 * 60_000 + 1)
    expect(await replica.reload()).toBe(false)
    expect(replica.problem()).toMatch(/cannot read the webhook's Secret for 5m/)
    await write(other)
    expect(await replica.reload()).toBe(true)
    expect([replica.problem(), await servedBy(replica.port ?? 0)]).toEqual([undefined, other.cert])
    expect(lines.filter((l) => l.message === 'cannot serve the webhook')).toHaveLength(2)
  } finally {
    void clock.advance(60_000)
    await replica.stop()
  }
})
