import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { StatusWriter } from './writer.ts'

const PASSING_MS = 200

function writerOf(value: () => string) {
  const clock = new VirtualClock()
  const server: { writes: number; has: string | undefined } = { writes: 0, has: undefined }
  const writer = new StatusWriter<string>({
    clock,
    random: seededRandom(1),
    log: silentLogger,
    name: 'Machine',
    compute: value,
    isSame: (a, b) => a === b,
    passingMs: (_, now) => (now.endsWith('…') ? PASSING_MS : 0),
    write: async (now) => {
      server.writes++
      server.has = now
    },
  })
  const list = async () => {
    writer.compare((written) => written === server.has)
    await clock.advance(1)
  }
  return { clock, server, writer, list }
}

test('a store that was restored gets the report again, and one that has it gets nothing', async () => {
  const { clock, server, writer, list } = writerOf(() => '1.1.0')
  await list()
  expect(server.writes).toBe(0)
  writer.touch()
  await clock.advance(1)
  await list()
  expect(server).toEqual({ writes: 1, has: '1.1.0' })
  server.has = '1.0.0'
  await list()
  expect(server).toEqual({ writes: 2, has: '1.1.0' })
})

test('steps that are over soon are one write, that of their end', async () => {
  let value = 'staged'
  const { clock, server, writer } = writerOf(() => value)
  const say = async (next: string, ms: number) => {
    value = next
    writer.touch()
    await clock.advance(ms)
  }
  await say('staged', 1)
  await say('switching…', PASSING_MS / 2)
  await say('probing…', PASSING_MS / 4)
  expect(server).toEqual({ writes: 1, has: 'staged' })
  await say('healthy', 1)
  expect(server).toEqual({ writes: 2, has: 'healthy' })
})

test('what lasts is written, counted from its first step, and what goes back is not', async () => {
  let value = 'healthy'
  const { clock, server, writer } = writerOf(() => value)
  writer.touch()
  await clock.advance(1)
  value = 'switching…'
  writer.touch()
  await clock.advance(PASSING_MS - 100)
  value = 'probing…'
  writer.touch()
  await clock.advance(200)
  expect(server).toEqual({ writes: 2, has: 'probing…' })
  value = 'healthy'
  writer.touch()
  await clock.advance(1)
  value = 'switching…'
  writer.touch()
  await clock.advance(100)
  value = 'healthy'
  writer.touch()
  await clock.advance(2 * PASSING_MS)
  expect(server).toEqual({ writes: 3, has: 'healthy' })
})

test('the first word of a program is never held', async () => {
  const { clock, server, writer } = writerOf(() => 'probing…')
  writer.touch()
  await clock.advance(1)
  expect(server).toEqual({ writes: 1, has: 'probing…' })
})

test('the last report of an agent that ends is written at once, also a step that may be over soon', async () => {
  let value = 'staged'
  const { clock, server, writer } = writerOf(() => value)
  writer.touch()
  await clock.advance(1)
  value = 'rebooting…'
  writer.touch()
  await clock.advance(1)
  const flushed = writer.flush(2_000)
  await clock.advance(1)
  await flushed
  expect(server).toEqual({ writes: 2, has: 'rebooting…' })
})
