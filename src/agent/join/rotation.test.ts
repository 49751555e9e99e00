// Certificates are renewed while they are valid, over many lifetimes and through failures.
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { beforeAll, expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { isTokenPair, lifeOf, type Pair } from './identity.ts'
import { EarlyRenewal, keepRenewing, retryMs } from './rotation.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY = 86_400_000
const LIFE = 30 * DAY
let keys: x509.X509CertificateCreateSelfSignedParams['keys']

beforeAll(async () => {
  keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
})

async function pairFrom(from: number, life = LIFE): Promise<Pair> {
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=x',
    notBefore: new Date(from),
    notAfter: new Date(from + life),
    signingAlgorithm: ALGORITHM,
    keys,
  })
  return { key: '', certificate: made.toString('pem') }
}

interface Renewal {
  readonly at: number
  /** Share of the lifetime of the replaced certificate. */
  readonly share: number
}

interface RenewalsWish {
  readonly failures?: number
  readonly seed?: number
  readonly aheadMs?: number
  readonly firstAheadMs?: number
  readonly askedOnDays?: readonly number[]
}

async function renewals(
  days: number,
  { failures = 0, seed = 1, aheadMs = 0, firstAheadMs, askedOnDays = [] }: RenewalsWish = {},
): Promise<{ done: readonly Renewal[]; tried: number }> {
  const clock = new VirtualClock()
  const stop = new AbortController()
  const early = new EarlyRenewal()
  const done: Renewal[] = []
  let [current, left, tried] = [await pairFrom(clock.now() - (firstAheadMs ?? aheadMs)), failures, 0]
  /** Creating a certificate takes real time, in which virtual time must not pass. */
  let making: Promise<unknown> = Promise.resolve()
  const running = keepRenewing(
    {
      clock,
      random: seededRandom(seed),
      log: silentLogger,
      early,
      renew: async () => {
        tried++
        if (left-- > 0) throw new Error('the API server is unavailable')
        left = failures
        const made = pairFrom(clock.now() - aheadMs)
        making = made
        return { kind: 'Renewed', pair: await made }
      },
      onRenewed: (next) => {
        const life = lifeOf(current.certificate)
        if (life === undefined) throw new Error('no certificate')
        done.push({ at: clock.now(), share: (clock.now() - life.from) / (life.to - life.from) })
        if (isTokenPair(next)) throw new Error('a token')
        current = next
      },
    },
    current,
    stop.signal,
  )
  for (let hour = 0; hour < days * 24; hour++) {
    if (askedOnDays.includes(hour / 24)) early.ask()
    await clock.advance(DAY / 24)
    await making
  }
  stop.abort()
  await running.catch(() => undefined)
  return { done, tried }
}

test.each([1, 2, 3])(
  'S2 F16 over a year every certificate is renewed between 60 percent and two thirds of its life (seed %i)',
  async (seed) => {
    const { done, tried } = await renewals(365, { seed })
    expect([done.length >= 18, done.length <= 21, tried]).toEqual([true, true, done.length])
    for (const { share } of done) {
      expect(share).toBeGreaterThanOrEqual(0.6)
      expect(share).toBeLessThanOrEqual(2 / 3 + DAY / 24 / LIFE)
    }
  },
)

test('S2 a renewal that fails is tried again at once, and long before the end', async () => {
  const { done, tried } = await renewals(55, { failures: 20 })
  expect(tried).toBe(done.length * 21)
  for (const { share } of done) expect(share).toBeLessThan(0.68)
})

test('S2 after each refusal the next try comes later, and dozens fit into the last third of any life', async () => {
  const week = (await pairFrom(0, 7 * DAY)).certificate
  const minutes = [1, 2, 3, 4, 5, 6, 60].map((failures) => retryMs(week, failures) / 60_000)
  expect(minutes).toEqual([1, 2, 4, 8, 16, 30, 30])
  for (const life of [DAY / 24, DAY, 7 * DAY, 365 * DAY]) {
    const { certificate } = await pairFrom(0, life)
    let [spent, tries] = [0, 0]
    while (spent < life / 3) spent += retryMs(certificate, ++tries) * 1.5
    expect(tries).toBeGreaterThan(12)
  }
})

test('S2 F16 a clock that is years ahead asks for a certificate now and then, not all the time', async () => {
  const { tried } = await renewals(30, { aheadMs: 2_000 * DAY })
  expect(tried).toBeGreaterThan(10)
  expect(tried).toBeLessThan(25)
})

test('S2 F16 a certificate that a clock far ahead signed is replaced at once when the clock is right again, and the next at its own time', async () => {
  const { done } = await renewals(25, { firstAheadMs: -300 * DAY })
  expect(done).toHaveLength(2)
  const [first, second] = done
  expect(first?.share).toBeLessThan(0)
  expect(second?.share).toBeGreaterThanOrEqual(0.6)
})

test('S2 F16 a host whose clock is years behind asks for a certificate now and then, and while it is refused with growing pauses', async () => {
  const { tried } = await renewals(30, { aheadMs: -2_000 * DAY })
  expect(tried).toBeGreaterThan(10)
  expect(tried).toBeLessThan(25)
  const refused = await renewals(1, { aheadMs: -2_000 * DAY, failures: 1_000 })
  expect(refused.tried).toBeLessThan(24 * 4)
})

test('one that was asked for comes at once, and the next at its own time', async () => {
  const { done } = await renewals(25, { askedOnDays: [2, 3] })
  expect(done.map(({ share }) => Math.round(share * (LIFE / DAY)))).toEqual([2, 1, 19])
})

test('one that was asked for and failed leaves the certificate to be renewed at its time', async () => {
  const { done, tried } = await renewals(21, { askedOnDays: [2], failures: 1 })
  expect([done.length, tried]).toEqual([1, 2])
  expect(done[0]?.share).toBeGreaterThanOrEqual(0.6)
})
