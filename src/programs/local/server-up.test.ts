import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Connect, type Connected, serverUp } from './server-up.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const noKubeconfig = () => Promise.reject(new Error('there is no such file'))

async function saidAtTheEnd(whyEnded?: () => string | undefined, connect: Connect = noKubeconfig): Promise<string> {
  const up = serverUp('admin.kubeconfig', connect, new AbortController().signal, whyEnded)
  const failed = expect(up).rejects.toThrow()
  await vi.advanceTimersByTimeAsync(60_000)
  await failed
  return up.then(String, String)
}

test('a server that never started is reported with the error that its program exited with', async () => {
  const said = await saidAtTheEnd(() => 'KN6106: the disk is full')
  expect(said).toContain('cannot reach the API server of admin.kubeconfig: KN6106: the disk is full')
  expect(said).not.toContain('there is no such file')
})

test('without such an error, what the client saw is reported', async () =>
  expect(await saidAtTheEnd(() => undefined)).toContain('there is no such file'))

test('a server that answers, but is never ready, is given up too, and no connection to it stays open', async () => {
  let open = 0
  const connect: Connect = () => {
    open++
    const client = { raw: async () => ({ status: 500 }), close: () => open-- } as unknown as Connected['client']
    return Promise.resolve({ client, server: 'https://127.0.0.1', ca: '' })
  }
  expect(await saidAtTheEnd(undefined, connect)).toContain('its /readyz answers 500')
  expect(open).toBe(0)
})
