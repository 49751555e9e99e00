// Simulated upgrades: programs that roll one instance at a time, versions that do not start, controllers killed before or after each step, declared versions
// that change at any time. Kubernetes' version rules are the oracle, written independently of the planner.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PARTS, type Part } from '#api/constructs/control-plane/settings.ts'
import { planUpgrade, type UpgradeStep } from './plan-upgrade.ts'
import type { Form, Snapshot, UpgradeRecord, UpgradeSeen, UpgradeRequest } from './seen.ts'
import type { VersionTable } from './versions.ts'
import { inFull } from '#test/support/tools/full.ts'
import { defined } from '#lib/defined.ts'

const TABLE: VersionTable = [
  { version: '1.33.9', etcd: '3.5.24', emulatesFrom: 30 },
  { version: '1.34.4', etcd: '3.6.4', emulatesFrom: 31 },
  { version: '1.35.1', etcd: '3.6.5', emulatesFrom: 32 },
  { version: '1.35.2', etcd: '3.6.5', emulatesFrom: 32 },
  { version: '1.36.2', etcd: '3.6.6', emulatesFrom: 33 },
  { version: '1.37.0', etcd: '3.7.0', emulatesFrom: 34 },
]
const WISHES = [...TABLE.map((row) => row.version), '1.36.9', '2.0.0', 'newest']
const TICK_MS = 60_000
const TICKS = 220
const SOAK_MS = 5 * TICK_MS

const minor = (version: string) => Number(version.split('.')[1])
const etcdForm = (version: string): Form => {
  const [major, m] = version.split('.').map(Number)
  return { version, emulates: (major ?? 0) * 100 + (m ?? 0) }
}

class World {
  now = 10_000_000_000
  record: UpgradeRecord | undefined
  snapshots: Snapshot[] = []
  approved: string | undefined
  busy: { readonly with: string; left: number } | undefined
  blocked: { version: string; why: string }[] = []
  broken = new Set<string>()
  isDeaf = false
  wanted: Record<Part, Form>
  instances: Record<Part, Form[]>
  unreadySince: Partial<Record<Part, number>> = {}
  /** The newest behavior that ever wrote to this store. */
  written: number
  problems: string[] = []
  finished = 0
  begun = 0

  constructor(version: string) {
    const row = TABLE.find((r) => r.version === version)
    const form = { version, emulates: minor(version) }
    this.wanted = { etcd: etcdForm(row?.etcd ?? ''), apiserver: form, 'controller-manager': form, scheduler: form }
    this.instances = {
      etcd: [this.wanted.etcd, this.wanted.etcd, this.wanted.etcd],
      apiserver: [form, form],
      'controller-manager': [form, form],
      scheduler: [form, form],
    }
    this.written = form.emulates
  }

  isReady(part: Part): boolean {
    return this.instances[part].every((f) => same(f, this.wanted[part]) && !this.broken.has(f.version))
  }

  seen(): UpgradeSeen {
    const part = (name: Part) => {
      const since = this.unreadySince[name]
      return {
        wanted: this.wanted[name],
        running: this.instances[name],
        isReady: this.isReady(name),
        ...defined({ unreadySince: since }),
      }
    }
    const reading = <T>(value: T) =>
      this.isDeaf ? ({ known: false, why: 'no answer' } as const) : ({ known: true, value } as const)
    const lowest = Math.min(...this.instances.apiserver.map((f) => f.emulates))
    return structuredClone({
      parts: {
        etcd: part('etcd'),
        apiserver: part('apiserver'),
        'controller-manager': part('controller-manager'),
        scheduler: part('scheduler'),
      },
      record: this.record,
      readiness: {
        kubelets: reading({ oldest: `1.${lowest - 1}.0`, newest: `1.${lowest - 1}.0` }),
        removedApisInUse: reading([]),
        unreadyNodes: reading({ total: 0, names: [] }),
        blockingBudgets: reading([]),
        deafWebhooks: reading([]),
        unfitAddons: reading([]),
        etcd: reading({ isHealthy: true, usedOfQuota: 0.1 }),
        surgeTrouble: reading(undefined),
      },
      snapshots: this.snapshots,
      approvedRestore: this.approved,
      busyWith: this.busy?.with,
      blocked: this.blocked,
    })
  }

