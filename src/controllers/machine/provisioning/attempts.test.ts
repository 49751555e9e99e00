import type { Machine, Provisioning } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import type { CreateResult, Host, Offering } from '#providers/port.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ExhaustedOfferings } from './exhausted-offerings.ts'
import { provisionPlan, provisionStep } from './plan.ts'
import { answered, isForgotten, isInDoubt, isOver, tokenOf, untilRetry } from './attempts.ts'
import type { HostSeen, Seen } from '../seen.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.UTC(2026, 0, 5)
const A: Offering = { zone: 'a', type: 'large', market: 'Spot' }
const B: Offering = { zone: 'b', type: 'large' }
const C: Offering = { zone: 'b', type: 'small' }

const machineWith = (provisioning?: Provisioning, extra: object = {}, offerings: readonly Offering[] = [A, B, C]) =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm', uid: 'uid' },
    spec: { channel: 'Agent', provider: { name: 'p', offerings }, ...extra },
    status: defined({ provisioning }),
  }) as Machine

const attempt = (more: Partial<Provisioning> = {}): Provisioning => ({
  attempt: 1,
  offering: A,
  token: tokenOf('uid', 1, A),
  since: timestamp(NOW),
  ...more,
})

const seenOf = (machine: Machine, exhausted: Seen['exhausted'] = [], host: HostSeen = { kind: 'NotAsked' }): Seen => ({
  machine,
  node: undefined,
  agentHeartbeat: { kind: 'None' },
  nodeHeartbeat: { kind: 'None' },
  host,
  isHostKept: false,
  hold: undefined,
  joinToken: undefined,
  claims: [],
  marks: [],
  refusedFor: new Map(),
  permits: [],
  definitions: [],
  pods: undefined,
  workloads: [],
  exhausted,
})

const out = (untilMs: number) => ({ untilMs, reason: 'no stock' })
const asks = (seen: Seen, now = NOW) => {
  const step = provisionStep(seen, now)
  return step.kind === 'Ask' ? [step.attempt.attempt, step.attempt.offering, step.attempt.token] : step.waiting
}

describe('a machine without an attempt', () => {
  const created = (creationTimestamp: string | undefined, provisioning?: Provisioning) => {
    const { metadata, ...rest } = machineWith(provisioning)
    return { ...rest, metadata: { ...metadata, ...defined({ creationTimestamp }) } }
  }
  const MINUTE_MS = 60_000

  test('is new for five minutes, also by a clock that is a little slow', () => {
    for (const ageMs of [-5 * MINUTE_MS, -1_000, 0, 5 * MINUTE_MS])
      expect(isForgotten(created(timestamp(NOW - ageMs)), NOW), `${ageMs} ms`).toBe(false)
  })

  test('comes from a backup when it is older', () => {
    for (const ageMs of [6 * MINUTE_MS, 400 * 86_400_000, -6 * MINUTE_MS])
      expect(isForgotten(created(timestamp(NOW - ageMs)), NOW), `${ageMs} ms`).toBe(true)
  })

  test.each([undefined, '', 'yesterday', '2026-13-45T00:00:00Z'])(
    'is not taken for new when it was made at %j',
    (at) => {
      expect(isForgotten(created(at), NOW)).toBe(true)
    },
  )

  test('is not looked for when it has an attempt, however old', () => {
    expect(isForgotten(created(undefined, attempt()), NOW)).toBe(false)
  })
})

describe('a host that is there while no attempt is written down', () => {
  const found = (clientToken: string): HostSeen => ({
    kind: 'Host',
    host: {
      providerID: 'p://1',
      clientToken,
      offering: B,
      machine: 'm',
      machineUid: 'uid',
      state: 'Running',
      createdAt: timestamp(NOW),
    },
  })

  test('is asked for under the token that made it', () => {
    const token = tokenOf('uid', 2, B)
    expect(asks(seenOf(machineWith(), [], found(token)))).toEqual([1, B, token])
  })

  test('is asked for like any other when KubeNode never makes such a token', () => {
    expect(asks(seenOf(machineWith(), [], found('uid')))).toEqual([1, A, tokenOf('uid', 1, A)])
  })
})

