import { coreKind } from '#kube/core-kinds.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { type CallFault, type FaultPort, type Verb, crashAtWrite, onNthCall } from '#test/doubles/kube/faults.ts'
import { loggerTo, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { fencedClient } from './fenced-client.ts'
import { DEFAULT_LEADER_TIMES, type LeaderContext, LeaderElection, REFUSED_RETRY_MS } from './leader.ts'
import { type Lease, leaseType } from './lease.ts'

const KEY = { namespace: 'kubenode-system', name: 'controllers' }
const { leaseMs, renewDeadlineMs } = DEFAULT_LEADER_TIMES

function world(faults: FaultPort = {}) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), faults, bookmarkEveryMs: 0 })
  const candidate = (identity: string, ownClock = clock) => {
    const terms: LeaderContext[] = []
    const lost: string[] = []
    const election = new LeaderElection({
      client: fake.client({ actor: identity }),
      clock: ownClock,
      random: seededRandom(identity.length),
      log: silentLogger,
      lease: KEY,
      identity,
      onElected: (context) => terms.push(context),
      onLost: (reason) => lost.push(reason),
    })
    return { identity, election, terms, lost }
  }
  const lease = () => fake.peek(leaseType, KEY) as Lease
  const leaderAndStandby = async () => {
    const [a, b] = [candidate('a'), candidate('b')]
    a.election.start()
    await clock.advance(100)
    b.election.start()
    return [a, b] as const
  }
  return { clock, fake, candidate, leaderAndStandby, lease }
}

describe('taking and keeping', () => {
  test('the first candidate leads, keeps leading, and the second waits', async () => {
    const { clock, lease, leaderAndStandby } = world()
    const [a, b] = await leaderAndStandby()
    await clock.advance(120_000)
    expect([a.election.isLeader(), b.election.isLeader(), a.terms.length, a.lost]).toEqual([true, false, 1, []])
    expect(lease().spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0, leaseDurationSeconds: 15 })
    expect(b.election.holder()).toBe('a')
  })

  test('the leader tells of itself on the Lease, and leaves what others wrote there', async () => {
    const { clock, fake, lease } = world()
    const start = (identity: string, serves: string) => {
      const election = new LeaderElection({
        client: fake.client({ actor: identity }),
        clock,
        random: seededRandom(1),
        log: silentLogger,
        lease: KEY,
        identity,
        annotations: { serves },
        onElected: () => undefined,
        onLost: () => undefined,
      })
      election.start()
      return election
    }
    const first = start('a', 'one')
    await clock.advance(100)
    const now = lease()
    expect(now.metadata.annotations).toEqual({ serves: 'one' })
    await first.stop()
    const left = lease()
    const client = fake.client({ actor: 'person' })
    await client.update(leaseType, { ...left, metadata: { ...left.metadata, annotations: { serves: 'one', b: 'c' } } })
    start('b', 'two')
    await clock.advance(5_000)
    expect(lease().metadata.annotations).toEqual({ serves: 'two', b: 'c' })
  })

  test('of candidates that start at the same moment exactly one leads', async () => {
    const { clock, candidate } = world()
    const all = ['a', 'bb', 'ccc', 'dddd'].map((name) => candidate(name))
    for (const c of all) c.election.start()
    await clock.advance(1_000)
    expect(all.filter((c) => c.election.isLeader())).toHaveLength(1)
  })

  test('a lease that is given back is taken without waiting for its end', async () => {
    const { clock, lease, leaderAndStandby } = world()
    const [a, b] = await leaderAndStandby()
    await clock.advance(5_000)
    await a.election.stop()
    expect(a.terms[0]?.signal.aborted).toBe(true)
    await clock.advance(3_000)
    expect(b.election.isLeader()).toBe(true)
    expect(lease().spec?.leaseTransitions).toBe(1)
  })

  test('the term grows with every change of leader', async () => {
    const { clock, candidate } = world()
    const terms: (number | undefined)[] = []
    for (const name of ['a', 'b', 'c']) {
      const c = candidate(name)
      c.election.start()
      await clock.advance(5_000)
      terms.push(c.terms[0]?.term)
      await c.election.stop()
    }
    expect(terms).toEqual([0, 1, 2])
  })
})

