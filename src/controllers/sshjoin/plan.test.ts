import type { Machine, SshJoin, SshSpec } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { describe, expect, test } from 'vitest'
import { type StepResult, afterStep, plan, stopLoss } from './plan.ts'
import { type Others, type Seen, othersOf, requestOf } from './seen.ts'

const NOW = Date.UTC(2026, 10, 1)
const SSH = { host: '10.0.0.7', port: 22, user: 'root', hostKey: 'ssh-ed25519 AAAA', secretRef: { name: 'key' } }
const NONE: Others = { tried: 0, failed: new Map() }

interface Given {
  readonly join?: SshJoin
  readonly status?: object
  readonly spec?: object
  readonly annotations?: Readonly<Record<string, string>>
}

const machineOf = ({ join, status, spec, annotations = {} }: Given = {}) =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm', uid: 'u', annotations },
    spec: { channel: 'Agent', provider: { name: 'static' }, ssh: SSH, ...spec },
    status: { ...(join && { join }), ...status },
  }) as unknown as Machine
const seenOf = (given: Given = {}, others = NONE): Seen => ({ machine: machineOf(given), ssh: SSH, others })

const joinOf = (more: Partial<SshJoin> = {}): SshJoin => ({
  step: 'Reach',
  attempt: 1,
  began: timestamp(NOW),
  since: timestamp(NOW),
  request: requestOf(machineOf(), SSH),
  ...more,
})

const failed = (failure: Extract<StepResult, { kind: 'Failed' }>['failure']): StepResult => ({
  kind: 'Failed',
  failure,
  why: 'x',
})
const ran = (seen: Seen, now = NOW) => plan(seen, now).actions.map((a) => [a.step, a.join.attempt])

describe('which step runs', () => {
  test('the first is Reach, and each one that is done leads to the next', () => {
    expect(ran(seenOf())).toEqual([['Reach', 1]])
    const steps: string[] = []
    let join = joinOf()
    while (join.step !== 'Certified') {
      steps.push(join.step)
      join = afterStep(join, { kind: 'Done', hostKey: undefined }, NOW)
    }
    expect(steps).toEqual(['Reach', 'Preflight', 'Fetch', 'Start'])
    expect(plan(seenOf({ join }), NOW)).toEqual({ actions: [], notices: [], requeueAfter: 60_000 })
  })

  test('a step that was interrupted runs again', () => {
    for (const step of ['Reach', 'Preflight', 'Fetch', 'Start'] as const)
      expect(ran(seenOf({ join: joinOf({ step, attempt: 2 }) }), NOW + 1)).toEqual([[step, 2]])
  })

  test.each<[string, Given]>([
    ['is being deleted', { spec: {}, status: {}, join: joinOf() }],
    ['is only observed', { spec: { channel: 'Observe' } }],
    ['names no provider', { spec: { provider: undefined } }],
    ['has an agent', { status: { agent: { version: '1.0.0' } } }],
    ['has joined over SSH', { status: { agent: {}, join: joinOf({ finished: timestamp(NOW) }) } }],
  ])('none for a machine that %s', (what, given) => {
    const seen = seenOf(given)
    const { machine } = seen
    if (what === 'is being deleted') Object.assign(machine.metadata, { deletionTimestamp: timestamp(NOW) })
    expect(plan(seen, NOW)).toEqual({ actions: [], notices: [] })
  })

  test('a certificate ends the join, whatever step is in progress', () => {
    const status = { conditions: [{ type: 'Joined', status: 'True' }] }
    const { join, actions } = plan(seenOf({ status, join: joinOf({ step: 'Fetch', message: 'x' }) }), NOW)
    expect([actions, join]).toEqual([[], joinOf({ step: 'Certified', finished: timestamp(NOW) })])
  })

  test('another host, or a request to join again, starts from the beginning with the key that was accepted', () => {
    const join = joinOf({ step: 'Start', reason: 'HostKeyChanged', message: 'x' })
    expect(ran(seenOf({ join }))).toEqual([])
    expect(ran(seenOf({ join, annotations: { 'kubenode.io/join-again': '1' } }))).toEqual([['Reach', 1]])
    const first = { ...seenOf({ join: { ...join, hostKey: 'k' }, annotations: { 'kubenode.io/join-again': '1' } }) }
    const used = plan({ ...first, ssh: { ...SSH, firstUse: true } }, NOW).actions[0]?.join.hostKey
    expect([plan(first, NOW).actions[0]?.join.hostKey, used]).toEqual([undefined, 'k'])
  })

  test.each<[string, Partial<SshSpec>, string | undefined]>([
    ['another user', { user: 'admin' }, 'k'],
    ['another host', { host: '10.0.0.8' }, undefined],
    ['another port', { port: 2222 }, undefined],
    ['another way to the address', { jump: { host: 'j', port: 22, user: 'root', hostKey: 'k' } }, undefined],
  ])('the key that was accepted on first use counts for its server: %s', (_, change, kept) => {
    const began = plan({ ...seenOf(), ssh: { ...SSH, firstUse: true } }, NOW).actions[0]?.join ?? joinOf()
    expect(began.server).toBe('10.0.0.7:22')
    const seen = { ...seenOf({ join: { ...began, hostKey: 'k' } }), ssh: { ...SSH, firstUse: true, ...change } }
    const next = plan(seen, NOW).actions[0]?.join
    expect([next?.step, next?.hostKey]).toEqual(['Reach', kept])
  })

  test('the key that was accepted on first use is forgotten with its server: back there, the first one is accepted again', () => {
    const next = (join: SshJoin | undefined, host: string) =>
      plan({ ...seenOf(join && { join }), ssh: { ...SSH, host, firstUse: true } }, NOW).actions[0]?.join
    const atFirst = next(undefined, '10.0.0.7') ?? joinOf()
    const atSecond = next({ ...atFirst, hostKey: 'k' }, '10.0.0.8')
    const back = next(atSecond, '10.0.0.7')
    expect([atSecond, back].map((join) => [join?.server, join?.hostKey])).toEqual([
      ['10.0.0.8:22', undefined],
      ['10.0.0.7:22', undefined],
    ])
  })
})

