import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { systemClock } from '#lib/system-clock.ts'
import { addonsOf, applyAddons, givenWithin } from './built-in.ts'
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

const hanging = new Proxy(
  {},
  {
    get:
      () =>
      (...args: readonly { signal?: AbortSignal }[]) =>
        hang(args.findLast((a) => a?.signal !== undefined)?.signal ?? AbortSignal.timeout(60_000)),
  },
)

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
  const none = { ...cluster, spec: {}, status: {} } as Cluster
  const clock = { now: () => 0 }
  const results = await addonsWithin(none, { signal: new AbortController().signal, ms: 5 }, (signal) =>
    deliverAddons({ client: hanging, clock, signal } as never, none, new Map()),
  )
  expect(results).toEqual([])
})

test('kinds and roles of every control plane give up at their bound too, and that is a failed addon', async () => {
  const addons = addonsOf('1', [], [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kubenode-system' } }])
  const result = await givenWithin(addons, { signal: new AbortController().signal, ms: 5 }, (signal) =>
    applyAddons({ client: hanging, clock: systemClock, signal } as never, addons),
  )
  expect(result).toEqual({
    kind: 'AddonFailed',
    version: addons.version,
    object: 'the API server of the cluster',
    message: 'it did not take all objects within 0.005 s',
  })
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
