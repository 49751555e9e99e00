// Monitors, board and events together, on a node that is a folder.
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { realFiles } from '../files/real.ts'
import { nodeDir, type NodeDir } from '../node-dir.ts'
import { parseDetect } from '#api/agent-config/detect-config.ts'
import { parseLogSources } from '#api/agent-config/log-rules.ts'
import { agentEvents } from '../agent-events.ts'
import { Detection } from './detection.ts'
import { foreignConditions } from './detection.ts'
import { KmsgReader } from './npd/kmsg.ts'
import { ProblemBoard } from './problem-board.ts'

let folder: string
let dir: NodeDir
let log: string
let open: Agent[]
let serverIsBehindMs = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-detect-'))
  dir = nodeDir(folder)
  for (const path of ['root/var/log', 'root/etc', 'state']) mkdirSync(join(folder, path), { recursive: true })
  log = join(dir.root, 'var/log/app.log')
  open = []
})
afterEach(async () => {
  for (const agent of open) await agent.stop()
  rmSync(folder, { recursive: true, force: true })
})

const config = {
  plugin: 'filelog',
  pluginConfig: { timestamp: '^(\\S+)', message: '^\\S+ (.*)', timestampFormat: '2006-01-02T15:04:05Z07:00' },
  logPath: '/var/log/app.log',
  lookback: '5m',
  bufferSize: 10,
  source: 'app-monitor',
  conditions: [{ type: 'AppBroken', reason: 'AppFine', message: 'app is fine' }],
  rules: [
    { type: 'temporary', reason: 'AppWarned', pattern: 'warn \\d+' },
    { type: 'permanent', condition: 'AppBroken', reason: 'AppDied', pattern: 'died.*' },
    { type: 'permanent', condition: 'AppBroken', reason: 'AppFell', pattern: 'fell.*' },
  ],
}

/** Waits of seconds become milliseconds. */
const QUICK: Clock = { ...systemClock, after: (ms, fn) => systemClock.after(ms / 100, fn) }

interface Agent {
  readonly board: ProblemBoard
  readonly detection: Detection
  readonly events: string[]
  stop(): Promise<void>
}

/** Runs an agent's detection, from start to end. */
async function agent(
  monitors: readonly unknown[],
  bootId = 'boot-1',
  node?: KubeObject,
  detectors: Readonly<Record<string, unknown>> = {},
  logs: readonly unknown[] = [],
  clock: Clock = systemClock,
): Promise<Agent> {
  const events: string[] = []
  const client = {
    get: async () => node,
    create: async (_: unknown, o: KubeObject) => {
      events.push(`${String(o['reason'])}: ${String(o['note'])}`)
      return o
    },
    patch: async () => undefined,
    raw: async () => ({
      status: 200,
      headers: { date: new Date(Date.now() - serverIsBehindMs).toUTCString() },
      text: '',
    }),
  } as unknown as KubeClient
  const base = { files: realFiles, dir, clock, random: systemRandom, log: silentLogger, bootId }
  const { detect, problems } = parseDetect({
    monitors,
    detectors: { disk: false, certificates: false, clock: false, ...detectors },
  })
  expect(problems).toEqual([])
  const components = () => new Map()
  const board: ProblemBoard = new ProblemBoard({
    ...base,
    sources: parseLogSources(logs).sources,
    clearAfterMs: 10,
    components,
    onChange: () => undefined,
    onTurn: (problem, source) => detection.turned(problem, source),
  })
  const detection: Detection = new Detection({
    ...base,
    environment: { PATH: '/usr/bin:/bin', KUBENODE_ROOT: dir.root },
    client,
    server: 'https://192.0.2.1',
    agentEvents: agentEvents({ client, clock: systemClock, machine: 'm', machineUid: () => undefined }),
    node: 'n',
    nodeUid: () => undefined,
    config: detect,
    board,
    machineClass: () => undefined,
    components,
  })
  await board.start()
  await detection.start()
  let isOver = false
  const stop = async (): Promise<void> => {
    if (isOver) return
    isOver = true
    await detection.close()
    await board.close()
  }
  const one = { board, detection, events, stop }
  open.push(one)
  return one
}

const line = (text: string, at = Date.now()): string => `${new Date(at).toISOString().slice(0, 19)}Z ${text}\n`

const shown = ({ board }: Agent, type = 'AppBroken'): string | undefined => {
  const p = board.problems.find((one) => one.type === type)
  return p === undefined ? undefined : `${p.isTrue} ${p.reason}: ${p.message}`
}

