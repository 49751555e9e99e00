// What sync makes of the newest commit of a source, with real git, signatures and renders; the objects on the hub are a few lists.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FleetSource, FleetSourceInput } from '#api/kinds/fleet-source.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { releasePipeline, type ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Targets } from '#delivery/desired.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { createTrustMetrics } from '#sync/hub/metrics.ts'
import { PipelinesBefore } from '#sync/hub/pipeline-before.ts'
import { Renders } from '#sync/hub/renders.ts'
import { type SourceLoop, observe } from '#sync/hub/source/observe.ts'
import { hubKey, plan } from '#sync/hub/source/plan.ts'
import { statusOf } from '#sync/hub/source/status.ts'
import { Verification } from '#sync/hub/source/verified.ts'
import { HUB } from '#sync/release/tracks.ts'
import { openRenderer } from '#test/doubles/open-renderer.ts'
import { holdOn } from '#test/support/fleets/holds.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'
import { isFull } from '#test/support/tools/full.ts'
import { builtCage } from '#test/support/tools/own-build.ts'

/** The fleet is as a file of values says: pipelines by name, and ConfigMaps by name, on the hub and in the cluster `test`. */
const MAIN = `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
import values from './values.json' with { type: 'json' }
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' } } })
const cluster = new ClusterChart(app, 'test')
const stages = [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }]
for (const [name, revert] of Object.entries(values.pipelines as any)) new ReleasePipeline(hub, name, { spec: { stages, revert: revert as any } })
const map = (chart: any, [name, data]: [string, any]) =>
  new ApiObject(chart, 'map-' + name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', labels: { map: name } }, data })
for (const each of Object.entries(values.hub ?? {})) map(hub, each as any)
for (const each of Object.entries(values.cluster)) map(cluster, each as any)
app.synth()
`

type Maps = Readonly<Record<string, Readonly<Record<string, string>>>>
export interface Values {
  /** By name, what the pipeline exempts reverts from. */
  readonly pipelines: Readonly<Record<string, { readonly exempt?: readonly string[] }>>
  readonly hub?: Maps
  readonly cluster: Maps
}

export const filesOf = (values: Values) => ({ 'fleet/main.ts': MAIN, 'fleet/values.json': JSON.stringify(values) })

interface Attempt {
  /** Undefined: not signed. */
  readonly key?: string | undefined
  readonly message: string
  readonly more?: Readonly<Record<string, string>>
}

/** What sync reads of a list of the hub. */
function listed<T extends KubeObject>(of: () => readonly T[]): SharedInformer<T> {
  const get = ({ name }: { readonly name: string }) => of().find((o) => o.metadata.name === name)
  const some: unknown = { list: of, get }
  return some as SharedInformer<T>
}

export class SourceWorld {
  readonly repository = new SignedRepository(['ada', 'bob', 'eve'])
  readonly #cache = mkdtempSync(join(tmpdir(), 'kubenode-source-'))
  #spec: Partial<FleetSourceInput['spec']>
  readonly #releases: Release[] = []
  readonly #pipelines = new Map<string, ReleasePipeline>()
  readonly #hubDone = new Map<string, { readonly stamp: string; readonly at: number }>()
  readonly #loop: SourceLoop
  holds: readonly OperationalHold[] = []
  status: FleetSource['status'] = {}

