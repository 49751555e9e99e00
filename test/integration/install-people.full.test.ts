// People and faults while KubeNode is installed, upgraded and removed: runs that die, two at once, objects that people delete, edit, scale or hold back. Whatever
// happened, the next upgrade ends as an installation of that version does, and the next uninstall as if KubeNode had never been there.
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, onTestFailed, test } from 'vitest'
import { OWN_NAMESPACES, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isNotFound } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Release } from '#install/release.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { Died, dyingClient } from '#test/doubles/kube/dying-client.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import {
  comparable,
  installServers,
  type InstallWorld,
  releaseOf,
  startInstallWorld,
  unchanging,
} from '#test/support/worlds/install-world.ts'

const SEEDS = { 'the embedded server': [1, 2, 3, 4, 5, 6, 7, 8], 'a real kube-apiserver': [1, 2] } as const
const STEPS = 8
const PATIENCE_MS = 30 * 60_000
const SETTLED_WITHIN_MS = 200_000
const STABLE_MS = 2_000
/** What a run may write; it dies at one of these, or ends before. */
const MOST_WRITES = 220

const old: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: SYSTEM_NAMESPACE } }
const RELEASES: readonly Release[] = [releaseOf('1.1.0', [old]), releaseOf('1.2.0')]
const LAST = releaseOf('1.2.0')

/** Of others, with names like ours: nothing may touch them. */
const FOREIGN: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kubenode' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kubenode-theirs', namespace: 'kubenode' } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'kubenode-theirs' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  },
]

/** What a command answers: an end, or a numbered error. Anything else is a defect. */
async function outcomeOf(run: Promise<unknown>): Promise<string> {
  try {
    await run
    return 'done'
  } catch (error) {
    if (error instanceof Died) return 'died'
    if (error instanceof KubeNodeError) return error.message.slice(0, 160)
    throw error
  }
}

class Trial {
  readonly #world: InstallWorld
  readonly #random: Random
  readonly log: string[] = []
  /** Objects that a person holds back with a finalizer. */
  readonly #held: KubeObject[] = []

  constructor(world: InstallWorld, random: Random) {
    this.#world = world
    this.#random = random
  }

  async step(): Promise<void> {
    const acts: readonly (() => Promise<string>)[] = [
      () => this.#command(),
      () => this.#command(),
      () => this.#dies(),
      () => this.#dies(),
      () => this.#twoAtOnce(),
      () => this.#deletes(),
      () => this.#deletes(),
      () => this.#edits(),
      () => this.#scales(),
      () => this.#holdsBack(),
    ]
    this.log.push(await this.#random.pick(acts)())
  }

  /** People stop interfering. */
  async calm(): Promise<void> {
    for (const object of this.#held.splice(0))
      await this.#patch(object, { metadata: { finalizers: null } }).catch((e: unknown) => {
        if (!isNotFound(e)) throw e
      })
  }

  /** As a person does after an error: once more. */
  async insist(what: string, run: () => Promise<unknown>): Promise<void> {
    const outcomes: string[] = []
    for (let n = 0; n < 3; n++) {
      const outcome = await outcomeOf(run())
      if (outcome === 'done') return
      outcomes.push(outcome)
      await this.#untilNamespacesEnded()
    }
    throw new Error(`${what}: ${outcomes.join(' | ')}`)
  }

