// Runs the built-in detectors: each at its interval with jitter, one run per detector at a time, every run bounded. A failed run reports nothing and is counted.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Files } from '../../files/port.ts'
import { isNodeFrozen } from '../../frozen.ts'
import { pairFile, onNode, type NodeDir } from '../../node-dir.ts'
import { clockAheadMs, spaceAt } from '../../played-host.ts'
import type { ComponentProblem } from '../component-problems.ts'
import { HealthCheck, realHealthPorts } from '../npd/health-check.ts'
import type { HealthComponent, HealthOptions } from '../npd/health-options.ts'
import type { ConditionStore } from '../npd/monitor-port.ts'
import type { ProblemBoard } from '../problem-board.ts'
import { judgeCertificates, lifeOf } from './certificates.ts'
import { judgeSkew, skewMs } from './clock-skew.ts'
import { followCrashes, judgeCrashes, NO_CRASHES } from './crash-loops.ts'
import { type FreeHistory, followFree, judgeRates, RATE_NEEDS_MS } from './disk-rates.ts'
import { diskRoom, judgeDisks } from './disk.ts'
import { followSleepers, judgeHung, sleepingTask, type Sleeper } from './hung-tasks.ts'
import type { Reading } from './reading.ts'
import { rebootRequired } from './reboot-detection.ts'
import { askNames, hasNameServers, judgeNames, namesToAsk, NOT_ASKED } from './name-lookups.ts'
import { judgeLatency, slowInARow } from './latency.ts'
import { judgeReadOnly, namedBefore, parseMounts } from './read-only.ts'
import { bootDetection, imagePullsDetection } from './service-detections.ts'
import { hardwareDetections, type HardwareName } from '../hardware/hardware-detections.ts'
import { type HostFiles, hostFiles, hostFilesUnder, partsIn } from '../../metrics/host-files.ts'
import { DETECTOR_CONDITIONS, type DetectorName, type DetectorSettings } from '#api/agent-config/detector-settings.ts'

export interface DetectorsDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly client: Pick<KubeClient, 'raw'>
  /** Address of the API server. */
  readonly server: string
  readonly settings: DetectorSettings
  readonly board: Pick<ProblemBoard, 'open'>
  readonly components: () => ReadonlyMap<string, ComponentProblem | undefined>
  /** Empty: the machine has none. Undefined: not known yet. */
  readonly machineClass: () => string | undefined
}

type Detect = () => Promise<readonly Reading[]>

interface ServiceSettings {
  readonly timeoutMs: number
  readonly cooldownMs: number
  readonly restart: boolean
}

interface Detector {
  readonly name: DetectorName
  readonly everyMs: number
  readonly detect: Detect
}

/** Their conditions are found by others too: a source of their own, so that neither ends what the other one found. */
const APART: ReadonlySet<DetectorName> = new Set(['rasdaemon', 'dcgm', 'redfish', 'eventLog'])

const MAX_PROCESSES = 5_000
const CALL_MS = 5_000
const ASK_SERVER_AFTER_MS = 5_000
/** There while systemd runs the host. */
const SYSTEMD = '/run/systemd/system'
const MOUNTS = '/proc/self/mountinfo'
const UNIT_FOLDERS = ['/etc/systemd/system', '/run/systemd/system', '/lib/systemd/system', '/usr/lib/systemd/system']

export class Detectors {
  readonly #deps: DetectorsDeps
  readonly #timers = new Map<DetectorName, { cancel(): void }>()
  readonly #failures = new Map<DetectorName, number>()
  #crashes = NO_CRASHES
  #startedAt = 0
  /** Conditions found by a previous agent. */
  #kept: ReadonlySet<string> = new Set()
  #conditions: ConditionStore | undefined
  readonly #apart = new Map<DetectorName, ConditionStore>()
  #isClosed = false

  constructor(deps: DetectorsDeps) {
    this.#deps = deps
  }

  get failures(): ReadonlyMap<DetectorName, number> {
    return this.#failures
  }

