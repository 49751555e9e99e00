import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createHttp2, type ServerHttp2Stream } from 'node:http2'
import { expect, test } from 'vitest'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { HealthCheck, type HealthPorts } from './health-check.ts'
import { healthOptions, type HealthOptions } from './health-options.ts'
import { askCri, askDocker } from './runtime-call.ts'
import { parseServiceState, type ServiceState } from './service-state.ts'
import { countOptions, countResult, LineCount, type CountOptions } from './log-count.ts'

const PATIENCE_MS = 60_000
const RUNNING: ServiceState = { isActive: true, state: 'active (running)', mainPid: 7, isFrozen: false, upMs: 600_000 }

function check(more: Partial<HealthPorts> & { readonly state?: never }, seen: () => ServiceState | undefined) {
  const restarts: string[] = []
  let now = 0
  const clock: Clock = { ...systemClock, monotonic: () => now }
  const options = healthOptions(['--component=kubelet', '--cooldown-time=1m', '--log-pattern=2:evil'])
  const one = new HealthCheck(options as HealthOptions, {
    clock,
    ask: async () => undefined,
    countLines: async () => 0,
    isNodeFrozen: async () => false,
    restart: async (service, { state }) => void restarts.push(`${service} ${state}`),
    ...more,
    state: async () => seen(),
  })
  return { one, restarts, wait: (ms: number) => (now += ms) }
}

test('a service that answers is healthy; one that does not is reported with the cause', async () => {
  expect(await check({}, () => RUNNING).one.run()).toEqual({ status: 'Ok', message: '' })
  const { one, restarts } = check({ ask: async () => 'connect ECONNREFUSED' }, () => RUNNING)
  expect(await one.run()).toEqual({
    status: 'NonOk',
    message: 'kubelet:kubelet was found unhealthy: connect ECONNREFUSED',
  })
  // It is running, so a restart needs a permit.
  expect(restarts).toEqual([])
})

test('a service that is frozen is found and started again, not more often than three times an hour', async () => {
  const { one, restarts, wait } = check({ ask: async () => 'no answer' }, () => ({ ...RUNNING, isFrozen: true }))
  expect((await one.run()).message).toBe('kubelet:kubelet was found unhealthy: the process is stopped')
  await one.run()
  expect(restarts.length).toBe(1)
  for (let n = 0; n < 10; n++) {
    wait(120_000)
    await one.run()
  }
  expect(restarts.length).toBe(3)
  wait(3_600_000)
  await one.run()
  expect(restarts.length).toBe(4)
})

test('a stopped process is reported without waiting for the timeout; a slow one that runs gets its whole time', async () => {
  const timers: (() => void)[] = []
  const clock: Clock = { ...systemClock, after: (_, run) => (timers.push(run), { cancel: () => undefined }) }
  const never = new Promise<string>(() => undefined)
  const stopped = check({ clock, ask: () => never }, () => ({ ...RUNNING, isFrozen: true })).one.run()
  timers[0]?.()
  expect(await stopped).toEqual({
    status: 'NonOk',
    message: 'kubelet:kubelet was found unhealthy: the process is stopped',
  })
  let answer: (text: string | undefined) => void = () => undefined
  const slow = check({ clock, ask: () => new Promise((done) => (answer = done)) }, () => RUNNING).one.run()
  timers[1]?.()
  answer(undefined)
  expect(await slow).toEqual({ status: 'Ok', message: '' })
})

test('on a frozen node a service that a user stopped stays stopped, and one that failed is started again', async () => {
  const isNodeFrozen = async () => true
  const stopped = check({ ask: async () => 'x', isNodeFrozen }, () => ({ ...RUNNING, isFrozen: true }))
  expect((await stopped.one.run()).status).toBe('NonOk')
  expect(stopped.restarts).toEqual([])
  const failed = check({ ask: async () => 'x', isNodeFrozen }, () => ({ ...RUNNING, isActive: false, state: 'failed' }))
  await failed.one.run()
  expect(failed.restarts).toEqual(['kubelet failed'])
})

