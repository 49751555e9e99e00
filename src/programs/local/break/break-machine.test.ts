// Each fault on a real systemd machine, as the agent's detectors see it there, and nothing of it on the host or after a boot. Needs root.
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import { sleepingTask } from '#agent/detect/builtin/hung-tasks.ts'
import { judgeDisks, diskRoom } from '#agent/detect/builtin/disk.ts'
import { judgeMemory, memoryErrors } from '#agent/detect/hardware/memory.ts'
import { judgePcie, pcieDevices } from '#agent/detect/hardware/pcie.ts'
import { parseKmsg } from '#agent/detect/npd/kmsg.ts'
import { hostFiles, hostFilesUnder } from '#agent/metrics/host-files.ts'
import { nodeDir } from '#agent/node-dir.ts'
import { clockAheadMs, spaceAt } from '#agent/played-host.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import { machineLayout } from '#providers/nspawn/layout.ts'
import { findSupervisor, leaderOf } from '#providers/nspawn/machine.ts'
import { createNspawnProvider, type NspawnProvider } from '#providers/nspawn/provider.ts'
import { ensureTree, hasTree, treePath } from '#providers/nspawn/tree.ts'
import { isFull } from '#test/support/tools/full.ts'
import { breakMachine } from './break-machine.ts'
import { FAULTS, type Fault } from './faults.ts'

const tree = { cache: process.env['KUBENODE_TREES'] ?? '/var/lib/kubenode/trees', log: silentLogger }
const NAME = 'm-1'
const ID = `nspawn://${NAME}`
const SLOW_MS = 120_000

let base = ''
let why: string | undefined
let provider: NspawnProvider
beforeAll(async () => {
  if (process.getuid?.() !== 0) why = 'systemd machines need root'
  else if (isFull) await ensureTree(tree)
  else if (!(await hasTree(tree))) why = `there is no tree in ${tree.cache}; a full run builds one`
  if (why !== undefined) return
  base = mkdtempSync('/var/tmp/break-machine-')
  const tools = { clock: systemClock, log: silentLogger }
  provider = await createNspawnProvider({ dir: base, tree: treePath(tree), ...tools, network: 'Own' })
  const bundle = { server: 'https://127.0.0.1:6443', caData: 'Q0E=', token: 'abcdef.0123456789abcdef', machine: NAME }
  await provider.create({
    clientToken: 'uid',
    machineUid: 'uid',
    machine: NAME,
    params: { privileged: 'true' },
    join: {
      ...bundle,
      node: NAME,
      cluster: 'test',
      artifactBase: 'file:///a/',
      trust: { sequence: 1, threshold: 1, keys: [] },
    },
  })
  await isUp()
}, SLOW_MS)
afterAll(async () => {
  if (why !== undefined) return
  await provider.delete(ID)
  rmSync(base, { recursive: true, force: true, maxRetries: 5 })
}, SLOW_MS)

const inside = (...argv: string[]) => provider.exec(ID, argv)
const isUp = () =>
  until(async () => /running|degraded/.test(await inside('systemctl', 'is-system-running').catch(String)))

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = systemClock.monotonic() + SLOW_MS / 2
  while (!(await holds())) {
    if (systemClock.monotonic() > end) throw new Error('it never happened')
    await systemClock.sleep(50)
  }
}

/** What a process of the machine finds at `/`. */
async function rootOf(): Promise<string> {
  const supervisor = await findSupervisor(machineLayout(base, NAME), undefined)
  const leader = supervisor && (await leaderOf(supervisor))
  if (leader === undefined) throw new Error('the machine does not run')
  return `/proc/${leader.pid}/root`
}
const filesOf = async () => hostFilesUnder(await rootOf())
const typesOf = (readings: readonly { readonly type: string; readonly status: string }[]) =>
  readings.flatMap(({ type, status }) => (status === 'True' ? [type] : []))

const SEEN: Readonly<Record<Fault, () => Promise<boolean>>> = {
  hung: async () => {
    const stats = await inside('/bin/sh', '-c', 'cat /proc/[0-9]*/stat 2>/dev/null || :')
    return stats.split('\n').some((line) => sleepingTask(line)?.name === 'perl')
  },
  network: async () => !(await inside('ip', '-brief', 'link', 'show', 'dev', 'lo')).includes(',UP'),
  'kernel-log': async () => {
    const records = (await inside('/bin/sh', '-c', 'test -f /dev/kmsg && cat /dev/kmsg || :')).split('\n')
    return records.some((line) => parseKmsg(line)?.message.includes('blocked for more than 120 seconds') === true)
  },
  memory: async () =>
    typesOf(judgeMemory(memoryErrors(await filesOf()), new Map(), 0, DETECTOR_DEFAULTS.memory)).includes(
      'MemoryFaulty',
    ),
  card: async () => typesOf(judgePcie(pcieDevices(await filesOf()), new Map())).includes('PCIeFaulty'),
  disk: async () => {
    const path = join(await rootOf(), 'var/log')
    const room = diskRoom('/var/log', await spaceAt(nodeDir(base, '/'), path))
    return typesOf(judgeDisks([room], DETECTOR_DEFAULTS.disk, () => false)).includes('DiskSpaceLow')
  },
  clock: async () => clockAheadMs(nodeDir(base, '/'), await rootOf()) === 60_000,
}

/** What a fault could have changed here. */
const hostNow = () => ({
  mounts: readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes('kubenode-break')),
  memory: memoryErrors(hostFiles).corruptedKiB,
  cards: typesOf(judgePcie(pcieDevices(hostFiles), new Map())),
  loopback: readFileSync('/sys/class/net/lo/operstate', 'utf8'),
  network: readlinkSync('/proc/self/ns/net'),
  faults: hostFiles.list('/run/kubenode-break'),
})

describe('a systemd machine of the local fleet', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })

  test.each(FAULTS)(
    'has the fault %s until it is undone, also if it is provoked twice, and its host never has it',
    async (fault) => {
      const at = { folder: base, name: NAME }
      const before = hostNow()
      const seen = SEEN[fault]
      expect(await seen()).toBe(false)
      await breakMachine(fault, at, false)
      await breakMachine(fault, at, false)
      await until(seen)
      expect(hostNow()).toEqual(before)
      await breakMachine(fault, at, true)
      await until(async () => !(await seen()))
      await breakMachine(fault, at, true)
      expect(hostNow()).toEqual(before)
    },
    SLOW_MS,
  )

  test(
    'a boot ends all of them',
    async () => {
      const first = (await provider.get(ID))?.bootID
      for (const fault of FAULTS) await breakMachine(fault, { folder: base, name: NAME }, false)
      await provider.reboot(ID)
      await until(async () => (await provider.get(ID))?.bootID !== first)
      await isUp()
      for (const fault of FAULTS) expect([fault, await SEEN[fault]()]).toEqual([fault, false])
    },
    SLOW_MS,
  )

  test('a machine that does not run cannot have one', async () => {
    await expect(breakMachine('disk', { folder: base, name: 'm-2' }, false)).rejects.toThrow('its process has ended')
  })
})
