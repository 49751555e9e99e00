// Errors when no connection could be made.
import { createServer, type AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { HttpKubeClient } from './client.ts'
import { type Progress, reasonOf } from './transport.ts'

const request = { method: 'GET', path: '/api', what: 'list nodes', lane: 'read' } as unknown as Parameters<
  typeof reasonOf
>[0]
const refused = (address: string, port: number): Error =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', address, port })

test.each([
  ['an address', refused('127.0.0.1', 6443), 'cannot list nodes: ECONNREFUSED 127.0.0.1:6443;'],
  ['an IPv6 address', refused('::1', 6443), 'cannot list nodes: ECONNREFUSED [::1]:6443;'],
  [
    'the first address of a name with several',
    Object.assign(new AggregateError([refused('::1', 1), refused('127.0.0.1', 1)]), { code: 'ECONNREFUSED' }),
    'cannot list nodes: ECONNREFUSED [::1]:1;',
  ],
  [
    'a name that does not resolve',
    Object.assign(new Error('x'), { code: 'ENOTFOUND', hostname: 'api.example.org' }),
    'cannot list nodes: ENOTFOUND api.example.org;',
  ],
  [
    'a connection that broke off',
    Object.assign(new Error('x'), { code: 'ECONNRESET' }),
    'cannot list nodes: ECONNRESET;',
  ],
])('the error names %s', (_, error, want) => {
  const state = { sent: false } as Progress
  expect(String(reasonOf(request, state, error))).toContain(want)
})

test('a process that was stopped while it connected blames no server; one that takes no connection is named in time', async () => {
  // Accepts connections and never speaks TLS.
  const silent = createServer(() => undefined)
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done))
  const { port } = silent.address() as AddressInfo
  const due: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    after: (ms, fn) => {
      if (ms === 1_000) due.push(fn)
      return { cancel: () => undefined }
    },
    sleep: () => Promise.resolve(),
  }
  const client = new HttpKubeClient({ server: `https://127.0.0.1:${port}` }, { clock, timeouts: { connectMs: 10_000 } })
  try {
    const seen: unknown[] = []
    void client.raw({ method: 'GET', path: '/api' }).catch((e: unknown) => seen.push(e))
    // A late tick counts as one tick: each attempt takes ten of them.
    for (let parts = 1; seen.length === 0; parts++) {
      await vi.waitUntil(() => due.length === parts || seen.length > 0, { timeout: 60_000 })
      due[parts - 1]?.()
    }
    expect(String(seen[0])).toContain('no connection within 10000 ms')
    expect([due.length > 0, due.length % 10]).toEqual([true, 0])
  } finally {
    client.close()
    silent.close()
  }
})
