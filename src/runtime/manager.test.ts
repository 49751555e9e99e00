import { silentLogger } from '#lib/log.ts'
import { VirtualClock, settled } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import type { LeaderContext } from './leader.ts'
import { type ElectionEvents, Manager, type ManagerOptions, type Part } from './manager.ts'

function setup(options: Partial<ManagerOptions> = {}) {
  const clock = new VirtualClock()
  const events: string[] = []
  const part = (name: string, over: Partial<Part> = {}): Part => ({
    name,
    start: () => void events.push(`start ${name}`),
    stop: async () => void events.push(`stop ${name}`),
    ...over,
  })
  let election: ElectionEvents | undefined
  const manager = new Manager({
    clock,
    log: silentLogger,
    http: [part('http')],
    caches: [part('cache')],
    election: (to) => {
      election = to
      return { start: () => void events.push('stand'), stop: async () => void events.push('give back') }
    },
    controllers: () => [part('controller')],
    ...options,
  })
  const abort = new AbortController()
  const leader: LeaderContext = { signal: abort.signal, term: 1, isLeader: () => true }
  return {
    clock,
    events,
    manager,
    part,
    terminate: () => abort.abort(),
    run: () => manager.run(abort.signal),
    elect: () => election?.onElected(leader),
    lose: () => election?.onLost('test'),
  }
}

describe('in order', () => {
  test('HTTP, caches, leadership, controllers; and backwards, the lease after the last controller', async () => {
    const { events, manager, run, elect, terminate } = setup()
    const running = run()
    await settled()
    expect([events.splice(0), manager.phase]).toEqual([['start http', 'start cache', 'stand'], 'Standby'])
    elect()
    await settled()
    expect([events.splice(0), manager.phase]).toEqual([['start controller'], 'Leading'])
    terminate()
    expect(await running).toEqual({ reason: 'Stopped', left: [] })
    expect(events).toEqual(['stop controller', 'give back', 'stop cache', 'stop http'])
  })

  test('no part stands for election before the caches are synced', async () => {
    const synced = Promise.withResolvers<void>()
    const { events, part, run, terminate } = setup({ caches: [] })
    const slow = setup({ caches: [part('cache', { start: () => synced.promise })] })
    const running = slow.run()
    await settled()
    expect(slow.events).toEqual(['start http'])
    synced.resolve()
    await settled()
    expect(slow.events).toEqual(['start http', 'stand'])
    slow.terminate()
    await running
    terminate()
    await run()
    expect(events).not.toContain('start controller')
  })

  test('without an election the controllers start at once', async () => {
    const clock = new VirtualClock()
    const terms: LeaderContext[] = []
    const abort = new AbortController()
    const manager = new Manager({ clock, log: silentLogger, controllers: (leader) => (terms.push(leader), []) })
    const running = manager.run(abort.signal)
    await settled()
    expect(terms.map((t) => t.isLeader())).toEqual([true])
    abort.abort()
    await running
  })
})

describe('endings', () => {
  test('the loss of leadership ends the program', async () => {
    const { events, run, elect, lose } = setup()
    const running = run()
    await settled()
    elect()
    await settled()
    lose()
    expect(await running).toMatchObject({ reason: 'LeadershipLost' })
    expect(events).toContain('stop controller')
  })

  test.each([
    ['leadership is lost', 'LeadershipLost'],
    ['the program is stopped', 'Stopped'],
  ] as const)('a controller whose start never ends keeps no program alive when %s', async (_, reason) => {
    const { events, part, run, elect, lose, terminate } = setup({
      controllers: () => [part('waits', { start: () => new Promise(() => undefined) }), part('next')],
    })
    const running = run()
    await settled()
    elect()
    await settled()
    if (reason === 'Stopped') terminate()
    else lose()
    expect(await running).toEqual({ reason, left: [] })
    expect(events).toContain('give back')
    expect(events).not.toContain('start next')
  })

  test('a controller whose start fails after the end is no error of the process', async () => {
    const start = Promise.withResolvers<void>()
    const { part, run, elect, lose } = setup({ controllers: () => [part('late', { start: () => start.promise })] })
    const running = run()
    await settled()
    elect()
    await settled()
    lose()
    expect(await running).toEqual({ reason: 'LeadershipLost', left: [] })
    start.reject(new Error('too late'))
    await settled()
  })

  test('a controller that does not end in time is named, the rest is stopped, and the lease is kept', async () => {
    const { clock, events, part, terminate, elect, run } = setup({
      controllers: () => [part('stuck', { stop: () => new Promise(() => undefined) })],
    })
    const running = run()
    await settled()
    elect()
    await settled()
    terminate()
    await clock.advance(60_000)
    expect(await running).toEqual({ reason: 'Stopped', left: ['stuck'] })
    expect(events).not.toContain('give back')
    expect(events).toContain('stop http')
  })

  test('a controller that says it could not end everything is named', async () => {
    const { part, terminate, elect, run } = setup({ controllers: () => [part('hung', { stop: async () => false })] })
    const running = run()
    await settled()
    elect()
    await settled()
    terminate()
    expect(await running).toEqual({ reason: 'Stopped', left: ['hung'] })
  })

  test('a controller that is stopped while it starts is no failure', async () => {
    const starting = (signal: AbortSignal): Promise<void> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told to end'))))
    const { part } = setup()
    const { terminate, elect, run } = setup({ controllers: () => [part('slow', { start: starting })] })
    const running = run()
    await settled()
    elect()
    await settled()
    terminate()
    expect(await running).toEqual({ reason: 'Stopped', left: [] })
  })

  test.each([
    [
      'a cache',
      (part: (name: string, over?: Partial<Part>) => Part, fail: () => never) => ({
        caches: [part('bad', { start: fail })],
      }),
    ],
    [
      'a controller',
      (part: (name: string, over?: Partial<Part>) => Part, fail: () => never) => ({
        controllers: () => [part('bad', { start: fail })],
      }),
    ],
  ])('%s that cannot start ends the program with its error and everything stopped', async (_, broken) => {
    const error = new Error('broken')
    const fail = () => {
      throw error
    }
    const { part } = setup()
    const { events, elect, run } = setup(broken(part, fail))
    const running = run()
    await settled()
    elect()
    expect(await running).toMatchObject({ reason: 'FailedToStart', error })
    expect(events).toContain('stop http')
  })

  test('a manager does not run twice', async () => {
    const { run, terminate } = setup()
    terminate()
    await run()
    await expect(run()).rejects.toMatchObject({ code: 'KN1000' })
  })
})