describe('which attempt is made', () => {
  test('the first is for the first offering that is not exhausted', () => {
    expect(asks(seenOf(machineWith()))).toEqual([1, A, tokenOf('uid', 1, A)])
    expect(asks(seenOf(machineWith(), [out(60_000)]))).toEqual([1, B, tokenOf('uid', 1, B)])
  })

  test('a token has 60 hexadecimal digits and differs by machine, attempt and offering', () => {
    const tokens = [
      tokenOf('u', 1, A),
      tokenOf('v', 1, A),
      tokenOf('u', 2, A),
      tokenOf('u', 1, B),
      tokenOf('u', 1, undefined),
    ]
    expect(new Set(tokens).size).toBe(tokens.length)
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{60}$/)
  })

  test('without an answer the same token is used again, also when its offering left the list or is exhausted', () => {
    const before = attempt()
    expect(asks(seenOf(machineWith(before, {}, [C]), [out(60_000)]))).toEqual([1, A, before.token])
  })

  test.each(['Unknown', 'Throttled'] as const)(
    'after %s the same token is used again, once its time has come',
    (answer) => {
      const before = attempt({ answer, message: 'x', failures: 1, retryAt: timestamp(NOW + 5_000) })
      expect(asks(seenOf(machineWith(before)))).toMatchObject({ predicate: 'HostMade' })
      expect(asks(seenOf(machineWith(before)), NOW + 5_000)).toEqual([1, A, before.token])
    },
  )

  test('after Exhausted the next offering is asked for at once under a new token', () => {
    const before = attempt({ answer: 'Exhausted', message: 'no stock', failures: 1, retryAt: timestamp(NOW + 60_000) })
    expect(asks(seenOf(machineWith(before), [out(60_000)]))).toEqual([2, B, tokenOf('uid', 2, B)])
  })

  test('when all are exhausted the earliest retry is named', () => {
    const before = attempt({ answer: 'Exhausted', message: 'no stock', failures: 1 })
    const step = provisionStep(seenOf(machineWith(before), [out(90_000), out(30_000), out(60_000)]), NOW)
    expect(step).toMatchObject({
      kind: 'Wait',
      afterMs: 30_000,
      waiting: {
        predicate: 'OfferingAvailable',
        seen: 'all 3 offerings are exhausted; b, large: no stock',
        unblock: 'the provider has hosts again; next request at 00:00:30 UTC',
      },
    })
  })

  test('after Refused nothing is asked until the time has come or spec.provider changed, then under a new token', () => {
    const refused = answered(machineWith(), attempt(), { kind: 'Refused', reason: 'no such type' }, NOW)
    expect(asks(seenOf(machineWith(refused)))).toMatchObject({ seen: 'refused by the provider: no such type' })
    expect(asks(seenOf(machineWith(refused, {}, [B])))).toEqual([2, B, tokenOf('uid', 2, B)])
    expect(asks(seenOf(machineWith(refused)), NOW + 1_000)).toEqual([2, A, tokenOf('uid', 2, A)])
  })

  test('a host that was made and deleted before it joined is made again under a new token', () => {
    const made = attempt({ answer: 'Host', providerID: 'p://1' })
    const machine = machineWith(made, { providerID: 'p://1' })
    expect(asks(seenOf(machine, [], { kind: 'Gone' }))).toEqual([2, A, tokenOf('uid', 2, A)])
    expect(asks(seenOf(machine, [], { kind: 'Unknown', why: 'x' }))).toEqual([1, A, made.token])
  })

  test('a host that is kept is never made or lost: its provider writes its record again, under the same token', () => {
    const made = attempt({ answer: 'Host', providerID: 'static://m' })
    const machine = machineWith(made, { providerID: 'static://m' })
    const kept = { ...seenOf(machine, [], { kind: 'Gone' }), isHostKept: true }
    expect([asks(kept), provisionPlan(kept, 'x', NOW).notices]).toEqual([[1, A, made.token], []])
    expect(provisionStep(kept, NOW)).not.toMatchObject({ attempt: { lost: 1 } })
  })

  test('hosts that were lost are counted apart from attempts: only they make a machine wait before the next one', () => {
    const lostOf = (attemptNumber: number, lost?: number) => {
      const made = attempt({ answer: 'Host', providerID: 'p://1', ...defined({ lost }) })
      const machine = machineWith({ ...made, attempt: attemptNumber }, { providerID: 'p://1' })
      const step = provisionStep(seenOf(machine, [], { kind: 'Gone' }), NOW)
      return step.kind === 'Ask' ? step.attempt.lost : step.afterMs
    }
    // Forty offerings were exhausted before the first host was created.
    expect(lostOf(40)).toBe(1)
    expect([1, 2, 3, 4, 5, 9].map((lost) => lostOf(40, lost))).toEqual([
      60_000, 120_000, 240_000, 480_000, 600_000, 600_000,
    ])
  })

  test.each([
    ['an exhausted offering', { kind: 'Exhausted', reason: 'no stock', retryAfterMs: 60_000 }],
    ['a refusal', { kind: 'Refused', reason: 'no such type' }],
    ['a lost reply', { kind: 'Unknown', message: 'no answer' }],
    ['the next host', { kind: 'Host', host }],
  ] as const)('%s does not make the machine forget how many hosts it lost', (_, result) => {
    const before = answered(machineWith(), attempt({ lost: 3 }), result, NOW)
    expect(before.lost).toBe(3)
    const step = provisionStep(seenOf(machineWith(before)), NOW + 3_600_000)
    expect(step).toMatchObject({ kind: 'Ask', attempt: { lost: 3 } })
    const changed = provisionStep(seenOf(machineWith(before, {}, [B])), NOW + 3_600_000)
    expect(changed).toMatchObject({ kind: 'Ask', attempt: { lost: 3 } })
  })

  test('while the next attempt is in doubt, the lost host of the one before does not lead to a third', () => {
    const second = { ...attempt(), attempt: 2, offering: B, token: tokenOf('uid', 2, B) }
    const machine = machineWith(second, { providerID: 'p://1' })
    expect(asks(seenOf(machine, [], { kind: 'Gone' }))).toEqual([2, B, second.token])
  })

  test('a time far in the future is of a clock that was wrong, and does not hold the machine up', () => {
    expect(untilRetry({ retryAt: timestamp(NOW + 86_400_000) }, NOW)).toBe(0)
    expect(untilRetry({ retryAt: timestamp(NOW + 60_000) }, NOW)).toBe(60_000)
    expect(untilRetry({ retryAt: 'soon' }, NOW)).toBe(0)
  })
})

