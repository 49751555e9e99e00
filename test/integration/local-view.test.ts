// What `npm start` shows comes from watches: it is what a read of the servers says, and a server that ends is seen.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { agentLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { type FleetView, observeFleet, watchFleet } from '#programs/local/observe.ts'
import type { FleetSeen } from '#explain/progress/seen.ts'
import { leaseType } from '#runtime/lease.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { until } from '#test/support/tools/processes.ts'

/** An answer counts for two seconds, and a request may take three. */
const ENDED_WITHIN_MS = 100_000

let server: RunningServer
let client: HttpKubeClient
let view: FleetView
beforeAll(async () => {
  server = await startEmbedded()
  client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
  await installAll(client)
  view = watchFleet(client)
})
afterAll(async () => {
  await view.stop()
  client.close()
  await server.stop()
})

/** Caches leave out who manages which field. */
const withoutManagers = (read: FleetSeen): FleetSeen =>
  JSON.parse(JSON.stringify(read), (key, value: unknown) => (key === 'managedFields' ? undefined : value)) as FleetSeen

const clients = () => new Map([['test', client]])
const both = async () => [await view.seen(clients()), await observeFleet(client, clients())] as const

test('a machine and the time its agent was heard of appear as they are read', async () => {
  await client.create(machine, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm-1' },
    spec: { provider: { name: 'static' } },
  } as never)
  const renewTime = '2026-01-02T03:04:05.000000Z'
  await client.create(leaseType, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: agentLeaseName('m-1'), namespace: SYSTEM_NAMESPACE },
    spec: { holderIdentity: 'm-1', renewTime },
  })
  await until(
    'the watches deliver both',
    async () => {
      const { clusters } = await view.seen(clients())
      return clusters[0]?.lastHeartbeats.get('m-1') === Date.parse(renewTime) || undefined
    },
    30_000,
  )
  const [seen, read] = await both()
  const machines = (fleet: FleetSeen) => fleet.clusters.map((c) => c.machines)
  expect(machines(seen)).toEqual(machines(withoutManagers(read)))
  expect(seen.clusters[0]?.lastHeartbeats).toEqual(read.clusters[0]?.lastHeartbeats)
  expect(read.clusters[0]?.machines.map((m) => m.metadata.name)).toEqual(['m-1'])
})

test('a cluster that is taken out is not shown any more, and comes back whole', async () => {
  expect((await view.seen(new Map())).clusters).toEqual([])
  await until(
    'its caches are complete again',
    async () => (await view.seen(clients())).clusters[0]?.machines.length === 1 || undefined,
    30_000,
  )
})

test('a server that ended is not reachable once its last answer is two seconds old, whatever the caches still hold', async () => {
  await server.stop()
  await until(
    'the view reports neither as reachable',
    async () => {
      const [{ hub, clusters }] = await both()
      return (!hub.isReachable && clusters[0]?.isReachable === false) || undefined
    },
    ENDED_WITHIN_MS,
  )
})