describe('losing', () => {
  const cutOff = (actor: string, from: { at: number }, clock: () => number): FaultPort => ({
    call: (call): CallFault | undefined =>
      call.actor === actor && clock() >= from.at ? { kind: 'lose', when: 'before' } : undefined,
  })

  test('a leader cut off from the server stops before anybody else may start', async () => {
    const from = { at: Infinity }
    const { clock, fake, leaderAndStandby } = world()
    fake.faults = cutOff('a', from, () => clock.monotonic())
    const [a, b] = await leaderAndStandby()
    await clock.advance(20_000)
    from.at = clock.monotonic()
    let endedAt = Infinity
    let startedAt = Infinity
    for (let t = 0; t < 60_000; t += 50) {
      await clock.advance(50)
      expect(a.election.isLeader() && b.election.isLeader()).toBe(false)
      if (!a.election.isLeader()) endedAt = Math.min(endedAt, clock.monotonic())
      if (b.election.isLeader()) startedAt = Math.min(startedAt, clock.monotonic())
    }
    expect(endedAt - from.at).toBeLessThanOrEqual(renewDeadlineMs + 50)
    expect(startedAt - endedAt).toBeGreaterThanOrEqual((leaseMs - renewDeadlineMs) / 2)
    expect(a.lost).toEqual(['renew deadline exceeded'])
  })

  test('a renewal whose reply is lost does not lengthen the term, and does not end it either', async () => {
    let n = 0
    const { clock, candidate, fake } = world()
    fake.faults = {
      call: (call) => (call.verb === 'update' && ++n % 2 === 0 ? { kind: 'lose', when: 'after' } : undefined),
    }
    const a = candidate('a')
    a.election.start()
    await clock.advance(120_000)
    expect([a.election.isLeader(), a.terms.length]).toEqual([true, 1])
  })

  test('a leader that crashed is followed after the lease ran out, not before', async () => {
    const { clock, leaderAndStandby } = world(crashAtWrite(3, 'before', 'a'))
    const [, b] = await leaderAndStandby()
    await clock.advance(leaseMs)
    expect(b.election.isLeader()).toBe(false)
    await clock.advance(leaseMs)
    expect(b.election.isLeader()).toBe(true)
  })

  test('an edit of the lease by another client ends the term', async () => {
    const { clock, candidate, fake } = world()
    const a = candidate('a')
    a.election.start()
    await clock.advance(10_000)
    fake.poke(leaseType, KEY, { spec: { holderIdentity: 'intruder' } })
    await clock.advance(5_000)
    expect([a.election.isLeader(), a.lost]).toEqual([false, ['taken by intruder']])
  })

  test.each([2, -2])(
    'F16 a wall clock that jumps by %i hours neither ends a term nor starts another',
    async (hours) => {
      const { clock, candidate } = world()
      const a = candidate('a')
      const b = candidate('b')
      a.election.start()
      await clock.advance(100)
      b.election.start()
      await clock.advance(5_000)
      clock.jumpWall(hours * 3_600_000)
      await clock.advance(60_000)
      expect([a.election.isLeader(), b.election.isLeader(), a.lost]).toEqual([true, false, []])
    },
  )

  test.each([-86_400_000, 86_400_000])('F16 clocks of two candidates may be %i ms apart', async (apart) => {
    const { clock, candidate } = world()
    const skewed = Object.assign(Object.create(clock) as VirtualClock, {
      now: () => clock.now() + apart,
      monotonic: () => clock.monotonic(),
      after: (ms: number, fn: () => void) => clock.after(ms, fn),
      sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
    })
    const a = candidate('a')
    const b = candidate('b', skewed)
    a.election.start()
    await clock.advance(100)
    b.election.start()
    await clock.advance(60_000)
    expect([a.election.isLeader(), b.election.isLeader()]).toEqual([true, false])
  })
})