const host: Host = {
  providerID: 'p://1',
  clientToken: 't',
  machine: 'm',
  machineUid: 'uid',
  state: 'Creating',
  createdAt: timestamp(NOW),
}
const results = fc.constantFrom<CreateResult[]>(
  { kind: 'Host', host },
  { kind: 'Refused', reason: 'no such type' },
  { kind: 'Exhausted', zone: 'a', reason: 'no stock', retryAfterMs: 60_000 },
  { kind: 'Exhausted', reason: 'no stock', retryAfterMs: 60_000 },
  { kind: 'Throttled', retryAfterMs: 60_000 },
  { kind: 'Unknown', message: 'no answer' },
)

test('a request is followed by another look, also one that repeats an attempt and changes nothing', () => {
  const again = seenOf(machineWith(attempt({ answer: 'Host', providerID: 'p://1' })))
  for (const seen of [seenOf(machineWith()), again])
    expect(provisionPlan(seen, 'the host does not have a valid join token', NOW)).toMatchObject({
      actions: [{ kind: 'Provision' }],
      requeueAfter: expect.any(Number) as number,
    })
})

describe('any history of answers', () => {
  test('gives a token up only after a definite refusal, and never uses it again', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(results, fc.nat(120_000)), { maxLength: 20 }), (history) => {
        let now = NOW
        let machine = machineWith()
        const memory = new ExhaustedOfferings({ monotonic: () => now })
        const given = new Set<string>()
        for (const [result, waitMs] of history) {
          const before = machine.status?.provisioning
          const { offerings = [] } = machine.spec.provider ?? {}
          const step = provisionStep(
            seenOf(
              machine,
              offerings.map((o) => memory.of(machine, o)),
            ),
            now,
          )
          now += waitMs
          if (step.kind === 'Wait') continue
          const { token } = step.attempt
          expect(given.has(token)).toBe(false)
          if (before !== undefined && before.token !== token) {
            expect(isOver(before)).toBe(true)
            given.add(before.token)
          }
          if (result.kind === 'Exhausted') memory.note(machine, step.attempt.offering, result)
          const after = answered(machine, step.attempt, result, now)
          expect(isInDoubt({ status: { provisioning: after } })).toBe(
            result.kind === 'Unknown' || result.kind === 'Throttled',
          )
          if (result.kind === 'Host') return
          machine = machineWith(after)
        }
      }),
    )
  })
})

