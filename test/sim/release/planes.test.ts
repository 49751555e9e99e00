// F46: versions of control planes, addons and kubelets in any order, with reverts, versions that are not served, addons that are unhealthy for a while, approvals
// that come late or never, and kills: no skew that Kubernetes forbids, no stage before the one ahead of it has finished, nothing on nodes before the control
// plane and its addons, no high-risk change without an approval, none in a cluster without a stage, and a revert ends where everything began.
import { expect, test } from 'vitest'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { inFull } from '#test/support/tools/full.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Failure } from '#delivery/failures.ts'
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { previousOf, sameDigests, soakedBefore } from '#sync/release/chain.ts'
import type { ClusterAnswer, SeenCluster } from '#sync/release/cluster-seen.ts'
import { historyOf, isLeftUnderway, mayHaveTouched, statusIn } from '#sync/release/history.ts'
import { contentOf, ofLiveClusters } from '#sync/release/live-clusters.ts'
import { labelsIn, type Membership, risksIn, stageBegun, stageOfTurn } from '#sync/release/membership.ts'
import { areNodesFirst, isNewToStage, planeTrouble, takeTurn } from '#sync/release/plane-state.ts'
import { isFinished, isOver, openClusters } from '#sync/release/release-seen.ts'
import { planRelease } from '#sync/release/stages.ts'
import { DIGEST_OF_LEAVING, withoutGone } from '#sync/release/tracks.ts'

const SEEDS = inFull(1_000, 25)
const MUTANT_SEEDS = 20
const COMMITS = 12
const SECOND = 1_000
/** Longer than every deadline of the pipeline. */
const SETTLED = 200
/** The cluster's turn has come in this Release, with this content. */
const hasTurn = (release: Release, name: string, digest: string | undefined): boolean => {
  const status = statusIn(release, name)
  return digest !== undefined && release.spec.digests[name] === digest && status !== undefined && mayHaveTouched(status)
}
const STAGES = { test: ['test'], prod: ['prod-1', 'prod-2'] } as const
const NAMES = Object.values(STAGES).flat()
const SERVED = [34, 35, 36]

const { spec: pipeline } = applyDefaults(releasePipeline.schema, {
  spec: {
    stages: Object.keys(STAGES).map((name) => ({
      name,
      ...(name === 'test' && { withoutApproval: ['Versions', 'Rotations', 'Deletions'] }),
      clusters: { selector: { matchLabels: { stage: name } } },
      minSuccessTime: '3s',
      progressDeadline: '60s',
      maxNewFailures: 0,
    })),
  },
}) as { spec: ReleasePipelineSpec }

/** Minors; what is on the nodes is never newer than the control plane that is declared with it. */
interface Declared {
  readonly plane: number
  readonly addon: number
  readonly kubelet: number
  readonly note: number
  /** By cluster. `none`: in no stage; `gone`: git no longer has the cluster. */
  readonly stages: Readonly<Record<string, string>>
}
const HOME = Object.fromEntries(Object.entries(STAGES).flatMap(([stage, names]) => names.map((name) => [name, stage])))
const START: Declared = { plane: 35, addon: 1, kubelet: 34, note: 0, stages: HOME }
const ORDER = ['none', ...Object.keys(STAGES)]

/** Planted bugs. */
type Mutant = 'MovesAreFree' | 'NoStageIsNoWait' | 'DeletionsAreFree' | 'DeletedAtOnce'
const versionOf = (minor: number): string => `1.${minor}.0`

interface SimCluster {
  cluster: Cluster
  /** Of two nodes, which switch one after the other. */
  kubelets: readonly [number, number]
  applied: Declared
}

const addonsOf = (addon: number) => [{ name: 'coredns', version: `1.${addon}` }]

class World {
  now = Date.parse('2026-01-31T12:00:00Z')
  readonly chain: Release[] = []
  readonly declared = new Map<string, Declared>()
  /** Releases that a person approved. */
  readonly approved = new Set<string>()
  readonly clusters: Map<string, SimCluster>
  readonly #random: Random
  readonly #seed: number
  readonly #mutant: Mutant | undefined
  #commits = 0
  #uids = 0

