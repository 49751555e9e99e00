import { expect, test } from 'vitest'
import { isObject } from '#lib/json.ts'
import { silentLogger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { RIGHTS_MS, type Right, RightsWatch, missingRight, rightText } from './rights.ts'

const NEEDS: readonly Right[] = [
  { verb: 'create', group: 'kubenode.io', resource: 'defenderledgers' },
  { verb: 'update', group: 'kubenode.io', resource: 'operationpermits/status' },
]

/** A server on which everything is allowed but what is denied now. */
function server() {
  const denied = new Set<string>()
  let isAway = false
  const create = (_: unknown, review: { readonly spec?: unknown }) => {
    if (isAway) return Promise.reject(new Error('away'))
    const { resourceAttributes: a } = isObject(review.spec) ? review.spec : {}
    const words = isObject(a) ? [a['resource'], a['subresource']].filter((w) => typeof w === 'string') : []
    const asked = `${isObject(a) ? String(a['verb']) : ''} ${words.join('/')}`
    return Promise.resolve({ ...review, status: { allowed: !denied.has(asked) } })
  }
  return {
    denied,
    leave: () => void (isAway = true),
    client: { create } as unknown as KubeClient,
  }
}

test('the first right that is missing is named, subresources too', async () => {
  const { client, denied } = server()
  const options = { client, log: silentLogger, needs: NEEDS }
  expect(await missingRight(options)).toBeUndefined()
  denied.add('update operationpermits/status')
  const missing = await missingRight(options)
  expect(missing && rightText(missing)).toBe('not allowed to update operationpermits/status in API group kubenode.io')
})

test('a server that gives no answer takes no right away', async () => {
  const { client, leave } = server()
  leave()
  expect(await missingRight({ client, log: silentLogger, needs: NEEDS })).toBeUndefined()
})

test('F48 a right that is taken away during the work is noticed, once, and not after the end', async () => {
  const { client, denied } = server()
  const clock = new VirtualClock()
  const missing: string[] = []
  const onMissing = (right: Right) => void missing.push(right.resource)
  const watch = new RightsWatch({ client, clock, log: silentLogger, needs: NEEDS, onMissing })
  watch.start()
  await clock.advance(RIGHTS_MS * 3)
  expect(missing).toEqual([])
  denied.add('create defenderledgers')
  await clock.advance(RIGHTS_MS * 3)
  expect(missing).toEqual(['defenderledgers'])
  const stopped = new RightsWatch({ client, clock, log: silentLogger, needs: NEEDS, onMissing })
  stopped.start()
  stopped.stop()
  await clock.advance(RIGHTS_MS * 3)
  expect(missing).toEqual(['defenderledgers'])
})
