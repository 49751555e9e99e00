// A node for tests of components: a file system in memory, simulated processes, an API and an artifact store that are maps.
// A new agent on the same disk is a new FakeNode with the same `disk` and `processes`.
import { systemRandom } from '#lib/random.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ProbeReading, ProcessReading } from '#agent/components/seen.ts'
import type { PermitReading } from '#agent/components/permit-reading.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import { ComponentWorker } from '#agent/components/worker.ts'
import type { BootHost } from '#agent/os/boot-host.ts'
import { HostOs } from '#agent/os/host-os.ts'
import { type Mate, mateOf } from '#agent/components/shared-reboot.ts'
import { readSlot } from '#agent/components/slot.ts'
import { stage } from '#agent/components/stage.ts'
import { TrustStore } from '#agent/components/trust-store.ts'
import type { ProbeAnswer } from '#agent/components/probe.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import type { Files } from '#agent/files/port.ts'
import { isNodeFrozen } from '#agent/frozen.ts'
import { nodeDir, currentLink, trustFile, trustFromHostFile, type NodeDir } from '#agent/node-dir.ts'
import type { AdoptionMode } from '#agent/components/adoption.ts'
import type { KeptUnit } from '#agent/components/kept.ts'
import type { Processes, Release as ProcessRelease, StartRequest } from '#agent/supervise/port.ts'
import type { ProcessEnd } from '#agent/supervise/process-end.ts'
import type { Clock } from '#lib/clock.ts'
import type { Publisher, Release } from './release.ts'

/** Processes survive the agent. */
export class FakeProcesses implements Processes {
  readonly running = new Map<string, StartRequest>()
  readonly readings = new Map<string, ProcessReading>()
  readonly starts: string[] = []
  stops = 0
  /** True: the power is off, nothing can be started any longer. */
  isDead: () => boolean = () => false
  /** Why it cannot be started; undefined: it can. */
  refuses: (request: StartRequest) => string | undefined = () => undefined
  /** A stop waits for this. */
  stopping: () => Promise<void> = async () => undefined
  #listeners: ((component: string) => void)[] = []

  async adopt(): Promise<void> {
    this.#listeners = []
  }

  async start(request: StartRequest): Promise<void> {
    if (this.isDead()) throw new Error('the power went')
    const refusal = this.refuses(request)
    if (refusal !== undefined) throw new Error(refusal)
    const old = this.running.get(request.component)
    if (old !== undefined && this.reading(request.component) === 'Running') {
      if (old.slot === request.slot) return
      if (request.keep === true) {
        this.running.set(request.component, request)
        return
      }
    }
    this.running.set(request.component, request)
    this.readings.set(request.component, 'Running')
    const isAdopted = old === undefined && this.foreign.get(request.component)?.active === 'active'
    if (isAdopted && request.notThis === undefined) {
      this.originals.add(request.component)
      return
    }
    this.originals.delete(request.component)
    this.#replaced.add(request.component)
    this.starts.push(request.slot)
  }

  async stop(component: string): Promise<void> {
    if (this.isDead()) throw new Error('the power went')
    await this.stopping()
    if (this.running.delete(component)) this.stops++
    this.readings.delete(component)
  }

  /** Units that other programs made, by component. */
  readonly foreign = new Map<string, KeptUnit>()
  readonly released: { readonly component: string; readonly release: ProcessRelease }[] = []
  async standing(component: string): Promise<KeptUnit | undefined> {
    return this.running.has(component) ? undefined : this.foreign.get(component)
  }
  /** Adopted processes are not started: the first of them is the original. */
  readonly originals = new Set<string>()
  readonly #replaced = new Set<string>()
  async isMain(component: string): Promise<boolean> {
    const isUntouched = this.foreign.get(component)?.active === 'active' && !this.#replaced.has(component)
    return this.originals.has(component) || (isUntouched && !this.running.has(component))
  }
  async release(component: string, _service: unknown, release: ProcessRelease): Promise<void> {
    if (this.isDead()) throw new Error('the power went')
    this.running.delete(component)
    this.readings.delete(component)
    this.released.push({ component, release })
  }

