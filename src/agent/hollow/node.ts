// One hollow node: the agent's own component loops, status and Node report, on a null disk and null processes. Its promises never reject.
import { defined } from '#lib/defined.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { type AcceptanceReport, machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { orderedAcceptance } from '#api/protocol/acceptance.ts'
import type { Attempt } from '#api/protocol/component-order.ts'
import { FIELD_MANAGERS, NODE_LEASES, agentLeaseKey } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { AllComponents } from '../components/all-components.ts'
import type { PermitReading } from '../components/permit-reading.ts'
import type { ProbeAnswer } from '../components/probe.ts'
import type { RebootPort } from '../components/reboot.ts'
import type { ComponentRecord } from '../components/record.ts'
import type { Staged, StageRequest } from '../components/stage.ts'
import { orderOf } from '../machine-order.ts'
import { nodeDir } from '../node-dir.ts'
import { loopbackAddress } from '../node/address.ts'
import type { HostFacts } from '../node/facts.ts'
import { isNodeDeleted } from '../node/deleted-node.ts'
import { renewLease, wasMissed, WHOLE_EACH } from '../node/leases.ts'
import { NodeObject } from '../node/node-object.ts'
import { isSameStatus, nodeStatus } from '../node/node-status.ts'
import { StatusWriter } from '../node/writer.ts'
import { readPermit } from '../permits.ts'
import type { OsPort } from '../os/port.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'
import { hasReport, machineStatus, passingMs } from '../status/machine-status.ts'
import { adoptRequests, recordOf } from './adopt.ts'
import { type Catalogue, isMissing } from './catalogue.ts'
import type { HollowFaults } from './faults.ts'
import { nullFiles } from './null-files.ts'
import { NullProcesses } from './null-processes.ts'

export interface HollowNodeOptions {
  readonly machine: string
  readonly bootId: string
  /** When that boot began; absent: with this agent. */
  readonly bootedAt?: number | undefined
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  readonly catalogue: Catalogue
  readonly faults: HollowFaults
  /** Undefined: another program renews its Lease. */
  readonly leaseMs: number | undefined
  /** False: another program owns its Node. */
  readonly registerNode: boolean
  /** Schedules a reboot of the host: another hollow node replaces this one. Undefined: the host cannot reboot. */
  readonly reboot?: ((machine: string) => Promise<void>) | undefined
  /** What the host boots. Undefined: it has no boot loader. */
  readonly os?: ((machine: string) => OsPort | undefined) | undefined
  /** What is on its disk after a reboot; undefined: only its Machine shows that. */
  readonly records?: readonly ComponentRecord[] | undefined
}

const NODE_STATUS_MS = 300_000
const ADOPT_AGAIN_MS = 2_000
const GATHER_MS = 20
const SILENT: PermitReading = { kind: 'Unknown', permit: '', why: 'the network is unavailable' }
/** The facts of a host that does not exist: small, and the same everywhere. */
const FACTS: Omit<HostFacts, 'bootId' | 'hostname'> = {
  os: 'linux',
  arch: 'amd64',
  kernel: '6.0.0-hollow',
  cpus: 1,
  memoryBytes: 2 ** 30,
}

export class HollowNode {
  readonly machine: string
  readonly #o: HollowNodeOptions
  readonly #dir
  readonly #facts: HostFacts
  readonly #node: NodeObject
  readonly #machineWriter: StatusWriter<KubeObject>
  readonly #nodeWriter: StatusWriter<KubeObject> | undefined
  readonly #readySince: number
  #components: AllComponents | undefined
  #processes: NullProcesses | undefined
  #seen: Machine | undefined
  #acceptance: AcceptanceReport | undefined
  #isAdopting = false
  #isSilent = false
  #isClosed = false
  #lastSeenAt: number
  /** Renewals since the last full write of its Leases. */
  #shortFor = WHOLE_EACH
  #heartbeat: { cancel(): void } | undefined
  #reportTimer: { cancel(): void } | undefined