async function until(what: () => unknown, wanted: unknown): Promise<void> {
  for (let n = 0; n < 400 && JSON.stringify(what()) !== JSON.stringify(wanted); n++) await systemClock.sleep(10)
  expect(what()).toEqual(wanted)
}

const entry = (more: object = {}) => ({ config, ...more })

describe('a condition that a log made true', () => {
  test('stays over a restart of the agent, reports its lines once, and ends with the boot', async () => {
    writeFileSync(log, line('died old', Date.now() - 3_600_000))
    const first = await agent([entry()])
    await until(() => shown(first), 'false AppFine: app is fine')
    appendFileSync(log, line('died now') + line('warn 1'))
    await until(() => shown(first), 'true AppDied: died now')
    await until(() => first.events.length, 2)
    await systemClock.sleep(150)
    await first.stop()
    appendFileSync(log, line('warn 2'))
    const second = await agent([entry()])
    await until(() => shown(second), 'true AppDied: died now')
    await until(() => second.events, ['AppWarned: warn 2'])
    await second.stop()
    const third = await agent([entry()], 'boot-2')
    await until(() => shown(third), 'false AppFine: app is fine')
    expect(third.events).toEqual([])
  })

  test('goes when the configuration does not name it any more', async () => {
    writeFileSync(log, '')
    const first = await agent([entry()])
    appendFileSync(log, line('died a'))
    await until(() => shown(first), 'true AppDied: died a')
    await first.stop()
    const second = await agent([])
    expect(second.board.problem('AppBroken')).toBeUndefined()
  })

  test('keeps its first reason; the other is reported once', async () => {
    const one = await agent([entry()])
    writeFileSync(log, ['died a', 'fell b', 'died c', 'fell d'].map((t) => line(t)).join(''))
    await until(() => shown(one), 'true AppDied: died a')
    await until(
      () => one.events,
      ['AppDied: Node condition AppBroken is now: True, reason: AppDied, message: "died a"', 'AppFell: fell b'],
    )
    expect(one.detection.metrics.gauges).toEqual([
      { labels: { reason: 'AppDied', type: 'AppBroken' }, value: 1 },
      { labels: { reason: 'AppFell', type: 'AppBroken' }, value: 0 },
    ])
  })

  test('ends by silence where the configuration says so', async () => {
    const one = await agent([entry({ clearAfter: { AppBroken: '300ms' } })])
    writeFileSync(log, line('died a'))
    await until(() => shown(one), 'true AppDied: died a')
    await until(() => shown(one), 'false AppFine: app is fine')
  })

  test('ends by a repair that mends it, unless it was seen since', async () => {
    const one = await agent([entry({ clearedBy: { AppBroken: ['restartComponent'] } })])
    writeFileSync(log, line('died a'))
    await until(() => shown(one), 'true AppDied: died a')
    one.detection.repaired('restartComponent', 0)
    one.detection.repaired('cleanDisk', systemClock.monotonic() + 1)
    expect(shown(one)).toBe('true AppDied: died a')
    one.detection.repaired('restartComponent', systemClock.monotonic() + 1)
    expect(shown(one)).toBe('false Repaired: restartComponent succeeded and it was not seen since')
  })
})

