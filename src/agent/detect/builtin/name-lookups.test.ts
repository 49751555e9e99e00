import { createSocket, type Socket } from 'node:dgram'
import { afterEach, expect, test } from 'vitest'
import { askNames, hasNameServers, judgeNames, namesToAsk } from './name-lookups.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})

const NO_SUCH_NAME = 3
const SERVER_FAILED = 2
const REFUSED = 5

/** A name server that gives each question the same code, or no answer. */
async function nameServer(code: number | undefined): Promise<string> {
  const socket = createSocket('udp4')
  sockets.push(socket)
  socket.on('message', (question, from) => {
    if (code === undefined) return
    const answer = Buffer.from(question)
    // A response, with recursion; then the code.
    answer.writeUInt8(0x81, 2)
    answer.writeUInt8(0x80 | code, 3)
    socket.send(answer, from.port, from.address)
  })
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound))
  return `127.0.0.1:${socket.address().port}`
}

test('any answer shows that a name server works, also that there is no such name', async () => {
  expect(await askNames(['api.example'], 5_000, [await nameServer(NO_SUCH_NAME)])).toBeUndefined()
})

test('one name that is answered shows it, whatever becomes of the others', async () => {
  const answers = await nameServer(NO_SUCH_NAME)
  const [silent, closed] = [await nameServer(undefined), '127.0.0.1:1']
  expect(await askNames(['a.example', 'b.example'], 50, [silent])).toBe('a.example: ETIMEOUT')
  expect(await askNames(['a.example', 'b.example'], 5_000, [closed, answers])).toBeUndefined()
  expect(await askNames(['api.example'], 5_000, [await nameServer(REFUSED)])).toBeUndefined()
})

test('silence, a server that failed and a closed port are no answers', async () => {
  expect(await askNames(['api.example'], 50, [await nameServer(undefined)])).toBe('api.example: ETIMEOUT')
  expect(await askNames(['api.example'], 5_000, [await nameServer(SERVER_FAILED)])).toBe('api.example: ESERVFAIL')
  const closed = await nameServer(undefined)
  await new Promise<void>((done) => sockets.pop()?.close(done))
  expect(await askNames(['api.example'], 5_000, [closed])).toBe('api.example: ECONNREFUSED')
})

test.each([
  ['https://api.example:6443', [], ['api.example']],
  ['https://192.0.2.1:6443', [], []],
  ['https://[2001:db8::1]:6443', [], []],
  ['', [], []],
  ['https://192.0.2.1:6443', ['registry.example'], ['registry.example']],
])('asked about with server %s and names %j: %j', (server, names, asked) => {
  expect(namesToAsk({ names }, server)).toEqual(asked)
})

test('a host with a hosts file alone has no name servers', () => {
  expect(hasNameServers('search example\nnameserver 192.0.2.53\n')).toBe(true)
  expect(hasNameServers('nameserver\t192.0.2.53')).toBe(true)
  expect([hasNameServers('# nameserver 192.0.2.53\n'), hasNameServers(undefined)]).toEqual([false, false])
})

test('one lost answer is no failure; some in a row are, until the first answer', () => {
  const failed = (failures: number) => judgeNames(failures, 'api.example: ETIMEOUT', { failuresInARow: 3 })
  expect([failed(1), failed(2)]).toEqual([[], []])
  expect(failed(3)).toMatchObject([
    { status: 'True', message: 'no name server of the node answers for api.example: ETIMEOUT' },
  ])
  expect(judgeNames(0, undefined, { failuresInARow: 3 })).toMatchObject([{ status: 'False' }])
})
