import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { serverUp } from './server-up.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const noKubeconfig = () => Promise.reject(new Error('there is no such file'))

async function saidAtTheEnd(whyEnded?: () => string | undefined): Promise<string> {
  const up = serverUp('admin.kubeconfig', noKubeconfig, new AbortController().signal, whyEnded)
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