describe('F37 whatever happens to a log', () => {
  test('it is rotated, cut, full of bytes that are no text, and of a line of a megabyte', async () => {
    writeFileSync(log, '')
    const one = await agent([entry()])
    appendFileSync(log, line('warn 1'))
    await until(() => one.events.length, 1)
    renameSync(log, `${log}.1`)
    appendFileSync(`${log}.1`, line('warn 2'))
    writeFileSync(log, line('warn 3'))
    await until(() => one.events.length, 3)
    truncateSync(log, 0)
    await until(() => one.detection.monitors.problems.size, 0)
    await systemClock.sleep(50)
    appendFileSync(log, Buffer.concat([Buffer.from('x'.repeat(2 ** 20) + '\n'), Buffer.from([0, 255, 254, 10])]))
    appendFileSync(log, line('warn 4'))
    await until(() => one.events.map((e) => e.slice(-1)), ['1', '2', '3', '4'])
  })

  test('its clock jumps: new lines count whatever time they carry', async () => {
    writeFileSync(log, '')
    const one = await agent([entry()])
    appendFileSync(log, line('warn 1', 0) + line('warn 2', Date.now() + 86_400_000) + line('warn 3'))
    await until(() => one.events.map((e) => e.slice(-1)), ['1', '2', '3'])
  })

  test('a storm of one reason is bounded, counted whole, and hides no other', async () => {
    writeFileSync(log, '')
    const one = await agent([entry()])
    let text = ''
    for (let n = 0; n < 4_500; n++) text += line(`warn ${n}`)
    appendFileSync(log, text + line('died last'))
    await until(() => shown(one), 'true AppDied: died last')
    await until(() => one.detection.metrics.counters.map((c) => c.value), [4_500, 1, 0])
    await until(() => one.events.length, 26)
    expect(one.events.filter((e) => e.includes('died last'))).toHaveLength(1)
    expect(one.detection.events.lost).toBe(4_475)
  })

  test('the kernel overwrites records before they are read: what was lost is counted, nothing comes twice', async () => {
    // A reader that exits like `cat` when the kernel reports an overrun; the next one starts further on.
    const state = join(folder, 'turn')
    const script = join(folder, 'reader.sh')
    writeFileSync(
      script,
      `if [ -e ${state} ]; then printf '6,11,5,-;k\\n6,12,6,-;l\\n'; sleep 1000; else touch ${state}; printf '6,1,1,-;a\\n6,2,2,-;b\\n SUBSYSTEM=x\\n6,3,3,-;c\\n'; exit 1; fi\n`,
    )
    const said: string[] = []
    let lost = 0
    const reader = new KmsgReader({
      path: '/dev/null',
      clock: systemClock,
      after: 1,
      program: ['/bin/sh', script],
      onRecord: (r) => said.push(r.message),
      onLost: (n) => (lost += n),
      onProblem: () => undefined,
    })
    reader.start()
    await until(() => said, ['b', 'c', 'k', 'l'])
    reader.close()
    expect([lost, reader.last]).toEqual([7, 12])
  })
})

describe('our own detectors', () => {
  test('a disk below its threshold is a condition, kept over a restart, and over when there is room', async () => {
    const often = { everyMs: '20ms', paths: ['/var'] }
    const first = await agent([], 'boot-1', undefined, { disk: { ...often, minFreePercent: 101 } })
    await until(() => shown(first, 'DiskSpaceLow')?.split(':')[0], 'true DiskSpaceLow')
    expect(shown(first, 'InodesLow')).toBeUndefined()
    await first.stop()
    const second = await agent([], 'boot-1', undefined, { disk: { ...often, everyMs: '1h', minFreePercent: 101 } })
    expect(second.board.problem('DiskSpaceLow')?.isTrue).toBe(true)
    await second.stop()
    const third = await agent([], 'boot-1', undefined, { disk: { ...often, minFreePercent: 0, hysteresisPercent: 0 } })
    await until(() => shown(third, 'DiskSpaceLow'), 'false EnoughRoom: enough free bytes')
    // Each change is reported once: by the agent that observed it, not by its successors.
    await until(() => [first, second, third].map((one) => one.events.length), [1, 0, 1])
    expect(first.events[0]).toMatch(/^DiskSpaceLow: Node condition DiskSpaceLow is now: True, reason: DiskSpaceLow, /)
    expect(third.events[0]).toMatch(/^EnoughRoom: Node condition DiskSpaceLow is now: False, reason: EnoughRoom, /)
  })

  test('a condition that flaps is reported within its budget and hides nothing else', async () => {
    const one = await agent([], 'boot-1', undefined, { disk: { everyMs: '1h', paths: ['/var'], minFreePercent: 101 } })
    await until(() => one.events.length, 1)
    const other = one.board.open('test', { owns: () => true })
    const find = (type: string, status: 'True' | 'False', message: string): void =>
      other.find(type, { status, reason: 'Flapping', message, isKept: true })
    for (let n = 0; n < 200; n++) {
      find('ClockSkewed', 'True', `on ${n}`)
      find('ClockSkewed', 'False', `off ${n}`)
    }
    await until(() => one.detection.events.lost > 300, true)
    await systemClock.sleep(50)
    expect(one.events.length).toBeLessThanOrEqual(1 + 25)
    other.find('TasksHung', { status: 'True', reason: 'TasksHung', message: 'it hangs', isKept: true })
    await until(() => one.events.at(-1)?.split(':')[0], 'TasksHung')
  })

  test('F16 a clock that is far from the server’s is a condition until it is not', async () => {
    serverIsBehindMs = 60_000
    const one = await agent([], 'boot-1', undefined, { clock: { everyMs: '20ms' } })
    await until(() => shown(one, 'ClockSkewed')?.split(':')[0], 'true ClockSkewed')
    serverIsBehindMs = 0
    await until(() => shown(one, 'ClockSkewed')?.split(':')[0], 'false ClockInTime')
  })

  test('the agent’s own certificate is looked at', async () => {
    const { cert } = await newAuthority()
    mkdirSync(join(dir.state, 'identity'))
    writeFileSync(join(dir.state, 'identity/agent.pem'), cert)
    const one = await agent([], 'boot-1', undefined, { certificates: { everyMs: '20ms', minLeftPercent: 101 } })
    await until(() => shown(one, 'CertificateExpiring')?.split(':')[0], 'true CertificateExpiring')
    expect(shown(one, 'CertificateExpiring')).toContain('agent.pem ends 2')
  })
})

