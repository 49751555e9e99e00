import type { Machine } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import { timestamp } from '#lib/clock.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { followHosts } from './follow-hosts.ts'

const machineNamed = (name: string, join: object | undefined): Machine =>
  ({
    metadata: { name },
    spec: { ssh: { host: name, port: 22, user: 'root', secretRef: { name: 's' } } },
    status: { ...(join && { join }) },
  }) as unknown as Machine

const JOINED = { step: 'Certified', finished: timestamp(0) }
const away = () => new ConnectionError(kubeErrors.KN2001({ action: 'get', why: 'connection refused' }), 'no')

/** A server whose answers depend on the time. */
function followed(
  names: readonly string[],
  answer: (ms: number) => object | undefined,
  { width, signal = new AbortController().signal }: { width?: number; signal?: AbortSignal } = {},
) {
  const clock = new VirtualClock()
  const calls: { readonly verb: string; readonly signal: AbortSignal | undefined }[] = []
  const lines: string[] = []
  const client = {
    get: async (_: unknown, { name }: { name: string }, options?: { signal?: AbortSignal }) => {
      calls.push({ verb: `get ${name}`, signal: options?.signal })
      return machineNamed(name, answer(clock.monotonic()))
    },
    list: async (_: unknown, options?: { signal?: AbortSignal }) => {
      calls.push({ verb: 'list', signal: options?.signal })
      return { items: names.map((name) => machineNamed(name, answer(clock.monotonic()))) }
    },
  } as unknown as Pick<KubeClient, 'get' | 'list'>
  const io = {
    out: (text: string) => void lines.push(text),
    err: (text: string) => void lines.push(text),
    cwd: '/',
    env: {},
    color: 'never' as const,
    isTerminal: width !== undefined,
    ...(width !== undefined && { width: () => width }),
  }
  const result = followHosts({ client, names, retried: new Map(), io, signal, isJson: false, clock })
  return { clock, calls, text: () => lines.join(''), result }
}

const refuse = (error: Error): never => {
  throw error
}

describe('hosts are read', () => {
  test('by name when they are few', async () => {
    const { calls, result } = followed(['a', 'b'], () => JOINED)
    expect((await result).end).toBe('Over')
    expect(calls.map(({ verb }) => verb)).toEqual(['get a', 'get b'])
  })

  test('in a list when they are many, with the signal in both cases', async () => {
    const { signal } = new AbortController()
    const many = Array.from({ length: 51 }, (_, i) => `h-${i}`)
    const listed = followed(many, () => JOINED, { signal })
    expect((await listed.result).hosts).toHaveLength(51)
    expect(listed.calls).toEqual([{ verb: 'list', signal }])
    const named = followed(many.slice(1), () => JOINED, { signal })
    await named.result
    expect(named.calls).toHaveLength(50)
    expect(new Set(named.calls.map((call) => call.signal))).toEqual(new Set([signal]))
  })
})

describe('an API server that is away', () => {
  test.each([undefined, 100])(
    'for less than a minute is reported, and the run continues (window: %s)',
    async (width) => {
      const { clock, text, result } = followed(
        ['a'],
        (ms) => (ms < 4_000 ? undefined : ms < 50_000 ? refuse(away()) : JOINED),
        width === undefined ? {} : { width },
      )
      await clock.advance(60_000)
      expect((await result).end).toBe('Over')
      expect(text()).toMatch(/no answer from the API server for .*: .*connection refused/)
      if (width === undefined) expect(text().match(/no answer/g)).toHaveLength(1)
    },
  )

  test('for a minute ends the run with the error', async () => {
    const error = away()
    const { clock, calls, result } = followed(['a'], () => refuse(error))
    const ended = expect(result).rejects.toBe(error)
    await clock.advance(120_000)
    await ended
    expect(calls).toHaveLength(31)
  })

  test('is not one that refuses', async () => {
    const error = new ApiError(failure(403, 'no'), { action: 'get', target: 'machines' })
    await expect(followed(['a'], () => refuse(error)).result).rejects.toBe(error)
  })
})