describe('the memory of exhausted offerings', () => {
  const other = machineWith(undefined, {}, [])
  const memoryAt = (clock: { now: number }) => new ExhaustedOfferings({ monotonic: () => clock.now })

  test('a zone without stock of a type is exhausted for every machine of the provider, by market, until its time', () => {
    const clock = { now: 0 }
    const memory = memoryAt(clock)
    memory.note(machineWith(), A, {
      kind: 'Exhausted',
      zone: 'a',
      type: 'large',
      reason: 'no stock',
      retryAfterMs: 60_000,
    })
    expect(memory.of(other, A)).toEqual({ untilMs: 60_000, reason: 'no stock' })
    expect(memory.of(other, { ...A, market: 'OnDemand' })).toBeUndefined()
    expect(memory.of(other, { ...A, type: 'small' })).toBeUndefined()
    expect(memory.of({ spec: { ...other.spec, provider: { name: 'q' } } }, A)).toBeUndefined()
    clock.now = 60_000
    expect(memory.of(other, A)).toBeUndefined()
  })

  test('a zone without addresses is exhausted for every type', () => {
    const memory = memoryAt({ now: 0 })
    memory.note(machineWith(), B, { kind: 'Exhausted', zone: 'b', reason: 'no addresses', retryAfterMs: 60_000 })
    expect([B, C, { zone: 'c', type: 'large' }].map((o) => memory.of(other, o) !== undefined)).toEqual([
      true,
      true,
      false,
    ])
  })

  test('a request without offerings is remembered with its parameters', () => {
    const memory = memoryAt({ now: 0 })
    const byParams = (zone: string) => machineWith(undefined, { provider: { name: 'p', params: { zone } } })
    memory.note(byParams('a'), undefined, { kind: 'Exhausted', zone: 'a', reason: 'no stock', retryAfterMs: 60_000 })
    expect(memory.of(byParams('a'), undefined)).toBeDefined()
    expect(memory.of(byParams('b'), undefined)).toBeUndefined()
  })

  test('is refilled after a restart from what the Machines have on record', () => {
    const memory = memoryAt({ now: 0 })
    const exhausted = attempt({ answer: 'Exhausted', message: 'no stock', retryAt: timestamp(NOW + 60_000) })
    memory.recall(machineWith(exhausted), NOW)
    expect(memory.of(other, A)).toEqual({ untilMs: 60_000, reason: 'no stock' })
    const late = memoryAt({ now: 0 })
    late.recall(machineWith(exhausted), NOW + 60_000)
    expect(late.of(other, A)).toBeUndefined()
  })
})
