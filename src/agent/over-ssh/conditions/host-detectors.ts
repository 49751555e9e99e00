// The detectors that work on a host without an agent: the same judgements as an agent's, fed once a round. Those that are not named here report nothing, and
// none takes "could not be read" for "healthy".
import type { Clock } from '#lib/clock.ts'
import { DETECTOR_CONDITIONS, DETECTOR_DEFAULTS, type DetectorName } from '#api/agent-config/detector-settings.ts'
import type { Channel } from '#ssh/channel.ts'
import type { HostFiles } from '../../metrics/host-files.ts'
import { judgeBoot } from '../../detect/builtin/boot-time.ts'
import { judgeCertificates } from '../../detect/builtin/certificates.ts'
import { judgeSkew } from '../../detect/builtin/clock-skew.ts'
import { type FreeHistory, followFree, judgeRates, RATE_NEEDS_MS } from '../../detect/builtin/disk-rates.ts'
import { diskRoom, judgeDisks } from '../../detect/builtin/disk.ts'
import { followSleepers, judgeHung, type Sleeper } from '../../detect/builtin/hung-tasks.ts'
import type { Reading } from '../../detect/builtin/reading.ts'
import { judgeReadOnly, namedBefore, parseMounts } from '../../detect/builtin/read-only.ts'
import { judgeReboot } from '../../detect/builtin/reboot-required.ts'
import { hardwareDetections, type HardwareName } from '../../detect/hardware/hardware-detections.ts'
import type { Problem } from '../../detect/problems.ts'
import { type HostLooks, lookAt, type ServiceLook } from './host-looks.ts'
import { type Asked, NOTHING_ASKED, snapshotOf } from './host-snapshot.ts'

/** They read small files. The others run programs of vendors, ask sockets, or follow logs. */
const FROM_FILES = [
  'memory',
  'throttling',
  'pcie',
  'storage',
  'links',
  'kernelLimits',
  'firmware',
  'sensors',
  'fpga',
] as const satisfies readonly HardwareName[]

export const DETECTORS_OVER_SSH: readonly DetectorName[] = [
  'disk',
  'readOnly',
  'clock',
  'certificates',
  'boot',
  'hungTasks',
  'rebootRequired',
  'kubelet',
  'runtime',
  ...FROM_FILES,
]

export const CONDITIONS_OVER_SSH: ReadonlySet<string> = new Set(
  DETECTORS_OVER_SSH.flatMap((n) => DETECTOR_CONDITIONS[n]),
)

/** Sooner, nothing has changed: a visit that follows a change of the Machine. */
const EVERY_MS = 50_000
const MOUNTS = '/proc/self/mountinfo'
/** Under which the detectors look for programs of the host; there is none here. */
const NO_ROOT = '/proc/none'
const settings = DETECTOR_DEFAULTS

export interface LookDeps {
  readonly channel: Pick<Channel, 'ask'>
  readonly upMs: () => number
  /** What was found before, by these detectors alone. */
  readonly problem: (type: string) => Problem | undefined
}

/** Of one boot of a host: what rounds must remember, such as counters that grow. Lost with the process, as an agent's memory is. */
export class HostDetectors {
  readonly bootId: string
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #hardware: ReturnType<typeof hardwareDetections>
  #host: HostFiles = { read: () => undefined, list: () => [] }
  #problem: LookDeps['problem'] = () => undefined
  #asked: Asked = NOTHING_ASKED
  #lookedAt: number | undefined
  #kept: ReadonlySet<string> | undefined
  #free: FreeHistory = []
  #writable: ReadonlySet<string> | undefined
  #sleepers: ReadonlyMap<number, Sleeper> = new Map()
  #skew: number | undefined

  constructor(bootId: string, clock: Clock) {
    this.bootId = bootId
    this.#clock = clock
    this.#startedAt = clock.monotonic()
    this.#hardware = this.#detections({ read: (path) => this.#host.read(path), list: (path) => this.#host.list(path) })
  }

