// Plays the controllers, the kubelet and the Services of a hub for the namespaces of control planes: workloads become pods, pods become processes of this host,
// and what they answer becomes their status. Everything is read from the objects that were applied.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { typeOf } from '#controlplanes/kubernetes/plane-objects.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { freePort } from '../servers/free-port.ts'
import { PodPrograms, writeFiles, type PodSpec, type PodTools } from './pod-programs.ts'
import { sha256OfJson } from '#lib/sha256.ts'

const [DEPLOYMENTS, SETS] = ['Deployment', 'StatefulSet'].map((kind) => typeOf({ apiVersion: 'apps/v1', kind })) as [
  ResourceType,
  ResourceType,
]
const [PODS, JOBS, CLAIMS] = [coreKind('Pod'), coreKind('Job'), coreKind('PersistentVolumeClaim')]
const SERVICES = typeOf({ apiVersion: 'v1', kind: 'Service' })
const HOST = '127.0.0.1'
const EVERY_MS = 200
const HASH = 'pod-template-hash'
/** A test does not wait for clients to move: programs end soon. */
const GRACE_MS = 15_000

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
  readonly spec: PodSpec
}
interface WorkloadSpec {
  readonly replicas: number
  readonly template: Template
  readonly volumeClaimTemplates?: readonly KubeObject[]
}

export class PodRunner {
  readonly root = mkdtempSync(join(tmpdir(), 'kubenode-pods-'))
  readonly #client: KubeClient
  readonly #programOf: PodTools['programOf']
  readonly #pods = new Map<
    string,
    { readonly pod: KubeObject; readonly programs: PodPrograms; isReady: boolean; isEnding: boolean }
  >()
  readonly #ports = new Map<string, number>()
  readonly #services = new Map<string, Server>()
  readonly #end = new AbortController()
  readonly #loop: Promise<void>
  /** Names of pods that were started, in order. */
  readonly started: string[] = []
  problem: unknown
  #turn = 0

  constructor(client: KubeClient, programOf: PodTools['programOf']) {
    this.#client = client
    this.#programOf = programOf
    this.#loop = this.#run()
  }

  /** Of a container that ended. */
  readLog = async ({ namespace, name }: { readonly namespace: string; readonly name: string }, container: string) => {
    const found = [...this.#pods.values()].find(
      ({ pod }) => pod.metadata.namespace === namespace && pod.metadata.name === name,
    )
    return found?.programs.logOf(container) ?? ''
  }

  /** Where a port of a pod is on this host. */
  portOf = (namespace: string, pod: string, port: number): number | undefined =>
    this.#ports.get(`${namespace}/${pod}/${port}`)

