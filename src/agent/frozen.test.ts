import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { FrozenWatch, frozenCondition, readFrozen } from './frozen.ts'
import { frozenFile, nodeDir } from './node-dir.ts'

const dir = nodeDir('/node')
const path = frozenFile(dir)

async function freeze(files: MemoryFiles, text: string): Promise<void> {
  await files.makeFolder(dir.path)
  const writer = await files.create(path, 0o600)
  await writer.write(Buffer.from(text))
  await writer.close()
}

test.each([
  ['an empty file', '', 'no reason given'],
  ['a line', 'the hub is down (ada)\nmore\n', 'the hub is down (ada)'],
  ['control characters', '\u001b[2Jx\n', '[2Jx'],
  ['a long line', 'x'.repeat(300), 'x'.repeat(100)],
  ['more than a person writes', 'x'.repeat(5_000), 'no reason given'],
])('%s freezes', async (_what, text, why) => {
  const files = new MemoryFiles()
  expect(await readFrozen(files, dir)).toBeUndefined()
  await freeze(files, text)
  expect((await readFrozen(files, dir))?.why).toBe(why)
})

test('an unreadable state counts as frozen', async () => {
  const files = new MemoryFiles()
  files.stat = () => Promise.reject(new Error('EIO: i/o error'))
  expect(await readFrozen(files, dir)).toEqual({
    why: 'cannot read the freeze file, treated as frozen: EIO: i/o error',
    sinceMs: undefined,
  })
})

test('a file that appears or disappears is reported within a second, once', async () => {
  const [files, clock] = [new MemoryFiles(), new VirtualClock()]
  let told = 0
  const watch = new FrozenWatch({ files, dir, clock, log: silentLogger, onChange: () => void told++ })
  await watch.start()
  expect([watch.frozen, told]).toEqual([undefined, 0])
  await freeze(files, 'why\n')
  await clock.advance(5_000)
  expect([watch.frozen?.why, told]).toEqual(['why', 1])
  await files.remove(path)
  await clock.advance(5_000)
  expect([watch.frozen, told]).toEqual([undefined, 2])
  watch.close()
  await freeze(files, 'again\n')
  await clock.advance(5_000)
  expect(told).toBe(2)
})

test('the condition names the file and what it says', () => {
  expect(frozenCondition(undefined, path)).toBeUndefined()
  expect(frozenCondition({ why: 'the hub is down', sinceMs: Date.UTC(2026, 0, 5) }, path)).toEqual({
    type: 'Frozen',
    status: 'True',
    reason: 'HoldFreeze',
    message: 'by /node/frozen on the node: the hub is down',
    lastTransitionTime: '2026-01-05T00:00:00Z',
  })
})
