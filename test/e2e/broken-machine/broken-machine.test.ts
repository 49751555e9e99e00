// Faults of one systemd machine with the real agent, provoked as `kubenode local break` does it: the agent reports each of them. The clock is mended by the shipped
// rule: first by the machine's time service, and, when it is wrong again, by a reboot, which ends all the other faults too.
import { mkdtempSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { silentLogger } from '#lib/log.ts'
import { findCondition } from '#kube/conditions.ts'
import { hasTaint } from '#nodes/objects.ts'
import { breakMachine } from '#programs/local/break/break-machine.ts'
import { FAULTS, type Fault } from '#programs/local/break/faults.ts'
import { hasTree } from '#providers/nspawn/tree.ts'
import { until } from '#test/support/tools/processes.ts'
import hosts from '../../../fleet/machines/hosts.json' with { type: 'json' }
import { clockSkewed } from '../../../rules/time/clock-skewed.ts'
import { consoleOf, HungNodeFleet, TREES } from '../hung-node/fleet.ts'

const NAME = 'broken-1'
const ID = `nspawn://${NAME}`
const SLOW_MS = 300_000
const OFTEN = { everyMs: '1s' }

/** What each fault makes of the node. A machine without a network reports nothing. */
const CONDITIONS: Readonly<Partial<Record<Fault, string>>> = {
  hung: 'TasksHung',
  'kernel-log': 'KernelDeadlock',
  memory: 'MemoryFaulty',
  card: 'PCIeFaulty',
  disk: 'DiskSpaceLow',
  clock: 'ClockSkewed',
}

const agentConfig = {
  metrics: false,
  monitors: hosts.monitors,
  detectors: {
    clock: OFTEN,
    memory: OFTEN,
    pcie: OFTEN,
    disk: { ...OFTEN, paths: ['/var/log'] },
    hungTasks: { ...OFTEN, afterMs: '5s' },
  },
}

/** As shipped, with shorter looks. */
function quickRule(): NodeRemedierInput['spec'] {
  const { ladder, limits, ...rest } = clockSkewed('chrony')
  const verify = { conditionCleared: 'ClockSkewed', stableFor: '5s' }
  return {
    ...rest,
    for: '0s',
    cooldown: '0s',
    ladder: ladder.map((rung) => ({ ...rung, verify })),
    limits: { ...limits, perNodePerDay: 9 },
  }
}

/** The part of a time service that matters here: when it starts, it sets the clock. */
const CHRONY = `[Service]
ExecStart=/bin/sh -c 'rm -f /run/kubenode-break/clock; exec sleep infinity'
`

let why: string | undefined
let base = ''
let fleet: HungNodeFleet
beforeAll(async () => {
  if (process.getuid?.() !== 0) why = 'systemd machines need root'
  else if (!(await hasTree({ cache: TREES, log: silentLogger }))) why = `there is no tree in ${TREES}`
  if (why !== undefined) return
  base = mkdtempSync('/var/tmp/kn-broken-machine-')
  fleet = new HungNodeFleet({ dir: base, agentConfig, rule: quickRule(), ruleName: 'clock-skewed' })
  await fleet.start()
  await fleet.addMachine(NAME)
}, SLOW_MS)
afterAll(async () => {
  if (why !== undefined) return
  await fleet.close()
  rmSync(base, { recursive: true, force: true, maxRetries: 5 })
}, SLOW_MS)

const breaks = (fault: Fault) => breakMachine(fault, { folder: base, name: NAME }, false)
const inside = (...argv: string[]) => fleet.provider.exec(ID, argv)
const statusOf = async (type: string) => findCondition((await fleet.node(NAME))?.status?.conditions, type)?.status
const steps = ({ status }: RemedyOperationJob) => status?.steps?.map((s) => `${s.operation} ${s.outcome}`)
const eventually = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  try {
    await until(what, async () => (await holds()) || undefined, 90_000)
  } catch (error) {
    const jobs = (await fleet.jobs()).map((j) => `${j.metadata.name}: ${JSON.stringify(j.status)}`)
    throw new Error([String(error), ...jobs, consoleOf(base, NAME)].join('\n'), { cause: error })
  }
}
const done = async (rung: number): Promise<RemedyOperationJob> => {
  let found: RemedyOperationJob | undefined
  await eventually(`a repair of rung ${rung} is over`, async () => {
    found = (await fleet.jobs()).find((j) => j.spec.rung === rung)
    return found?.status?.phase === 'Done'
  })
  if (found === undefined) throw new Error('no job')
  return found
}

test(
  'a machine shows each fault; its clock is set by its time service, and when it is wrong again by a reboot, both verified, and the node is open',
  async (context: TestContext) => {
    if (why !== undefined) context.skip(why)
    const isReady = async () => (await fleet.machine(NAME))?.status?.phase === 'Ready'
    await eventually('the machine is Ready', isReady)
    await inside('/bin/sh', '-ec', `printf '%s' "$1" >/etc/systemd/system/chrony.service`, 'sh', CHRONY)
    await inside('systemctl', 'start', 'chrony')

    const shown = FAULTS.filter((f) => CONDITIONS[f] !== undefined)
    for (const fault of shown.filter((f) => f !== 'clock')) await breaks(fault)
    for (const fault of shown.filter((f) => f !== 'clock'))
      await eventually(`${fault} is reported`, async () => (await statusOf(CONDITIONS[fault] ?? '')) === 'True')

    await breaks('clock')
    const first = await done(0)
    expect([first.status?.outcome, steps(first)]).toEqual([
      'Succeeded',
      ['collectEvidence Succeeded', 'restartComponent Succeeded'],
    ])
    expect(await statusOf('ClockSkewed')).toBe('False')

    const boot = (await fleet.machine(NAME))?.status?.bootID
    await breaks('clock')
    const second = await done(1)
    expect([second.status?.outcome, steps(second)]).toEqual([
      'Succeeded',
      ['collectEvidence Succeeded', 'cordon Succeeded', 'drain Skipped', 'reboot Succeeded'],
    ])
    expect((await fleet.machine(NAME))?.status?.bootID).not.toBe(boot)
    await eventually('the node is open', async () => !hasTaint(await fleet.node(NAME), 'kubenode.io/cordon'))
    for (const type of Object.values(CONDITIONS))
      await eventually(`${type} is over`, async () => (await statusOf(type)) !== 'True')
  },
  SLOW_MS,
)
