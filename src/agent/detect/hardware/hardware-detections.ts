// The detectors of the host's hardware and of limits of its kernel: each reads small files of /sys and /proc, or asks one program with a time limit.
import { existsSync } from 'node:fs'
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
import { dcgmDetection, rasDetection, redfishDetection } from './other-records.ts'
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
  /** Without readings that end a finding of an earlier agent before this one has watched for so long. */
  readonly unlessTooSoon: (readings: readonly Reading[], neededMs: number) => readonly Reading[]
}

type Detect = () => Promise<readonly Reading[]>
export type HardwareName = Extract<
  DetectorName,
  | 'firmware'
  | 'fpga'
  | 'rasdaemon'
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
  return {
    memory: memoryDetection(deps),
    throttling: throttlingDetection(deps),
    pcie: pcieDetection(host),
    storage: async () => judgeStorage(host),
    links: linksDetection(deps),
    kernelLimits: async () => judgeTables(kernelTables(host), settings.kernelLimits, isTrue),
    firmware: async () => judgeFirmware(firmwareParts(host), settings.firmware.allowed),
    sensors: async () =>
      judgeSensors([...sensorAlarms(host), ...(isHost ? await alarmsOfController(settings.sensors.timeoutMs) : [])]),
    diskHealth: diskDetection(deps),
    fpga: async () => judgeFpgas(host),
    rasdaemon: isHost ? rasDetection(host, deps.clock) : undefined,
    dcgm: isHost ? dcgmDetection(host, settings.dcgm) : undefined,
    redfish: isHost ? redfishDetection(settings.redfish) : undefined,
    mounts: isHost ? mountsDetection(deps) : undefined,
    gpu: gpuDetection(root, settings.gpu.timeoutMs),
  }
}

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
    const uptimeS = Number.parseFloat(host.read('/proc/uptime') ?? '0')
    const [faulty, degraded] = judgeMemory(found, inLastHour(found.corrected), uptimeS, settings.memory)
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

const IPMI_DEVICES = ['/dev/ipmi0', '/dev/ipmi/0', '/dev/ipmidev/0']

async function alarmsOfController(timeoutMs: number): Promise<readonly string[]> {
  const program = programOf('/', 'ipmitool')
  if (program === undefined || !IPMI_DEVICES.some((d) => existsSync(d))) return []
  return controllerAlarms(await outputOf(program, ['-I', 'open', 'sdr', 'elist', 'all'], timeoutMs))
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

function gpuDetection(root: string, timeoutMs: number): Detect {
  let most = 0
  return async () => {
    const program = programOf(root, 'nvidia-smi')
    if (program === undefined) return []
    const text = await outputOf(program, GPU_ARGUMENTS, timeoutMs)
    const gpus = gpusIn(text)
    // A driver that hangs or was unloaded reports nothing about the accelerators.
    if (gpus.length === 0) return []
    most = Math.max(most, gpus.length)
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
const MOST_OUTPUT = 1_048_576

const programOf = (root: string, name: string): string | undefined =>
  ['/usr/sbin', '/sbin', '/usr/bin'].map((folder) => join(root, folder, name)).find((path) => existsSync(path))

async function outputOf(program: string, args: readonly string[], timeoutMs: number): Promise<string> {
  const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C' }
  const call = { program, args, timeoutMs, maxBytes: MOST_OUTPUT, floodBytes: MOST_OUTPUT, environment }
  const name = `${program} ${args.join(' ')}`
  // Still running, stuck in the kernel: another one would be too.
  if (RUNNING.has(name)) return ''
  RUNNING.add(name)
  const output = programOutput(call).finally(() => RUNNING.delete(name))
  // What is killed in the kernel does not end.
  return (await endsWithin(output, timeoutMs + KILL_GRACE_MS)) ? (await output).stdout.text : ''
}

async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), ms)
  return Promise.race([work.then(() => true), late.promise]).finally(() => clearTimeout(timer))
}

const KILL_GRACE_MS = 2_000
const RUNNING = new Set<string>()
