import { ApiError, failure } from '#kube/errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { type LogFields, loggerTo } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock, settled } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { Controller, type ControllerOptions, MOST_HUNG, type Reconcile } from './controller.ts'
import { type Outcome, PARKED_MS, done, requeueAfter, retry } from './outcome.ts'
import { errorTable } from '#lib/error-table.ts'

const testErrors = errorTable({ KN9999: { text: 'invalid', next: 'none' } })

function setup(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = new VirtualClock()
  const lines: (LogFields & { level: string; message: string })[] = []
  const log = loggerTo((level, message, fields) => void lines.push({ ...fields, level, message }))
  const controller = new Controller({
    name: 'example',
    reconcile,
    clock,
    random: seededRandom(1),
    log,
    backoff: { baseMs: 100, capMs: 1_000 },
    ...options,
  })
  controller.start()
  return { clock, controller, lines }
}

const never = () => new Promise<never>(() => undefined)

describe('outcomes', () => {
  test('a key that is done is not looked at again by itself', async () => {
    const seen: string[] = []
    const { clock, controller } = setup(async (key) => (seen.push(key), done))
    controller.enqueue('a')
    await clock.advance(3_600_000)
    expect(seen).toEqual(['a'])
  })

  test('a key that asks for another look gets it then', async () => {
    const at: number[] = []
    const { clock, controller } = setup(
      async () => (at.push(clock.monotonic()), at.length < 3 ? requeueAfter(500) : done),
    )
    controller.enqueue('a')
    await clock.advance(10_000)
    expect(at).toEqual([0, 500, 1_000])
  })

  test('the last fraction of a millisecond of a wait is no busy loop', async () => {
    const at: number[] = []
    const { clock, controller } = setup(
      async () => (at.push(clock.monotonic()), at.length < 50 ? requeueAfter(6e-11) : done),
    )
    controller.enqueue('a')
    await clock.advance(100)
    expect(at.slice(0, 3)).toEqual([0, 1, 2])
  })

  test('failures back off and are forgotten after a success', async () => {
    const failures: number[] = []
    const { clock, controller } = setup(async (_, context) => {
      failures.push(context.failures)
      return failures.length === 4 ? done : retry(new Error('no'))
    })
    controller.enqueue('a')
    await clock.advance(10_000)
    expect(failures).toEqual([0, 1, 2, 3])
    controller.enqueue('a')
    await clock.advance(0)
    expect(failures.at(-1)).toBe(0)
  })

  test('an error that only a person can mend is looked at rarely, and at once when the object changes', async () => {
    let looks = 0
    const { clock, controller } = setup(async () => (looks++, retry(new KubeNodeError(testErrors.KN9999()))))
    controller.enqueue('a')
    await clock.advance(PARKED_MS - 1)
    expect(looks).toBe(1)
    controller.enqueue('a')
    await clock.advance(0)
    expect(looks).toBe(2)
    await clock.advance(1)
    expect(looks).toBe(3)
  })

  test('a server that says when is not asked before', async () => {
    const at: number[] = []
    const busy = new ApiError(failure(429, 'busy'), { action: 'list', target: 'nodes', retryAfterMs: 7_000 })
    const { clock, controller } = setup(async () => (at.push(clock.monotonic()), at.length === 1 ? retry(busy) : done))
    controller.enqueue('a')
    await clock.advance(20_000)
    expect(at).toEqual([0, 7_000])
  })
})

test('a key that asks for another look has done well: its failures are forgotten', async () => {
  const failures: number[] = []
  const outcomes = [retry(new Error('no')), retry(new Error('no')), requeueAfter(5_000), done]
  const { clock, controller } = setup(async (_, context) => (failures.push(context.failures), outcomes.shift() ?? done))
  controller.enqueue('a')
  await clock.advance(60_000)
  expect(failures).toEqual([0, 1, 2, 0])
})

test('a write that another program was faster with is a warning only when it happens again', async () => {
  const conflict = new ApiError(failure(409, 'changed'), { action: 'update', target: 'nodes/a' })
  const gone = new ApiError(failure(404, 'gone'), { action: 'update', target: 'nodes/b' })
  const outcomes = [retry(conflict), done, retry(gone), retry(gone), retry(new Error('no')), done]
  const { clock, controller, lines } = setup(async () => outcomes.shift() ?? done)
  controller.enqueue('a')
  await clock.advance(1_000)
  controller.enqueue('a')
  await clock.advance(60_000)
  expect(lines.map(({ level, failures }) => [level, failures])).toEqual([
    ['debug', 1],
    ['debug', 1],
    ['warn', 2],
    ['warn', 3],
  ])
})

test('a server that asks for hours is asked again after minutes', async () => {
  const at: number[] = []
  const busy = new ApiError(failure(429, 'busy'), { action: 'list', target: 'nodes', retryAfterMs: 36_000_000 })
  const { clock, controller } = setup(async () => (at.push(clock.monotonic()), at.length === 1 ? retry(busy) : done))
  controller.enqueue('a')
  await clock.advance(3_600_000)
  expect(at).toEqual([0, 600_000])
})