  start(): void {
    const { clock, board } = this.#deps
    this.#startedAt = clock.monotonic()
    const all = this.#all()
    const together = all.filter(({ name }) => !APART.has(name))
    const types = new Set<string>(together.flatMap(({ name }) => DETECTOR_CONDITIONS[name]))
    for (const { name } of all.filter((d) => APART.has(d.name))) {
      const own: readonly string[] = DETECTOR_CONDITIONS[name]
      this.#apart.set(name, board.open(`detectors/${name}`, { owns: (type) => own.includes(type) }))
    }
    this.#conditions = board.open('detectors', { owns: (type) => types.has(type) })
    this.#kept = new Set([...types].filter((t) => this.#isTrue(t)))
    for (const detector of all) {
      // Reuses an open connection: ten thousand agents starting at once must not open more than necessary.
      if (detector.name === 'clock') this.#later(detector, Math.min(detector.everyMs, ASK_SERVER_AFTER_MS))
      else void this.#run(detector)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers.values()) timer.cancel()
  }

  /** Crashes are counted as they happen, not on a timer. */
  noteComponents(found: ReadonlyMap<string, ComponentProblem | undefined>): void {
    const { clock, settings } = this.#deps
    this.#crashes = followCrashes(this.#crashes, found, clock.monotonic(), settings.crashLoops.windowMs)
  }

  async #run(detector: Detector): Promise<void> {
    const { random, log } = this.#deps
    const { name, everyMs, detect } = detector
    try {
      for (const reading of await detect()) this.#show(name, reading)
    } catch (error) {
      const failed = (this.#failures.get(name) ?? 0) + 1
      this.#failures.set(name, failed)
      // Logged once: a detector that fails all day must not fill the disk with log lines.
      if (failed === 1) log.warn('detector failed', { detector: name, error })
    }
    this.#later(detector, random.jitter(everyMs))
  }

  #later(detector: Detector, ms: number): void {
    if (this.#isClosed) return
    this.#timers.set(
      detector.name,
      this.#deps.clock.after(ms, () => void this.#run(detector)),
    )
  }

  #show(name: DetectorName, { type, ...rest }: Reading): void {
    const conditions = this.#apart.get(name) ?? this.#conditions
    if (this.#isClosed || conditions === undefined) return
    // A detector whose condition was never true adds none: thirty idle conditions on each of ten thousand nodes help no reader.
    if (rest.status === 'False' && conditions.problem(type) === undefined) return
    conditions.find(type, { ...rest, isKept: true })
  }

