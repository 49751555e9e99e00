// Which control planes share a process.
import { afterEach, expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { FromProcess } from './messages.ts'
import type { Child } from './plane-process.ts'
import { ProcessEngine } from './process-engine.ts'

/** When a process exits, its data is not touched. */
const untouched = (): never => {
  throw new Error('the data of a control plane was touched')
}
const NO_DATA = { mend: untouched, snapshot: untouched, restore: untouched }

const pair = { key: 'key', certificate: 'certificate' }
const credentials = { authority: pair, server: pair, admin: pair, tokenKey: 'key' }

let engine: ProcessEngine | undefined
afterEach(() => engine?.close())

/** The tenants of each process, in process order. */
async function servedBy(
  tenants: readonly string[],
  bounds: { readonly perProcess: number; readonly tenantsApart?: boolean },
): Promise<readonly string[]> {
  const served: string[] = []
  const spawn = (): Child => {
    const at = served.push('') - 1
    const ended = Promise.withResolvers<string>()
    let says: (message: FromProcess) => void = () => undefined
    return {
      send: (message) => {
        if (message.kind !== 'Start') return
        served[at] += message.wanted.tenant ?? '?'
        const { id } = message
        queueMicrotask(() => says({ kind: 'Started', id, url: 'https://127.0.0.1:1', credentials }))
      },
      kill: () => ended.resolve('SIGKILL'),
      disconnect: () => ended.resolve('exit 0'),
      listen: (onMessage) => {
        says = onMessage
      },
      ended: ended.promise,
    }
  }
  engine = new ProcessEngine({ data: NO_DATA, clock: new VirtualClock(), ...bounds, spawn })
  for (const tenant of tenants)
    await engine.start({
      data: '/d',
      tenant,
      port: 0,
      host: '127.0.0.1',
      version: '1.36.0',
      signal: new AbortController().signal,
    })
  return served
}

test.each([
  ['so many share a process', 'ababa', { perProcess: 2 }, ['ab', 'ab', 'a']],
  ['where asked, those of one tenant only', 'ababa', { perProcess: 2, tenantsApart: true }, ['aa', 'bb', 'a']],
  ['one for each', 'ab', { perProcess: 1, tenantsApart: true }, ['a', 'b']],
])('%s', async (_, tenants, bounds, served) => {
  expect(await servedBy([...tenants], bounds)).toEqual(served)
})