describe('giving way', () => {
  test('a standby that stops leaves the lease to its holder', async () => {
    const { clock, lease, leaderAndStandby } = world()
    const [a, b] = await leaderAndStandby()
    await clock.advance(5_000)
    await b.election.stop()
    expect(lease().spec?.holderIdentity).toBe('a')
    await clock.advance(30_000)
    expect([a.election.isLeader(), a.lost]).toEqual([true, []])
  })

  test('a leader whose last renewal was not answered gives the lease back all the same', async () => {
    const { clock, fake, candidate, lease } = world()
    const a = candidate('a')
    a.election.start()
    await clock.advance(1_000)
    let cut = true
    fake.faults = {
      call: ({ verb }) => (cut && verb === 'update' ? { kind: 'lose', when: 'after' } : undefined),
    }
    await clock.advance(4_000)
    expect(a.election.isLeader()).toBe(true)
    cut = false
    await a.election.stop()
    expect(lease().spec?.holderIdentity).toBe('')
  })

  test('a reply to the giving back that is lost leaves no name in the lease', async () => {
    const { clock, fake, candidate, lease } = world()
    const a = candidate('a')
    a.election.start()
    await clock.advance(1_000)
    fake.faults = onNthCall({ verbs: ['update'] }, 1, { kind: 'lose', when: 'before' })
    await a.election.stop()
    expect(lease().spec?.holderIdentity).toBe('')
  })

  test('a leader that a slow server cost its term gives the lease back, so that its successor need not wait', async () => {
    const { clock, fake, leaderAndStandby, lease } = world()
    const [a, b] = await leaderAndStandby()
    let cut = true
    fake.faults = { call: ({ actor }) => (cut && actor === 'a' ? { kind: 'lose', when: 'before' } : undefined) }
    await clock.advance(renewDeadlineMs + 100)
    expect([a.lost, lease().spec?.holderIdentity]).toEqual([['renew deadline exceeded'], 'a'])
    cut = false
    await a.election.stop()
    await clock.advance(3_000)
    expect(b.election.isLeader()).toBe(true)
  })

  test('a leader that another followed leaves the lease alone when it stops', async () => {
    const { clock, fake, leaderAndStandby, lease } = world()
    const [a, b] = await leaderAndStandby()
    fake.faults = { call: ({ actor }) => (actor === 'a' ? { kind: 'lose', when: 'before' } : undefined) }
    await clock.advance(renewDeadlineMs + leaseMs)
    fake.faults = {}
    await a.election.stop()
    expect([b.election.isLeader(), lease().spec?.holderIdentity]).toEqual([true, 'b'])
  })

  test('a server that is away keeps no leader from ending', async () => {
    const { clock, fake, candidate } = world()
    const a = candidate('a')
    a.election.start()
    await clock.advance(1_000)
    fake.faults = { call: () => ({ kind: 'lose', when: 'before' }) }
    await a.election.stop()
    expect(a.election.isLeader()).toBe(false)
  })

  test.each([
    ['its holder promised a minute', 60, 60_000],
    ['its holder promised less than we would', 2, leaseMs],
  ])('a foreign lease is waited for: %s', async (_, leaseDurationSeconds, waitMs) => {
    const { clock, candidate, fake } = world()
    const spec = { holderIdentity: 'foreign', leaseDurationSeconds, renewTime: '1970-01-01T00:00:00.000000Z' }
    fake.plant(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: KEY, spec })
    const a = candidate('a')
    a.election.start()
    await clock.advance(waitMs - 100)
    expect(a.election.isLeader()).toBe(false)
    await clock.advance(5_000)
    expect(a.election.isLeader()).toBe(true)
  })
})

describe('slow answers', () => {
  test('the term counts from before a renewal was sent, however late its answer is', async () => {
    const { clock, candidate, fake } = world()
    const slowMs = 3_000
    const sentAt: number[] = []
    let isCut = false
    fake.faults = {
      call: ({ verb }): CallFault | undefined => {
        if (isCut) return { kind: 'lose', when: 'before' }
        if (verb !== 'update') return undefined
        sentAt.push(clock.monotonic())
        return { kind: 'delay', when: 'after', ms: slowMs }
      },
    }
    const a = candidate('a')
    a.election.start()
    await clock.advance(30_000)
    const answered = sentAt.length
    while (sentAt.length === answered) await clock.advance(10)
    await clock.advance(slowMs + 100)
    isCut = true
    const sent = sentAt.at(-1) ?? 0
    await clock.advance(sent + renewDeadlineMs - clock.monotonic() - 10)
    expect(a.election.isLeader()).toBe(true)
    await clock.advance(20)
    expect(a.election.isLeader()).toBe(false)
  })

  test('F2 a candidate that never heard that it took the lease leads at its next look', async () => {
    const { clock, candidate, fake } = world()
    fake.faults = onNthCall({ verbs: ['create'] }, 1, { kind: 'lose', when: 'after' })
    const a = candidate('a')
    a.election.start()
    await clock.advance(100)
    expect(a.election.isLeader()).toBe(false)
    await clock.advance(3_000)
    expect([a.election.isLeader(), a.terms.length, a.terms[0]?.term]).toEqual([true, 1, 1])
  })

  test('a candidate that was stopped until its term was over before it began is not elected', async () => {
    const { clock, candidate, fake } = world()
    fake.faults = { call: ({ verb }) => (verb === 'create' ? { kind: 'delay', when: 'after', ms: 1_000 } : undefined) }
    const a = candidate('a')
    a.election.start()
    await clock.advance(500)
    clock.skip(20_000)
    await clock.advance(500)
    expect(a.terms).toEqual([])
  })
})

