// The story of a node that hangs, with nothing played: a task hangs in the kernel, the kernel says so, the agent tells, the shipped rule fires, the Defender
// permits, evidence is kept, two pods leave under their budget, the agent begins to reboot and does not get there, the provider cuts the power, and the fault is seen to stay away.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { findCondition } from '#kube/conditions.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { hasTaint, podType } from '#nodes/objects.ts'
import { hasTree } from '#providers/nspawn/tree.ts'
import { kernelDeadlock } from '../../../rules/kernel/kernel-deadlock.ts'
import { HungNodeFleet, TREES, consoleOf } from './fleet.ts'
import { FreezableDisk, KernelWords, aloneWithTheKernel, kernelWatches } from './hung-task.ts'

const NAME = 'hung-1'
const DETECT_MARK_S = 5
const HEAL_MARK_S = 180

/** The rule of node-problem-detector's kernel-monitor.json. The log of the kernel is the host's and survives this machine's boots: only new lines are read. */
const agentConfig = {
  metrics: false,
  monitors: [
    {
      config: {
        plugin: 'kmsg',
        logPath: '/dev/kmsg',
        bufferSize: 10,
        source: 'kernel-monitor',
        conditions: [{ type: 'KernelDeadlock', reason: 'KernelHasNoDeadlock', message: 'kernel has no deadlock' }],
        rules: [
          {
            type: 'permanent',
            condition: 'KernelDeadlock',
            reason: 'DockerHung',
            pattern: 'task docker:\\w+ blocked for more than \\w+ seconds\\.',
          },
        ],
      },
    },
  ],
}

let whyNot: string | undefined
let base: string | undefined
let disk: FreezableDisk | undefined
let words: KernelWords | undefined
let fleet: HungNodeFleet | undefined
let release: (() => void) | undefined
const poweredOff: string[] = []

beforeAll(async () => {
  if (process.getuid?.() !== 0) whyNot = 'systemd machines and frozen file systems need root'
  else if (!kernelWatches()) whyNot = 'this kernel does not watch for hung tasks'
  else if (!(await hasTree({ cache: TREES, log: silentLogger }))) whyNot = `there is no tree in ${TREES}`
  else release = await aloneWithTheKernel()
  if (whyNot === undefined && release === undefined) whyNot = 'another such test has the kernel of this host'
  if (whyNot !== undefined) return
  base = mkdtempSync('/var/tmp/kn-hung-node-')
  const dir = join(base, 'machines')
  disk = new FreezableDisk(join(base, 'disk'), join(dir, NAME, 'kubelet'))
  words = new KernelWords()
  const injected = disk
  fleet = new HungNodeFleet({
    dir,
    agentConfig,
    // As shipped: its times would not be shortened in an emergency either.
    rule: kernelDeadlock,
    onPowerOff: async (machine) => {
      poweredOff.push(`${machine} ${injected.isFrozen ? 'while it hung' : 'while it worked'}`)
      injected.lift()
    },
  })
  await fleet.start()
  await fleet.addMachine(NAME)
})

afterAll(async () => {
  // First of all: whatever hangs there hangs until this.
  disk?.lift()
  words?.close()
  disk?.dispose()
  await fleet?.close()
  if (base !== undefined) rmSync(base, { recursive: true, force: true, maxRetries: 5 })
  release?.()
})

/** Two of one workload that may lose one at a time: drained one after the other. */
async function addPods(admin: KubeClient): Promise<void> {
  const labels = { app: 'web' }
  const namespace = 'default'
  const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web', namespace } }
  await admin.create(coreKind('PodDisruptionBudget'), {
    ...budget,
    spec: { selector: { matchLabels: labels }, maxUnavailable: 1 },
  })
  for (const name of ['web-1', 'web-2']) {
    const spec = { nodeName: NAME, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
    await admin.create(podType, { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec })
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
    await admin.patch(podType, { name, namespace }, { type: 'merge', value: { status } }, { subresource: 'status' })
  }
}

/** As the kubelet: pods that can end do so at once. */
async function endPods(admin: KubeClient): Promise<readonly string[]> {
  const { items } = await admin.list(podType)
  for (const { metadata } of items)
    if (metadata.deletionTimestamp !== undefined)
      await admin.delete(podType, { namespace: 'default', name: metadata.name ?? '' }, { gracePeriodSeconds: 0 })
  return items.map(({ metadata }) => metadata.name ?? '')
}

async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  isSo: (value: T) => boolean,
  withinMs = 60_000,
): Promise<T> {
  const end = systemClock.monotonic() + withinMs
  for (;;) {
    const value = await look()
    if (isSo(value)) return value
    if (systemClock.monotonic() > end)
      throw new Error(
        `never ${what}: ${JSON.stringify(value)?.slice(0, 3_000)}\n${consoleOf(join(base ?? '', 'machines'), NAME)}`,
      )
    await systemClock.sleep(100)
  }
}

