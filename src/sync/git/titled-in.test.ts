import { expect, test } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { gitErrors } from './git-errors.ts'
import { titledIn } from './titled-in.ts'

const ID = '1a2b3c4d5e6f'.padEnd(40, '0')
const repositoryWith = (message: string, author: string) => ({
  commit: async (id: string) => ({ id, parents: [], time: 1, message, author }),
})

test('a commit is called by its hash, its subject and its author', async () => {
  expect(await titledIn(repositoryWith('beacon 1.1.0\n\nWhy.', 'Ada <ada@example.com>'), ID)).toBe(
    '1a2b3c4d5e6f "beacon 1.1.0" by Ada',
  )
})

test('what a stranger wrote is bounded, and steers neither a terminal nor the reading direction', async () => {
  const text = await titledIn(repositoryWith(`\u202e\u001b[2J${'x'.repeat(5_000)}`, `\u2066${'y'.repeat(5_000)}`), ID)
  expect(text).toMatch(/^1a2b3c4d5e6f "\ufffd\ufffd\[2Jx+…" by \ufffdy+…$/)
  expect(text.length).toBeLessThan(130)
})

test('a commit that the repository lacks has its hash alone', async () => {
  const lacks = {
    commit: () => Promise.reject(new KubeNodeError(gitErrors.KN1664_read({ revision: ID, repository: '/fleet' }))),
  }
  expect(await titledIn(lacks, ID)).toBe('1a2b3c4d5e6f')
})