  /** A status write fails if it was based on an older version. */
  act(step: UpgradeStep, decidedOn: UpgradeRecord | undefined, wanted: string): void {
    const isStale = JSON.stringify(decidedOn) !== JSON.stringify(this.record)
    switch (step.do) {
      case 'record':
        if (!isStale) {
          if (this.record === undefined) this.begun++
          if (step.record.edge !== undefined && this.record?.edge === undefined && wanted === step.record.from)
            if (step.record.restoring === undefined)
              this.problems.push('the edge was passed although the old version was asked for')
          this.record = step.record
        }
        return
      case 'finish':
        if (isStale) return
        this.record = undefined
        this.finished++
        if (step.blocked !== undefined) this.blocked.push(step.blocked)
        return
      case 'roll':
        this.wanted = { ...this.wanted, [step.part]: step.to }
        return
      case 'take-snapshot':
        this.snapshots.push({
          name: `s${this.snapshots.length}`,
          takenAt: this.now,
          version: step.version,
          isOpened: false,
        })
        if (this.written > minor(step.version))
          this.problems.push('a snapshot bears the name of a version that is over')
        return
      case 'open-snapshot':
        this.snapshots = this.snapshots.map((s) => (s.name === step.name ? { ...s, isOpened: true } : s))
        return
      case 'restore': {
        if (this.approved !== step.snapshot) this.problems.push('a restore without its approval')
        if (!this.snapshots.some((s) => s.name === step.snapshot && s.isOpened && s.version === step.version))
          this.problems.push('a restore of a snapshot that was not opened')
        const form = { version: step.version, emulates: minor(step.version) }
        const etcd = etcdForm(TABLE.find((r) => r.version === step.version)?.etcd ?? '')
        this.wanted = { etcd, apiserver: form, 'controller-manager': form, scheduler: form }
        // All stop before the store is restored.
        for (const part of PARTS) this.instances[part] = this.instances[part].map(() => this.wanted[part])
        this.written = form.emulates
        this.busy = { with: 'a restore', left: 3 }
        return
      }
    }
  }

  tick(random: () => number): void {
    this.now += TICK_MS
    if (this.busy !== undefined && --this.busy.left <= 0) this.busy = undefined
    for (const part of PARTS) {
      const i = this.instances[part].findIndex((f) => !same(f, this.wanted[part]))
      // One at a time: a broken new instance blocks the rest.
      const isBlocked = this.instances[part].some((f) => same(f, this.wanted[part]) && this.broken.has(f.version))
      if (i >= 0 && !isBlocked && random() < 0.8) this.instances[part] = this.instances[part].with(i, this.wanted[part])
      if (this.isReady(part)) delete this.unreadySince[part]
      else this.unreadySince[part] ??= this.now
    }
    this.check()
  }