  /** `renderer`: in place of a cage, which the full run has. */
  constructor(spec: Partial<FleetSourceInput['spec']> = {}, renderer = isFull ? undefined : openRenderer()) {
    this.#spec = spec
    const config = {
      cacheDir: this.#cache,
      weakCage: 'allow' as const,
      caged: builtCage(),
      localRepositories: [{ folder: tmpdir() }],
    }
    const context: unknown = { config, clock: systemClock }
    const pipelines = listed(() => [...this.#pipelines.values()])
    const releases = listed(() => this.#releases)
    const renders = new Renders(config, systemClock, renderer && { makeRenderer: () => Promise.resolve(renderer) })
    const loop: Partial<SourceLoop> = {
      context: context as SourceLoop['context'],
      sources: listed(() => [this.source]),
      pipelines,
      releases,
      clusters: listed(() => []),
      holds: listed(() => this.holds),
      approvals: listed(() => []),
      renders,
      verification: new Verification(systemClock, createValidator()),
      trustMetrics: createTrustMetrics(createMetrics()),
      pipelinesBefore: new PipelinesBefore({ renders, releases, pipelines }),
      hubDone: this.#hubDone,
    }
    this.#loop = loop as SourceLoop
  }

  get source(): FleetSource {
    return {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'FleetSource',
      metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE, uid: 'u', generation: 1 },
      spec: {
        url: this.repository.url,
        ref: { branch: 'main' },
        interval: '1m',
        path: '.',
        verify: { mode: 'Off' },
        tracks: [{ name: 'fleet', match: {}, pipelineRef: { name: 'standard' } }],
        ...this.#spec,
      },
      status: this.status,
    } as unknown as FleetSource
  }

  verify(verify: NonNullable<FleetSourceInput['spec']['verify']>): void {
    this.#spec = { ...this.#spec, verify }
  }

  hold(effect: 'Pause' | 'Freeze'): void {
    this.holds = [
      holdOn('FleetSource', 'fleet', {
        effect,
        target: { kind: 'FleetSource', name: 'fleet', namespace: SYSTEM_NAMESPACE },
      }),
    ]
  }

  /** One pass over the newest commit: its conditions, without any effect. */
  async observed() {
    return observe(this.#loop, this.source, new AbortController().signal)
  }

  /** As the poll of a local repository does: it sees a newer commit while the one before is rendered. */
  async polled(): Promise<string> {
    return (await this.#loop.renders.fetch(this.source)).commit
  }

  /** The commit that a pass follows; undefined: none, since a hold stops it. Otherwise why it is refused. */
  async followed(): Promise<string | undefined> {
    const { commit, declared, trust } = await this.observed()
    if (declared?.kind === 'Failed') return declared.message
    if (trust !== undefined && trust.kind !== 'Verified') return trust.kind === 'Refused' ? trust.message : trust.kind
    return declared === undefined ? undefined : commit?.id
  }

  /** A commit that is followed, and whose Releases succeed at once. */
  async follow(values: Values, { key = 'ada', message = 'change', more = {} }: Partial<Attempt> = {}): Promise<string> {
    const id = this.repository.commit({ ...filesOf(values), ...more }, { key, message })
    await this.pass()
    return id
  }

  /** One pass with its effects: Releases, the pipelines on the hub, and the status. */
  async pass(): Promise<void> {
    // The pipelines that a first commit brings are on the hub before its Releases are planned.
    const before = await this.observed()
    if (before.declared?.kind !== 'Declared')
      throw new Error(before.declared?.message ?? before.paused ?? JSON.stringify(before.trust))
    for (const { ref, object } of before.declared.hub?.objects ?? []) {
      if (ref.kind !== releasePipeline.kind) continue
      const metadata = { ...object.metadata, annotations: { [ANNOTATIONS.commit]: before.commit?.id ?? '' } }
      this.#pipelines.set(ref.name, {
        ...(applyDefaults(releasePipeline.schema, object) as ReleasePipeline),
        metadata,
      })
    }
    const seen = { ...before, pipelines: this.#loop.pipelines, releases: this.#releases }
    // The first pass of a commit is that of the hub, which takes everything; the next one makes its Releases.
    for (const { hub } of plan(seen, 0).tracks)
      if (hub !== undefined)
        this.#hubDone.set(hubKey(this.source, hub.track), { stamp: hub.stamp, at: systemClock.monotonic() })
    const { tracks } = plan(seen, 0)
    for (const { release } of tracks) {
      if (release.kind !== 'Create') continue
      const at = new Date().toISOString()
      const clusters = Object.entries(release.release.spec.digests)
        .filter(([name]) => name !== HUB)
        .map(([name, digest]) => ({ name, stage: 'test', phase: 'Healthy' as const, since: at, digest }))
      const status = { phase: 'Succeeded', stages: [{ name: 'test', phase: 'Succeeded' }], clusters }
      const metadata = { ...release.release.metadata, uid: release.release.metadata.name, creationTimestamp: at }
      this.#releases.push({ ...release.release, metadata, status } as unknown as Release)
    }
    const results = tracks.map(({ track, release }) => ({ track, report: undefined, release }))
    this.status = statusOf(seen, results, { releases: this.#releases, now: systemClock.now() })
  }

  /** What is followed now, and what the pushed commit declares. */
  async targets(): Promise<{ readonly before: Targets; readonly after: Targets }> {
    const { renders } = this.#loop
    const { rendered = '' } = this.status ?? {}
    const { commit } = await renders.fetch(this.source)
    const [before, after] = [await renders.render(this.source, rendered), await renders.render(this.source, commit)]
    return { before: before.targets, after: after.targets }
  }

  /** Pushes a commit with these values, asks whether it is followed, and takes it off the branch again. */
  async attempt(values: Values, { key, message, more = {} }: Attempt): Promise<string | undefined> {
    const base = this.repository.git('rev-parse', 'HEAD')
    this.repository.commit({ ...filesOf(values), ...more }, { key, message })
    try {
      return await this.followed()
    } finally {
      this.repository.moveTo(base)
    }
  }

  remove(): void {
    this.repository.remove()
    rmSync(this.#cache, { recursive: true, force: true })
  }
}