  /** The end of all logs, for failures. */
  tail(): string {
    return [...this.#pods.values()]
      .map(({ pod, programs }) => {
        const { containers, initContainers = [] } = pod['spec'] as PodSpec
        const text = [...initContainers, ...containers].map((c) => programs.logOf(c.name)).join('')
        return `--- ${pod.metadata.name ?? ''} (${programs.exit ?? 'running'})\n${text.split('\n').slice(-6).join('\n')}`
      })
      .join('\n')
  }

  running(namespace?: string): readonly string[] {
    return [...this.#pods.values()]
      .filter(
        ({ pod, programs }) =>
          programs.exit === undefined && (namespace === undefined || pod.metadata.namespace === namespace),
      )
      .map(({ pod }) => pod.metadata.name ?? '')
  }

  async close(): Promise<void> {
    this.#end.abort()
    await this.#loop
    await Promise.all([...this.#pods.values()].toReversed().map(({ programs }) => programs.end(1_000)))
    for (const server of this.#services.values()) server.close()
    rmSync(this.root, { recursive: true, force: true })
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      await this.#pass().catch((e: unknown) => {
        this.problem = e
      })
      await new Promise((later) => setTimeout(later, EVERY_MS))
    }
  }

  async #pass(): Promise<void> {
    const list = async (type: ResourceType) => (await this.#client.list(type)).items
    const [pods, claims] = [await list(PODS), await list(CLAIMS)]
    await this.#endPods(pods)
    this.#removeVolumes(claims)
    for (const pod of pods) await this.#startPod(pod, claims)
    for (const known of this.#pods.values()) await this.#report(known)
    for (const d of await list(DEPLOYMENTS)) await this.#rollDeployment(d, pods)
    for (const s of await list(SETS)) await this.#rollSet(s, pods, claims)
    for (const job of await list(JOBS)) await this.#job(job, pods)
    await this.#serve(await list(SERVICES))
  }

  /** A pod that is deleted ends; its object stays until its program has. */
  async #endPods(pods: readonly KubeObject[]): Promise<void> {
    for (const [uid, known] of this.#pods) {
      const live = pods.find((p) => p.metadata.uid === uid)
      if (known.isEnding || (live !== undefined && live.metadata.deletionTimestamp === undefined)) continue
      known.isEnding = true
      known.isReady = false
      const { namespace, name = '' } = known.pod.metadata
      void known.programs.end(GRACE_MS).then(async () => {
        await outcomeOf(() =>
          this.#client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } }),
        ).catch(() => undefined)
        this.#pods.delete(uid)
      })
    }
    for (const { metadata } of pods)
      if (metadata.deletionTimestamp !== undefined && !this.#pods.has(metadata.uid ?? ''))
        await outcomeOf(() =>
          this.#client.delete(
            PODS,
            { namespace: metadata.namespace, name: metadata.name ?? '' },
            { gracePeriodSeconds: 0 },
          ),
        )
  }

  readonly #volumes = new Set<string>()
  #removeVolumes(claims: readonly KubeObject[]): void {
    for (const uid of this.#volumes)
      if (!claims.some((c) => c.metadata.uid === uid)) {
        rmSync(join(this.root, 'volumes', uid), { recursive: true, force: true })
        this.#volumes.delete(uid)
      }
  }

  async #startPod(pod: KubeObject, claims: readonly KubeObject[]): Promise<void> {
    const { uid = '', name = '', namespace = '', deletionTimestamp } = pod.metadata
    if (this.#pods.has(uid) || deletionTimestamp !== undefined || pod.metadata.labels?.['played'] !== 'true') return
    const spec = pod['spec'] as PodSpec
    const folder = join(this.root, 'pods', uid)
    const volumes: Record<string, string> = {}
    for (const volume of spec.volumes ?? []) {
      const at = join(folder, 'volumes', volume.name)
      volumes[volume.name] = at
      const claim = volume.persistentVolumeClaim?.claimName
      if (claim !== undefined) {
        const found = claims.find((c) => c.metadata.namespace === namespace && c.metadata.name === claim)
        if (found === undefined) return
        const claimed = found.metadata.uid ?? ''
        this.#volumes.add(claimed)
        volumes[volume.name] = join(this.root, 'volumes', claimed)
        mkdirSync(volumes[volume.name] as string, { recursive: true, mode: 0o700 })
      } else if (volume.emptyDir !== undefined) mkdirSync(at, { recursive: true })
      else {
        const [kind, source] =
          volume.secret === undefined
            ? (['ConfigMap', volume.configMap?.name ?? ''] as const)
            : (['Secret', volume.secret.secretName] as const)
        const found = await this.#client.get(coreKind(kind), { namespace, name: source })
        if (found === undefined) return
        const data = isObject(found['data']) ? (found['data'] as Record<string, string>) : {}
        const encoding = kind === 'Secret' ? 'base64' : 'utf8'
        writeFiles(at, Object.fromEntries(Object.entries(data).map(([f, t]) => [f, Buffer.from(t, encoding)])))
      }
    }
    for (const c of spec.containers)
      for (const p of c.ports ?? []) await this.#reserve(namespace, name, p.containerPort)
    // Members find each other before they run.
    for (const n of [0, 1, 2]) for (const port of [2379, 2380, 2381]) await this.#reserve(namespace, `etcd-${n}`, port)
    const portOf = (of: string, port: number): number => this.#ports.get(`${namespace}/${of}/${port}`) ?? port
    const valueOf = async (configMap: string, key: string): Promise<string | undefined> => {
      const found = await this.#client.get(coreKind('ConfigMap'), { namespace, name: configMap })
      return isObject(found?.['data']) ? found['data'][key] : undefined
    }
    const programOf = this.#programOf
    const programs = new PodPrograms(spec, { name, namespace, folder, portOf, volumes, valueOf, programOf })
    this.started.push(`${namespace}/${name}`)
    this.#pods.set(uid, { pod, programs, isReady: false, isEnding: false })
  }

  async #reserve(namespace: string, pod: string, port: number): Promise<void> {
    const key = `${namespace}/${pod}/${port}`
    if (!this.#ports.has(key)) this.#ports.set(key, await freePort())
  }

  async #report(known: {
    readonly pod: KubeObject
    readonly programs: PodPrograms
    isReady: boolean
    isEnding: boolean
  }) {
    const { pod, programs } = known
    if (known.isEnding) return
    known.isReady = await programs.isReady()
    const { containers } = pod['spec'] as PodSpec
    const isJob = containers[0]?.readinessProbe === undefined
    const phase = isJob && programs.exit !== undefined ? (programs.exit === 0 ? 'Succeeded' : 'Failed') : 'Running'
    const crashed = !isJob && programs.exit !== undefined
    const status = {
      phase,
      conditions: [{ type: 'Ready', status: known.isReady ? 'True' : 'False' }],
      containerStatuses: containers.map(({ name, image }) => ({
        name,
        image,
        imageID: '',
        ready: known.isReady,
        restartCount: 0,
        state: crashed
          ? { waiting: { reason: 'CrashLoopBackOff', message: programs.logOf(name).slice(-200) } }
          : { running: {} },
      })),
    }
    const live = await this.#client.get(PODS, { namespace: pod.metadata.namespace, name: pod.metadata.name ?? '' })
    if (live === undefined || live.metadata.uid !== pod.metadata.uid || isSaid(live, status)) return
    await outcomeOf(() => this.#client.update(PODS, { ...live, status }, { subresource: 'status' }))
  }

  #ownOf(workload: KubeObject, pods: readonly KubeObject[]): readonly KubeObject[] {
    return pods.filter((p) => p.metadata.ownerReferences?.some((o) => o.uid === workload.metadata.uid))
  }