  /** Invariants: the version rules of Kubernetes and etcd, and KubeNode's own for the edge. */
  check(): void {
    const api = this.instances.apiserver
    const behaviors = api.map((f) => f.emulates)
    const [low, high] = [Math.min(...behaviors), Math.max(...behaviors)]
    const say = (problem: string) => this.problems.push(`${problem}: ${JSON.stringify(this.instances)}`)
    for (const f of [...api, ...this.instances['controller-manager'], ...this.instances.scheduler]) {
      const row = TABLE.find((r) => r.version === f.version)
      if (row === undefined) say('a version that is not in the table runs')
      else if (f.emulates < row.emulatesFrom || f.emulates > minor(f.version)) say('a program emulates what it cannot')
    }
    if (high - low > 1) say('API servers that do not get on')
    for (const part of ['controller-manager', 'scheduler'] as const)
      for (const f of this.instances[part])
        if (f.emulates > low || f.emulates < high - 1) say(`a ${part} that does not fit its API servers`)
    if (low < this.written) {
      if (this.written - low > 1 || !behaviors.includes(this.written)) say('an old behavior over a newer store')
    }
    if (high > this.written) {
      const edge = this.record?.edge
      const snapshot = this.snapshots.find((s) => s.name === edge?.snapshot)
      if (edge === undefined) say('the edge was passed without its record')
      else if (snapshot?.isOpened !== true || minor(snapshot.version) !== this.written)
        say('the edge was passed without a snapshot that was opened')
      this.written = high
    }
    const lines = this.instances.etcd.map((f) => f.emulates)
    if (Math.max(...lines) - Math.min(...lines) > 100 || new Set(lines).size > 2)
      say('members of etcd that do not get on')
  }
}

const same = (a: Form, b: Form) => a.version === b.version && a.emulates === b.emulates

/** Seeded; the same run each time. */
function randomOf(seed: number): () => number {
  let x = seed >>> 0 || 1
  return () => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return (x >>> 0) / 2 ** 32
  }
}

function run(seed: number): World {
  const random = randomOf(seed * 2_654_435_761)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const world = new World(pick(['1.33.9', '1.34.4', '1.35.1']))
  let request = { version: world.wanted.apiserver.version, walksMinors: random() < 0.5, soakMs: SOAK_MS }
  const wild = Math.floor(TICKS * 0.45)
  let before = world.seen()
  for (let t = 0; t < TICKS && world.problems.length === 0; t++) {
    if (t < wild) {
      if (random() < 0.05) request = { ...request, version: pick(WISHES) }
      if (random() < 0.02) world.broken.add(pick(TABLE).version)
      if (random() < 0.1) world.broken.clear()
      world.isDeaf = random() < 0.1
      if (random() < 0.02) world.busy ??= { with: 'the replacement of a member', left: 4 }
      if (random() < 0.1) world.approved = world.snapshots.at(-1)?.name
    } else {
      // Faults end here: from now on the desired state must be reached, if possible.
      world.broken.clear()
      world.isDeaf = false
      world.approved = world.record?.edge?.snapshot ?? world.approved
    }
    const seen = random() < 0.1 ? before : world.seen()
    before = world.seen()
    const decision = planUpgrade(seen, request, TABLE, world.now)
    // One in ten is killed before the step; a kill after it is the next pass.
    if (decision.is === 'step' && random() > 0.1) world.act(decision.step, seen.record, request.version)
    world.tick(random)
  }
  if (world.problems.length === 0 && !isAtRest(world, request))
    world.problems.push(`it did not come to rest: ${request.version}, ${JSON.stringify(world.seen())}`)
  return world
}

/** It runs the desired version, or reports why it cannot; one that walks several minors may still be in progress. */
function isAtRest(world: World, request: UpgradeRequest): boolean {
  const end = planUpgrade(world.seen(), request, TABLE, world.now)
  if (end.is === 'waits') return /Approval|the version table/.test(end.waitingFor) || request.walksMinors
  return end.is !== 'step' || request.walksMinors
}

const WORLDS = inFull(1_000, 150)

test(`no impossible step is begun, and every upgrade ends, in ${WORLDS} worlds`, () => {
  const total = { begun: 0, finished: 0 }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (seed) => {
      const world = run(seed)
      expect(world.problems).toEqual([])
      total.begun += world.begun
      total.finished += world.finished
    }),
    { numRuns: WORLDS },
  )
  // The worlds are not idle: upgrades happen in them.
  expect(total.begun).toBeGreaterThan(WORLDS)
  expect(total.finished).toBeGreaterThan(total.begun * 0.7)
})
