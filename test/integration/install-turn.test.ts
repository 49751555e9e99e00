// The Lease that gives turns to install, upgrade and uninstall, as people and other programs may leave it.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { observeTurn, takeTurn, TURN_LEASE } from '#install/turn.ts'
import { ApiError } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { leaseType, newLease, taken } from '#runtime/lease.ts'
import { startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'

let world: InstallWorld
beforeAll(async () => {
  world = await startInstallWorld()
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TURN_LEASE.namespace } }
  await world.admin.create(coreKind('Namespace'), namespace)
})
afterAll(() => world?.stop())
beforeEach(() => world.admin.delete(leaseType, TURN_LEASE))

const BOB = 'install on bob, process 7'
const heldBy = (durationMs: number, now: number) =>
  world.admin.create(leaseType, taken(newLease(TURN_LEASE), BOB, durationMs, now))

test('a Lease that promises years, of a name that is no run, stops no run for good', async () => {
  await heldBy(60 * 365 * 86_400_000, Date.now())
  // Looks that come late on a busy machine begin the wait again: after a quarter of the lease.
  const context = { ...world.context(), turnTimes: { leaseMs: 3_000, renewMs: 200 } }
  const turn = await takeTurn(context, 'install', 'Wait')
  expect(turn?.hasWaited).toBe(true)
  await turn?.during(async () => undefined)
})

test('whether a run has ended is seen by its renewals, whatever times its clock wrote', async () => {
  expect(await observeTurn(world.context())).toBeUndefined()
  await heldBy(15_000, Date.now() + 5 * 3_600_000)
  expect(await observeTurn(world.context())).toEqual({ by: BOB, isRenewed: false })
  const context = world.context()
  const clock = { ...context.clock, now: () => Date.now() - 5 * 3_600_000 }
  const turn = await takeTurn({ ...context, clock }, 'upgrade', 'Wait')
  await turn?.during(async () => {
    const seen = await observeTurn(context)
    expect(seen).toMatchObject({ by: expect.stringMatching(/^upgrade on /) as string, isRenewed: true })
  })
  expect(await observeTurn(context)).toBeUndefined()
})

test('a run whose Lease was deleted by hand ends with that reason', async () => {
  const turn = await takeTurn(world.context(), 'install', 'Wait')
  const work = turn?.during(async () => {
    await world.admin.delete(leaseType, TURN_LEASE)
    await turn.context.clock.sleep(60_000, turn.context.signal)
    for (;;) await world.context().clock.sleep(25, turn.context.signal)
  })
  await expect(work).rejects.toThrow(
    /^KN1449: this run lost its turn: lease kubenode-installer of namespace kubenode-system was deleted/,
  )
})

test('a Lease that the server does not write is named with the reason', async () => {
  const why = 'failed calling webhook "guard.platform.io": connection refused'
  const guarded = new Proxy(world.admin, {
    get:
      (client, method: keyof KubeClient) =>
      async (...args: unknown[]) => {
        if (method === 'create')
          throw new ApiError(
            {
              apiVersion: 'v1',
              kind: 'Status',
              metadata: {},
              status: 'Failure',
              code: 500,
              reason: 'InternalError',
              message: why,
            },
            { action: 'create', target: 'leases.coordination.k8s.io/kubenode-installer' },
          )
        return (client[method] as (...a: unknown[]) => Promise<unknown>).apply(client, args)
      },
  })
  const context = { ...world.context(guarded), timeoutMs: 300 }
  await expect(takeTurn(context, 'install', 'Wait')).rejects.toThrow(
    `lease kubenode-installer cannot be written: ${why}`,
  )
})
