import { describe, expect, test } from 'vitest'
import { judgeCertificates } from './certificates.ts'
import { judgeSkew, skewMs } from './clock-skew.ts'
import { followCrashes, judgeCrashes, NO_CRASHES } from './crash-loops.ts'
import { judgeDisks } from './disk.ts'
import { followSleepers, judgeHung, sleepingTask } from './hung-tasks.ts'
import { judgeReadOnly, namedBefore, parseMounts } from './read-only.ts'
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'

const shown = (r: { readonly type: string; readonly status: string; readonly message: string } | undefined): string =>
  r === undefined ? 'nothing' : `${r.type} ${r.status}: ${r.message}`

describe('disks', () => {
  const settings = DETECTOR_DEFAULTS.disk
  const at = (freePercent: number, freeInodesPercent: number | undefined) => [
    { path: '/', freePercent, freeInodesPercent },
  ]

  test('low on bytes and on inodes apart, and over only with clearly more', () => {
    const look = (free: number, inodes: number | undefined, isTrue: boolean) =>
      judgeDisks(at(free, inodes), settings, () => isTrue).map((r) => r.status)
    expect(look(50, 50, false)).toEqual(['False', 'False'])
    expect(look(9.9, 50, false)).toEqual(['True', 'False'])
    expect(look(11, 4, true)).toEqual(['True', 'True'])
    expect(look(12, 7, true)).toEqual(['False', 'False'])
    expect(look(50, undefined, false)).toEqual(['False', 'False'])
  })
})

describe('read-only file systems', () => {
  const line = (device: string, point: string, type: string, view: string, options: string): string =>
    `36 35 ${device} / ${point} ${view} shared:1 - ${type} /dev/x ${options}`
  const look = (text: string, writable: readonly string[] = [], mustWrite: readonly string[] = []) =>
    judgeReadOnly(parseMounts(text), new Set(writable), mustWrite)

  test.each([
    [
      'one that the kernel stopped',
      line('8:1', '/', 'ext4', 'rw', 'rw,emergency_ro'),
      [],
      'FilesystemReadOnly True: / (ext4) is emergency_ro',
    ],
    [
      'one that was shut down',
      line('8:1', '/a\\040b', 'xfs', 'rw', 'rw,shutdown'),
      [],
      'FilesystemReadOnly True: /a b (xfs) is shutdown',
    ],
    [
      'one that was writable before',
      line('8:1', '/', 'ext4', 'ro', 'ro,errors=remount-ro'),
      ['8:1'],
      'FilesystemReadOnly True: / (ext4) is read-only',
    ],
    [
      'one that never was',
      line('8:1', '/usr', 'ext4', 'ro', 'ro'),
      [],
      'FilesystemReadOnly False: all file systems are writable',
    ],
    [
      'a view of one that is',
      line('8:1', '/etc/x', 'ext4', 'ro', 'rw'),
      ['8:1'],
      'FilesystemReadOnly False: all file systems are writable',
    ],
    [
      'one that is so by nature',
      line('7:1', '/snap', 'squashfs', 'ro', 'ro'),
      ['7:1'],
      'FilesystemReadOnly False: all file systems are writable',
    ],
  ] as const)('%s', (_what, text, writable, says) => {
    expect(shown(look(text, writable).reading)).toBe(says)
  })

  test('one that must be writable is a problem at the first look', () => {
    expect(look(line('8:1', '/var', 'ext4', 'ro', 'ro'), [], ['/var']).reading.status).toBe('True')
  })

  test('what was seen writable is remembered while it is read-only', () => {
    const first = look(line('8:1', '/', 'ext4', 'rw', 'rw'))
    const second = look(line('8:1', '/', 'ext4', 'ro', 'ro'), [...first.writable])
    const third = look(line('8:1', '/', 'ext4', 'ro', 'ro'), [...second.writable])
    expect([first, second, third].map((l) => l.reading.status)).toEqual(['False', 'True', 'True'])
  })
})

test('what an agent before us called read-only is so still, and nothing else', () => {
  const mounts = parseMounts('1 0 8:1 / / ro - ext4 /dev/a ro\n1 0 8:2 / /usr ro - ext4 /dev/b ro')
  const before = namedBefore(mounts, '/ (ext4) is read-only')
  expect(judgeReadOnly(mounts, before, []).reading.message).toBe('/ (ext4) is read-only')
  expect(judgeReadOnly(mounts, namedBefore(mounts, ''), []).reading.status).toBe('False')
})