  /** What KN1442 asks for. A controller manager takes its time with a namespace in which something was held back. */
  async #untilNamespacesEnded(): Promise<void> {
    const { admin } = this.#world
    await eventually(
      () => Promise.all(OWN_NAMESPACES.map((name) => admin.get(coreKind('Namespace'), { name }))),
      (all) => all.every((n) => n?.metadata.deletionTimestamp === undefined),
      SETTLED_WITHIN_MS,
    )
  }

  /** An upgrade, or an installation where nothing is installed. */
  async bring(release: Release, client?: KubeClient): Promise<unknown> {
    try {
      return await this.#world.install(release, { isUpgrade: true }, client)
    } catch (error) {
      // "not installed"
      if (!(error instanceof KubeNodeError) || error.code !== 'KN1422') throw error
      return this.#world.install(release, {}, client)
    }
  }

  #run(client?: KubeClient): { readonly what: string; readonly work: () => Promise<unknown> } {
    const release = this.#random.pick(RELEASES)
    const deleteDefinitions = this.#random.below(2) === 0
    return this.#random.below(3) > 0
      ? { what: `bring ${release.version}`, work: () => this.bring(release, client) }
      : {
          what: `uninstall${deleteDefinitions ? ' --delete-definitions' : ''}`,
          work: () => this.#world.uninstall({ deleteDefinitions, now: true }, client),
        }
  }

  async #command(): Promise<string> {
    const { what, work } = this.#run()
    return `${what}: ${await outcomeOf(work())}`
  }

  async #dies(): Promise<string> {
    const at = 1 + this.#random.below(MOST_WRITES)
    const when = this.#random.pick(['before', 'after'] as const)
    const { what, work } = this.#run(dyingClient(this.#world.admin, at, when).client)
    return `${what}, dies ${when} write ${at}: ${await outcomeOf(work())}`
  }

  async #twoAtOnce(): Promise<string> {
    const both = [this.#run(), this.#run()]
    const outcomes = await Promise.all(both.map(({ work }) => outcomeOf(work())))
    return `at once: ${both.map(({ what }, i) => `${what}: ${outcomes[i]}`).join('; ')}`
  }

  async #deletes(): Promise<string> {
    const object = this.#any()
    return `a person deletes ${named(object)}: ${await outcomeOf(this.#at(object, (type, key) => this.#world.admin.delete(type, key)).catch(ignoreNotFound))}`
  }

  async #edits(): Promise<string> {
    const object = this.#any()
    const value = { metadata: { labels: { 'app.kubernetes.io/version': '0.0.1', 'app.kubernetes.io/part-of': null } } }
    return `a person edits ${named(object)}: ${await outcomeOf(this.#patch(object, value).catch(ignoreNotFound))}`
  }

  async #scales(): Promise<string> {
    const object = this.#any((o) => o.kind === 'Deployment')
    return `a person scales ${named(object)}: ${await outcomeOf(this.#patch(object, { spec: { replicas: 0 } }).catch(ignoreNotFound))}`
  }

  async #holdsBack(): Promise<string> {
    const object = this.#any((o) => o.kind !== 'Namespace')
    this.#held.push(object)
    return `a person holds back ${named(object)}: ${await outcomeOf(this.#patch(object, { metadata: { finalizers: ['example.org/theirs'] } }).catch(ignoreNotFound))}`
  }

  #any(isMeant: (o: KubeObject) => boolean = () => true): KubeObject {
    const { definitions, objects } = this.#random.pick(RELEASES)
    return this.#random.pick([...definitions, ...objects].filter(isMeant))
  }

  #patch(object: KubeObject, value: object): Promise<unknown> {
    return this.#at(object, (type, key) =>
      this.#world.admin.patch(type, key, { type: 'merge', value: value as never }, { fieldManager: 'kubectl-edit' }),
    )
  }

  async #at(
    { apiVersion, kind, metadata: { name = '', namespace } }: KubeObject,
    work: (type: ResourceType, key: ObjectKey) => Promise<unknown>,
  ): Promise<unknown> {
    const type = await this.#world.context().types.of(apiVersion, kind)
    return work(type, { name, ...defined({ namespace }) })
  }
}

const named = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

const ignoreNotFound = (e: unknown): void => {
  if (!isNotFound(e)) throw e
}

/** A control plane furnishes itself for some time. */
async function settled(world: InstallWorld): Promise<unknown> {
  for (let before: unknown; ;) {
    const now = comparable(await unchanging(world.admin))
    if (isDeepStrictEqual(now, before)) return now
    before = now
    await new Promise((resolve) => setTimeout(resolve, STABLE_MS))
  }
}

async function settles(world: InstallWorld, wanted: unknown, after: string): Promise<void> {
  const until = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const now = comparable(await unchanging(world.admin))
    if (performance.now() > until || isDeepStrictEqual(now, wanted)) return expect(now, after).toEqual(wanted)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

describe.each(installServers)('people on $name', ({ name, start }) => {
  test.each(SEEDS[name as keyof typeof SEEDS])(
    'seed %i: the next upgrade and the next uninstall end as if nothing had happened',
    async (seed) => {
      const world = await startInstallWorld(start)
      try {
        for (const object of FOREIGN)
          await world.admin.apply(await world.context().types.of(object.apiVersion, object.kind), object, {
            fieldManager: 'theirs',
          })
        const before = await settled(world)
        await world.install(LAST)
        const installed = comparable(await unchanging(world.admin))
        await world.uninstall({ deleteDefinitions: true, now: true })
        await settles(world, before, 'the first uninstall')
        const trial = new Trial(world, seededRandom(seed))
        onTestFailed(() => void process.stderr.write(`${trial.log.join('\n')}\n`))
        world.patience.timeoutMs = 3_000
        for (let step = 0; step < STEPS; step++) await trial.step()
        await trial.calm()
        world.patience.timeoutMs = 60_000
        await trial.insist('upgrade', () => trial.bring(LAST))
        await settles(world, installed, 'upgraded')
        await trial.insist('uninstall', () => world.uninstall({ deleteDefinitions: true, now: true }))
        await settles(world, before, 'uninstalled')
      } finally {
        await world.stop()
      }
    },
    PATIENCE_MS,
  )
})