  /** A condition found by a previous agent stays until this one has watched long enough. */
  #unlessTooSoon(reading: Reading, neededMs: number): readonly Reading[] {
    const isTrue = this.#isTrue(reading.type)
    const isTooSoon = this.#deps.clock.monotonic() - this.#startedAt < neededMs
    return reading.status === 'False' && isTrue && isTooSoon && this.#kept.has(reading.type) ? [] : [reading]
  }

  /** Only the detectors' own finding: reports from other sources do not change the detectors' thresholds. */
  #isTrue(type: string): boolean {
    return this.#conditions?.problem(type)?.isTrue === true
  }

  #all(): readonly Detector[] {
    const { settings, dir } = this.#deps
    // A node that is a folder does not report on the processes, mounts, services and parts of its machine.
    const isHost = dir.root === '/'
    const host = isHost ? hostFiles : hostFilesUnder(dir.root)
    const ofNode: Readonly<Record<Exclude<DetectorName, HardwareName>, Detect | undefined>> = {
      disk: this.#disk(),
      readOnly: this.#readOnly(host),
      clock: this.#clock(),
      nameLookups: isHost ? this.#nameLookups() : undefined,
      crashLoops: () => this.#crashLoops(),
      certificates: () => this.#certificates(),
      imagePulls: isHost ? this.#imagePulls() : undefined,
      boot: isHost && existsSync(SYSTEMD) ? bootDetection(settings.boot) : undefined,
      hungTasks: this.#hungTasks(host),
      rebootRequired: () => rebootRequired(this.#deps),
      kubelet: isHost ? this.#kubelet() : undefined,
      runtime: isHost ? this.#runtime() : undefined,
    }
    const detections = new Map<string, Detect | undefined>([
      ...Object.entries(ofNode),
      ...Object.entries(this.#hardware(host)),
    ])
    return (Object.keys(DETECTOR_CONDITIONS) as DetectorName[]).flatMap((name): Detector[] => {
      const { isOn, everyMs } = settings[name]
      const detect = detections.get(name)
      return isOn && detect !== undefined ? [{ name, everyMs, detect }] : []
    })
  }

  #hardware(host: HostFiles) {
    const { clock, settings, dir, machineClass } = this.#deps
    return hardwareDetections({
      host,
      root: dir.root,
      clock,
      settings,
      isTrue: (type) => this.#isTrue(type),
      machineClass,
      unlessTooSoon: (readings, neededMs) => readings.flatMap((r) => this.#unlessTooSoon(r, neededMs)),
    })
  }

  #disk(): Detect {
    const { dir, settings, clock } = this.#deps
    let free: FreeHistory = []
    return async () => {
      const stats = await Promise.all(
        settings.disk.paths.map(async (path) => {
          const stat = await spaceAt(dir, onNode(dir, path)).catch(() => undefined)
          return stat === undefined ? [] : [{ path, stat }]
        }),
      )
      const rooms = stats.flat().map(({ path, stat }) => diskRoom(path, stat))
      const bytes = stats
        .flat()
        .flatMap(({ path, stat: { bavail, bsize, blocks, ffree, files } }) => [
          { path, free: bavail * bsize, total: blocks * bsize },
          ...(files > 0 ? [{ path: `${path} (inodes)`, free: ffree, total: files }] : []),
        ])
      free = followFree(free, bytes, clock.monotonic())
      return [
        ...judgeDisks(rooms, settings.disk, (type) => this.#isTrue(type)),
        ...judgeRates(free, settings.disk).flatMap((r) => this.#unlessTooSoon(r, RATE_NEEDS_MS)),
      ]
    }
  }

  #readOnly({ read }: HostFiles): Detect {
    const { settings, dir } = this.#deps
    let writable: ReadonlySet<string> | undefined
    return async () => {
      const kept = this.#conditions?.problem('FilesystemReadOnly')
      const text = read(MOUNTS)
      if (text === undefined && dir.root === '/') throw new Error(`${MOUNTS} cannot be read`)
      const mounts = parseMounts(text ?? '')
      writable ??= namedBefore(mounts, kept?.isTrue === true ? kept.message : '')
      const detect = judgeReadOnly(mounts, writable, settings.readOnly.mustWrite)
      writable = detect.writable
      return [detect.reading]
    }
  }

  #clock(): Detect {
    const { client, clock, settings, dir } = this.#deps
    let before: number | undefined
    return async () => {
      const beganAt = clock.now()
      const answer = await client.raw({ method: 'GET', path: '/version', timeoutMs: CALL_MS }).catch(() => undefined)
      const ahead = clockAheadMs(dir)
      const now = skewMs(answer?.headers['date'], beganAt + ahead, clock.now() + ahead)
      const reading = judgeSkew(before, now, settings.clock.maxSkewMs)
      before = now
      return reading === undefined ? [] : [reading]
    }
  }

  #nameLookups(): Detect {
    const { settings, server } = this.#deps
    const names = namesToAsk(settings.nameLookups, server)
    let failures = 0
    return async () => {
      if (names.length === 0 || !hasNameServers(hostFiles.read('/etc/resolv.conf'))) return [NOT_ASKED]
      const failure = await askNames(names, settings.nameLookups.timeoutMs)
      failures = failure === undefined ? 0 : failures + 1
      return judgeNames(failures, failure, settings.nameLookups)
    }
  }

  async #crashLoops(): Promise<readonly Reading[]> {
    const { components, settings } = this.#deps
    this.noteComponents(components())
    return this.#unlessTooSoon(judgeCrashes(this.#crashes, settings.crashLoops.crashes), settings.crashLoops.windowMs)
  }

  async #certificates(): Promise<readonly Reading[]> {
    const { dir, clock, settings } = this.#deps
    const { paths, minLeftPercent } = settings.certificates
    const files = [pairFile(dir), ...paths.map((p) => onNode(dir, p))]
    const lives = await Promise.all(
      files.map(async (path) => lifeOf(path, await readFile(path, 'utf8').catch(() => ''))),
    )
    const known = lives.flatMap((l) => (l === undefined ? [] : [l]))
    return [judgeCertificates(known, clock.now(), minLeftPercent)]
  }

  #hungTasks(host: HostFiles): Detect {
    const { clock, settings } = this.#deps
    let sleepers: ReadonlyMap<number, Sleeper> = new Map()
    return async () => {
      const now = clock.monotonic()
      sleepers = followSleepers(sleepers, sleepingTasks(host), now)
      return this.#unlessTooSoon(judgeHung(sleepers, now, settings.hungTasks.afterMs), settings.hungTasks.afterMs)
    }
  }

  #imagePulls(): Detect | undefined {
    if (!hasUnit('kubelet')) return undefined
    const { clock, settings } = this.#deps
    return imagePullsDetection(clock, settings.imagePulls, hostFiles.list, (r, ms) => this.#unlessTooSoon(r, ms))
  }

  #kubelet(): Detect | undefined {
    if (!hasUnit('kubelet')) return undefined
    return this.#service('kubelet', 'kubelet', 'KubeletUnhealthy', 'KubeletIsHealthy', this.#deps.settings.kubelet)
  }

  #runtime(): Detect | undefined {
    const { runtime } = this.#deps.settings
    const service = runtime.services.find((s) => hasUnit(s))
    if (service === undefined) return undefined
    const component = service === 'docker' ? 'docker' : 'cri'
    const detect = this.#service(component, service, 'ContainerRuntimeUnhealthy', 'ContainerRuntimeIsHealthy', runtime)
    const { clock } = this.#deps
    let inARow = 0
    return async () => {
      const beganAt = clock.monotonic()
      const readings = await detect()
      if (readings.some((r) => r.status !== 'False')) return readings
      inARow = slowInARow(inARow, clock.monotonic() - beganAt, runtime)
      return [...readings, ...judgeLatency(inARow, service, runtime)]
    }
  }

  #service(
    component: HealthComponent,
    service: string,
    type: string,
    healthy: string,
    { timeoutMs, cooldownMs, restart }: ServiceSettings,
  ): Detect {
    const socket = service === 'crio' ? '/var/run/crio/crio.sock' : `/var/run/${service}/${service}.sock`
    const options: HealthOptions = {
      component,
      service,
      mayRepair: restart,
      timeoutMs,
      cooldownMs,
      socket: service === 'docker' ? '/var/run/docker.sock' : socket,
      logPatterns: [],
      loopbackMs: 0,
    }
    const { clock, files, dir } = this.#deps
    const check = new HealthCheck(options, realHealthPorts(clock, isNodeFrozen(files, dir)))
    return async () => {
      const { status, message } = await check.run()
      return [
        status === 'Ok'
          ? { type, status: 'False', reason: healthy, message: `${service} answers` }
          : { type, status: 'True', reason: type, message },
      ]
    }
  }
}

const hasUnit = (service: string): boolean => UNIT_FOLDERS.some((f) => existsSync(`${f}/${service}.service`))

/** A process that ended in between has no file. */
const sleepingTasks = ({ read, list }: HostFiles) =>
  partsIn(list, '/proc', /^\d+$/, MAX_PROCESSES).flatMap((pid) => sleepingTask(read(`/proc/${pid}/stat`) ?? '') ?? [])
