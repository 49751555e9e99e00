import { expect, test } from 'vitest'
import { metered } from './metered.ts'
import type { CreateResult, HostRequest } from './port.ts'
import { LOCAL_CAPABILITIES } from './port.ts'

function counted(answer: CreateResult) {
  const lines: string[] = []
  class Cloud {
    readonly name = 'cloud'
    readonly capabilities = LOCAL_CAPABILITIES
    #calls = 0
    create(): Promise<CreateResult> {
      this.#calls++
      return Promise.resolve(answer)
    }
    get calls(): number {
      return this.#calls
    }
    get(): Promise<undefined> {
      return Promise.reject(new Error('unreachable'))
    }
    list() {
      return Promise.resolve({ hosts: [], asOf: '' })
    }
    delete() {
      return Promise.resolve('Deleted' as const)
    }
    reboot() {
      return Promise.resolve('Ordered' as const)
    }
    events() {
      return Promise.resolve()
    }
  }
  const cloud = new Cloud()
  const provider = metered(cloud, {
    called: (...args) => void lines.push(args.join(' ')),
    throttled: (name, ms) => void lines.push(`${name} waits ${ms}`),
  })
  return { provider, cloud, lines }
}
const request = {} as HostRequest

test('calls are counted by action and answer, and keep what they answer', async () => {
  const { provider, cloud, lines } = counted({ kind: 'Throttled', retryAfterMs: 500 })
  expect(await provider.create(request)).toEqual({ kind: 'Throttled', retryAfterMs: 500 })
  expect(cloud.calls).toBe(1)
  await expect(provider.get('x')).rejects.toThrow('unreachable')
  expect(await provider.list()).toEqual({ hosts: [], asOf: '' })
  expect(lines).toEqual(['cloud create Throttled', 'cloud waits 500', 'cloud get Error', 'cloud list OK'])
})

test('what a provider cannot do stays absent, and its name and abilities are its own', () => {
  const { provider, cloud } = counted({ kind: 'Throttled', retryAfterMs: 0 })
  for (const ability of ['power', 'maintenance', 'run'] as const) expect(provider[ability]).toBeUndefined()
  expect([provider.name, provider.capabilities]).toEqual([cloud.name, LOCAL_CAPABILITIES])
})
