// The detectors of the host's hardware and of limits of its kernel: each reads small files of /sys and /proc, or asks one program with a time limit.
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { DetectorName, DetectorSettings } from '#api/agent-config/detector-settings.ts'
import type { HostFiles } from '../../metrics/host-files.ts'
import { programOutput } from '../../program-output.ts'
import type { Reading } from '../builtin/reading.ts'
import { parseMounts } from '../builtin/read-only.ts'
import { judgeGpus, GPU_ARGUMENTS, gpusIn } from './gpu.ts'
import { judgeThrottling, throttleCounts } from './cpu.ts'
import { type DiskHealth, diskHealth, disks, judgeDiskHealth, smartArguments, unreadableCounts } from './disk-health.ts'
import { judgeFpgas } from './fpga.ts'
import { dcgmDetection, eventLogDetection, rasDetection, REDFISH_FILE, redfishDetection } from './other-records.ts'
import { RAS_FILES } from './rasdaemon.ts'
import { controllerProgram, endsWithin, outputOf, programOf } from './host-programs.ts'
import { judgeParts, lackingParts, type PartsLook } from './parts.ts'
import { firmwareParts, judgeFirmware } from './firmware.ts'
import { type Counts, grown, type Watched, watchCounts } from './growth.ts'
import { judgeTables, kernelTables } from './kernel-limits.ts'
import { judgeLinks, links, linksBefore, NO_LINKS } from './links.ts'
import { judgeMemory, memoryErrors } from './memory.ts'
import { judgeMounts, MountQuestions, mountsToAsk } from './mounts.ts'
import { judgePcie, mostLanes, pcieDevices } from './pcie.ts'
import { controllerAlarms, judgeSensors, sensorAlarms } from './sensors.ts'
import { judgeStorage } from './storage.ts'

export interface HardwareDeps {
  readonly host: HostFiles
  /** "/" of a whole machine. A node that is a folder asks only programs that are in it: those of the machine answer for the machine. */
  readonly root: string
  readonly clock: Pick<Clock, 'monotonic' | 'now'>
  readonly settings: DetectorSettings
  readonly isTrue: (type: string) => boolean
  /** Empty: the machine has none. Undefined: not known yet. */
  readonly machineClass: () => string | undefined
  /** Without readings that end a finding of an earlier agent before this one has watched for so long. */
  readonly unlessTooSoon: (readings: readonly Reading[], neededMs: number) => readonly Reading[]
}

type Detect = () => Promise<readonly Reading[]>
export type HardwareName = Extract<
  DetectorName,
  | 'firmware'
  | 'fpga'
  | 'rasdaemon'
  | 'eventLog'
  | 'parts'
  | 'dcgm'
  | 'redfish'
  | 'memory'
  | 'throttling'
  | 'pcie'
  | 'storage'
  | 'links'
  | 'kernelLimits'
  | 'sensors'
  | 'diskHealth'
  | 'mounts'
  | 'gpu'
>

export function hardwareDetections(deps: HardwareDeps): Readonly<Record<HardwareName, Detect | undefined>> {
  const { host, root, settings, isTrue } = deps
  const isHost = root === '/'
  let answering: number | undefined
  return {
    memory: memoryDetection(deps),
    throttling: throttlingDetection(deps),
    pcie: pcieDetection(host),
    storage: async () => judgeStorage(host),
    links: linksDetection(deps),
    kernelLimits: async () => judgeTables(kernelTables(host), settings.kernelLimits, isTrue),
    firmware: async () => judgeFirmware(firmwareParts(host), settings.firmware.allowed),
    sensors: async () =>
      judgeSensors([...sensorAlarms(host), ...(await alarmsOfController(root, settings.sensors.timeoutMs))]),
    diskHealth: diskDetection(deps),
    fpga: async () => judgeFpgas(host),
    eventLog: eventLogDetection(root, settings.eventLog, () => uptimeS(host)),
    parts: partsDetection(deps, () => answering),
    rasdaemon: rasDetection(
      host,
      deps.clock,
      RAS_FILES.map((file) => join(root, file)),
    ),
    dcgm: isHost ? dcgmDetection(host, settings.dcgm) : undefined,
    redfish: redfishDetection(settings.redfish, join(root, REDFISH_FILE)),
    mounts: isHost ? mountsDetection(deps) : undefined,
    gpu: gpuDetection(root, settings.gpu.timeoutMs, (count) => (answering = count)),
  }
}

const uptimeS = ({ read }: HostFiles): number => Number.parseFloat(read('/proc/uptime') ?? '0')

/** Counters of the kernel, and how much they grew within the window. */
function growing({ clock }: Pick<HardwareDeps, 'clock'>, windowMs: number): (counts: Counts) => Counts {
  let watched: Watched = []
  return (counts) => {
    watched = watchCounts(watched, counts, clock.monotonic(), windowMs)
    return grown(watched)
  }
}

