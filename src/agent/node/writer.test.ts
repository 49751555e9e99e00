import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { StatusWriter } from './writer.ts'

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
