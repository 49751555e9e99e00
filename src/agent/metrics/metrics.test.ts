import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { loggerTo, silentLogger } from '#lib/log.ts'
import { exposition, metricName } from './exposition.ts'
import { hostMetrics } from './host-metrics.ts'
import { osFeatures } from './os-features.ts'
import { parseDiskstats, parseNetDev, parsePressure, parseProcStat } from './proc-text.ts'
import { MetricsServer } from './server.ts'

test('metrics are written as Prometheus reads them', () => {
  const text = exposition([
    {
      name: 'a',
      help: 'two\nlines',
      type: 'gauge',
      samples: [{ labels: { x: 'q"\\\n' }, value: 1.5 }, { value: Infinity }],
    },
    { name: 'empty', help: '', type: 'counter', samples: [] },
  ])
  expect(text).toBe('# HELP a two\\nlines\n# TYPE a gauge\na{x="q\\"\\\\\\n"} 1.5\na +Inf\n')
  expect(metricName('disk/io_time')).toBe('disk_io_time')
})

describe('what the kernel tells', () => {
  test('is read', () => {
    const stat = parseProcStat(
      'cpu  10 0 5 1\ncpu0 10 0 5 1\nintr 77 1 2 3\nprocesses 9\nprocs_running 2\nprocs_blocked 1\n',
    )
    expect(stat).toMatchObject({ interrupts: 77, forks: 9, running: 2, blocked: 1 })
    expect(stat.cpus.get('cpu0')).toEqual([10, 0, 5, 1])
    expect(parseDiskstats('   8  0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0\n')).toEqual([
      {
        name: 'sda',
        reads: 1,
        readsMerged: 2,
        sectorsRead: 3,
        readMs: 4,
        writes: 5,
        writesMerged: 6,
        sectorsWritten: 7,
        writeMs: 8,
        ioMs: 10,
        weightedMs: 11,
      },
    ])
    expect(parseNetDev('h\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n').get('eth0')?.[8]).toBe(9)
    expect(parsePressure('some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n')).toEqual([
      { kind: 'some', seconds: 1.5 },
    ])
  })

  test('sums are the kernel’s, however often they are asked for', () => {
    const read = (path: string): string | undefined =>
      path === '/proc/stat' ? 'cpu  10 0 5 1\nintr 77 1\nprocesses 9\n' : undefined
    const forks = () =>
      hostMetrics([], read, undefined, 0).families.find((f) => f.name === 'system_processes_total')?.samples
    expect([forks(), forks()]).toEqual([[{ value: 9 }], [{ value: 9 }]])
  })

  test('the mean length of a queue lies between two looks', () => {
    const at = (weighted: number) => (path: string) =>
      path === '/proc/diskstats' ? `8 0 sda 0 0 0 0 0 0 0 0 0 0 ${weighted}\n` : undefined
    const first = hostMetrics([], at(1_000), undefined, 0)
    const second = hostMetrics([], at(3_000), first.disks, 1_000)
    expect(second.families.find((f) => f.name === 'disk_avg_queue_len')?.samples).toEqual([
      { labels: { device_name: 'sda' }, value: 2 },
    ])
  })

  test('an empty device is none, and a file system is shown as it is mounted', () => {
    const texts: Readonly<Record<string, string>> = {
      '/proc/diskstats': '8 0 sda 1 0 0 0 0 0 0 0 0 0 0\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n',
      '/sys/class/block/sda/size': '2048\n',
      '/sys/class/block/loop0/size': '0\n',
      '/proc/self/mountinfo': '25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/sda rw,discard\n',
    }
    const { families } = hostMetrics([], (path) => texts[path], undefined, 0)
    const labels = (name: string) => families.find((f) => f.name === name)?.samples.map((s) => s.labels)
    expect(labels('disk_io_time')).toEqual([{ device_name: 'sda' }])
    expect(labels('disk_bytes_used')?.[0]).toEqual({
      device_name: 'sda',
      fs_type: 'ext4',
      mount_option: 'rw,relatime',
      state: 'free',
    })
  })

  test('modules without an owner are named', () => {
    const samples = osFeatures({
      cmdline: 'root=x systemd.unified_cgroup_hierarchy=1',
      modules: 'ours 1 0 - Live 0x0 (O)\nalien 1 0 - Live 0x0 (POE)\nplain 1 0 - Live 0x0\n',
      knownModules: '[{"moduleName":"ours"}]',
    })
    expect(samples.map((s) => `${s.labels?.['os_feature']} ${s.labels?.['value'] ?? ''} ${s.value}`)).toEqual([
      'KTD  0',
      'UnifiedCgroupHierarchy  1',
      'KernelModuleIntegrity  0',
      'UnknownModules alien 1',
      'GPUSupport  0',
    ])
  })
})

const ask = (port: number, method: string, path: string, host = 'localhost'): Promise<string> =>
  new Promise((resolve, reject) => {
    const one = request({ host: '127.0.0.1', port, method, path, headers: { host } }, (response) => {
      let text = ''
      response.on('data', (c) => (text += String(c)))
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
    one.on('error', reject)
    one.end()
  })

test('S22 only GET /metrics is answered, and only on a loopback address', async () => {
  const lines: string[] = []
  const logger = loggerTo((_level, message) => void lines.push(message))
  const serve = (address: string, port = 0) =>
    new MetricsServer({ address, port, log: logger, clock: systemClock, text: () => 'text' })
  const one = serve('127.0.0.1')
  await one.start()
  const port = one.port ?? 0
  expect(await ask(port, 'GET', '/metrics?x=1')).toBe('200 text')
  expect(await ask(port, 'POST', '/metrics')).toBe('405 only GET /metrics of localhost\n')
  expect(await ask(port, 'GET', '/../etc/passwd')).toBe('404 only GET /metrics of localhost\n')
  for (const host of ['evil.example', `localhost.evil.example:${port}`])
    expect(await ask(port, 'GET', '/metrics', host)).toBe('421 only GET /metrics of localhost\n')
  // A port in use does not stop the agent.
  const second = serve('127.0.0.1', port)
  await second.start()
  expect(second.port).toBeUndefined()
  one.close()
  for (const address of ['0.0.0.0', '10.0.0.1', '::', 'localhost']) {
    const far = serve(address)
    await far.start()
    expect(far.port).toBeUndefined()
  }
  expect(lines.length).toBe(5)
})

test('S22 silent connections keep no reader from the metrics', async () => {
  const server = new MetricsServer({
    address: '127.0.0.1',
    port: 0,
    log: silentLogger,
    clock: systemClock,
    text: () => 'text',
  })
  await server.start()
  const sockets = Array.from({ length: 20 }, () => connect(server.port ?? 0, '127.0.0.1').on('error', () => undefined))
  try {
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    expect(await ask(server.port ?? 0, 'GET', '/metrics')).toBe('200 text')
  } finally {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
})
