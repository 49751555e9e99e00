// Detectors that ask systemd and its journal, each through one short program with a time limit.
import { uptime } from 'node:os'
import type { Clock } from '#lib/clock.ts'
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import type { ListFolder } from '../../metrics/host-files.ts'
import { type ProgramOutput, programOutput } from '../../program-output.ts'
import { ENVIRONMENT, TIMEOUT_MS } from '../npd/service-state.ts'
import { BOOT_ARGUMENTS, bootTime, judgeBoot } from './boot-time.ts'
import {
  type FailedPull,
  failedPulls,
  followPulls,
  judgePulls,
  PULL_LOG_ARGUMENTS,
  pullLogSpan,
  REGISTRY_FOLDERS,
} from './image-pulls.ts'
import type { Reading } from './reading.ts'

type Detect = () => Promise<readonly Reading[]>

/** Of the kubelet's log between two looks; the beginning of a longer piece is not read. */
const MAX_LOG_BYTES = 2 ** 19
const MAX_WORDS = 4_096
const MS_PER_S = 1_000

const ask = (program: string, args: readonly string[], maxBytes: number): Promise<ProgramOutput> =>
  programOutput({ program, args, timeoutMs: TIMEOUT_MS, maxBytes, environment: ENVIRONMENT })

/** A boot that is over does not change. */
export function bootDetection({ maxMs }: DetectorSettings['boot']): Detect {
  let final: Reading | undefined
  return async () => {
    if (final !== undefined) return []
    const time = bootTime((await ask('systemctl', BOOT_ARGUMENTS, MAX_WORDS)).stdout.text)
    if (time === undefined) return []
    const reading = judgeBoot(time, uptime() * MS_PER_S, maxMs)
    if (time.finishedMs !== undefined) final = reading
    return [reading]
  }
}

export function imagePullsDetection(
  clock: Clock,
  settings: DetectorSettings['imagePulls'],
  list: ListFolder,
  unlessTooSoon: (reading: Reading, neededMs: number) => readonly Reading[],
): Detect {
  let [failed, lastMs]: [readonly FailedPull[], number] = [[], clock.now()]
  return async () => {
    const now = clock.now()
    const span = pullLogSpan(lastMs, now, settings.windowMs)
    const { code, stdout } = await ask('journalctl', [...PULL_LOG_ARGUMENTS, ...span], MAX_LOG_BYTES)
    // It exits with 1 when there are no entries. A log that cannot be read says nothing about pulls.
    if (code !== 0 && code !== 1) return []
    lastMs = now
    const mono = clock.monotonic()
    failed = followPulls(failed, failedPulls(stdout.text, mono), mono, settings.windowMs)
    const configured = new Set(REGISTRY_FOLDERS.flatMap(list))
    return unlessTooSoon(judgePulls(failed, settings, configured), settings.windowMs)
  }
}