describe('the deadline of a reconcile', () => {
  const onAbort =
    (then: () => Outcome): Reconcile =>
    (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(then())))

  test('is what the log names, with what the reconcile said as its cause', async () => {
    const inner = new Error('the call was aborted')
    const { clock, controller, lines } = setup(
      onAbort(() => retry(inner)),
      { timeoutMs: 1_000 },
    )
    controller.enqueue('a')
    await clock.advance(1_050)
    expect(lines[0]).toMatchObject({
      message: 'reconcile failed',
      key: 'a',
      error: { code: 'KN3001', cause: { message: 'the call was aborted' } },
    })
  })

  test('does not take back a success that came while it ended', async () => {
    const { clock, controller, lines } = setup(
      onAbort(() => done),
      { timeoutMs: 1_000 },
    )
    controller.enqueue('a')
    await clock.advance(60_000)
    expect(lines).toEqual([])
  })
})

describe('F21 a poison object', () => {
  const cases: readonly (readonly [string, Reconcile])[] = [
    [
      'that throws at once',
      () => {
        throw new TypeError('poison')
      },
    ],
    ['that rejects', () => Promise.reject(new Error('poison'))],
    ['that throws what is no error', () => Promise.reject('poison')],
    ['that never answers and ignores its signal', never],
    [
      'that waits for its signal',
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ],
  ]
  test.each(cases)('%s does not hold up the others, even with one worker', async (_, poison) => {
    const seen: string[] = []
    const { clock, controller } = setup(
      (key, context) => (key === 'poison' ? poison(key, context) : (seen.push(key), Promise.resolve(done))),
      {
        workers: 1,
        timeoutMs: 1_000,
      },
    )
    for (const key of ['a', 'poison', 'b', 'c']) controller.enqueue(key)
    await clock.advance(5_000)
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  test('a reconcile that hangs keeps its key, so that it never runs twice at once', async () => {
    let running = 0
    const { clock, controller } = setup(() => (running++, never()), { timeoutMs: 1_000 })
    controller.enqueue('a')
    await clock.advance(5_000)
    controller.enqueue('a')
    await clock.advance(60_000)
    expect(running).toBe(1)
    expect(controller.state().hung).toEqual(['a'])
  })

  test('a hung key comes back once its reconcile ends after all', async () => {
    let release = () => {}
    const runs: number[] = []
    const { clock, controller } = setup(
      () => {
        runs.push(clock.monotonic())
        return runs.length > 1
          ? Promise.resolve(done)
          : new Promise((resolve) => (release = () => resolve(retry('late'))))
      },
      { timeoutMs: 1_000 },
    )
    controller.enqueue('a')
    await clock.advance(10_000)
    release()
    await clock.advance(1_000)
    expect(runs).toHaveLength(2)
    expect(controller.state().hung).toEqual([])
  })

  test('left-behind reconciles are bounded', async () => {
    let started = 0
    const { clock, controller } = setup(() => (started++, never()), { timeoutMs: 10, workers: 8 })
    for (let i = 0; i < 1_000; i++) controller.enqueue(`k${i}`)
    await clock.advance(10_000_000)
    expect(started).toBeLessThan(MOST_HUNG + 8)
    expect(controller.state().hung.length).toBeLessThan(MOST_HUNG + 8)
  })
})

test('no more keys are in work at once than there are workers, and no key twice', async () => {
  const inWork: string[] = []
  let most = 0
  const { clock, controller } = setup(
    async (key) => {
      expect(inWork).not.toContain(key)
      inWork.push(key)
      most = Math.max(most, inWork.length)
      await clock.sleep(10)
      inWork.splice(inWork.indexOf(key), 1)
      return done
    },
    { workers: 3 },
  )
  for (let round = 0; round < 5; round++) {
    for (const key of ['a', 'b', 'c', 'd', 'e']) controller.enqueue(key)
    await clock.advance(7)
  }
  await clock.advance(1_000)
  expect(most).toBe(3)
})

test('every look at a key has an id of its own in its log lines', async () => {
  const { clock, controller, lines } = setup(async (_, { log }) => (log.info('looked'), done))
  controller.enqueue('a')
  await clock.advance(0)
  controller.enqueue('a')
  await clock.advance(0)
  const ids = lines.map((line) => line['reconcileId'])
  expect(new Set(ids).size).toBe(2)
})

test('keys refused by a full queue are looked at again once there is room', async () => {
  const seen = new Set<string>()
  const all = Array.from({ length: 20 }, (_, i) => `k${i}`)
  const { clock, controller } = setup(async (key) => (await clock.sleep(1), seen.add(key), done), {
    capacity: 5,
    workers: 2,
    allKeys: () => all,
  })
  for (const key of all) controller.enqueue(key)
  await clock.advance(60_000)
  expect(seen.size).toBe(20)
})

describe('stopping', () => {
  test('what runs may finish, what waits is not started', async () => {
    const finished: string[] = []
    const { clock, controller } = setup(
      async (key) => {
        await clock.sleep(500)
        finished.push(key)
        return done
      },
      { workers: 1 },
    )
    controller.enqueue('a')
    controller.enqueue('b')
    await settled()
    const stopped = controller.stop(1_000)
    await clock.advance(500)
    expect(await stopped).toBe(true)
    expect(finished).toEqual(['a'])
  })

  test('a reconcile that does not finish in time is aborted, and a controller that cannot stop says so', async () => {
    let reason: unknown
    const { clock, controller } = setup((_, { signal }) => {
      signal.addEventListener('abort', () => (reason = signal.reason))
      return never()
    })
    controller.enqueue('a')
    await settled()
    const stopped = controller.stop(1_000)
    await clock.advance(10_000)
    expect(await stopped).toBe(false)
    expect(reason).toMatchObject({ code: 'KN3001' })
  })
})
