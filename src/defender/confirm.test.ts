import { expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machine } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { API_GROUP_VERSION, type ApiKind } from '#api/kind.ts'
import { silentLogger } from '#lib/log.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { createInformers } from '#runtime/informers.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { aHold, aMachine, aPermit } from '#test/support/fleets/defender-objects.ts'
import { seededRandom } from '#lib/random.ts'
import { createCaches } from './caches.ts'
import { DefenderLoop } from './loop.ts'

const KINDS: readonly ApiKind[] = [
  machine,
  defenderPolicy,
  defenderLedger,
  operationPermit,
  operationalHold,
  maintenanceEvent,
  fleetBrake,
  inventory,
  approval,
  machineComponentSet,
  machineComponent,
]
const NEVER = { cron: '0 0 1 1 *', duration: '1m' }

async function world(deaf?: ResourceType) {
  const clock = new VirtualClock()
  const random = seededRandom(7)
  const kube = new FakeKube({
    clock,
    random,
    kinds: KINDS.map((kind) => ({ type: kind, schema: kind.schema, status: kind.definition.status !== undefined })),
  })
  for (const name of ['m-0', 'm-1']) {
    const { status, ...made } = aMachine({ name })
    kube.plant(machine, { ...made, metadata: { name } })
    kube.poke(machine, { name }, { status: status ?? {} }, 'status')
  }
  const client = kube.client({ actor: 'defender' })
  const informers = createInformers({ client, clock, random, log: silentLogger, startSpreadMs: 0 })
  const caches = createCaches(informers, { withClusters: false })
  const options = { client, caches, clock, random, log: silentLogger, identity: 'a', cluster: undefined }
  const loop = new DefenderLoop(options)
  informers.start()
  await clock.advance(1_000)
  await informers.synced(new AbortController().signal)
  loop.start()
  await clock.advance(1_000)
  // From here on this one watch is dead without noticing it.
  if (deaf !== undefined)
    kube.faults = { event: ({ type }) => (type.kind === deaf.kind ? { kind: 'drop' } : undefined) }
  const ask = async (name: string) => {
    const { spec } = aPermit({ name, targets: ['m-0'] })
    const targets = spec.targets.map((t) => ({ ...t, uid: kube.peek(machine, { name: t.name })?.metadata.uid ?? '' }))
    kube.plant(operationPermit, {
      apiVersion: API_GROUP_VERSION,
      kind: 'OperationPermit',
      metadata: { name },
      spec: { ...spec, targets },
    })
    await clock.advance(3_000)
    return (kube.peek(operationPermit, { name }) as { status?: { phase?: string; message?: string } } | undefined)
      ?.status
  }
  const stop = async () => {
    await loop.stop()
    await informers.stop()
  }
  return { kube, clock, ask, stop }
}

const closed = {
  apiVersion: API_GROUP_VERSION,
  kind: 'DefenderPolicy',
  metadata: { name: 'closed' },
  spec: { match: {}, windows: [NEVER] },
}

test('a permit is granted where nothing forbids it', async () => {
  const { ask, stop } = await world(defenderPolicy)
  expect((await ask('p'))?.phase).toBe('Granted')
  await stop()
})

test.each([
  ['a policy', defenderPolicy, closed],
  ['a freeze', operationalHold, aHold('Freeze', { kind: 'Cluster', selector: {} })],
] as const)('%s that was stored before the permit binds, even where its watch is dead', async (_, type, object) => {
  const { kube, ask, stop } = await world(type)
  kube.plant(type, object)
  const status = await ask('p')
  expect(status?.phase).not.toBe('Granted')
  expect(JSON.stringify(status)).toContain(`cache of ${type.plural}.kubenode.io is behind the API server`)
  await stop()
})

test('work on a host that was stored before the permit is booked, even where its watch is dead', async () => {
  const { kube, ask, stop } = await world(maintenanceEvent)
  kube.plant(maintenanceEvent, {
    apiVersion: API_GROUP_VERSION,
    kind: maintenanceEvent.kind,
    metadata: { name: 'reboot-1' },
    spec: { machine: 'm-1', source: 'cloud', eventId: 'e-1', kind: 'Reboot', unplanned: true },
  })
  const status = await ask('p')
  expect(status?.phase).not.toBe('Granted')
  expect(JSON.stringify(status)).toContain('cache of maintenanceevents.kubenode.io')
  await stop()
})

test('while the server does not tell its policies, nothing is granted', async () => {
  const { kube, ask, stop } = await world()
  kube.faults = {
    call: ({ verb, type }) =>
      verb === 'list' && type?.kind === 'DefenderPolicy' ? { kind: 'refuse', when: 'before', code: 500 } : undefined,
  }
  expect((await ask('p'))?.phase).not.toBe('Granted')
  await stop()
})

test.each([
  ['late', 40_000, false],
  ['in time', 2_000, true],
] as const)('a grant whose write arrives %s after a policy was stored', async (_, ms, staysGranted) => {
  const { kube, clock, ask, stop } = await world()
  let held = false
  kube.faults = {
    call: ({ verb, type }) => {
      if (held || type?.kind !== 'DefenderLedger' || verb === 'get') return undefined
      held = true
      return { kind: 'delay', when: 'before', ms }
    },
  }
  await ask('p')
  expect(held).toBe(true)
  kube.plant(defenderPolicy, closed)
  await clock.advance(60_000)
  const phase = (kube.peek(operationPermit, { name: 'p' }) as { status?: { phase?: string } } | undefined)?.status
    ?.phase
  const ledger = kube.peek(defenderLedger, { name: 'cluster' }) as
    | { spec?: { grants?: readonly unknown[] } }
    | undefined
  // A late grant is revoked before its permit shows it.
  expect([phase === 'Granted', (ledger?.spec?.grants ?? []).length]).toEqual([staysGranted, staysGranted ? 1 : 0])
  await stop()
})