describe('a condition that several sources find', () => {
  const rule = { condition: 'DiskSpaceLow', reason: 'QuotaReached', pattern: 'quota', clearPattern: 'released' }
  const logs = [{ path: '/var/log/messages', rules: [rule] }]
  const often = { everyMs: '20ms', paths: ['/var'], hysteresisPercent: 0 }
  const roomy = { disk: { ...often, minFreePercent: 0 } }
  const full = { disk: { ...often, minFreePercent: 101 } }
  const say = (text: string): void => appendFileSync(join(dir.root, 'var/log/messages'), `${text}\n`)

  test('a log rule that names the condition of a detector is not undone by the detector', async () => {
    say('start')
    const one = await agent([], 'boot-1', undefined, full, logs)
    await until(() => shown(one, 'DiskSpaceLow')?.split(':')[0], 'true DiskSpaceLow')
    await one.stop()
    // The detector holds the condition from now on, and finds enough room many times.
    const two = await agent([], 'boot-1', undefined, roomy, logs)
    await until(() => shown(two, 'DiskSpaceLow'), 'false EnoughRoom: enough free bytes')
    say('quota reached')
    await until(() => shown(two, 'DiskSpaceLow'), 'true QuotaReached: quota reached')
    await systemClock.sleep(200)
    expect(shown(two, 'DiskSpaceLow')).toBe('true QuotaReached: quota reached')
    await two.stop()
    const three = await agent([], 'boot-1', undefined, roomy, logs)
    await systemClock.sleep(200)
    expect(shown(three, 'DiskSpaceLow')).toBe('true QuotaReached: quota reached')
    say('released')
    await until(() => shown(three, 'DiskSpaceLow'), 'false Cleared: released')
    expect([...one.events, ...two.events, ...three.events].map((e) => e.split(':')[0])).toEqual([
      'DiskSpaceLow',
      'EnoughRoom',
      'QuotaReached',
      'Cleared',
    ])
  })

  test('the line that ends it in a log does not end what a detector finds', async () => {
    say('start')
    const one = await agent([], 'boot-1', undefined, full, logs)
    await until(() => shown(one, 'DiskSpaceLow')?.split(':')[0], 'true DiskSpaceLow')
    say('quota reached')
    say('released')
    await systemClock.sleep(200)
    expect(shown(one, 'DiskSpaceLow')?.split(':')[0]).toBe('true DiskSpaceLow')
    expect(one.events).toHaveLength(1)
  })

  test('a rule that is removed from the configuration takes only its own finding along', async () => {
    say('start')
    const one = await agent([], 'boot-1', undefined, roomy, logs)
    say('quota reached')
    await until(() => shown(one, 'DiskSpaceLow'), 'true QuotaReached: quota reached')
    await one.stop()
    const two = await agent([], 'boot-1', undefined, roomy, [])
    expect(two.board.problem('DiskSpaceLow')).toBeUndefined()
  })

  test('a further reason of a monitor is an event, and its end is none while the condition stays true', async () => {
    writeFileSync(log, '')
    const other = { condition: 'AppBroken', reason: 'SeenElsewhere', pattern: 'broken', clearPattern: 'released' }
    const clearing = entry({ clearAfter: { AppBroken: '300ms' } })
    const one = await agent([clearing], 'boot-1', undefined, {}, [{ path: '/var/log/messages', rules: [other] }])
    say('app is broken')
    await until(() => shown(one), 'true SeenElsewhere: app is broken')
    appendFileSync(log, line('died a'))
    await until(() => one.events.length, 2)
    await systemClock.sleep(400)
    expect(shown(one)).toBe('true SeenElsewhere: app is broken')
    say('released')
    await until(() => shown(one), 'false Cleared: released')
    expect(one.events.map((e) => e.split(' is now')[0])).toEqual([
      'SeenElsewhere: Node condition AppBroken',
      'AppDied: died a',
      'Cleared: Node condition AppBroken',
    ])
  })
})

