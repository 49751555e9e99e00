import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { addonsWithin, deliverAddons } from './named.ts'

const cluster = {
  metadata: { namespace: 'fleet', name: 'one' },
  spec: { addons: ['a', 'b', 'c', 'd'].map((name) => ({ name, version: '2' })) },
  status: {
    addons: [
      { name: 'a', version: '2', healthy: 'True' },
      { name: 'b', version: '1', healthy: 'True' },
      { name: 'c', version: '2', healthy: 'False' },
      { name: 'e', version: '1', healthy: 'True' },
      { name: 'kubenode', version: '1', healthy: 'True' },
    ],
  },
} as unknown as Cluster

/** Answers nothing until the caller gives up. */
const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

test('a cluster that hangs frees its worker: what was applied is unknown, what was not is missing, what no commit names is still there', async () => {
  const results = await addonsWithin(cluster, { signal: new AbortController().signal, ms: 5 }, hang)
  expect(results.map(({ name, healthy }) => `${name} ${healthy}`)).toEqual([
    'a Unknown',
    'b False',
    'c False',
    'd False',
    'e Unknown',
  ])
  expect(new Set(results.map(({ object, message }) => `${object ?? ''}: ${message ?? ''}`))).toEqual(
    new Set(['the API server of the cluster: it did not take all objects within 0.005 s']),
  )
})

test('the delivery itself gives up at the bound, whatever its API server does', async () => {
  const client = new Proxy(
    {},
    {
      get:
        () =>
        (...args: readonly { signal?: AbortSignal }[]) =>
          hang(args.findLast((a) => a?.signal !== undefined)?.signal ?? AbortSignal.timeout(60_000)),
    },
  )
  const none = { ...cluster, spec: {}, status: {} } as Cluster
  const clock = { now: () => 0 }
  const results = await addonsWithin(none, { signal: new AbortController().signal, ms: 5 }, (signal) =>
    deliverAddons({ client, clock, signal } as never, none),
  )
  expect(results).toEqual([])
})

test('an error of another kind, and the end of the process, stay errors', async () => {
  const ending = AbortSignal.abort(new Error('the process ends'))
  await expect(
    addonsWithin(cluster, { signal: ending, ms: 60_000 }, async (s) => s.throwIfAborted() as never),
  ).rejects.toThrow('the process ends')
  const broken = async (): Promise<never> => {
    throw new Error('refused')
  }
  await expect(addonsWithin(cluster, { signal: new AbortController().signal, ms: 60_000 }, broken)).rejects.toThrow(
    'refused',
  )
})