  readonly signals: string[] = []
  signal(_component: string, signal: string): void {
    this.signals.push(signal)
  }
  reading(component: string): ProcessReading {
    return this.readings.get(component) ?? 'Stopped'
  }
  describe(): string | undefined {
    return undefined
  }
  readonly ends = new Map<string, ProcessEnd>()
  end(component: string): ProcessEnd | undefined {
    return this.reading(component) === 'Running' ? undefined : this.ends.get(component)
  }
  /** The last output of every component. */
  output = ''
  async lastOutput(): Promise<string> {
    return this.output
  }
  brakeMs(): number {
    return 0
  }
  onChange(listener: (component: string) => void): void {
    this.#listeners.push(listener)
  }
  change(component: string, reading: ProcessReading, end?: ProcessEnd): void {
    this.readings.set(component, reading)
    if (end !== undefined) this.ends.set(component, end)
    for (const l of this.#listeners) l(component)
  }
  close(): void {}
}

/** Of the one component of the node. */
export type TestOrder = Omit<ComponentOrder, 'name'>

export interface FakeNodeOptions {
  readonly publisher: Publisher
  readonly releases: readonly Release[]
  readonly clock: Clock
  readonly disk?: MemoryFiles
  /** Another medium than the disk in memory, and the folder of the node on it. */
  readonly medium?: { readonly files: Files; readonly folder: string }
  readonly processes?: FakeProcesses
  readonly permit?: (name: string) => PermitReading
  readonly pending?: () => boolean | undefined
  /** The probe result, by the version that is actually installed. */
  readonly probe?: (version: string) => ProbeAnswer
  readonly adoption?: AdoptionMode
  /** Bytes that are served in place of the real ones. */
  readonly serve?: (url: string) => Buffer | undefined
  readonly runHook?: () => Promise<void>
  readonly hungHook?: () => number | undefined
  /** The boot that the agent runs in. */
  readonly bootId?: string
  /** When that boot began; without it, with the agent. */
  readonly bootedAt?: number
  /** Why the machine cannot reboot. */
  readonly cannotReboot?: string
  /** The boot loader of the machine. */
  readonly bootHost?: BootHost
  /** An agent from before there were reboots. */
  readonly hasNoReboots?: boolean
  /** The other components of the machine, and whether this agent has requested a reboot for one of them. */
  readonly others?: () => readonly FakeNode[]
}

export class FakeNode {
  readonly dir: NodeDir
  readonly files: MemoryFiles
  readonly #medium: Files
  readonly processes: FakeProcesses
  readonly worker: ComponentWorker
  readonly permitsRead: string[] = []
  /** What would be reported, each time that it changed. */
  readonly told: { readonly state: string | undefined; readonly waiting: string | undefined }[] = []
  apiIsAway = false
  adoption: AdoptionMode
  isObserved = false
  refusal: string | undefined
  /** Reboots requested by this agent, which the caller carries out. */
  reboots = 0
  withdrawn = 0
  readonly bootedAt: number
  /** How long the machine has run. */
  upMs: (() => number) | undefined

