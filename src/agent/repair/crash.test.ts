// The agent dies, or the power fails, before every single disk change during a repair, and its job is delivered twice. No step runs twice, each has a
// reported outcome, and a requested reboot happens once and is reported once.
import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { KnownFields } from '../known-fields.ts'
import { frozenFile, nodeDir } from '../node-dir.ts'
import type { StepPorts } from './steps.ts'
import { JobWorker } from './worker.ts'

type Operation = RemedyOperationJob['spec']['operations'][number]

const dir = nodeDir('/node')

/** Outlives the agent: the server with the job, and the node under repair. */
class World {
  asks = 0
  rebootsAsked = 0
  boot = 1
  /** Every outcome that the server received, in order. */
  readonly told: string[] = []
  isAway = false
  /** Reports are rejected, for example by a policy. */
  isRefusing = false
  reports = 0
  job: RemedyOperationJob

  constructor(operation: Operation) {
    this.job = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'RemedyOperationJob',
      metadata: { name: 'j', uid: 'job-uid' },
      spec: repairSpec([operation]),
      status: { phase: 'Running', permitRef: 'p' },
    }
  }

  readonly client = {
    get: async () => {
      this.#reach()
      return {
        metadata: { name: 'p' },
        spec: { operations: ['RestartComponent', 'Reboot'], targets: [{ uid: 'node-uid' }] },
        status: { phase: 'Granted', verdicts: [{ target: 'node-uid', verdict: 'Granted' }] },
      } as unknown as OperationPermit
    },
    apply: async (_type: unknown, object: KubeObject) => {
      this.#reach()
      this.reports++
      if (this.isRefusing) throw new Error('the job is for another Machine')
      const status = object['status'] as NonNullable<RemedyOperationJob['status']>
      this.job = { ...this.job, status: { ...this.job.status, ...status } }
      const outcome = status.steps?.[0]?.outcome
      if (outcome !== undefined && outcome !== this.told.at(-1)) this.told.push(outcome)
      return object
    },
  } as unknown as KubeClient

  #reach(): void {
    if (this.isAway) throw new Error('the API server is unavailable')
  }
}

async function runAgent(world: World, files: MemoryFiles, clock = new VirtualClock()): Promise<void> {
  const ports = {
    ask: async () => {
      if (files.isDead) throw new Error('the power went')
      world.asks++
      return { kind: 'Done' as const }
    },
    reboot: async () => {
      if (files.isDead) throw new Error('the power went')
      world.rebootsAsked++
    },
  } as unknown as StepPorts
  const worker = new JobWorker(
    {
      files,
      dir,
      known: new KnownFields(silentLogger),
      client: world.client,
      clock,
      log: silentLogger,
      machine: 'm',
      bootId: `boot-${world.boot}`,
      upMs: () => clock.monotonic(),
      ports,
      targets: () => ['node-uid'],
      nodeUid: async () => 'node-uid',
      onStep: () => undefined,
    },
    'j',
  )
  // The watch delivers the same event more than once.
  for (let n = 0; n < 3; n++) {
    worker.setJob(world.job)
    await clock.advance(7_000)
  }
  worker.close()
}

const restart: Operation = { restartComponent: { component: 'b' } }
const reboot: Operation = { reboot: { timeout: '10m' } }

async function changesOf(operation: Operation): Promise<number> {
  const files = new MemoryFiles()
  await runAgent(new World(operation), files)
  return files.changes
}

const MODES: readonly CrashMode[] = ['Kill', 'Power', 'Reordered']

test.each(MODES)('S21 a restart is done at most once and always ends with a word (%s)', async (mode) => {
  const changes = await changesOf(restart)
  expect(changes).toBeGreaterThan(5)
  const outcomes = new Set<string>()
  for (let at = 0; at <= changes; at++) {
    const world = new World(restart)
    let files = new MemoryFiles({ crashAt: at })
    await runAgent(world, files)
    files = files.afterCrash(mode)
    await runAgent(world, files)
    await runAgent(world, files)
    expect([at, world.asks <= 1, world.told.length]).toEqual([at, true, 1])
    if (world.told[0] === 'Succeeded') expect(world.asks).toBe(1)
    outcomes.add(String(world.told[0]))
  }
  expect([...outcomes].sort()).toEqual(['Succeeded', 'Unknown'])
})

test.each(MODES)(
  'F36 a reboot happens once and is reported once, whenever the agent dies before it (%s)',
  async (mode) => {
    const changes = await changesOf(reboot)
    expect(changes).toBeGreaterThan(3)
    for (let at = 0; at <= changes; at++) {
      const world = new World(reboot)
      let files = new MemoryFiles({ crashAt: at })
      await runAgent(world, files)
      files = files.afterCrash(mode)
      for (let start = 0; start < 4; start++) {
        // This boot completes a step that was requested in it.
        if (world.rebootsAsked > world.boot - 1) world.boot++
        await runAgent(world, files)
      }
      expect([at, world.told, world.boot]).toEqual([at, ['Succeeded'], 2])
    }
  },
)

test('S21 nothing is begun that the API server does not know of', async () => {
  const world = new World(restart)
  world.isAway = true
  const files = new MemoryFiles()
  await runAgent(world, files)
  expect(world.asks).toBe(0)
  world.isAway = false
  await runAgent(world, files)
  expect([world.asks, world.told]).toEqual([1, ['Succeeded']])
})

test('S24 a start that the API server refuses is tried again every two seconds, not as fast as the agent can', async () => {
  const world = new World(restart)
  world.isRefusing = true
  const files = new MemoryFiles()
  await runAgent(world, files)
  expect(world.asks).toBe(0)
  // 21 s, and three events from the watch.
  expect(world.reports).toBeGreaterThan(3)
  expect(world.reports).toBeLessThan(20)
  world.isRefusing = false
  await runAgent(world, files)
  expect([world.asks, world.told]).toEqual([1, ['Succeeded']])
})

test('S21 a frozen node begins no step, without the API server too, and goes on when it thaws', async () => {
  const world = new World(restart)
  const files = new MemoryFiles()
  await files.makeFolder(dir.path)
  const writer = await files.create(frozenFile(dir), 0o600)
  await writer.close()
  await runAgent(world, files)
  expect(world.asks).toBe(0)
  await files.remove(frozenFile(dir))
  await runAgent(world, files)
  expect(world.asks).toBe(1)
})