describe('the file of a monitor', () => {
  const path = () => join(dir.root, 'etc/app-monitor.json')
  const WELL = 'false DetectionComplete: all configured monitors are running'
  const write = (value: unknown): void => {
    writeFileSync(`${path()}.new`, JSON.stringify(value))
    renameSync(`${path()}.new`, path())
  }

  test('is loaded when a component brings it, and again when it changes', async () => {
    writeFileSync(log, '')
    const one = await agent(['/etc/app-monitor.json'], 'boot-1', undefined, {}, [], QUICK)
    await until(
      () => shown(one, 'DetectionIncomplete')?.slice(0, 56),
      'true MonitorNotUsed: /etc/app-monitor.json: ENOENT: no s',
    )
    write(config)
    await until(() => shown(one, 'DetectionIncomplete'), WELL)
    appendFileSync(log, line('warn 1') + line('died a'))
    await until(() => shown(one), 'true AppDied: died a')
    write({ ...config, rules: [...config.rules, { type: 'temporary', reason: 'AppSpoke', pattern: 'spoke' }] })
    const spoke = () => one.events.some((e) => e.startsWith('AppSpoke'))
    // Lines read with the old content are not reported again; the new content continues from there.
    await until(() => (spoke() || appendFileSync(log, line('spoke')), spoke()), true)
    expect(shown(one)).toBe('true AppDied: died a')
    expect(one.events.filter((e) => e.startsWith('AppWarned'))).toEqual(['AppWarned: warn 1'])
  })

  test('that is half written leaves what runs in place, and says so; a removed one ends its conditions', async () => {
    writeFileSync(log, '')
    write(config)
    const one = await agent(['/etc/app-monitor.json'], 'boot-1', undefined, {}, [], QUICK)
    appendFileSync(log, line('died a'))
    await until(() => shown(one), 'true AppDied: died a')
    writeFileSync(path(), '{')
    await until(
      () => shown(one, 'DetectionIncomplete'),
      'true MonitorNotUsed: /etc/app-monitor.json: is not JSON (its last usable content is in use)',
    )
    appendFileSync(log, line('warn 2'))
    await until(() => one.events.filter((e) => e.startsWith('AppWarned')), ['AppWarned: warn 2'])
    write(config)
    await until(() => shown(one, 'DetectionIncomplete'), WELL)
    rmSync(path())
    await until(() => shown(one), undefined)
    expect(shown(one, 'DetectionIncomplete')).toMatch(/^true MonitorNotUsed: .*ENOENT/)
  })
})

test('a file that cannot be used disables only itself and is a condition', async () => {
  writeFileSync(join(dir.root, 'etc/bad.json'), '{')
  writeFileSync(log, line('warn 7'))
  const one = await agent(['/etc/bad.json', '/etc/missing.json', entry()])
  await until(() => one.events.filter((e) => e.startsWith('AppWarned')), ['AppWarned: warn 7'])
  expect(one.events.join('\n')).toMatch(/^MonitorNotUsed: Node condition DetectionIncomplete is now: True, /m)
  expect(shown(one, 'DetectionIncomplete')).toMatch(
    /^true MonitorNotUsed: \/etc\/bad.json: is not JSON; \/etc\/missing.json: ENOENT/,
  )
  await one.stop()
  // Kept over a restart, and not reported again.
  const same = await agent(['/etc/bad.json', '/etc/missing.json', entry()])
  expect(shown(same, 'DetectionIncomplete')).toMatch(/^true MonitorNotUsed/)
  await systemClock.sleep(100)
  expect(same.events).toEqual([])
  await same.stop()
  const none = await agent([])
  await until(() => shown(none, 'DetectionIncomplete')?.split(':')[0], 'false DetectionComplete')
  await none.stop()
  const other = await agent([entry()])
  const well = 'false DetectionComplete: all configured monitors are running'
  await until(() => shown(other, 'DetectionIncomplete'), well)
})

