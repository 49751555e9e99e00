// `npm start -- --driver nspawn`: the fleet of the README with systemd machines and the components of real nodes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { processesWith } from '#test/support/tools/processes.ts'
import { noMachines } from '../agent-host/machine.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'

const NEXT = '1.6.20+ds1-1-deb12u3'
const why = noMachines()
let fleet: TestFleet
let folder = ''

beforeAll(() => {
  if (why !== undefined) return
  // An overlay cannot lie on another one, and /tmp may be in memory.
  folder = mkdtempSync('/var/tmp/kubenode-local-')
  fleet = new TestFleet(join(folder, 'data'))
})
beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})
afterAll(async () => {
  if (why !== undefined) return
  await fleet.dispose()
  rmSync(folder, { recursive: true, force: true })
}, PATIENCE_MS)

const start = (...args: readonly string[]) => fleet.start('--driver', 'nspawn', '--data', fleet.data, ...args)

async function versions(cluster: string): Promise<readonly string[]> {
  const { out } = await fleet.run(`bin/kubenode get machines -o json --kubeconfig ${fleet.kubeconfig(cluster)}`)
  const { items } = JSON.parse(out) as {
    items: { status?: { components?: { name: string; version?: string; state: string }[] } }[]
  }
  return items.flatMap(({ status }) => (status?.components ?? []).map((c) => `${c.name} ${c.version} ${c.state}`))
}

const ALL = ['cni-plugins', 'containerd', 'node-exporter', 'runc']

test(
  'machines become Ready with all components of host-versions.json, each on a network of its own',
  async () => {
    start('--nodes', '2')
    await fleet.settled()
    for (const cluster of ['test', 'prod']) {
      const seen = await versions(cluster)
      expect(seen).toHaveLength(2 * ALL.length)
      expect(new Set(seen.map((line) => line.split(' ')[0]))).toEqual(new Set(ALL))
      expect(seen.filter((line) => !line.endsWith(' Healthy'))).toEqual([])
    }
  },
  4 * PATIENCE_MS,
)

test(
  'a commit switches containerd on all of them, machine by machine',
  async () => {
    const file = join(fleet.repository, 'fleet/clusters/host-versions.json')
    const before = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
    writeFileSync(file, `${JSON.stringify({ ...before, containerd: NEXT }, null, 2)}\n`)
    fleet.commit('containerd: next')
    await fleet.settled()
    for (const cluster of ['test', 'prod'])
      expect((await versions(cluster)).filter((line) => line === `containerd ${NEXT} Healthy`)).toHaveLength(2)
  },
  4 * PATIENCE_MS,
)

test(
  'an interrupt switches the machines off, and the next start boots the same ones',
  async () => {
    const boots = async () => {
      const { out } = await fleet.run(
        `bin/kubenode get machines -o name --kubeconfig ${fleet.kubeconfig('test')} | sort`,
      )
      return out
    }
    const names = await boots()
    await fleet.end('SIGINT')
    expect(processesWith(fleet.data)).toEqual([])
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(fleet.data)
    start()
    await fleet.settled()
    expect(await boots()).toBe(names)
    expect((await versions('prod')).filter((line) => !line.endsWith(' Healthy'))).toEqual([])
  },
  4 * PATIENCE_MS,
)
