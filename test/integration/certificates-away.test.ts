// Approver and API server are down for longer than certificates live: the agents return, wait to rejoin, and a user readmits them; no host is touched.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { LABELS } from '#api/names.ts'
import { readmit } from '#install/machines/readmit.ts'
import { secretType } from '#nodes/objects.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import {
  certificateOf,
  DoorWorld,
  expiresAt,
  hasBundle,
  heartbeat,
  type Host,
} from '#test/support/worlds/door-world.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'

const NAMES = ['m-1', 'm-2', 'm-3']
const HOUR = 3_600_000
let world: DoorWorld
let hosts: readonly Host[]

beforeAll(async () => {
  world = await DoorWorld.start()
  hosts = await Promise.all(NAMES.map((name) => world.host(name)))
})
afterAll(() => world.close())

function person() {
  const said: string[] = []
  const io = { out: (s: string) => void said.push(s), err: (s: string) => void said.push(s) }
  const run = (more: object) =>
    readmit({ client: world.admin, names: [], for: '24h', now: world.clock.now(), ...more }, io)
  return { run, said: () => said.splice(0).join('') }
}

test(
  'S26 after a longer absence than a life of the certificates, agents wait in the queue until a person readmits the list',
  { timeout: 120_000 },
  async () => {
    for (const host of hosts) expect(await heartbeat(host)).toBe(true)
    const tokens = () => world.admin.list(secretType, { labelSelector: `${LABELS.joinToken}=true` })
    await eventually(tokens, ({ items }) => items.length === 0)
    await world.approverGone()
    await world.serverGone()
    world.clock.shift(3 * HOUR)
    for (const host of hosts) expect(expiresAt(host)).toBeLessThan(world.clock.now())
    world.lifeMs = 30 * 24 * HOUR
    await world.serve()
    for (const host of hosts) expect(await heartbeat(host)).toBe(false)
    const { run, said } = person()
    // The approver is still down: the queued requests wait for it, and a user sees them.
    await world.untilPassing(
      async () => {
        await run({ list: true })
        return said()
      },
      (text) => NAMES.every((name) => text.includes(name)),
    )
    await world.approve()
    const before = hosts.map(certificateOf)
    await expect(run({ allWaiting: '2' })).rejects.toThrow('3 machines wait now')
    await world.untilPassing(
      async () => world.requests(),
      (all) => all.filter((r) => r.metadata.name?.startsWith('kubenode-door-')).length === 3,
    )
    const haveSaidSo = () => hosts.map((h) => h.said.some((line) => line.startsWith('waiting to be readmitted')))
    // Readmitted at once, a host would have nothing to say.
    await world.untilPassing(
      async () => haveSaidSo(),
      (all) => all.every(Boolean),
    )
    expect(hosts.map(certificateOf)).toEqual(before)
    expect(await run({ allWaiting: '3' })).toEqual({ failed: 0 })
    await world.untilPassing(
      async () => Promise.all(hosts.map(heartbeat)),
      (back) => back.every(Boolean),
    )
    // A host serves with the new certificate a moment before it says so.
    await world.untilPassing(
      async () => hosts.every((h) => expiresAt(h) > world.clock.now()),
      (isRenewed) => isRenewed,
    )
    // No host was touched: no bundle, no token.
    expect([hosts.map(hasBundle), (await tokens()).items.length]).toEqual([[false, false, false], 0])
    // A readmission ends once they are back: the next outage needs another one.
    const machines = (await world.admin.list(machineType)).items
    expect(machines.map((m) => readmissionOf(m, world.clock.now()))).toEqual([undefined, undefined, undefined])
  },
)
