import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { Health } from './health.ts'
import { answer } from './http.ts'
import { boundedLabel, createMetrics } from './metrics.ts'
import { type SignalSource, shutdownOn } from './shutdown.ts'
import { Watchdog } from './watchdog.ts'

describe('health over HTTP', () => {
  function setup() {
    const health = new Health()
    const metrics = createMetrics()
    const get = (url: string, method = 'GET') =>
      answer({ method, url, isOwnHost: true }, { health, metrics: metrics.registry })
    return { health, metrics, get }
  }

  test('alive and ready are separate', async () => {
    const { health, get } = setup()
    health.liveWhen('loop', () => undefined)
    health.readyWhen('caches', () => 'nodes are not synced yet')
    expect(await get('/healthz?verbose')).toMatchObject({ status: 200, body: '[+] loop ok\nok\n' })
    expect(await get('/readyz')).toMatchObject({ status: 503, body: '[-] caches: nodes are not synced yet\nfailed\n' })
  })

  test('a check that throws is a problem, not a pass', async () => {
    const { health, get } = setup()
    health.readyWhen('bad', () => {
      throw new Error('no reading')
    })
    expect(await get('/readyz')).toMatchObject({ status: 503 })
  })

  test.each([
    ['GET', '/', 404],
    ['GET', '/debug/pprof', 404],
    ['POST', '/healthz', 405],
    ['DELETE', '/metrics', 405],
  ])('%s %s is answered with %i', async (method, url, status) => {
    const { get } = setup()
    expect((await get(url, method)).status).toBe(status)
  })

  test('metrics carry the names of the house', async () => {
    const { metrics, get } = setup()
    const controller = metrics.controller('machine')
    controller.reconciled('Retry', 0.02)
    controller.depth(3)
    metrics.leader(true)
    metrics.stalled('watch machines', true)
    const { body } = await get('/metrics')
    for (const line of [
      'kubenode_reconcile_total{controller="machine",outcome="Retry"} 1',
      'kubenode_reconcile_seconds_count{controller="machine"} 1',
      'kubenode_queue_depth{controller="machine"} 3',
      'kubenode_leader 1',
      'kubenode_stalled{part="watch machines"} 1',
    ])
      expect(body.split('\n')).toContain(line)
  })

  test('labels are bounded', () => {
    const label = boundedLabel(2)
    expect(['a', 'b', 'c', 'a', 'd'].map(label)).toEqual(['a', 'b', 'other', 'a', 'other'])
  })
})

describe('the watchdog', () => {
  function setup() {
    const clock = new VirtualClock()
    const heard: string[] = []
    const watchdog = new Watchdog({
      clock,
      onStalled: ({ part, silentMs }) => heard.push(`${part} stalled after ${silentMs}`),
      onRecovered: (part) => heard.push(`${part} recovered`),
    })
    const beat = watchdog.heartbeatOf('watch', 10_000)
    watchdog.start()
    return { clock, heard, watchdog, beat }
  }

  test('silence over the bound is logged once, and so is the recovery', async () => {
    const { clock, heard, beat } = setup()
    await clock.advance(10_000)
    expect(heard).toEqual([])
    await clock.advance(30_000)
    expect(heard).toEqual(['watch stalled after 11000'])
    beat()
    await clock.advance(2_000)
    expect(heard.at(-1)).toBe('watch recovered')
  })

  test('a part that shows life in time is never stalled', async () => {
    const { clock, heard, beat } = setup()
    for (let i = 0; i < 20; i++) {
      beat()
      await clock.advance(9_000)
    }
    expect(heard).toEqual([])
  })

  test('after the whole process was stopped no part is blamed for the pause, but silence after it counts', async () => {
    const { clock, heard } = setup()
    await clock.advance(5_000)
    clock.skip(600_000)
    await clock.advance(10_000)
    expect(heard).toEqual([])
    await clock.advance(10_000)
    expect(heard).toHaveLength(1)
  })

  test('F16 wall clock jumps stall no part', async () => {
    const { clock, heard, beat } = setup()
    clock.jumpWall(7_200_000)
    await clock.advance(5_000)
    beat()
    clock.jumpWall(-14_400_000)
    await clock.advance(5_000)
    expect(heard).toEqual([])
  })
})

describe('signals', () => {
  function setup({ ignoresHangup = false } = {}) {
    const listeners = new Map<string, () => void>()
    const source: SignalSource = { on: (s, l) => listeners.set(s, l), off: (s) => listeners.delete(s) }
    const exits: number[] = []
    const clock = { at: 0, monotonic: () => clock.at }
    const shutdown = shutdownOn(source, { exit: (code) => exits.push(code), clock, ignoresHangup })
    const send = (...signals: readonly string[]) =>
      signals.forEach((s) => {
        listeners.get(s)?.()
        clock.at += 1_000
      })
    return { listeners, clock, send, seen: () => [shutdown.signal.aborted, shutdown.exitCode(), exits], shutdown }
  }

  test.each([
    [['SIGTERM'], true, 143, []],
    [['SIGTERM', 'SIGINT'], true, 143, [130]],
    [['SIGINT', 'SIGINT'], true, 130, [130]],
    [['SIGHUP'], true, 129, []],
    [['SIGHUP', 'SIGHUP'], true, 129, []],
    [['SIGTERM', 'SIGHUP'], true, 143, []],
    [['SIGHUP', 'SIGINT'], true, 129, [130]],
  ] as const)('after %j it drains (%j) with %i, and ends at once with %j', (signals, drains, code, exits) => {
    const { send, seen } = setup()
    send(...signals)
    expect(seen()).toEqual([drains, code, exits])
  })

  test('Ctrl-C under npm, which passes its copy of the signal on, is one signal', () => {
    const { clock, send, seen } = setup()
    send('SIGINT')
    // As late as npm is on a busy machine.
    clock.at -= 200
    send('SIGINT')
    expect(seen()).toEqual([true, 130, []])
    send('SIGINT')
    expect(seen()).toEqual([true, 130, [130]])
  })

  test('a hangup that was ignored at the start is heard and ignored', () => {
    const { listeners, send, seen } = setup({ ignoresHangup: true })
    send('SIGHUP')
    expect([listeners.has('SIGHUP'), ...seen()]).toEqual([true, false, 0, []])
    send('SIGTERM')
    expect(seen()).toEqual([true, 143, []])
  })

  test('nothing listens after dispose', () => {
    const { listeners, shutdown } = setup()
    shutdown.dispose()
    expect(listeners.size).toBe(0)
  })
})