test('F15 a leader that was stopped past its lease writes nothing, not even before its timers run', async () => {
  const { clock, candidate, fake } = world()
  const a = candidate('a')
  a.election.start()
  await clock.advance(1_000)
  const [term] = a.terms
  if (term === undefined) expect.unreachable()
  const client = fencedClient(fake.client({ actor: 'a' }), term)
  expect(term.isLeader()).toBe(true)
  clock.skip(leaseMs)
  expect([term.isLeader(), term.signal.aborted]).toEqual([false, false])
  const node = coreKind('Node')
  const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }
  await expect(client.create(node, object)).rejects.toMatchObject({ code: 'KN3012' })
  expect(fake.all(node)).toEqual([])
})

test.each([
  [{ leaseMs: 10_000, renewDeadlineMs: 10_000, retryMs: 2_000 }],
  [{ leaseMs: 15_000, renewDeadlineMs: 2_000, retryMs: 2_000 }],
  [{ leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 0 }],
])('times that cannot keep two leaders apart are refused: %j', (times) => {
  const make = () =>
    new LeaderElection({
      client: world().fake.client({ actor: 'a' }),
      clock: new VirtualClock(),
      random: seededRandom(1),
      log: silentLogger,
      lease: KEY,
      identity: 'a',
      times,
      onElected: () => undefined,
      onLost: () => undefined,
    })
  expect(make).toThrowError(/KN1002/)
})

describe('a server that takes no write, as without space in its store', () => {
  const logged = async (answers: readonly (number | undefined)[]) => {
    const { clock, fake } = world()
    const lines: string[] = []
    const election = new LeaderElection({
      client: fake.client({ actor: 'a' }),
      clock,
      random: seededRandom(1),
      log: loggerTo((level, message, { error }) => level === 'warn' && lines.push(`${message}: ${error as string}`)),
      lease: KEY,
      identity: 'a',
      onElected: () => undefined,
      onLost: () => undefined,
    })
    election.start()
    for (const code of answers) {
      const isWrite = (verb: Verb) => verb === 'create' || verb === 'update'
      fake.faults = {
        call: ({ verb }): CallFault | undefined =>
          code !== undefined && isWrite(verb) ? { kind: 'refuse', when: 'before', code } : undefined,
      }
      await clock.advance(60_000)
    }
    await election.stop()
    return lines
  }

  test('is named in the log once, before the leader ends and while none can begin', async () => {
    const lines = await logged([undefined, 500])
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^cannot read or renew the lease: .*InternalError/)
    expect(await logged([500])).toHaveLength(1)
  })

  test('is named again when it comes back, or answers differently', async () => {
    expect(await logged([500, undefined, 500])).toHaveLength(2)
    expect(await logged([500, 422])).toHaveLength(2)
  })
})

describe('a candidate that lacks the right', () => {
  const refusing = (verbs: readonly Verb[], until: { isOver: boolean }): FaultPort => ({
    call: (call) =>
      !until.isOver && verbs.includes(call.verb) ? { kind: 'refuse', when: 'before', code: 403 } : undefined,
  })

  test.each<[string, readonly Verb[]]>([
    ['to read the lease', ['get']],
    ['to make it', ['create']],
  ])('%s is logged once, retried seldom, and leads once it has the right', async (_, verbs) => {
    const until = { isOver: false }
    let calls = 0
    const counted: FaultPort = {
      call: (call) => {
        calls++
        return refusing(verbs, until).call?.(call)
      },
    }
    const { clock, fake } = world(counted)
    const told: string[] = []
    const election = new LeaderElection({
      client: fake.client({ actor: 'a' }),
      clock,
      random: seededRandom(1),
      log: silentLogger,
      lease: KEY,
      identity: 'a',
      onElected: () => undefined,
      onLost: () => undefined,
      onRefused: (error) => told.push(error.reason),
    })
    election.start()
    await clock.advance(10 * REFUSED_RETRY_MS)
    expect(told).toEqual(['Forbidden'])
    expect(calls).toBeLessThan(30)
    until.isOver = true
    await clock.advance(2 * REFUSED_RETRY_MS)
    expect(election.isLeader()).toBe(true)
  })
})
