// A systemd machine on which a task really hangs in the kernel, in a small cluster with running controllers and Defender, and pods on it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { podType } from '#nodes/objects.ts'
import { hasTree } from '#providers/nspawn/tree.ts'
import { HungNodeFleet, TREES, consoleOf } from './fleet.ts'
import { FreezableDisk, KernelWords, aloneWithTheKernel, kernelWatches } from './hung-task.ts'

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

export class HungScene {
  readonly name: string
  readonly fleet: HungNodeFleet
  /** Each machine, and whether a task hung then. */
  readonly poweredOff: string[]
  readonly #base: string
  readonly #disk: FreezableDisk
  readonly #words: KernelWords
  readonly #release: () => void

  private constructor(name: string, rule: NodeRemedierInput['spec'], base: string, release: () => void) {
    const dir = join(base, 'machines')
    const disk = new FreezableDisk(join(base, 'disk'), join(dir, name, 'kubelet'))
    const poweredOff: string[] = []
    this.name = name
    this.poweredOff = poweredOff
    this.#base = base
    this.#disk = disk
    this.#words = new KernelWords()
    this.#release = release
    this.fleet = new HungNodeFleet({
      dir,
      agentConfig,
      rule,
      onPowerOff: async (machine) => {
        poweredOff.push(`${machine} ${disk.isFrozen ? 'while it hung' : 'while it worked'}`)
        disk.lift()
      },
    })
  }

  /** A text says why this host cannot show it. */
  static async open(name: string, rule: NodeRemedierInput['spec']): Promise<HungScene | string> {
    if (process.getuid?.() !== 0) return 'systemd machines and frozen file systems need root'
    if (!kernelWatches()) return 'this kernel does not watch for hung tasks'
    if (!(await hasTree({ cache: TREES, log: silentLogger }))) return `there is no tree in ${TREES}`
    const release = await aloneWithTheKernel()
    if (release === undefined) return 'another such test has the kernel of this host'
    const scene = new HungScene(name, rule, mkdtempSync('/var/tmp/kn-hung-node-'), release)
    try {
      await scene.fleet.start()
      await scene.fleet.addMachine(name)
    } catch (error) {
      await scene.close()
      throw error
    }
    return scene
  }

  async close(): Promise<void> {
    // First of all: whatever hangs there hangs until this.
    this.#disk.lift()
    this.#words.close()
    this.#disk.dispose()
    await this.fleet.close()
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 5 })
    this.#release()
  }

  get hangs(): boolean {
    return this.#disk.isFrozen
  }

  readonly machine = () => this.fleet.machine(this.name)
  readonly node = () => this.fleet.node(this.name)
  readonly deadlock = async () => findCondition((await this.node())?.status?.conditions, 'KernelDeadlock')

  async ready() {
    const ready = await this.until('Ready', this.machine, (m) => m?.status?.phase === 'Ready', 90_000)
    await this.until(
      'peers that work',
      () => this.fleet.peers(),
      (all) => all.every((p) => p.endsWith(' is Ready')),
    )
    await this.until('a kernel without deadlock', this.deadlock, (c) => c?.status === 'False')
    return ready
  }

  /** Only the name of the program matters to the kernel's message; its write is what hangs. When the kernel said so, and when the node did. */
  async hang(): Promise<{ readonly said: number; readonly told: number }> {
    const id = `nspawn://${this.name}`
    const { provider } = this.fleet
    await provider.exec(id, ['cp', '/usr/bin/touch', '/usr/local/bin/docker'])
    this.#words.listenFor('docker')
    this.#disk.freeze()
    const hangs = [
      'systemd-run',
      '--quiet',
      '--no-block',
      '--unit=hangs',
      '/usr/local/bin/docker',
      '/var/lib/kubelet/x',
    ]
    await provider.exec(id, hangs)
    const said = await this.until(
      'a word of the kernel',
      () => this.#words.saidAt,
      (at) => at !== undefined,
      30_000,
    )
    await this.until('told', this.deadlock, (c) => c?.status === 'True' && c.reason === 'DockerHung', 30_000)
    const told = Date.now()
    this.#disk.quieten()
    return { said: said ?? 0, told }
  }

  hasEvidence(job: string): boolean {
    const state = join(this.#base, 'machines', this.name, 'root/var/lib/kubenode/state')
    return existsSync(join(state, 'evidence', job, 'processes.txt'))
  }

  async until<T>(what: string, look: () => Promise<T> | T, isSo: (value: T) => boolean, withinMs = 60_000): Promise<T> {
    const end = systemClock.monotonic() + withinMs
    for (;;) {
      const value = await look()
      if (isSo(value)) return value
      if (systemClock.monotonic() > end)
        throw new Error(
          `never ${what}: ${JSON.stringify(value)?.slice(0, 3_000)}\n${consoleOf(join(this.#base, 'machines'), this.name)}`,
        )
      await systemClock.sleep(100)
    }
  }
}

/** Two of one workload that may lose one at a time: drained one after the other. */
export async function addPods(admin: KubeClient, node: string, others: readonly string[] = []): Promise<void> {
  const labels = { app: 'web' }
  const namespace = 'default'
  const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web', namespace } }
  await admin.create(coreKind('PodDisruptionBudget'), {
    ...budget,
    spec: { selector: { matchLabels: labels }, maxUnavailable: 1 },
  })
  for (const name of ['web-1', 'web-2', ...others]) {
    const spec = { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
    await admin.create(podType, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, ...(!others.includes(name) && { labels }) },
      spec,
    })
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
    await admin.patch(podType, { name, namespace }, { type: 'merge', value: { status } }, { subresource: 'status' })
  }
}

/** As the kubelet: pods that can end do so at once. The names of those that are there. */
export async function endPods(admin: KubeClient, stuck: readonly string[] = []): Promise<readonly string[]> {
  const { items } = await admin.list(podType)
  for (const { metadata } of items)
    if (metadata.deletionTimestamp !== undefined && !stuck.includes(metadata.name ?? ''))
      await admin.delete(podType, { namespace: 'default', name: metadata.name ?? '' }, { gracePeriodSeconds: 0 })
  return items.map(({ metadata }) => metadata.name ?? '')
}
