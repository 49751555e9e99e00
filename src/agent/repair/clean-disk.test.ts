import { describe, expect, test } from 'vitest'
import { isCleanable, leastFree, removable } from './clean-disk.ts'

test.each([
  ['bytes are scarce', { bavail: 5, blocks: 100, ffree: 90, files: 100 }, 5],
  ['inodes are scarce', { bavail: 90, blocks: 100, ffree: 3, files: 100 }, 3],
  ['no inodes are counted', { bavail: 90, blocks: 100, ffree: 0, files: 0 }, 90],
  ['nothing is counted', { bavail: 0, blocks: 0, ffree: 0, files: 0 }, 100],
])('free space where %s', (_, space, percent) => {
  expect(leastFree(space)).toBe(percent)
})

describe('what a directory may lose', () => {
  const DAY = 86_400_000
  const files = [1, 2, 3, 4].map((days) => ({ name: `${days}d`, modifiedMs: -days * DAY, bytes: 10 }))
  const look = (rule: { keep?: number; maxShare?: number; olderThanMs?: number }) =>
    removable(files, { olderThanMs: 0, keep: 0, maxShare: undefined, ...rule }, { now: 0, diskBytes: 100 }).map(
      (f) => f.name,
    )

  test('old files, oldest first', () => {
    expect(look({})).toEqual(['4d', '3d', '2d', '1d'])
    expect(look({ olderThanMs: 2 * DAY })).toEqual(['4d', '3d'])
  })

  test('never the newest that are kept', () => {
    expect(look({ keep: 3 })).toEqual(['4d'])
    expect(look({ keep: 9 })).toEqual([])
  })

  test('with a limit, only what is over it, and only what is old enough', () => {
    expect(look({ maxShare: 25 })).toEqual(['4d', '3d'])
    expect(look({ maxShare: 25, olderThanMs: 3 * DAY })).toEqual(['4d'])
    expect(look({ maxShare: 40 })).toEqual([])
    expect(look({ maxShare: 0, keep: 1 })).toEqual(['4d', '3d', '2d'])
  })
})

test.each([
  ['/var/log/pods', true],
  ['/var/lib/systemd/coredump', true],
  ['/var/lib/systemd', false],
  ['/var/logs', false],
  ['/var/log/../lib', false],
  ['/', false],
])('%s may be cleaned: %s', (path, may) => {
  expect(isCleanable(path)).toBe(may)
})