function memoryDetection(deps: HardwareDeps): Detect {
  const { host, settings, unlessTooSoon } = deps
  const inLastHour = growing(deps, settings.memory.windowMs)
  return async () => {
    const found = memoryErrors(host)
    const [faulty, degraded] = judgeMemory(found, inLastHour(found.corrected), uptimeS(host), settings.memory)
    return [faulty ?? [], unlessTooSoon(degraded === undefined ? [] : [degraded], settings.memory.windowMs)].flat()
  }
}

function throttlingDetection(deps: HardwareDeps): Detect {
  const { host, settings, unlessTooSoon } = deps
  const inWindow = growing(deps, settings.throttling.windowMs)
  return async () =>
    unlessTooSoon(judgeThrottling(inWindow(throttleCounts(host)), settings.throttling), settings.throttling.windowMs)
}

function pcieDetection(host: HostFiles): Detect {
  let most: Counts = new Map()
  return async () => {
    const devices = pcieDevices(host)
    most = mostLanes(most, devices)
    return judgePcie(devices, most)
  }
}

function linksDetection(deps: HardwareDeps): Detect {
  const { host, settings, unlessTooSoon } = deps
  const inWindow = growing(deps, settings.links.windowMs)
  let before = NO_LINKS
  return async () => {
    const now = links(host)
    const readings = judgeLinks(now, before, inWindow(now.counts), settings.links)
    before = linksBefore(before, now)
    return unlessTooSoon(readings, settings.links.windowMs)
  }
}

async function alarmsOfController(root: string, timeoutMs: number): Promise<readonly string[]> {
  const program = controllerProgram(root)
  if (program === undefined) return []
  return controllerAlarms(await outputOf(program, ['-I', 'open', 'sdr', 'elist', 'all'], timeoutMs))
}

function partsDetection(deps: HardwareDeps, answering: () => number | undefined): Detect {
  const { host, clock, settings, machineClass } = deps
  let look: PartsLook = { missingSinceMs: undefined, readings: [] }
  return async () => {
    look = judgeParts(look, {
      ...settings.parts,
      machineClass: machineClass(),
      nowMs: clock.monotonic(),
      lacking: (wanted) => lackingParts(wanted, host, answering()),
    })
    return look.readings
  }
}

function diskDetection(deps: HardwareDeps): Detect {
  const { host, root, settings, unlessTooSoon } = deps
  const { timeoutMs, windowMs } = settings.diskHealth
  const inWindow = growing(deps, windowMs)
  return async () => {
    const program = programOf(root, 'smartctl')
    if (program === undefined) return []
    const all: DiskHealth[] = []
    // One after the other: a controller answers for all its disks.
    for (const device of disks(host)) {
      const health = diskHealth(device, await outputOf(program, smartArguments(device), timeoutMs))
      if (health !== undefined) all.push(health)
    }
    const readings = judgeDiskHealth(all, inWindow(unreadableCounts(all)), settings.diskHealth)
    return unlessTooSoon(readings, windowMs)
  }
}

function gpuDetection(root: string, timeoutMs: number, onAnswer: (count: number | undefined) => void): Detect {
  let most = 0
  return async () => {
    const program = programOf(root, 'nvidia-smi')
    onAnswer(undefined)
    if (program === undefined) return []
    const text = await outputOf(program, GPU_ARGUMENTS, timeoutMs)
    const gpus = gpusIn(text)
    // A driver that hangs or was unloaded reports nothing about the accelerators.
    if (gpus.length === 0) return []
    most = Math.max(most, gpus.length)
    onAnswer(gpus.length)
    return judgeGpus(gpus, most)
  }
}

function mountsDetection({ host, clock, settings }: HardwareDeps): Detect {
  const questions = new MountQuestions((point) => askMounts([point]))
  let together: Promise<void> | undefined
  return async () => {
    const now = clock.monotonic()
    const points = mountsToAsk(parseMounts(host.read('/proc/self/mountinfo') ?? ''))
    const wasAsked = together !== undefined
    // One program for all of them; only if it gets no answer, one for each.
    together ??= askMounts(points).finally(() => (together = undefined))
    const haveAnswered = !wasAsked && (await endsWithin(together, ALL_ANSWER_MS))
    return judgeMounts(questions.look(haveAnswered ? [] : points, now, settings.mounts.afterMs))
  }
}

/** In a program of its own: the thread of a call that hangs is lost, and there are few. It is never ended, because the kernel does not let it. */
async function askMounts(points: readonly string[]): Promise<void> {
  await programOutput({
    program: '/usr/bin/stat',
    args: ['--file-system', '--format=%i', ...points],
    timeoutMs: NEVER_MS,
    maxBytes: MOST_WORDS,
    environment: {},
  })
}

const ALL_ANSWER_MS = 5_000
/** A day: by then it answered, or the node was rebooted. */
const NEVER_MS = 86_400_000
const MOST_WORDS = 4_096
