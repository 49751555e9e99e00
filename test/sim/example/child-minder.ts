// The rest of the world for the example: turns each new child ready a second after it was made, unless its version is broken.
import { createInformer } from '#kube/informer.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { Actor } from '../process.ts'
import { BROKEN_VERSION, type Child, childType } from './kinds.ts'

const READY_AFTER_MS = 1_000

export const childMinder: Actor = {
  name: 'minder',
  isFaulty: false,
  start: ({ client, cacheClient, clock, random, signal }) => {
    const makeReady = async ({ metadata: { name = '', uid } }: Child) => {
      await clock.sleep(READY_AFTER_MS)
      for (;;) {
        const child = await client.get(childType, { name })
        if (child === undefined || child.metadata.uid !== uid) return
        const ready: Child = { ...child, status: { ready: true } }
        const { kind } = await outcomeOf(() => client.update(childType, ready, { subresource: 'status' }))
        if (kind !== 'Conflict') return
      }
    }
    const onChange = (before: Child | undefined, after: Child | undefined) => {
      if (after === undefined || after.status?.ready === true || after.spec.version === BROKEN_VERSION) return
      if (before?.metadata.uid !== after.metadata.uid) void makeReady(after)
    }
    const children = createInformer({ client: cacheClient, type: childType, clock, random })
    children.addHandler(onChange)
    void children.run(signal)
  },
}