describe('a step that failed', () => {
  test.each(['AuthRefused', 'HostKeyChanged', 'HostKeyUnknown', 'Full', 'PreflightFailed'] as const)(
    'with %s waits for a change',
    (failure) => {
      const join = afterStep(joinOf(), failed(failure), NOW)
      expect(join).toEqual(joinOf({ reason: failure, message: 'x' }))
      expect(plan(seenOf({ join }), NOW + 86_400_000)).toEqual({ actions: [], notices: [] })
    },
  )

  test.each(['Unreachable', 'Busy', 'TimedOut'] as const)(
    'with %s is tried three times, then every ten minutes',
    (f) => {
      let join = joinOf({ step: 'Fetch' })
      const waits: (number | string)[] = []
      for (let i = 0; i < 4; i++) {
        join = afterStep(join, failed(f), NOW)
        waits.push(join.step, join.attempt, Date.parse(join.retryAt ?? '') - NOW)
      }
      expect(waits.slice(0, 9)).toEqual(['Fetch', 2, 10_000, 'Fetch', 3, 20_000, 'Reach', 1, 600_000])
      expect(plan(seenOf({ join }), NOW).requeueAfter).toBe(Date.parse(join.retryAt ?? '') - NOW)
      expect(ran(seenOf({ join }), Date.parse(join.retryAt ?? ''))).toEqual([['Reach', 2]])
    },
  )

  test('a download that failed is repeated, a host below the minimum is not', () => {
    expect(afterStep(joinOf({ step: 'Fetch' }), failed('PreflightFailed'), NOW).retryAt).toBeDefined()
    expect(afterStep(joinOf({ step: 'Preflight' }), failed('PreflightFailed'), NOW).retryAt).toBeUndefined()
  })

  test('a token that is not there yet costs no attempt', () => {
    const join = afterStep(joinOf({ step: 'Start', attempt: 2 }), { kind: 'NotReady', why: 'no token' }, NOW)
    expect(join).toEqual(joinOf({ step: 'Start', attempt: 2, message: 'no token', retryAt: timestamp(NOW + 2_000) }))
  })

  test('an agent without a certificate is started again, three times', () => {
    const join = joinOf({ step: 'Certified', attempt: 1 })
    const late = plan(seenOf({ join }), NOW + 60_000).join
    expect(late).toMatchObject({ step: 'Start', attempt: 2, reason: 'TimedOut' })
    expect(afterStep(late ?? join, { kind: 'Done', hostKey: undefined }, NOW)).toMatchObject({
      step: 'Certified',
      attempt: 2,
    })
    expect(plan(seenOf({ join: { ...join, attempt: 3 } }), NOW + 60_000).join).toMatchObject({
      step: 'Reach',
      attempt: 1,
    })
  })
})

describe('the stop-loss', () => {
  const others = (tried: number, count: number): Others => ({ tried, failed: new Map([['AuthRefused', count]]) })

  test.each([
    [4, 4, false],
    [5, 5, true],
    [25, 5, false],
    [24, 5, true],
    [1_000, 200, false],
    [1_000, 201, true],
  ])('%i tried, %i failed alike: %s', (tried, count, stops) => {
    expect(stopLoss(others(tried, count)) !== undefined).toBe(stops)
  })

  test('holds back hosts that were not tried yet, and only those', () => {
    const paused = plan(seenOf({}, others(5, 5)), NOW)
    expect(paused).toMatchObject({ actions: [], requeueAfter: 30_000 })
    expect(paused.join?.message).toMatch(
      /^paused: 5 of 5 hosts with this login failed with AuthRefused; correct the cause/,
    )
    expect(plan(seenOf({ join: paused.join ?? joinOf() }, others(5, 5)), NOW + 30_000).join).toBeUndefined()
    expect(ran(seenOf({ join: paused.join ?? joinOf() }), NOW + 30_000)).toEqual([['Reach', 1]])
    expect(ran(seenOf({ join: joinOf({ step: 'Fetch' }) }, others(5, 5)))).toEqual([['Fetch', 1]])
  })

  test('counts what failed and has not passed, what was tried within the hour, and no paused host', () => {
    const bad = machineOf({ join: joinOf({ reason: 'Full', message: 'x', since: timestamp(NOW - 86_400_000) }) })
    const old = machineOf({ join: joinOf({ finished: timestamp(NOW - 3_600_001) }) })
    const paused = machineOf({ join: joinOf({ message: 'paused', retryAt: timestamp(NOW) }) })
    const all = [bad, old, paused, machineOf({ join: joinOf() }), machineOf()]
    expect(othersOf(all, NOW)).toEqual({ tried: 2, failed: new Map([['Full', 1]]) })
  })
})
