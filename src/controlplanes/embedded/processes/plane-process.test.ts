// When a process counts as stuck, and what happens to its control planes.
import { beforeEach, expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { EngineServer } from '../engine.ts'
import type { FromProcess, ToProcess } from './messages.ts'
import { PlaneProcess } from './plane-process.ts'

let clock: VirtualClock
let sent: ToProcess[]
let says: (message: FromProcess) => void
let end: (how: string) => void
let isKilled: boolean
let made: PlaneProcess

beforeEach(() => {
  clock = new VirtualClock()
  sent = []
  isKilled = false
  const ended = Promise.withResolvers<string>()
  end = ended.resolve
  made = new PlaneProcess(
    {
      send: (message) => void sent.push(message),
      kill: () => {
        isKilled = true
        end('SIGKILL')
      },
      disconnect: () => end('exit 0'),
      listen: (onMessage) => (says = onMessage),
      ended: ended.promise,
    },
    clock,
  )
})

const pair = { key: 'key', certificate: 'certificate' }
const credentials = { authority: pair, server: pair, admin: pair, tokenKey: 'key' }
const wanted = { data: '/d', port: 0, host: '127.0.0.1', version: '1.36.0' }
const started = (id: number): FromProcess => ({ kind: 'Started', id, url: 'https://127.0.0.1:1', credentials })

function begin(id: number) {
  const ending = new AbortController()
  const server = made.start({ ...wanted, signal: ending.signal })
  return { ending, server: async (): Promise<EngineServer> => (says(started(id)), server), asked: server }
}

async function pass(seconds: number, each: () => void = () => undefined): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    each()
    await clock.advance(1_000)
  }
}

test('a process whose event loop turns is left alone, however long it runs', async () => {
  await begin(1).server()
  await pass(600, () => says({ kind: 'Beat' }))
  expect(isKilled).toBe(false)
})

test('a process that stops answering is killed, and each of its control planes ends with the reason', async () => {
  const [first, second] = [await begin(1).server(), await begin(2).server()]
  const why = Promise.all([first, second].map(({ ended }) => ended.catch((e: Error) => e.message)))
  await pass(19)
  expect(isKilled).toBe(false)
  await pass(5)
  const text = 'its process did not answer for 20 s and was killed'
  expect([isKilled, await why, made.isOver, made.planes]).toEqual([true, [text, text], true, 0])
})

test('a process that loads, or whose control plane reads its objects, has two minutes', async () => {
  await pass(100)
  says({ kind: 'Beat' })
  const starting = begin(1)
  await pass(100)
  expect(isKilled).toBe(false)
  await starting.server()
  await pass(30)
  expect(isKilled).toBe(true)
})

test('a process that ends by itself ends its control planes, also one that starts', async () => {
  const server = await begin(1).server()
  const other = begin(2).asked.catch((e: Error) => e.message)
  const why = server.ended.catch((e: Error) => e.message)
  end('SIGSEGV')
  expect([await why, await other]).toEqual(Array(2).fill('the process ended (SIGSEGV)'))
})

test('a control plane that is stopped ends without an error, also when its process is killed meanwhile', async () => {
  const [one, two] = [begin(1), begin(2)]
  const servers = [await one.server(), await two.server()]
  one.ending.abort()
  two.ending.abort()
  expect(sent.slice(-2)).toEqual([
    { kind: 'Stop', id: 1 },
    { kind: 'Stop', id: 2 },
  ])
  says({ kind: 'Ended', id: 1 })
  end('SIGKILL')
  expect(await Promise.all(servers.map(({ ended }) => ended))).toEqual([undefined, undefined])
})

test('a disk that fails ends one control plane, and the others stay', async () => {
  const [first, second] = [await begin(1).server(), await begin(2).server()]
  const why = first.ended.catch((e: Error) => e.message)
  says({ kind: 'Ended', id: 1, why: 'no space left on device' })
  expect([await why, made.planes, second.url]).toEqual(['no space left on device', 1, 'https://127.0.0.1:1'])
})

test('new credentials count once the server has them, and a refusal is told', async () => {
  const server = await begin(1).server()
  const next = { ...credentials, digest: 'next' }
  const first = server.replaceCredentials(next)
  await clock.advance(0)
  expect([sent.at(-1), server.credentials()]).toEqual([{ kind: 'Replace', id: 1, credentials: next }, credentials])
  says({ kind: 'Replaced', id: 1 })
  await first
  expect(server.credentials()).toBe(next)
  const second = server.replaceCredentials(credentials)
  await clock.advance(0)
  says({ kind: 'Replaced', id: 1, why: 'no space left on device' })
  await expect(second).rejects.toThrow('no space left on device')
  expect(server.credentials()).toBe(next)
})
