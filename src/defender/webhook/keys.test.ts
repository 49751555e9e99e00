// The Secret and the registration through a whole change of path and certificate, with a following standby and a leader change in the middle.
import { describe, expect, test } from 'vitest'
import { API_GROUP } from '#api/kind.ts'
import { WEBHOOK_NAMESPACE, WEBHOOK_SECRET } from '#api/names.ts'
import { loggerTo, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { createEventRecorder } from '#kube/events.ts'
import { bundleOf, TRUSTED_BEFORE_USE_MS } from '#runtime/tls/serving-certificate.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { readKeys, type WebhookKeys } from './keys.ts'
import { WebhookRegistrar } from './registrar.ts'
import { webhookConfigurationType } from './registration.ts'
import { acceptedTokens, OVERLAP_MS, ROTATE_MS, SPREAD_MS } from './secret-paths.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const at = { namespace: 'kubenode-system', name: 'kubenode-webhook' }

function world() {
  const clock = new VirtualClock(Date.parse('2026-01-05T00:00:00Z'))
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [{ type: webhookConfigurationType }] })
  const client = fake.client({ actor: 'defender' })
  let adopted: WebhookKeys | undefined
  const leader = (log = silentLogger) => {
    const events = createEventRecorder({ client, clock, controller: 'kubenode.io/defender', instance: 'test' })
    const replica = { port: 9443, adopt: async (keys: WebhookKeys) => void (adopted = keys) }
    return new WebhookRegistrar({ at, client, clock, log, events, replica })
  }
  const registered = async () => {
    const found = await client.get(webhookConfigurationType, { name: API_GROUP })
    const [hook] = (found?.['webhooks'] ?? []) as readonly {
      readonly clientConfig: { readonly service: { readonly path: string }; readonly caBundle: string }
    }[]
    const { service, caBundle } = hook?.clientConfig ?? { service: { path: '' }, caBundle: '' }
    return { service, token: service.path.split('/')[1] ?? '', bundle: Buffer.from(caBundle, 'base64').toString() }
  }
  const keys = async (): Promise<WebhookKeys> => {
    const found = await readKeys(client)
    if (found === undefined) throw new Error('no keys')
    return found
  }
  return { clock, client, leader, registered, keys, adopted: () => adopted }
}

test('the registration names the Service, its port, and a path that all replicas accept', async () => {
  const { leader, registered, keys, adopted } = world()
  expect(await leader().reload()).toBe(true)
  const { service, bundle, token } = await registered()
  expect(service).toMatchObject({ ...at, port: 443 })
  expect(acceptedTokens((await keys()).paths)).toEqual([token])
  expect(bundle).toBe(bundleOf((await keys()).certificate))
  expect(adopted()).toEqual(await keys())
})

test('S30 a new path is in the Secret for ten minutes before it is named, and the old one for ten minutes after', async () => {
  const { clock, leader, registered, keys } = world()
  const registrar = leader()
  await registrar.reload()
  const { token: first } = await registered()
  await clock.advance(ROTATE_MS)
  await registrar.reload()
  const { next = '' } = (await keys()).paths
  expect([(await registered()).token, next]).toEqual([first, expect.stringMatching(/^[0-9a-f]{64}$/)])
  await clock.advance(SPREAD_MS - 1)
  await registrar.reload()
  expect((await registered()).token).toBe(first)
  await clock.advance(1)
  await registrar.reload()
  expect((await registered()).token).toBe(next)
  await registrar.reload()
  expect((await keys()).paths).toMatchObject({ token: next, previous: first })
  await clock.advance(OVERLAP_MS)
  await registrar.reload()
  expect(acceptedTokens((await keys()).paths)).toEqual([next])
})

test('a new certificate is served only once the registration has held its authority for ten minutes, for each leader by itself', async () => {
  const { clock, leader, registered, keys } = world()
  let registrar = leader()
  await registrar.reload()
  const { current: old } = (await keys()).certificate
  await clock.advance(250 * DAY)
  await registrar.reload()
  const { next } = (await keys()).certificate
  expect((await registered()).bundle).toBe(`${old.ca}${next?.ca}`)
  await clock.advance(TRUSTED_BEFORE_USE_MS - 1)
  await registrar.reload()
  expect((await keys()).certificate.current).toEqual(old)
  // The new leader does not know how long API servers have had the bundle.
  registrar = leader()
  await registrar.reload()
  await clock.advance(TRUSTED_BEFORE_USE_MS - 1)
  await registrar.reload()
  expect((await keys()).certificate.current).toEqual(old)
  await clock.advance(1)
  await registrar.reload()
  expect((await keys()).certificate).toEqual({ current: next, previousCa: old.ca })
  expect((await registered()).bundle).toBe(`${next?.ca}${old.ca}`)
  await clock.advance(DAY)
  await registrar.reload()
  expect((await registered()).bundle).toBe(next?.ca)
})

describe('at every minute of two days, with leaders that change', () => {
  test('what the registration says is what every replica of the last five minutes accepts and serves', async () => {
    const { clock, leader, registered, keys } = world()
    const random = seededRandom(7)
    let registrar = leader()
    await registrar.reload()
    // From here the certificate is due for a change.
    await clock.advance(243 * DAY)
    const seen: {
      readonly at: number
      readonly keys: WebhookKeys
      readonly said: Awaited<ReturnType<typeof registered>>
    }[] = []
    for (let minute = 0; minute < 400; minute++) {
      await clock.advance((minute % 40 === 0 ? 300 : 1) * MINUTE)
      if (random.next() < 0.02) registrar = leader()
      await registrar.reload()
      seen.push({ at: clock.now(), keys: await keys(), said: await registered() })
      const late = seen.filter((s) => s.at >= clock.now() - 5 * MINUTE)
      // A replica is at most five minutes behind, and so is an API server.
      for (const { keys: served } of late)
        for (const { said } of late) {
          expect(acceptedTokens(served.paths)).toContain(said.token)
          expect(said.bundle).toContain(served.certificate.current.ca)
        }
    }
    const used = new Set(seen.map((s) => s.keys.certificate.current.cert))
    expect([used.size > 1, new Set(seen.map((s) => s.said.token)).size > 1]).toEqual([true, true])
  })
})

test('a Secret that another Defender made at the same time is taken over', async () => {
  const { leader, client, registered } = world()
  const [one, two] = [leader(), leader()]
  await Promise.all([one.reload(), two.reload()])
  await Promise.all([one.reload(), two.reload()])
  const secrets = await client.list(coreKind('Secret'), { namespace: WEBHOOK_NAMESPACE })
  expect(secrets.items.map((s) => s.metadata.name)).toEqual([WEBHOOK_SECRET])
  expect((await registered()).token).toBe((await readKeys(client))?.paths.token)
})

test('a registration that is refused is logged once, and not every five seconds', async () => {
  const { clock, client, leader } = world()
  const lines: string[] = []
  const refused = 'cannot apply: '.padEnd(2_000, 'x')
  const log = loggerTo((level, message) => void lines.push(`${level} ${message}`))
  const registrar = leader(log)
  client.apply = async () => Promise.reject(new Error(refused))
  for (let n = 0; n < 12; n++) {
    await registrar.check()
    await clock.advance(5_000)
  }
  expect(lines).toEqual(['warn cannot read the role of the Defender', 'error cannot serve the webhook'])
})