  constructor(o: HollowNodeOptions) {
    const { machine, client, clock, random, log } = o
    this.machine = machine
    this.#o = o
    this.#dir = nodeDir(`/hollow/${machine}`)
    this.#facts = { ...FACTS, hostname: machine, bootId: o.bootId }
    this.#readySince = clock.now()
    this.#lastSeenAt = clock.monotonic()
    this.#node = new NodeObject({
      client,
      log,
      name: machine,
      facts: this.#facts,
      register: () => o.registerNode && this.#seen?.metadata.deletionTimestamp === undefined,
    })
    const own = { clock, random, log }
    this.#machineWriter = new StatusWriter<KubeObject>({
      ...own,
      name: 'Machine',
      compute: () => this.#machineStatus(),
      isSame: (a, b) => JSON.stringify(a) === JSON.stringify(b),
      passingMs: (before, now) =>
        passingMs(before, now, (component, attempt) => this.#components?.isOrdered(component, attempt) === true),
      write: async (object) => {
        const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
        await client.apply(machineType, object, options)
      },
    })
    this.#nodeWriter = o.registerNode
      ? new StatusWriter<KubeObject>({
          ...own,
          name: 'Node',
          heartbeatMs: NODE_STATUS_MS,
          compute: () => this.#nodeStatus(),
          isSame: isSameStatus,
          write: (object) => this.#node.applyStatus(object),
        })
      : undefined
  }

  start(): void {
    this.#nodeWriter?.touch()
    const { leaseMs, random, clock } = this.#o
    if (leaseMs !== undefined) this.#heartbeat = clock.after(random.next() * leaseMs, () => void this.#renew(leaseMs))
  }

  /** Applies what its Machine declares now. */
  obey(machine: Machine): void {
    const before = this.#seen
    this.#seen = machine
    if (this.#isSilent || this.#isClosed) return
    this.#accept(machine)
    if (this.#components === undefined) return void this.#adopt()
    const isOther = before?.metadata.uid !== machine.metadata.uid
    if (isOther) this.#machineWriter.again()
    if (isNodeDeleted(machine)) this.#nodeWriter?.again()
    if (isOther || before?.metadata.generation !== machine.metadata.generation) this.#obeySeen()
    return undefined
  }

  /** Compares its last report with the Machine from a list: a restored store has an earlier report. */
  compare(machine: Machine): void {
    if (!this.#isSilent) this.#machineWriter.compare((written) => hasReport(machine, written))
  }

  /** The network fails: nothing is received, read, written or renewed; components keep running. */
  silence(): void {
    this.#isSilent = true
  }

  noteAnswer(): void {
    this.#isSilent = false
    if (this.#components === undefined) return void (this.#seen && this.#adopt())
    this.#obeySeen()
    this.#machineWriter.touch()
    const { leaseMs } = this.#o
    if (leaseMs === undefined) return undefined
    this.#heartbeat?.cancel()
    void this.#renew(leaseMs)
    return undefined
  }

  get isSilent(): boolean {
    return this.#isSilent
  }

  /** The agent dies and starts again from its journal. */
  async crash(): Promise<void> {
    const records = this.records()
    await this.#components?.close()
    if (this.#components === undefined) return
    await this.#begin(records)
    this.#obeySeen()
  }

  /** A component's process exits: by itself, or in the given way. */
  crashComponent(component: string, end?: ProcessEnd): void {
    this.#processes?.crash(component, end)
  }

  records(): readonly ComponentRecord[] {
    return this.#components?.records ?? []
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#heartbeat?.cancel()
    this.#reportTimer?.cancel()
    this.#machineWriter.close()
    this.#nodeWriter?.close()
    await this.#components?.close()
  }

  async #adopt(): Promise<void> {
    if (this.#isAdopting) return
    this.#isAdopting = true
    while (!this.#isClosed && this.#components === undefined) {
      try {
        const { records } = this.#o
        await this.#begin(records ?? (await this.#recordsOf(this.#seen)), records !== undefined)
      } catch (error) {
        this.#o.log.warn('cannot start the hollow node', { machine: this.machine, error })
        await this.#o.clock.sleep(ADOPT_AGAIN_MS)
      }
    }
    this.#isAdopting = false
    if (!this.#isSilent && !this.#isClosed) this.#obeySeen()
  }

  async #recordsOf(machine: Machine | undefined): Promise<readonly ComponentRecord[]> {
    const records: ComponentRecord[] = []
    for (const adopting of machine === undefined ? [] : adoptRequests(machine, this.#o.clock.monotonic())) {
      const [current, next] = [
        await this.#slotOf(adopting.report.name, adopting.inUse),
        await this.#slotOf(adopting.report.name, adopting.wanted),
      ]
      const record = recordOf(adopting, current, next)
      if (record !== undefined) records.push(record)
    }
    return records
  }

  async #slotOf(name: string, target: Attempt | undefined) {
    if (target === undefined) return undefined
    try {
      return (await this.#o.catalogue.stage({ name, ...target })).slot
    } catch (e) {
      if (isMissing(e)) return undefined
      throw e
    }
  }

  async #begin(records: readonly ComponentRecord[], isBoot = false): Promise<void> {
    const { clock, random, log, client, catalogue, faults } = this.#o
    const versionIn = (slot: string) => catalogue.slot(slot)?.version ?? ''
    const processes = new NullProcesses(
      (component, slot) => faults.behavior(this.machine, component, versionIn(slot)) === 'Crashes',
    )
    const components: AllComponents = new AllComponents({
      files: nullFiles({ dir: this.#dir, records, specOf: (slot) => catalogue.specOf(slot) }),
      dir: this.#dir,
      clock,
      random,
      log,
      processes,
      runHook: () => Promise.resolve(),
      stage: (request, signal) => this.#stage(request, signal),
      readPermit: (target, permit, operations) =>
        this.#isSilent
          ? Promise.resolve({ ...SILENT, permit })
          : readPermit(client, permit, { operations, targets: this.#targets(), target }),
      reboots: this.#reboots(),
      ...defined({ os: this.#o.os?.(this.machine) }),
      readNodePending: () => (this.#isSilent ? Promise.resolve(undefined) : this.#node.isPending()),
      runProbe: (probe, component) => Promise.resolve(this.#answerOf(probe.name, component)),
      onChange: () => this.#reportSoon(),
    })
    this.#processes = processes
    this.#components = components
    // Processes that ran when the agent died are still running.
    for (const { component, current } of isBoot ? [] : records) {
      const service = current && catalogue.specOf(current.id)?.service
      if (current !== undefined && service !== undefined)
        await processes.start({ component, slot: current.id, service })
    }
    await components.load()
  }

  #reboots(): RebootPort {
    const { bootId: id, clock, reboot, bootedAt = clock.now() } = this.#o
    let isRequested = false
    const refusal = reboot === undefined ? { refusal: 'no provider restarts it' } : {}
    return {
      boot: () => Promise.resolve({ id, upMs: clock.monotonic(), bootedAt, isRequested, ...refusal }),
      request: async () => {
        isRequested = true
        this.#machineWriter.touch()
        await reboot?.(this.machine)
      },
      withdraw: () => Promise.resolve(),
    }
  }

  /** Staging and starting take no time here, so consecutive steps are merged into one report, as on a slow disk. */
  #reportSoon(): void {
    this.#reportTimer ??= this.#o.clock.after(GATHER_MS, () => {
      this.#reportTimer = undefined
      this.#machineWriter.touch()
    })
  }

  async #stage(request: StageRequest, signal: AbortSignal): Promise<Staged> {
    const { clock, faults, catalogue } = this.#o
    const ms = faults.stageMs(this.machine, request.name, request.version)
    if (ms > 0) await clock.sleep(ms, signal)
    const staged = await catalogue.stage(request)
    signal.throwIfAborted()
    return staged
  }

  #answerOf(probe: string, component: string): ProbeAnswer {
    const { version = '' } = this.records().find((r) => r.component === component)?.current ?? {}
    const isBad = this.#o.faults.behavior(this.machine, component, version) === 'ProbeFails'
    return isBad ? { kind: 'Fail', message: `${probe} is not well in ${version}` } : PASS
  }

  #obeySeen(): void {
    if (this.#seen === undefined || this.#components === undefined) return
    this.#components.obey(orderOf(this.#seen))
    this.#reportSoon()
  }

  /** It has nothing to test: the attempt ends at once. */
  #accept(machine: Machine): void {
    const order = orderedAcceptance(machine)
    if (order === undefined || order.run === this.#acceptance?.run) return
    const { faults, clock } = this.#o
    const at = timestamp(clock.now())
    const outcome = faults.isAccepted?.(this.machine) === false ? 'Failed' : 'Succeeded'
    this.#acceptance = { run: order.run, startedAt: at, finishedAt: at, outcome }
    this.#reportSoon()
  }

  #targets(): readonly string[] {
    return [this.#seen?.metadata.uid, this.#node.knownUid].flatMap((u) => u ?? [])
  }

  #machineStatus(): KubeObject | undefined {
    if (this.#isSilent || this.#components === undefined || this.#seen === undefined) return undefined
    const { faults, version } = this.#o
    const components = this.#components.reports().map((report) => faults.report(this.machine, report))
    return machineStatus({ name: this.machine, facts: this.#facts, version, components, acceptance: this.#acceptance })
  }

  #nodeStatus(): KubeObject | undefined {
    if (this.#isSilent) return undefined
    const observed = {
      name: this.machine,
      facts: this.#facts,
      address: loopbackAddress('hollow', this.machine),
      version: this.#o.version,
      problems: [],
      readySince: this.#readySince,
    }
    return nodeStatus(observed, this.#o.clock.now(), { ready: true })
  }

  /** Renews its own Lease, and the Lease of its Node: without it the node controller does not consider the Node Ready. */
  async #renew(leaseMs: number): Promise<void> {
    const { client, clock, random, log, registerNode } = this.#o
    const { machine } = this
    // A policy ties an agent's Lease to its own Machine.
    const machineUid = () => this.#seen?.metadata.uid
    const own = { ...agentLeaseKey(machine), holder: machine, machineUid }
    const leases = registerNode ? [own, { namespace: NODE_LEASES, name: machine, holder: machine }] : [own]
    try {
      if (!this.#isSilent) {
        const isShort = this.#shortFor < WHOLE_EACH
        this.#shortFor = isShort ? this.#shortFor + 1 : 0
        const deps = { client, clock, everyMs: leaseMs }
        await Promise.all(leases.map((lease) => renewLease(deps, lease, undefined, isShort)))
        const silentMs = clock.monotonic() - this.#lastSeenAt
        this.#lastSeenAt = clock.monotonic()
        // The node controller may have marked it Unknown meanwhile, up to the moment of this renewal.
        if (wasMissed(silentMs, leaseMs)) this.#nodeWriter?.again()
      }
    } catch (error) {
      this.#shortFor = WHOLE_EACH
      log.warn('cannot renew the lease', { machine, error })
    }
    if (!this.#isClosed) this.#heartbeat = clock.after(random.jitter(leaseMs), () => void this.#renew(leaseMs))
  }
}

const PASS: ProbeAnswer = { kind: 'Pass' }
