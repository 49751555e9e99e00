// Calls of a cloud as its vendor counts them: whatever waits for keys, for a turn or in transit, no action exceeds its rate.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { FakeRegion, type FakeLimit } from '#test/doubles/clouds/region.ts'
import { settled, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { CloudAnswer } from './http.ts'
import { type CallResult, createCaller, type Wire } from './call.ts'
import { Credentials, type Keys } from './credentials.ts'
import { type Limit, Rate } from './rate.ts'

const ACTIONS = ['Run', 'List'] as const
type Action = (typeof ACTIONS)[number]

interface Vendor {
  readonly period: 'Minute' | 'Second'
  readonly counts: FakeLimit
  readonly limit: Limit
}
const VENDORS: readonly Vendor[] = [
  { period: 'Minute', counts: { kind: 'Minute', calls: 60 }, limit: { perSecond: 1, burst: 6 } },
  {
    period: 'Second',
    counts: { kind: 'Bucket', perSecond: 2, burst: 5 },
    limit: { perSecond: 2, burst: 5 },
  },
]

/** The action is the URL, and the keys are its body. */
const wire: Wire = {
  sign: ({ action }, keys) => ({ method: 'POST', url: action, headers: {}, body: keys.id }),
  read: ({ status, text, headers }) =>
    status === 200
      ? { kind: 'Body', body: text }
      : { kind: 'Code', code: text, message: '', ...(headers['wait'] && { retryAfterMs: Number(headers['wait']) }) },
  isThrottle: (code) => code === 'Throttled',
  isVerdict: () => false,
  isStale: (code) => code === 'Expired',
}

interface Slow {
  /** Time to fetch keys. */
  readonly keysMs: number
  /** Latency of each call to the vendor, in order. */
  readonly wayMs: readonly number[]
  /** The vendor takes none of these calls' keys. */
  readonly expiresEvery: number
}

function world({ counts, limit, period }: Vendor, { keysMs, wayMs, expiresEvery }: Slow) {
  const clock = new VirtualClock()
  const region = new FakeRegion({ clock, random: seededRandom(1), name: 'r', limitOf: () => counts })
  let [ways, fetched, arrived] = [0, 0, 0]
  const source = async (): Promise<Keys> => {
    await clock.sleep(keysMs)
    return { id: String(++fetched), secret: 's', expiresAt: clock.now() + 60_000 }
  }
  const call = createCaller({
    wire,
    credentials: new Credentials(source, clock),
    rate: new Rate({ clock, limitOf: () => limit, period }),
    clock,
    random: seededRandom(2),
    // A call in transit arrives whether or not its answer is awaited.
    transport: (request, signal) => Promise.race([arriving(request.url), aborted(signal)]),
  })
  const arriving = async (url: string): Promise<CloudAnswer> => {
    await clock.sleep(wayMs[ways++ % wayMs.length] ?? 0)
    const wait = region.refusal(url)
    if (wait !== undefined) return { status: 400, headers: { wait: String(wait) }, text: 'Throttled' }
    if (++arrived % expiresEvery === 0) return { status: 400, headers: {}, text: 'Expired' }
    return { status: 200, headers: {}, text: url }
  }
  return { clock, region, call }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

const ms = (max: number) => fc.integer({ min: 0, max })

describe('calls of a cloud', () => {
  test('stay within what the vendor counts, however keys, turns and ways delay them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...VENDORS),
        fc.record({
          keysMs: ms(29_000),
          wayMs: fc.array(ms(10_000), { minLength: 1, maxLength: 7 }),
          expiresEvery: fc.integer({ min: 2, max: 12 }),
        }),
        fc.array(fc.tuple(fc.constantFrom<Action>(...ACTIONS), ms(150_000)), { minLength: 80, maxLength: 250 }),
        async (vendor, slow, wishes) => {
          const { clock, region, call } = world(vendor, slow)
          const results: CallResult[] = []
          for (const [action, at] of wishes)
            clock.after(at, () => void call({ action, params: {} }).then((r) => results.push(r)))
          for (await settled(); clock.fireNext(); await settled());
          expect(results).toHaveLength(wishes.length)
          expect([region.overLimit, results.filter((r) => r.kind === 'NoAnswer')]).toEqual([0, []])
        },
      ),
      { numRuns: 60 },
    )
  })

  test('of a crowd that waited for keys are not sent all at once, with turns of a minute ago', async () => {
    const vendor = VENDORS[0] as Vendor
    const { clock, region, call } = world(vendor, { keysMs: 29_000, wayMs: [0], expiresEvery: 1_000 })
    // The turns of half a minute, and then those of the next whole one.
    for (let n = 0; n < 90; n++) clock.after(32_000 + n * 1_000, () => void call({ action: 'Run', params: {} }))
    for (await settled(); clock.fireNext(); await settled());
    expect(region.overLimit).toBe(0)
  })

  test('whose answers are not awaited any longer are counted: the caller was killed, and asks again', async () => {
    const vendor = VENDORS[1] as Vendor
    // A blocked network releases all of them at once.
    const wayMs = [0, 4_000, 4_000, 4_000, 4_000, 3_400, 2_800, 2_200, 1_600, 1_000, 400, 0]
    const { clock, region, call } = world(vendor, { keysMs: 0, wayMs, expiresEvery: 1_000 })
    void call({ action: 'Run', params: {} })
    await clock.advance(60_000)
    for (let n = 0; n < 16; n++) {
      const stop = new AbortController()
      for (let i = 0; i < 4; i++)
        void call({ action: 'Run', params: {} }, { signal: stop.signal }).catch(() => undefined)
      await clock.advance(250)
      stop.abort(new Error('the caller is gone'))
    }
    for (await settled(); clock.fireNext(); await settled());
    expect(region.overLimit).toBe(0)
  })

  test('that are signed again with other keys have a turn of their own', async () => {
    const vendor = { ...(VENDORS[0] as Vendor), limit: { perSecond: 1, burst: 1 } }
    const { clock, call } = world(vendor, { keysMs: 0, wayMs: [0], expiresEvery: 2 })
    const times: number[] = []
    for (let n = 0; n < 2; n++) {
      const done = call({ action: 'Run', params: {} }).then((r) =>
        times.push(r.kind === 'Answer' ? clock.monotonic() : -1),
      )
      for (await settled(); clock.fireNext(); await settled());
      await done
    }
    // Three calls at the vendor, 1.2 seconds apart: the second was refused for its keys.
    expect(times.map((t) => Math.round(t / 100))).toEqual([12, 35])
  })
})
