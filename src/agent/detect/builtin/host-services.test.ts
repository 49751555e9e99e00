import { describe, expect, test } from 'vitest'
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import { bootTime, judgeBoot } from './boot-time.ts'
import { followFree, judgeRates } from './disk-rates.ts'
import { failedPulls, followPulls, judgePulls, pullLogSpan } from './image-pulls.ts'
import { judgeLatency, slowInARow } from './latency.ts'

const MINUTE = 60_000
const shown = (r: { readonly type: string; readonly status: string; readonly message: string }): string =>
  `${r.type} ${r.status}: ${r.message}`

describe('time to boot', () => {
  const judge = (text: string, uptimeMs = 0): string | undefined => {
    const time = bootTime(text)
    return time === undefined ? undefined : shown(judgeBoot(time, uptimeMs, DETECTOR_DEFAULTS.boot.maxMs))
  }
  const says = (firmwareS: number, finishS: number): string =>
    `FirmwareTimestampMonotonic=${firmwareS}000000\nFinishTimestampMonotonic=${finishS}000000\n`

  test.each([
    ['in time', says(40, 50), 'BootSlow False: the host booted in time'],
    ['a unit that waited', says(40, 1_200), 'BootSlow True: the boot took 20m'],
    ['firmware that tests memory', says(1_000, 200), 'BootSlow True: the boot took 20m, 16m of it in firmware'],
    [
      'a virtual machine has no firmware time',
      'FirmwareTimestampMonotonic=0\nFinishTimestampMonotonic=9\n',
      'BootSlow False: the host booted in time',
    ],
    [
      'a container on a host that was up for hours',
      `Virtualization=systemd-nspawn\nUserspaceTimestampMonotonic=33000000000\n${says(0, 33_009)}`,
      'BootSlow False: the host booted in time',
    ],
    [
      'a container that waits for a unit',
      `Virtualization=lxc\nUserspaceTimestampMonotonic=33000000000\n${says(0, 34_200)}`,
      'BootSlow True: the boot took 20m',
    ],
    [
      'a virtual machine whose kernel took long',
      `Virtualization=kvm\nUserspaceTimestampMonotonic=1100000000\n${says(0, 1_200)}`,
      'BootSlow True: the boot took 20m',
    ],
    ['no answer', 'Failed to connect to bus\n', undefined],
    ['a number without end', `FinishTimestampMonotonic=${'9'.repeat(400)}\n`, undefined],
  ])('%s', (_what, text, expected) => expect(judge(text)).toBe(expected))

  test('a boot that is not over', () => {
    expect(judge(says(0, 0), 5 * MINUTE)).toBe('BootSlow False: the host booted in time')
    expect(judge(says(0, 0), 16 * MINUTE)).toBe(
      'BootSlow True: the boot is not over after 15m: see systemctl list-jobs',
    )
  })
})

test('a runtime is slow when each of its last answers was, until a quick one', () => {
  const limit = DETECTOR_DEFAULTS.runtime
  let inARow = 0
  const look = (ms: number) => {
    inARow = slowInARow(inARow, ms, limit)
    return judgeLatency(inARow, 'containerd', limit).map(shown)
  }
  expect(look(12)).toEqual(['ContainerRuntimeSlow False: containerd answers quickly'])
  const slow = Array.from({ length: limit.slowInARow }, () => look(3_000))
  expect(slow.at(-2)).toEqual([])
  expect(slow.at(-1)).toEqual([
    'ContainerRuntimeSlow True: each of the last 6 answers of containerd took longer than 2s',
  ])
  expect(look(12)).toEqual(['ContainerRuntimeSlow False: containerd answers quickly'])
})

