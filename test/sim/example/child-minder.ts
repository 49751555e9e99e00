// The rest of the world for the example: turns each new child ready a second after it was made, unless its version is broken.
import { outcomeOf } from '#kube/outcome.ts'
import type { Actor } from '../process.ts'
import { SimCache } from '../sim-cache.ts'
import { BROKEN_VERSION, type Child, childType } from './kinds.ts'

const READY_AFTER_MS = 1_000

export const childMinder: Actor = {
  name: 'minder',
  isFaulty: false,
  start: ({ client, cacheClient, clock }) => {
    const makeReady = async (child: Child) => {
      await clock.sleep(READY_AFTER_MS)
      await outcomeOf(() => client.update(childType, { ...child, status: { ready: true } }, { subresource: 'status' }))
    }
    const onChange = (before: Child | undefined, after: Child | undefined) => {
      if (after === undefined || after.status?.ready === true || after.spec.version === BROKEN_VERSION) return
      if (before?.metadata.uid !== after.metadata.uid) void makeReady(after)
    }
    void new SimCache({ client: cacheClient, clock, type: childType, onChange })
  },
}