test('a node with a task that hangs in the kernel is told, permitted, kept evidence of, drained within a budget, power-cycled by the provider when its agent falls silent, and seen to be well', async (context: TestContext) => {
  if (whyNot !== undefined) context.skip(whyNot)
  if (fleet === undefined || disk === undefined || words === undefined) throw new Error('nothing was set up')
  const { provider, admin } = fleet
  const [machine, node] = [() => fleet?.machine(NAME), () => fleet?.node(NAME)]
  const job = async () => (await fleet?.jobs())?.[0]
  const deadlock = async () => findCondition((await node())?.status?.conditions, 'KernelDeadlock')
  const ready = await until('Ready', machine, (m) => m?.status?.phase === 'Ready', 90_000)
  const firstBoot = ready?.status?.bootID
  await until(
    'peers that work',
    () => fleet?.peers(),
    (all) => all?.every((p) => p.endsWith(' is Ready')) === true,
  )
  await until('a kernel without deadlock', deadlock, (c) => c?.status === 'False')

  await addPods(admin)

  // Only the name of the program matters to the kernel's message; its write is what hangs.
  const id = `nspawn://${NAME}`
  await provider.exec(id, ['cp', '/usr/bin/touch', '/usr/local/bin/docker'])
  words.listenFor('docker')
  disk.freeze()
  await provider.exec(id, [
    'systemd-run',
    '--quiet',
    '--no-block',
    '--unit=hangs',
    '/usr/local/bin/docker',
    '/var/lib/kubelet/x',
  ])
  const said =
    (await until(
      'a word of the kernel',
      () => words?.saidAt,
      (at) => at !== undefined,
      30_000,
    )) ?? 0
  await until('told', deadlock, (c) => c?.status === 'True' && c.reason === 'DockerHung', 30_000)
  const detectS = (Date.now() - said) / 1_000
  disk.quieten()

  const made = await until('a job', job, (j) => j !== undefined, 30_000)
  const name = made?.metadata.name ?? ''
  const permit = await until(
    'a permit',
    () => fleet?.admin.get(operationPermit, { name }),
    (p) => p?.status?.phase === 'Granted',
  )
  expect(permit?.spec.targets.map((t) => [t.kind, t.name])).toEqual([['Machine', NAME]])
  const evidence = join(base ?? '', 'machines', NAME, 'root/var/lib/kubenode/state/evidence', name, 'processes.txt')
  await until('evidence', () => existsSync(evidence), Boolean)
  await until(
    'empty of pods',
    () => endPods(admin),
    (left) => left.length === 0,
  )
  expect(poweredOff).toEqual([])
  const rebooting = await until(
    'begun to reboot',
    job,
    (j) => j?.status?.steps?.some((s) => s.operation === 'reboot') === true,
  )
  expect(rebooting?.status?.steps?.find((one) => one.operation === 'drain')?.outcome).toBe('Succeeded')
  expect([disk.isFrozen, poweredOff]).toEqual([true, []])

  const rebooters = new Set<string>()
  const done = await until(
    'done',
    async () => {
      const now = await job()
      const step = now?.status?.steps?.find((one) => one.operation === 'reboot')
      if (step !== undefined) rebooters.add(step.executor)
      return now
    },
    (j) => j?.status?.phase === 'Done',
    180_000,
  )
  const healS = (Date.now() - said) / 1_000
  const figure = { heal_hung_s: healS, mark: HEAL_MARK_S, detect_hung_s: detectS, detect_mark: DETECT_MARK_S }
  process.stdout.write(`${JSON.stringify(figure)}\n`)
  expect(done?.status?.outcome).toBe('Succeeded')
  expect(done?.status?.steps?.map((one) => `${one.operation} ${one.outcome}`)).toEqual([
    'collectEvidence Succeeded',
    'cordon Succeeded',
    'drain Succeeded',
    'reboot Succeeded',
  ])
  // The agent began it and fell silent; the provider took over. Which of them says last that the node is back is all the same.
  expect([...rebooters].slice(0, 2)).toEqual(['Agent', 'Provider'])
  expect(poweredOff).toEqual([`${NAME} while it hung`])
  expect(existsSync(evidence)).toBe(true)
  const secondBoot = (await machine())?.status?.bootID
  expect(secondBoot).not.toBe(firstBoot)
  expect(done?.status?.steps?.[3]?.output).toBe(`booted: ${firstBoot} → ${secondBoot}`)
  expect((await deadlock())?.status).toBe('False')
  await until('open to pods', node, (n) => !hasTaint(n, 'kubenode.io/cordon'))
  await until(
    'released',
    () => fleet?.admin.get(operationPermit, { name }),
    (p) => p?.status?.phase === 'Released',
  )
  expect((await fleet.jobs()).map((j) => j.spec.machine)).toEqual([NAME])
}, 290_000)