  constructor(seed: number, mutant?: Mutant) {
    this.#mutant = mutant
    this.#seed = seed
    this.#random = seededRandom(seed)
    this.clusters = new Map(NAMES.map((name) => [name, this.#cluster(name, START)]))
    this.commit(START)
  }

  #cluster(name: string, declared: Declared): SimCluster {
    const labels = { stage: declared.stages[name] ?? '' }
    const creationTimestamp = timestamp(this.now)
    const uid = `u-${++this.#uids}`
    const metadata = { name, namespace: 'fleet', generation: 1, labels, annotations: {}, uid, creationTimestamp }
    const version = versionOf(declared.plane)
    const addons = addonsOf(declared.addon)
    const spec = { version, controlPlane: { flavor: 'embedded' }, addons, deletionPolicy: 'Delete' }
    const status = {
      observedGeneration: 1,
      phase: 'Ready',
      versions: [{ part: 'apiserver', version }],
      addons: addons.map((a) => ({ ...a, healthy: 'True' })),
      machines: { total: 2, ready: 2, agents: 2 },
    }
    return {
      cluster: { metadata, spec, status } as unknown as Cluster,
      kubelets: [declared.kubelet, declared.kubelet],
      applied: declared,
    }
  }

  get newest(): Release {
    return this.chain.at(-1) as Release
  }

  get content(): Declared {
    return this.declared.get(this.newest.metadata.name ?? '') ?? START
  }

  commit(declared: Declared): void {
    const last = this.chain.at(-1)
    const { stages, ...rest } = declared
    const digests = Object.fromEntries(
      NAMES.flatMap((c) => {
        if (stages[c] !== 'gone') return [[c, sha256OfJson({ ...rest, stage: stages[c] ?? '' })]]
        return this.clusters.has(c) && last?.spec.digests[c] !== undefined ? [[c, DIGEST_OF_LEAVING]] : []
      }),
    )
    if (
      last !== undefined &&
      sameDigests(
        withoutGone(last.spec.digests, (c) => this.clusters.has(c)),
        digests,
      )
    )
      return
    const name = `r-${++this.#commits}`
    this.declared.set(name, declared)
    const commit = String(this.#commits).padStart(40, '0')
    const spec = { source: 's', track: 't', pipeline: 'p', commit, digests }
    this.chain.push({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Release',
      metadata: { name, namespace: 'fleet' },
      spec: last?.metadata.name === undefined ? spec : { ...spec, previous: last.metadata.name },
    })
  }

  async step(): Promise<void> {
    const { waitingFor } = this.newest.status ?? {}
    if (waitingFor?.seen?.includes('approved by 0') === true && this.#random.next() < 0.2)
      this.approved.add(this.newest.metadata.name ?? '')
    const before = this.chain.at(-2)
    if (before !== undefined && !isOver(before)) await this.#reconcile(before, true)
    if (!isOver(this.newest)) await this.#reconcile(this.newest, false)
    for (const each of this.clusters.values()) this.#work(each)
    this.#hub()
    if (this.#mutant === 'NoStageIsNoWait')
      for (const [name, { cluster }] of this.clusters)
        if (cluster.metadata.labels?.['stage'] === 'none') this.#write(this.newest, name)
    this.check()
    this.now += SECOND
  }

  /** New Clusters come with the objects of the hub, and one that is being deleted takes a while. */
  #hub(): void {
    for (const name of NAMES) {
      const sim = this.clusters.get(name)
      const isGone = this.content.stages[name] === 'gone'
      if (sim === undefined && !isGone && SERVED.includes(this.content.plane))
        this.clusters.set(name, this.#cluster(name, this.content))
      else if (sim?.cluster.metadata.deletionTimestamp !== undefined && this.#random.next() < 0.3)
        this.clusters.delete(name)
      else if (sim !== undefined && isGone && this.#mutant === 'DeletedAtOnce') this.#delete(this.newest, name)
    }
  }

  #delete(release: Release, name: string): void {
    const sim = this.clusters.get(name) as SimCluster
    if (sim.cluster.metadata.deletionTimestamp !== undefined) return
    const where = `seed ${this.#seed}: ${name} was deleted`
    const isApproved = this.approved.has(release.metadata.name ?? '')
    expect(hasTurn(release, name, DIGEST_OF_LEAVING), `${where} before its turn`).toBe(true)
    const stage = sim.cluster.metadata.labels?.['stage'] ?? ''
    expect(stage, `${where} without a stage`).not.toBe('none')
    if (stage !== 'test') expect(isApproved, `${where} without an approval`).toBe(true)
    this.#checkEarlier(release, stage, where)
    const metadata = { ...sim.cluster.metadata, deletionTimestamp: timestamp(this.now) }
    sim.cluster = { ...sim.cluster, metadata }
  }

  #checkEarlier(release: Release, stage: string, where: string): void {
    const at = ORDER.slice(1).indexOf(stage)
    const earlier = pipeline.stages.slice(0, at).map((s) => release.status?.stages?.find((o) => o.name === s.name))
    expect(
      earlier.every((s) => isFinished(s)),
      `${where} before the stages ahead of it had finished`,
    ).toBe(true)
  }

  async settle(): Promise<void> {
    for (let i = 0; i < SETTLED && !isOver(this.newest); i++) await this.step()
  }

  check(): void {
    for (const [name, { cluster, kubelets }] of this.clusters) {
      const plane = runningOf(cluster)
      const where = `seed ${this.#seed}: ${name}, control plane ${plane}, kubelets ${kubelets.join(' and ')}`
      expect(Math.max(...kubelets), where).toBeLessThanOrEqual(plane)
      expect(plane - Math.min(...kubelets), where).toBeLessThanOrEqual(3)
    }
  }

  /** The controllers: a control plane takes some seconds for another version, and nodes switch one by one. */
  #work(each: SimCluster): void {
    const { metadata, spec, status } = each.cluster
    const wanted = minorOf(spec.version ?? '') ?? 0
    const running = runningOf(each.cluster)
    const observed = { observedGeneration: metadata.generation, machines: { total: 2, ready: 2, agents: 2 } }
    const versions = (minor: number) => [{ part: 'apiserver', version: versionOf(minor) }]
    if (this.#random.next() < 0.2) return
    const isDone = running === wanted || (status?.phase === 'Upgrading' && this.#random.next() < 0.4)
    // Addons follow the version, and need a while to become healthy.
    const isHealthy = (spec.addons ?? []).every((a) =>
      status?.addons?.some((s) => s.version === a.version && s.healthy === 'True'),
    )
    const healthy = isHealthy || this.#random.next() < 0.4 ? 'True' : 'False'
    const addons = isDone ? (spec.addons ?? []).map((a) => ({ ...a, healthy })) : status?.addons
    const next = !SERVED.includes(wanted)
      ? {
          ...observed,
          phase: 'Ready',
          versions: versions(running),
          addons: status?.addons,
          waitingFor: {
            predicate: 'VersionNotServed',
            seen: 'not served',
            unblock: 'x',
            since: metadata.creationTimestamp,
          },
        }
      : { ...observed, phase: isDone ? 'Ready' : 'Upgrading', versions: versions(isDone ? wanted : running), addons }
    each.cluster = { ...each.cluster, status: next as unknown as NonNullable<Cluster['status']> }
    const [a, b] = each.kubelets
    const to = each.applied.kubelet
    each.kubelets = a !== to ? [to, b] : [a, to]
  }

  async #reconcile(written: Release, isOld: boolean): Promise<void> {
    const live = (name: string) => this.clusters.get(name)?.cluster
    for (const [i, each] of this.chain.entries()) this.chain[i] = ofLiveClusters(each, live)
    const release = this.chain.find((r) => r.metadata.name === written.metadata.name) as Release
    const asked = new Set(isOld ? [] : openClusters(release))
    const clusters = new Map<string, SeenCluster>()
    for (const name of Object.keys(release.spec.digests)) {
      const answer = asked.has(name) ? await this.#pass(release, name) : undefined
      const cluster = live(name)
      const isLeaving = release.spec.digests[name] === DIGEST_OF_LEAVING
      const membership = cluster && { ...this.#membership(release, name), isLeaving }
      const free = { MovesAreFree: 'Moves', DeletionsAreFree: 'Deletions' }[this.#mutant as 'MovesAreFree']
      const history = historyOf(this.chain, release, name)
      clusters.set(name, {
        name,
        labels: membership && labelsIn(membership),
        stage: isLeaving ? stageBegun(release, name) : cluster && stageOfTurn(release, cluster),
        content: cluster && contentOf(cluster),
        isLeaving,
        isDeleting: cluster?.metadata.deletionTimestamp !== undefined,
        digest: release.spec.digests[name] ?? '',
        answer,
        previous: previousOf(this.chain, release, name),
        soaked: soakedBefore(this.chain, release, name),
        isReturn: false,
        isUnderway: history.isReturn && isLeftUnderway(this.chain, release, name),
        risks: membership === undefined ? [] : risksIn(membership).filter(({ change }) => change !== free),
      })
    }
    // Killed before the status was written: completed writes stay.
    if (this.#random.next() < 0.05) return
    const seen = {
      release,
      pipeline,
      clusters,
      newer: isOld ? 'newer' : undefined,
      paused: undefined,
      sight: {
        approvedBy: this.approved.has(release.metadata.name ?? '') ? [{ by: 'ada', groups: [] }] : [],
        checks: new Map(),
        surveys: new Map(),
      },
      retries: [],
      promotions: [],
    }
    this.chain[this.chain.indexOf(release)] = { ...release, status: planRelease(seen, this.now).status }
  }

  #wantedOf(release: Release, name: string): Cluster {
    const declared = this.declared.get(release.metadata.name ?? '') ?? START
    const { metadata, spec, ...rest } = this.#live(name)
    const wanted = { ...spec, version: versionOf(declared.plane), addons: addonsOf(declared.addon) }
    return { ...rest, metadata: { ...metadata, labels: { stage: declared.stages[name] ?? '' } }, spec: wanted }
  }

  #live = (name: string): Cluster => (this.clusters.get(name) as SimCluster).cluster

  #membership(release: Release, name: string): Membership {
    return { stages: pipeline.stages, live: this.#live(name), declared: this.#wantedOf(release, name) }
  }

  #write(release: Release, name: string): void {
    const sim = this.clusters.get(name) as SimCluster
    const wanted = this.#wantedOf(release, name)
    const { metadata, spec } = sim.cluster
    const isSame = (of: Cluster) => JSON.stringify([of.spec.version, of.spec.addons, of.metadata.labels])
    if (isSame(sim.cluster) === isSame(wanted)) return
    this.#checkTurn(release, name)
    const { labels } = wanted.metadata
    const annotations = { [ANNOTATIONS.commit]: release.spec.commit }
    const generation = (metadata.generation ?? 0) + 1
    sim.cluster = {
      ...sim.cluster,
      metadata: { ...metadata, generation, annotations, ...defined({ labels }) },
      spec: { ...spec, ...wanted.spec },
    }
  }

  #pass(release: Release, name: string): Promise<ClusterAnswer | undefined> {
    const sim = this.clusters.get(name)
    if (release.spec.digests[name] === DIGEST_OF_LEAVING) {
      if (sim === undefined) return Promise.resolve(answerOf([], true))
      this.#delete(release, name)
      const leaving: Failure = { object: 'c', state: 'InProgress', reason: 'Deleting', message: 'it is being deleted' }
      return Promise.resolve(answerOf([leaving], true))
    }
    if (sim === undefined) return Promise.resolve(away('ReferenceMissing'))
    if (sim.cluster.metadata.deletionTimestamp !== undefined) return Promise.resolve(away('Deleting'))
    const declared = this.declared.get(release.metadata.name ?? '') ?? START
    const isNodesFirst = areNodesFirst(this.#wantedOf(release, name).spec, sim.cluster)
    return takeTurn<ClusterAnswer>({
      areNodesFirst: isNodesFirst,
      bring: async () => {
        this.#write(release, name)
        const isNew = isNewToStage(this.chain, release, sim.cluster)
        const trouble = planeTrouble({ cluster: sim.cluster, isNew, now: this.now })
        return trouble === undefined ? 'Current' : answerOf([trouble], true)
      },
      deliver: async () => {
        if (!isNodesFirst && sim.applied.kubelet !== declared.kubelet) this.#checkOrder(release, name)
        sim.applied = declared
        const isBehind = sim.kubelets.some((k) => k !== declared.kubelet)
        const rolling: Failure = { object: 'set', state: 'InProgress', reason: 'Rolling', message: 'rolling out' }
        return answerOf(isBehind ? [rolling] : [], false)
      },
      isDone: (answer) => answer.kind === 'Seen' && answer.failing.length === 0,
    })
  }

  /** What a Release brings to nodes follows its control plane and its addons. */
  #checkOrder(release: Release, name: string): void {
    const { cluster } = this.clusters.get(name) as SimCluster
    if (!isNewToStage(this.chain, release, cluster)) return
    const where = `seed ${this.#seed}: nodes of ${name} were begun before`
    const wanted = this.#wantedOf(release, name).spec
    expect(versionOf(runningOf(cluster)), `${where} the control plane`).toBe(wanted.version)
    const addons = (cluster.status?.addons ?? []).map((a) => [a.version, a.healthy])
    expect(addons, `${where} the addons`).toEqual((wanted.addons ?? []).map((a) => [a.version, 'True']))
  }

  #checkTurn(release: Release, name: string): void {
    const where = `seed ${this.#seed}: ${name} was changed`
    expect(hasTurn(release, name, release.spec.digests[name]), `${where} before its turn`).toBe(true)
    const isBack = isLeftUnderway(this.chain, release, name)
    const isApproved = this.approved.has(release.metadata.name ?? '') || isBack
    const wanted = this.#wantedOf(release, name)
    const [from, to] = [this.#live(name), wanted].map((c) => c.metadata.labels?.['stage'] ?? '')
    expect([from, to], `${where} without a stage`).not.toEqual(['none', 'none'])
    const own = from === 'none' ? to : from
    if (ORDER.indexOf(to ?? '') < ORDER.indexOf(from ?? ''))
      expect(isApproved, `${where} to leave ${from} for ${to} without an approval`).toBe(true)
    if (wanted.spec.version !== this.#live(name).spec.version && own !== 'test')
      expect(isApproved, `${where} without an approval`).toBe(true)
    // What brings back the content that was there spreads nothing.
    if (!isBack) this.#checkEarlier(release, own ?? '', where)
  }
}

const away = (because: 'ReferenceMissing' | 'Deleting'): ClusterAnswer => ({
  kind: 'Unreachable',
  because,
  message: 'its Cluster is not there',
})

const answerOf = (failing: readonly Failure[], isOfPlane: boolean): ClusterAnswer => {
  const seen = { isApplied: true, failures: [], failing, machines: 2, baseline: undefined, readings: {} }
  return isOfPlane ? { kind: 'Seen', isOfPlane: true, ...seen } : { kind: 'Seen', ...seen }
}

const runningOf = ({ status }: Cluster): number => minorOf(status?.versions?.[0]?.version ?? '') ?? 0

const some = (of: readonly string[], random: Random): string => of[random.below(of.length)] ?? ''

/** Another content that an author may write: kubelets at most as new as the control plane. */
function another(from: Declared, random: Random): Declared {
  const { plane, addon, kubelet, note, stages } = from
  switch (random.below(9)) {
    case 0:
      return { ...from, plane: 36, addon: random.below(3), kubelet: random.below(2) === 0 ? 36 : kubelet }
    case 1:
      return { ...from, plane: 35, kubelet: Math.min(kubelet, 34 + random.below(2)) }
    case 2:
      return { ...from, plane: 37 }
    case 3:
      return { ...from, kubelet: Math.min(plane, 34 + random.below(3), 36) }
    case 4:
      return { ...from, addon: addon + 1 }
    case 5:
    case 6:
      return { ...from, stages: { ...stages, [some(NAMES, random)]: some(ORDER, random) } }
    case 7:
      return { ...from, stages: { ...stages, [some(NAMES, random)]: 'gone' } }
    default:
      return { ...from, note: note + 1 }
  }
}

async function story(seed: number, mutant?: Mutant): Promise<void> {
  const random = seededRandom(seed)
  const world = new World(seed, mutant)
  await world.settle()
  expect(world.newest.status?.phase, `seed ${seed}`).toBe('Succeeded')
  for (let i = 0; i < COMMITS; i++) {
    world.commit(another(world.content, random))
    for (let n = random.below(60); n > 0; n--) await world.step()
  }
  world.commit({ ...START, note: world.content.note })
  await world.settle()
  expect(world.newest.status?.phase, `seed ${seed}: the revert was stopped`).toBe('Succeeded')
  expect([...world.clusters.keys()].toSorted(), `seed ${seed}`).toEqual(NAMES.toSorted())
  for (const [name, { cluster, kubelets }] of world.clusters) {
    expect([cluster.spec.version, runningOf(cluster)], `seed ${seed}`).toEqual([versionOf(START.plane), START.plane])
    expect(cluster.metadata.labels?.['stage'], `seed ${seed}`).toBe(HOME[name])
    expect(cluster.status?.addons?.[0]?.version, `seed ${seed}`).toBe(addonsOf(START.addon)[0]?.version)
    expect(kubelets, `seed ${seed}`).toEqual([START.kubelet, START.kubelet])
  }
}

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  'versions go up, down and wrong, clusters move, leave and come, and a revert ends where it began (seed %i)',
  (seed) => story(seed),
)

test.each<[Mutant, RegExp]>([
  ['MovesAreFree', /to leave \w+ for \w+ without an approval/],
  ['NoStageIsNoWait', /before its turn|without a stage/],
  ['DeletionsAreFree', /was deleted without an approval/],
  ['DeletedAtOnce', /was deleted before its turn/],
])('a planted bug shows within some seeds: %s', async (mutant, shows) => {
  const found: string[] = []
  for (let seed = 1; seed <= MUTANT_SEEDS && found.length === 0; seed++)
    await story(seed, mutant).catch((error: unknown) => found.push(messageOf(error)))
  expect(found[0]).toMatch(shows)
})