  /** Empty also when it is too early for another look. */
  async look({ channel, upMs, problem }: LookDeps): Promise<readonly Reading[]> {
    const clock = this.#clock
    const at = clock.monotonic()
    if (this.#lookedAt !== undefined && at - this.#lookedAt < EVERY_MS) return []
    this.#lookedAt = at
    this.#problem = problem
    this.#kept ??= new Set([...CONDITIONS_OVER_SSH].filter((type) => problem(type)?.isTrue === true))
    const beganAt = clock.now()
    const looks = await lookAt(channel)
    const readings = this.#judge(looks, { beganAt, endedAt: clock.now(), upMs: upMs() })
    const snapshot = await snapshotOf(channel, this.#asked, async (host) => {
      host.read(MOUNTS)
      const asking = this.#detections(host)
      for (const name of FROM_FILES) await asking[name]?.()
    })
    if (snapshot === undefined) return readings
    this.#asked = snapshot.asked
    this.#host = snapshot
    const hardware: Reading[] = []
    for (const name of FROM_FILES) hardware.push(...((await this.#hardware[name]?.()) ?? []))
    return [...readings, ...this.#readOnly(snapshot.read(MOUNTS)), ...hardware]
  }

  #detections(host: HostFiles): ReturnType<typeof hardwareDetections> {
    return hardwareDetections({
      host,
      root: NO_ROOT,
      clock: this.#clock,
      settings,
      isTrue: (type) => this.#isTrue(type),
      machineClass: () => undefined,
      unlessTooSoon: (readings, neededMs) => readings.filter((r) => !this.#isTooSoon(r, neededMs)),
    })
  }

  #isTrue(type: string): boolean {
    return this.#problem(type)?.isTrue === true
  }

  /** A condition that was found before these detectors were made stays until they have watched for so long. */
  #isTooSoon({ type, status }: Reading, neededMs: number): boolean {
    const isWatched = this.#clock.monotonic() - this.#startedAt >= neededMs
    return status === 'False' && !isWatched && this.#isTrue(type) && this.#kept?.has(type) === true
  }

  #judge(
    looks: HostLooks,
    { beganAt, endedAt, upMs }: { readonly beganAt: number; readonly endedAt: number; readonly upMs: number },
  ): readonly Reading[] {
    const now = this.#clock.monotonic()
    const readings: Reading[] = [
      ...this.#disks(looks, now),
      judgeReboot({ isAsked: looks.isRebootAsked, packages: looks.packages }),
    ]
    if (looks.boot !== undefined) readings.push(judgeBoot(looks.boot, upMs, settings.boot.maxMs))
    if (looks.certificates.length > 0)
      readings.push(judgeCertificates(looks.certificates, endedAt, settings.certificates.minLeftPercent))
    const skew = looks.nowMs === undefined ? undefined : outside(looks.nowMs, beganAt, endedAt)
    readings.push(...[judgeSkew(this.#skew, skew, settings.clock.maxSkewMs)].flatMap((r) => r ?? []))
    this.#skew = skew
    if (looks.tasks !== undefined) {
      const { afterMs } = settings.hungTasks
      this.#sleepers = followSleepers(this.#sleepers, looks.tasks, now)
      readings.push(...[judgeHung(this.#sleepers, now, afterMs)].filter((r) => !this.#isTooSoon(r, afterMs)))
    }
    return [...readings, ...servicesOf(looks.services)]
  }

  #disks({ spaces }: HostLooks, now: number): readonly Reading[] {
    if (spaces.length === 0) return []
    const bytes = spaces.flatMap(({ path, bavail, bsize, blocks, files, ffree }) => [
      { path, free: bavail * bsize, total: blocks * bsize },
      ...(files > 0 ? [{ path: `${path} (inodes)`, free: ffree, total: files }] : []),
    ])
    this.#free = followFree(this.#free, bytes, now)
    return [
      ...judgeDisks(
        spaces.map((s) => diskRoom(s.path, s)),
        settings.disk,
        (type) => this.#isTrue(type),
      ),
      ...judgeRates(this.#free, settings.disk).filter((r) => !this.#isTooSoon(r, RATE_NEEDS_MS)),
    ]
  }

  #readOnly(text: string | undefined): readonly Reading[] {
    const mounts = parseMounts(text ?? '')
    if (mounts.length === 0) return []
    const kept = this.#problem('FilesystemReadOnly')
    this.#writable ??= namedBefore(mounts, kept?.isTrue === true ? kept.message : '')
    const { reading, writable } = judgeReadOnly(mounts, this.#writable, settings.readOnly.mustWrite)
    this.#writable = writable
    return [reading]
  }
}

/** The clock of the host was read at some point in between. */
const outside = (hostMs: number, beganAt: number, endedAt: number): number =>
  hostMs < beganAt ? hostMs - beganAt : Math.max(0, hostMs - endedAt)

/** A runtime is the first of the known ones that the host has. */
function servicesOf(looks: readonly ServiceLook[]): readonly Reading[] {
  const kubelet = looks.find(({ service }) => service === 'kubelet')
  const runtime = looks.find(({ service }) => settings.runtime.services.includes(service))
  return [
    ...serviceReading('kubelet', kubelet, 'KubeletUnhealthy', 'KubeletIsHealthy'),
    ...serviceReading('runtime', runtime, 'ContainerRuntimeUnhealthy', 'ContainerRuntimeIsHealthy'),
  ]
}

function serviceReading(
  what: string,
  look: ServiceLook | undefined,
  type: string,
  healthy: string,
): readonly Reading[] {
  if (look === undefined || (look.isActive && look.answers === undefined)) return []
  const { service, isActive, answers, state } = look
  if (isActive && answers === true) return [{ type, status: 'False', reason: healthy, message: `${service} answers` }]
  const how = isActive ? 'it does not answer' : state
  return [{ type, status: 'True', reason: type, message: `${what}:${service} was found unhealthy: ${how}` }]
}