  #isReady = (pod: KubeObject): boolean => this.#pods.get(pod.metadata.uid ?? '')?.isReady === true

  async #create(owner: KubeObject, name: string, { metadata, spec }: Template, hash: string, more: object = {}) {
    const { namespace = '', uid = '' } = owner.metadata
    const pod: KubeObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels: { ...metadata?.labels, [HASH]: hash, played: 'true', ...more },
        ownerReferences: [{ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name ?? '', uid }],
      },
      // On a node, so that its object stays until its program has ended.
      spec: { ...spec, nodeName: 'runner' },
    }
    const outcome = await outcomeOf(() => this.#client.create(PODS, pod))
    if (outcome.kind === 'Denied') this.problem = outcome.error
  }

  async #delete(pod: KubeObject): Promise<void> {
    const { namespace, name = '' } = pod.metadata
    if (pod.metadata.deletionTimestamp === undefined)
      await outcomeOf(() => this.#client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 30 }))
  }

  /** One more first, and an old one ends when it is ready. */
  async #rollDeployment(deployment: KubeObject, pods: readonly KubeObject[]): Promise<void> {
    const { replicas, template } = deployment['spec'] as WorkloadSpec
    const hash = hashOf(template)
    const own = this.#ownOf(deployment, pods).filter((p) => p.metadata.deletionTimestamp === undefined)
    const [current, old] = [own.filter((p) => hashIn(p) === hash), own.filter((p) => hashIn(p) !== hash)]
    const ready = own.filter(this.#isReady).length
    if (current.length < replicas && own.length < replicas + 1) {
      const names = new Set(own.map((p) => p.metadata.name))
      let n = 0
      const nameOf = () => `${deployment.metadata.name ?? ''}-${hash}-${n}`
      while (names.has(nameOf())) n++
      await this.#create(deployment, nameOf(), template, hash)
    }
    const spare = [
      ...old.toSorted((a, b) => Number(this.#isReady(a)) - Number(this.#isReady(b))),
      ...current.slice(replicas),
    ]
    const [first] = spare
    if (first !== undefined && (replicas === 0 || ready > replicas || !this.#isReady(first))) await this.#delete(first)
    if (replicas === 0) for (const pod of own) await this.#delete(pod)
    await this.#workloadStatus(DEPLOYMENTS, deployment, own, current)
  }

  /** One at a time, each with its volume. */
  async #rollSet(set: KubeObject, pods: readonly KubeObject[], claims: readonly KubeObject[]): Promise<void> {
    const { replicas, template, volumeClaimTemplates = [] } = set['spec'] as WorkloadSpec
    const { name = '', namespace = '' } = set.metadata
    const hash = hashOf(template)
    const own = this.#ownOf(set, pods)
    for (let n = 0; n < replicas; n++) {
      const pod = `${name}-${n}`
      if (own.some((p) => p.metadata.name === pod)) continue
      const volumes = [...(template.spec.volumes ?? [])]
      for (const { metadata, spec } of volumeClaimTemplates as unknown as readonly {
        metadata: { name: string }
        spec: object
      }[]) {
        const claim = `${metadata.name}-${pod}`
        if (!claims.some((c) => c.metadata.namespace === namespace && c.metadata.name === claim))
          await outcomeOf(() =>
            this.#client.create(CLAIMS, {
              apiVersion: 'v1',
              kind: 'PersistentVolumeClaim',
              metadata: { name: claim, namespace },
              spec,
            }),
          )
        volumes.push({ name: metadata.name, persistentVolumeClaim: { claimName: claim } })
      }
      await this.#create(set, pod, { ...template, spec: { ...template.spec, volumes } }, hash)
    }
    const living = own.filter((p) => p.metadata.deletionTimestamp === undefined)
    for (const pod of living) if (Number(pod.metadata.name?.split('-').at(-1)) >= replicas) await this.#delete(pod)
    const old = living.filter((p) => hashIn(p) !== hash)
    const others = living.length === replicas && living.filter((p) => !old.includes(p)).every(this.#isReady)
    if (old.length > 0 && others && replicas > 0) await this.#delete(old.at(-1) as KubeObject)
    await this.#workloadStatus(
      SETS,
      set,
      living,
      living.filter((p) => hashIn(p) === hash),
    )
  }

  async #workloadStatus(
    type: ResourceType,
    workload: KubeObject,
    own: readonly KubeObject[],
    current: readonly KubeObject[],
  ) {
    const ready = own.filter(this.#isReady).length
    const status = {
      observedGeneration: workload.metadata.generation ?? 0,
      replicas: own.length,
      updatedReplicas: current.length,
      readyReplicas: ready,
      availableReplicas: ready,
    }
    if (!isSaid(workload, status))
      await outcomeOf(() => this.#client.update(type, { ...workload, status }, { subresource: 'status' }))
  }

  async #job(job: KubeObject, pods: readonly KubeObject[]): Promise<void> {
    const { name = '' } = job.metadata
    const { template } = job['spec'] as { readonly template: Template }
    const [pod] = this.#ownOf(job, pods)
    if (pod === undefined) return this.#create(job, `${name}-x`, template, hashOf(template), { 'job-name': name })
    const exit = this.#pods.get(pod.metadata.uid ?? '')?.programs.exit
    const phase = isObject(pod['status']) ? pod['status']['phase'] : undefined
    if (exit === undefined || (phase !== 'Succeeded' && phase !== 'Failed')) return
    const at = new Date().toISOString().replace(/\.\d+/, '')
    const isDone = phase === 'Succeeded'
    const conditions = isDone
      ? [
          { type: 'SuccessCriteriaMet', status: 'True', lastTransitionTime: at },
          { type: 'Complete', status: 'True', lastTransitionTime: at },
        ]
      : [
          { type: 'FailureTarget', status: 'True', lastTransitionTime: at },
          { type: 'Failed', status: 'True', message: `exit ${exit}`, lastTransitionTime: at },
        ]
    if (isSaid(job, { [isDone ? 'succeeded' : 'failed']: 1 })) return
    const status = {
      startTime: at,
      ...(isDone && { completionTime: at }),
      [isDone ? 'succeeded' : 'failed']: 1,
      conditions,
    }
    await outcomeOf(() => this.#client.update(JOBS, { ...job, status }, { subresource: 'status' }))
  }

  /** A port of every node leads to one of the pods that are ready. */
  async #serve(services: readonly KubeObject[]): Promise<void> {
    const wanted = new Map<number, KubeObject>()
    for (const service of services) {
      const { ports = [] } = service['spec'] as { readonly ports?: readonly { readonly nodePort?: number }[] }
      for (const { nodePort } of ports) if (nodePort !== undefined) wanted.set(nodePort, service)
    }
    for (const [port, server] of [...this.#services].map(([key, s]) => [Number(key), s] as const))
      if (!wanted.has(port)) {
        server.close()
        this.#services.delete(String(port))
      }
    for (const [port, service] of wanted) {
      if (this.#services.has(String(port))) continue
      const server = createServer((from) => {
        const target = this.#targetOf(service)
        if (target === undefined) return from.destroy()
        const to = connect(target, HOST)
        from.once('error', () => to.destroy())
        to.once('error', () => from.destroy())
        from.once('close', () => to.destroy())
        to.once('close', () => from.destroy())
        return from.pipe(to).pipe(from)
      })
      server.on('error', (e) => (this.problem = e))
      server.listen(port, HOST)
      this.#services.set(String(port), server)
    }
  }

  #targetOf({ metadata, spec }: KubeObject): number | undefined {
    const { selector, ports } = spec as {
      readonly selector: Readonly<Record<string, string>>
      readonly ports: readonly { readonly targetPort: number }[]
    }
    const ready = [...this.#pods.values()].filter(
      ({ pod, isReady }) =>
        isReady &&
        pod.metadata.namespace === metadata.namespace &&
        Object.entries(selector).every(([k, v]) => pod.metadata.labels?.[k] === v),
    )
    // In turn, as good as at random for those who ask.
    const { pod } = ready[this.#turn++ % Math.max(ready.length, 1)] ?? {}
    return pod && this.#ports.get(`${metadata.namespace ?? ''}/${pod.metadata.name ?? ''}/${ports[0]?.targetPort ?? 0}`)
  }
}

const hashOf = (template: Template): string => sha256OfJson(template).slice(0, 8)
const hashIn = ({ metadata }: KubeObject): string => metadata.labels?.[HASH] ?? ''
const isSaid = ({ status }: KubeObject, wanted: object): boolean =>
  isObject(status) && Object.entries(wanted).every(([k, v]) => jsonEqual(status[k], v))
