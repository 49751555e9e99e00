import { expect, test } from 'vitest'
import { leastFree } from './clean-disk.ts'

test.each([
  ['bytes are scarce', { bavail: 5, blocks: 100, ffree: 90, files: 100 }, 5],
  ['inodes are scarce', { bavail: 90, blocks: 100, ffree: 3, files: 100 }, 3],
  ['no inodes are counted', { bavail: 90, blocks: 100, ffree: 0, files: 0 }, 90],
  ['nothing is counted', { bavail: 0, blocks: 0, ffree: 0, files: 0 }, 100],
])('free space where %s', (_, space, percent) => {
  expect(leastFree(space)).toBe(percent)
})