  constructor(o: FakeNodeOptions, component = 'beacon') {
    this.dir = nodeDir(o.medium?.folder ?? '/node')
    this.files = o.disk ?? new MemoryFiles()
    this.#medium = o.medium?.files ?? this.files
    this.bootedAt = o.bootedAt ?? o.clock.now()
    this.adoption = o.adoption ?? 'Refuse'
    this.processes = o.processes ?? new FakeProcesses()
    this.processes.isDead = () => this.files.isDead
    const { dir } = this
    const files = this.#medium
    const away = (): void => {
      if (this.apiIsAway) throw new Error('the API server is unavailable')
    }
    const client = {
      get: async (_type: unknown, { name }: { readonly name: string }) => {
        away()
        return o.releases.find((r) => r.object.metadata.name === name)?.object
      },
    } as unknown as Pick<KubeClient, 'get'>
    const trust = new TrustStore({
      files,
      path: trustFile(dir),
      fromHost: trustFromHostFile(dir),
      clock: o.clock,
      anchor: o.publisher.anchor,
      fetchNewest: async () => o.publisher.trust(),
    })
    const fetcher = {
      async *open(place: string, _most: number, _signal: AbortSignal, from = 0) {
        const all = o.serve?.(place) ?? o.releases.find((r) => r.url === place)?.artifact ?? Buffer.alloc(0)
        yield all.subarray(from)
      },
    }
    const os = o.bootHost && new HostOs({ host: o.bootHost, files, dir, log: silentLogger, arch: 'amd64' })
    this.processes.onChange(() => this.worker.wake())
    this.worker = new ComponentWorker(
      {
        files,
        dir,
        clock: o.clock,
        random: systemRandom,
        log: silentLogger,
        processes: this.processes,
        runHook: o.runHook ?? (async () => undefined),
        ...defined({ hungHook: o.hungHook }),
        machine: 'n-1',
        adoption: () => this.adoption,
        isObserved: () => this.isObserved,
        refusal: async () => this.refusal,
        stage: (request, signal) =>
          stage(
            {
              files,
              dir,
              client,
              trust,
              fetcher,
              clock: o.clock,
              platform: { os: 'linux', arch: 'amd64' },
              ...defined({ os }),
            },
            request,
            signal,
          ),
        readPermit: async (permit, forReboot) => {
          this.permitsRead.push(permit)
          if (this.apiIsAway) return { kind: 'Unknown', permit, why: 'the API server is unavailable' }
          return o.permit?.(permit) ?? { kind: 'Granted', permit, ...(forReboot && { forReboot }) }
        },
        ...defined({ os }),
        ...(o.hasNoReboots !== true && {
          reboots: {
            boot: async () => ({
              id: o.bootId ?? 'boot-1',
              upMs: this.upMs?.() ?? o.clock.monotonic(),
              bootedAt: this.bootedAt,
              isRequested: [this, ...(o.others?.() ?? [])].some((node) => node.reboots > 0),
              ...defined({ refusal: o.cannotReboot }),
            }),
            request: async () => {
              if (this.files.isDead) throw new Error('the power went')
              this.reboots++
            },
            withdraw: async () => {
              this.withdrawn++
            },
          },
        }),
        readNodePending: async () => (this.apiIsAway ? undefined : (o.pending?.() ?? true)),
        // A probe never throws.
        runProbe: async () => {
          const content = await this.contentInUse().catch(() => undefined)
          return o.probe?.(content?.split(' ')[1] ?? '') ?? { kind: 'Pass' }
        },
        missingRequirement: () => undefined,
        mates: async () => (await Promise.all((o.others?.() ?? []).map((node) => node.asMate()))).flat(),
        isNodeFrozen: isNodeFrozen(files, dir),
        onChange: () => {
          const { record, waiting } = this.worker
          this.told.push({ state: record?.state, waiting })
          for (const node of o.others?.() ?? []) if (node.worker.record?.open?.reboot !== undefined) node.worker.wake()
        },
      },
      component,
    )
  }

  /** As the Machine orders it; undefined: the Machine no longer lists it. */
  obey(order: TestOrder | undefined): void {
    this.worker.setOrder(order === undefined ? 'None' : { name: this.worker.component, ...order })
  }

  async start(): Promise<void> {
    await this.load()
    this.worker.wake()
  }

  /** An agent loads all components before it continues with one. */
  async load(): Promise<void> {
    await this.processes.adopt()
    this.processes.onChange(() => this.worker.wake())
    await this.worker.load()
  }

  async asMate(): Promise<readonly Mate[]> {
    const { record, component, order, probes } = this.worker
    if (record === undefined) return []
    const slot = record.open?.to ?? record.staged
    const spec = slot && (await readSlot({ files: this.#medium, dir: this.dir }, component, slot.id))
    return [mateOf({ component, record, order, probes }, spec)]
  }

  get probes(): ProbeReading {
    return this.worker.probes
  }

  /** What a user of the component would find. */
  async contentInUse(): Promise<string | undefined> {
    return (await this.#medium.read(`${this.dir.root}/opt/beacon/bin/beacon`))?.toString()
  }

  linkInUse(): Promise<string | undefined> {
    return this.#medium.readLink(currentLink(this.dir, 'beacon'))
  }
}