describe('the clock', () => {
  const date = 'Fri, 20 Nov 2026 12:00:00 GMT'
  const server = Date.parse(date)

  test.each([
    [0, 10, 0],
    [500, 600, 0],
    [60_000, 60_100, 59_000],
    [-60_100, -60_000, -60_000],
    // A slow answer proves little.
    [-5_000, 5_000, 0],
  ])('from %d to %d ms beside the server it is %d ms off', (began, ended, ms) => {
    expect(skewMs(date, server + began, server + ended)).toBe(ms)
  })

  test('is called skewed when it was so twice, and nothing is said without an answer', () => {
    expect(shown(judgeSkew(undefined, 60_000, 10_000))).toBe('nothing')
    expect(shown(judgeSkew(60_000, 59_000, 10_000))).toBe('ClockSkewed True: the clock is 59s ahead of the API server')
    expect(shown(judgeSkew(-60_000, -61_000, 10_000))).toBe('ClockSkewed True: the clock is 1m1s behind the API server')
    expect(judgeSkew(60_000, 3, 10_000)?.status).toBe('False')
    expect(judgeSkew(60_000, undefined, 10_000)).toBeUndefined()
  })
})

test('a certificate in the last tenth of its life, or past it, is named', () => {
  const life = (to: number) => ({ path: '/c', from: 0, to })
  expect(judgeCertificates([life(1_000)], 899, 10).status).toBe('False')
  expect(judgeCertificates([life(1_000)], 901, 10)).toMatchObject({ status: 'True', reason: 'CertificateExpiring' })
  expect(judgeCertificates([life(1_000), life(5_000)], 1_001, 10)).toMatchObject({
    reason: 'CertificateExpired',
    message: '/c ended 1970-01-01T00:00:01Z',
  })
})

describe('hung tasks', () => {
  const stat = (state: string, used = 7): string =>
    `42 (a (b) c) ${state} 1 42 42 0 -1 0 0 0 0 0 ${used} 3 0 0 20 0 1 0 999 0 0`

  test('wait in the kernel longer than allowed without running', () => {
    let sleepers = followSleepers(new Map(), [sleepingTask(stat('D')) ?? []].flat(), 0)
    sleepers = followSleepers(sleepers, [sleepingTask(stat('D')) ?? []].flat(), 119_999)
    expect(judgeHung(sleepers, 119_999, 120_000).status).toBe('False')
    expect(shown(judgeHung(sleepers, 120_000, 120_000))).toBe(
      'TasksHung True: 1 hang in the kernel for 2m or longer: a (b) c (42)',
    )
    // It ran in between, so this is a new wait.
    sleepers = followSleepers(sleepers, [sleepingTask(stat('D', 8)) ?? []].flat(), 120_000)
    expect(judgeHung(sleepers, 200_000, 120_000).status).toBe('False')
  })

  test('others do not', () => {
    expect(['R', 'S', 'I', 'Z', 'T'].map((s) => sleepingTask(stat(s)))).toEqual(Array(5).fill(undefined))
  })
})

const down = new Map([['b', { reason: 'ComponentCrashed', message: 'x' } as const]])
const up = new Map([['b', undefined]])

test('a component that crashes again and again is named, each crash counted once', () => {
  let history = NO_CRASHES
  for (let n = 0; n < 3; n++) {
    history = followCrashes(history, down, n * 10, 1_000)
    history = followCrashes(history, down, n * 10 + 1, 1_000)
    history = followCrashes(history, up, n * 10 + 2, 1_000)
  }
  expect(judgeCrashes(history, 4).status).toBe('False')
  expect(judgeCrashes(history, 3)).toMatchObject({ status: 'True', message: expect.stringContaining(': b') })
  expect(judgeCrashes(followCrashes(history, up, 2_000, 1_000), 1).status).toBe('False')
})

test('a crash loop is not over while its component is down, however seldom it is started', () => {
  let history = NO_CRASHES
  for (const [at, found] of [down, up, down, up, down].entries()) history = followCrashes(history, found, at, 1_000)
  for (const at of [900, 1_800, 2_700]) {
    history = followCrashes(history, down, at, 1_000)
    expect(judgeCrashes(history, 3).status).toBe('True')
  }
  expect(judgeCrashes(followCrashes(history, up, 2_800, 1_000), 3).status).toBe('False')
})