test('one that failed is started again; one that a user stopped is left alone', async () => {
  const of = (state: string) => check({ ask: async () => 'x' }, () => ({ ...RUNNING, isActive: false, state }))
  const failed = of('failed (failed)')
  await failed.one.run()
  expect(failed.restarts).toEqual(['kubelet failed (failed)'])
  const stopped = of('inactive (dead)')
  expect((await stopped.one.run()).message).toContain('inactive (dead)')
  expect(stopped.restarts).toEqual([])
})

test('too many lines of a pattern in its log are an illness', async () => {
  const { one } = check({ countLines: async () => 2 }, () => RUNNING)
  expect((await one.run()).message).toContain('2 lines of its log match evil')
})

test('the state of a service is read from what systemd says', () => {
  const text = 'MainPID=42\nInactiveExitTimestampMonotonic=5000000\nActiveState=active\nSubState=running\n'
  expect(parseServiceState(text, () => 'T', 65_000)).toEqual({
    isActive: true,
    state: 'active (running)',
    mainPid: 42,
    isFrozen: true,
    upMs: 60_000,
  })
})

test('a container runtime is asked over its socket, and one that hangs is no answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-cri-'))
  const [cri, docker] = [join(folder, 'cri'), join(folder, 'docker')]
  let mode = 'well'
  const grpc = createHttp2()
  grpc.on('stream', (stream: ServerHttp2Stream) => {
    if (mode === 'hangs') return
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': mode === 'well' ? '0' : '13' }))
    stream.end(Buffer.from([0, 0, 0, 0, 0]))
  })
  const http = createServer((_, response) => {
    if (mode !== 'hangs') response.writeHead(mode === 'well' ? 200 : 500).end('[]')
  })
  await Promise.all([
    new Promise<void>((resolve) => void grpc.listen(cri, resolve)),
    new Promise<void>((resolve) => void http.listen(docker, resolve)),
  ])
  try {
    const both = async (withinMs: number) => [await askCri(cri, withinMs), await askDocker(docker, withinMs)]
    // On a machine that is busy, an answer takes longer than any time that a test should wait for one that never comes.
    expect(await both(PATIENCE_MS)).toEqual([undefined, undefined])
    mode = 'ill'
    expect(await both(PATIENCE_MS)).toEqual(['gRPC status 13', 'HTTP 500 from /containers/json?limit=1'])
    mode = 'hangs'
    expect(await both(50)).toEqual(['no answer within 50 ms', 'no answer within 50 ms'])
    expect(await askCri(join(folder, 'nobody'), PATIENCE_MS)).toContain('ENOENT')
  } finally {
    http.closeAllConnections()
    http.close()
    grpc.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('lines are counted, and taken back by those that revert them', () => {
  const options = countOptions([
    '--journald-source=systemd',
    '--count=2',
    '--pattern=Started (Kubernetes kubelet|kubelet.service).',
    '--revert-pattern=Stopping (Kubernetes kubelet|kubelet.service)...',
  ]) as CountOptions
  const lines = new LineCount(options)
  const started = 'Started kubelet.service.'
  for (const line of [started, 'Stopping kubelet.service...', started, 'x', started]) lines.take(line)
  expect(countResult(lines.count, options)).toEqual({
    status: 'NonOk',
    message: 'Found 2 matching logs, which meets the threshold of 2',
  })
  expect(countResult(1, options)).toEqual({ status: 'Ok', message: '' })
  expect(countOptions(['--pattern=x'])).toBe('--journald-source is missing')
  const evil = '(?:[xa]?){1000}[xa]{1000}[yz]'
  for (const flag of ['--pattern', '--revert-pattern'])
    expect(countOptions(['--journald-source=x', '--pattern=x', `${flag}=${evil}`])).toMatch(/over 1000; use smaller/)
  expect(healthOptions([`--log-pattern=2:${evil}`])).toMatch(/over 1000; use smaller/)
  expect(healthOptions(['--log-pattern=2:('])).toMatch(/missing closing/)
})