test('checks run at their intervals and a condition is unknown while they cannot say', async () => {
  const path = join(dir.root, 'etc/check.sh')
  writeFileSync(path, `#!/bin/sh\nread code < ${folder}/code\necho said $code\nexit $code\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'code'), '1\n')
  const plugin = {
    plugin: 'custom',
    source: 'checks',
    pluginConfig: { invoke_interval: '1s' },
    conditions: [{ type: 'CheckFailed', reason: 'CheckFine', message: 'fine' }],
    rules: [{ type: 'permanent', condition: 'CheckFailed', reason: 'CheckBad', path: '/etc/check.sh' }],
  }
  const one = await agent([{ config: plugin }])
  await until(() => shown(one, 'CheckFailed'), 'true CheckBad: said 1')
  writeFileSync(join(folder, 'code'), '2\n')
  await until(() => shown(one, 'CheckFailed'), 'false CheckFine: said 2')
  expect(one.board.problem('CheckFailed')?.isUnknown).toBe(true)
  writeFileSync(join(folder, 'code'), '0\n')
  await until(() => shown(one, 'CheckFailed'), 'false CheckFine: fine')
})

test('a check that cannot be started makes detection incomplete until it can', async () => {
  const path = join(dir.root, 'etc/check.sh')
  const plugin = {
    plugin: 'custom',
    source: 'checks',
    pluginConfig: { invoke_interval: '1s' },
    conditions: [{ type: 'CheckFailed', reason: 'CheckFine', message: 'fine' }],
    rules: [{ type: 'permanent', condition: 'CheckFailed', reason: 'CheckBad', path: '/etc/check.sh' }],
  }
  const one = await agent([{ config: plugin }])
  const missing =
    'true MonitorNotUsed: monitors[0] rule CheckBad: /etc/check.sh: Error in starting plugin: file not found'
  await until(() => shown(one, 'DetectionIncomplete'), missing)
  expect(one.board.problem('CheckFailed')?.isUnknown).toBe(true)
  writeFileSync(path, '#!/no/such/shell\n', { mode: 0o755 })
  await systemClock.sleep(1_100)
  expect(shown(one, 'DetectionIncomplete')).toContain('true MonitorNotUsed')
  writeFileSync(path, '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  await until(() => shown(one, 'DetectionIncomplete'), 'false DetectionComplete: all configured monitors are running')
  await until(() => shown(one, 'CheckFailed'), 'false CheckFine: fine')
})

test('a monitor that does not say at first that all is well says it once a check ended well', async () => {
  const path = join(dir.root, 'etc/check.sh')
  writeFileSync(path, `#!/bin/sh\nwhile [ ! -e ${folder}/go ]; do sleep 0.01; done\n`, { mode: 0o755 })
  const plugin = {
    plugin: 'custom',
    source: 'checks',
    pluginConfig: { skip_initial_status: true, timeout: '20s' },
    conditions: [{ type: 'CheckFailed', reason: 'CheckFine', message: 'fine' }],
    rules: [{ type: 'permanent', condition: 'CheckFailed', reason: 'CheckBad', path: '/etc/check.sh' }],
  }
  const one = await agent([{ config: plugin }])
  await systemClock.sleep(50)
  expect(shown(one, 'CheckFailed')).toBeUndefined()
  writeFileSync(join(folder, 'go'), '')
  await until(() => shown(one, 'CheckFailed'), 'false CheckFine: fine')
  expect(one.events).toEqual([])
})

describe('a condition that another writer keeps fresh', () => {
  const at = (ms: number): string => new Date(ms).toISOString()
  const node = (manager: string, heartbeat: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n',
      managedFields: [
        {
          manager,
          operation: 'Update',
          fieldsV1: {
            'f:status': { 'f:conditions': { 'k:{"type":"AppBroken"}': { '.': {}, 'f:lastHeartbeatTime': {} } } },
          },
        },
      ],
    },
    status: { conditions: [{ type: 'AppBroken', lastHeartbeatTime: heartbeat }] },
  })

  test('is its own; a stale one, or ours, is not', () => {
    const now = Date.now()
    const types = (manager: string, ageMs: number) => [
      ...foreignConditions(node(manager, at(now - ageMs)), 'kubenode-agent', now),
    ]
    expect(types('node-problem-detector', 60_000)).toEqual(['AppBroken'])
    expect(types('node-problem-detector', 3_600_000)).toEqual([])
    expect(types('kubenode-agent', 60_000)).toEqual([])
  })

  test('is left to it, from the first report on', async () => {
    const one = await agent([entry()], 'boot-1', node('node-problem-detector', at(Date.now())))
    for (let n = 0; n < 20; n++) {
      expect(shown(one)).toBeUndefined()
      await systemClock.sleep(5)
    }
    expect(one.board.problem('AppBroken')).toBeDefined()
    expect(shown(one, 'DetectionIncomplete')).toBeDefined()
  })
})