describe('pulls of images', () => {
  // As kubelet 1.34 with containerd logs them.
  const failed = (err: string, image = 'registry.example/app:1'): string =>
    `E1128 18:20:59.123456    1234 log.go:32] "PullImage from image service failed" err="rpc error: code = Unknown desc = failed to pull and unpack image \\"${image}\\": ${err}" image="${image}"`
  const causes = (log: string) => failedPulls(log, 0).map((p) => p.cause)

  test.each([
    [
      'failed to do request: Head \\"https://registry.example/v2/\\": dial tcp: lookup registry.example on 10.0.0.10:53: i/o timeout',
      ['the name of the registry is not found'],
    ],
    [
      'failed to do request: Head \\"https://registry.example/v2/\\": dial tcp 192.0.2.7:443: i/o timeout',
      ['the registry does not answer'],
    ],
    [
      'failed to do request: Head \\"https://registry.example/v2/\\": tls: failed to verify certificate: x509: certificate has expired',
      ['the certificate of the registry is refused'],
    ],
    [
      'unexpected status from HEAD request to https://registry.example/v2/: 429 Too Many Requests',
      ['the registry limits this node'],
    ],
    [
      'unexpected status from HEAD request to https://registry.example/v2/: 503 Service Unavailable',
      ['the registry has errors'],
    ],
    ['failed to extract layer: write /var/lib/containerd/x: no space left on device', ['no space is left on the disk']],
    // Of the image, not of the node.
    ['failed to resolve reference: registry.example/app:1: not found', []],
    ['pull access denied, repository does not exist or may require authorization', []],
  ])('%s', (err, expected) => expect(causes(failed(err))).toEqual(expected))

  test('what a container or an event only quotes is no failure, and long lines cost no time', () => {
    expect(causes(`I1128 18:20:59.1    1234 x.go:1] "Got event" text="${failed('dial tcp: lookup x')}"`)).toEqual([])
    expect(causes(`"PullImage from image service failed" err=" i/o timeout"`)).toEqual([])
    expect(causes(failed(`${'a '.repeat(200_000)} i/o timeout`))).toEqual([])
    expect(causes(`E1128 ${':'.repeat(200_000)}`)).toEqual([])
  })

  test('one registry that any user may name does not count, several or a full disk do', () => {
    const settings = DETECTOR_DEFAULTS.imagePulls
    const status = (log: readonly string[], configured: readonly string[] = []) =>
      judgePulls(failedPulls(log.join('\n'), 0), settings, new Set(configured)).status
    const lookup = (image: string) => failed('dial tcp: lookup x: no such host', image)
    const own = Array.from({ length: 9 }, () => lookup('tenant.invalid/app:1'))
    expect(status(own)).toBe('False')
    expect(status(own, ['registry.example'])).toBe('False')
    expect(status(own, ['tenant.invalid'])).toBe('True')
    expect(status([...own, lookup('library/nginx')])).toBe('True')
    const full = Array.from({ length: 5 }, () => failed('write /x: no space left on device', 'tenant.invalid/app:1'))
    expect(status(full)).toBe('True')
    expect(
      failedPulls([lookup('localhost/a'), lookup('10.0.0.1:5000/b'), lookup('app/c')].join('\n'), 0),
    ).toMatchObject([{ registry: 'localhost' }, { registry: '10.0.0.1:5000' }, { registry: 'docker.io' }])
  })

  test('each piece of the log begins where the last one ended, and is never longer than what counts', () => {
    expect(pullLogSpan(60_250, 120_500, 600_000)).toEqual(['--since=@60.250', '--until=@120.500'])
    expect(pullLogSpan(0, 3_600_000, 600_000)).toEqual(['--since=@3000.000', '--until=@3600.000'])
  })

  test('five within the window are a condition, whatever became of older ones', () => {
    const settings = DETECTOR_DEFAULTS.imagePulls
    const at = (n: number, atMs: number) =>
      Array.from({ length: n }, () => ({ atMs, cause: 'the registry has errors', registry: 'registry.example' }))
    const known = new Set(['registry.example'])
    expect(judgePulls(at(4, 0), settings, known).status).toBe('False')
    expect(shown(judgePulls(at(5, 0), settings, known))).toBe(
      'ImagePullsFailing True: 5 or more pulls of images failed within 10m: the registry has errors',
    )
    expect(followPulls(at(5, 0), at(1, 11 * MINUTE), 11 * MINUTE, settings.windowMs)).toHaveLength(1)
    expect(followPulls([], at(100_000, 0), 0, settings.windowMs)).toHaveLength(1_000)
  })
})

test('inodes that run out within hours count as a disk that fills up', () => {
  const free = (n: number) => [{ path: '/var (inodes)', free: n, total: 1_000 }]
  const later = followFree(followFree([], free(300), 0), free(200), 40 * MINUTE)
  expect(judgeRates(later, DETECTOR_DEFAULTS.disk).map(shown)).toEqual([
    'DiskFillingUp True: full within 4h at the rate of the last hour: /var (inodes)',
  ])
})
