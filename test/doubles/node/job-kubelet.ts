// A node and a Job controller for tests of render Jobs: makes the pod of each Job, really runs what its image holds with its volumes as folders, and keeps
// the log. What goes wrong on nodes can be switched on.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeClient } from '#kube/client.ts'
import { isNotFound } from '#kube/errors.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

const JOB = coreKind('Job')
const POD = coreKind('Pod')
const CONFIG_MAP = coreKind('ConfigMap')
const EVENT = coreKind('Event')
const LOOK_MS = 25
const NODE_NAME = 'double-node'

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const list = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])

/** What becomes of a pod in place of running: its status, as a kubelet or scheduler writes it. */
export type Fate = (pod: KubeObject) => Fields | undefined

export interface JobKubeletOptions {
  readonly client: KubeClient
  readonly namespace: string
  /** The program in the image, without the arguments of the container. */
  readonly program: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export class JobKubelet {
  readonly #options: JobKubeletOptions
  readonly #logs = new Map<string, Buffer[]>()
  readonly #running = new Map<string, ChildProcess>()
  readonly #seen = new Set<string>()
  readonly #folder = mkdtempSync(join(tmpdir(), 'kubenode-job-kubelet-'))
  #stopped = false
  #reported = 0
  #looking: Promise<void> = Promise.resolve()
  /** Faults of the double itself: a test that sees one is wrong. */
  readonly failures: unknown[] = []
  fate: Fate = () => undefined
  /** A pod that may not be made, as the Job controller reports it. */
  refusal: string | undefined
  /** What becomes of the log of an ended container. */
  keepLog: (log: Buffer) => Buffer = (log) => log

  constructor(options: JobKubeletOptions) {
    this.#options = options
  }

  start(): void {
    const loop = async () => {
      while (!this.#stopped) {
        await this.#look().catch((error: unknown) => {
          if (!this.#stopped && !isNotFound(error)) this.failures.push(error)
        })
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
    }
    this.#looking = loop()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const child of this.#running.values()) kill(child)
    await this.#looking
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get running(): number {
    return this.#running.size
  }

  /** For the API server. */
  readonly log = async (pod: KubeObject): Promise<Buffer | undefined> => {
    const chunks = this.#logs.get(pod.metadata.uid ?? '')
    return chunks === undefined ? undefined : this.keepLog(Buffer.concat(chunks))
  }

  async #look(): Promise<void> {
    const { client, namespace } = this.#options
    const jobs = (await client.list(JOB, { namespace })).items
    const pods = (await client.list(POD, { namespace })).items
    for (const job of jobs) if (!this.#seen.has(job.metadata.uid ?? '')) await this.#makePod(job)
    const living = new Set(pods.map((p) => p.metadata.uid))
    for (const [uid, child] of this.#running) if (!living.has(uid)) kill(child)
    for (const pod of pods) if (fields(pod['spec'])['nodeName'] === undefined) await this.#take(pod)
  }

  async #makePod(job: KubeObject): Promise<void> {
    const { client, namespace } = this.#options
    const { name = '', uid = '' } = job.metadata
    const template = fields(fields(job['spec'])['template'])
    const metadata = {
      name: `${name}-abcde`,
      namespace,
      labels: fields(template['metadata'])['labels'] as Record<string, string>,
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true, blockOwnerDeletion: true }],
    }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: template['spec'] } as KubeObject
    const refused =
      this.refusal ??
      (await client.create(POD, pod).then(
        () => undefined,
        (error: unknown) => String(error),
      ))
    if (refused === undefined) this.#seen.add(uid)
    else await this.#report(job, refused)
  }

  async #report({ metadata: { name = '', namespace = '', uid = '' } }: KubeObject, refused: string): Promise<void> {
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${name}.${(++this.#reported).toString(16)}` },
      involvedObject: { apiVersion: 'batch/v1', kind: 'Job', name, namespace, uid },
      reason: 'FailedCreate',
      type: 'Warning',
      message: `Error creating: ${refused}`,
      source: { component: 'job-controller' },
    } as KubeObject
    await this.#options.client.create(EVENT, event)
  }

  async #status(pod: KubeObject, status: Fields): Promise<void> {
    const { namespace = '', name = '' } = pod.metadata
    await this.#options.client
      .patch(POD, { namespace, name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error
      })
  }

  async #take(pod: KubeObject): Promise<void> {
    const { uid = '' } = pod.metadata
    if (this.#logs.has(uid)) return
    const fate = this.fate(pod)
    if (fate !== undefined) {
      this.#logs.set(uid, [])
      // Before it has a node, it has no log.
      if (fate['phase'] !== 'Pending') await this.#bind(pod)
      return this.#status(pod, fate)
    }
    // Mounted only once every ConfigMap is there.
    const folder = await this.#mounted(pod)
    if (folder === undefined) return undefined
    this.#logs.set(uid, [])
    await this.#bind(pod)
    return this.#run(pod, folder)
  }

  async #bind({ metadata: { namespace = '', name = '' } }: KubeObject): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: NODE_NAME } }
    await this.#options.client.raw({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${name}/binding`,
      body,
    })
  }

  /** The first folder that is mounted, with the files of its ConfigMaps. */
  async #mounted(pod: KubeObject): Promise<string | undefined> {
    const { client, namespace } = this.#options
    const volume = list(fields(pod['spec'])['volumes']).find((v) => 'projected' in v)
    const files = new Map<string, Buffer>()
    for (const source of list(fields(volume?.['projected'])['sources'])) {
      const map = fields(source['configMap'])
      const found = await client.get(CONFIG_MAP, { namespace, name: String(map['name']) })
      if (found === undefined) return undefined
      for (const item of list(map['items'])) {
        const data = fields(found['binaryData'])[String(item['key'])]
        files.set(String(item['path']), Buffer.from(String(data), 'base64'))
      }
    }
    const folder = join(this.#folder, pod.metadata.uid ?? '')
    mkdirSync(folder)
    for (const [path, bytes] of files) writeFileSync(join(folder, path), bytes)
    return folder
  }

  async #run(pod: KubeObject, folder: string): Promise<void> {
    const { program, env } = this.#options
    const uid = pod.metadata.uid ?? ''
    const [container = {}] = list(fields(pod['spec'])['containers'])
    const [mount] = list(container['volumeMounts'])
    const given = (Array.isArray(container['args']) ? container['args'] : []).map(String)
    const args = given.map((a) => (a === mount?.['mountPath'] ? folder : a))
    const [file = '', ...before] = program
    const child = spawn(file, [...before, ...args], {
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#running.set(uid, child)
    const chunks = this.#logs.get(uid) ?? []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    const ended = new Promise<number>((resolve) => {
      child.once('error', () => resolve(127))
      child.once('close', (code) => resolve(code ?? 137))
    })
    await this.#status(pod, {
      phase: 'Running',
      containerStatuses: [{ ...NAMES, state: { running: {} }, ready: true, started: true }],
    })
    void ended.then(async (exitCode) => {
      this.#running.delete(uid)
      kill(child)
      if (this.#stopped) return
      const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' }
      await this.#status(pod, {
        phase: exitCode === 0 ? 'Succeeded' : 'Failed',
        containerStatuses: [{ ...NAMES, state: { running: null, terminated }, ready: false }],
      }).catch(() => undefined)
    })
  }
}

const NAMES = { name: 'render', image: 'double', imageID: 'double', restartCount: 0 }

/** What a container runtime ends: everything in it. */
function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return
  for (const each of [...descendantsOf(pid), pid])
    try {
      process.kill(each, 'SIGKILL')
    } catch {
      // It has ended.
    }
}

function descendantsOf(pid: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    const direct = children === '' ? [] : children.split(' ').map(Number)
    return direct.flatMap((child) => [...descendantsOf(child), child])
  } catch {
    return []
  }
}
