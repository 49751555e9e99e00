// Detectors that ask what other programs know about the hardware: rasdaemon's record, DCGM's exporter, the management controller. Each says nothing where that is absent.
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { getuid } from 'node:process'
import { DETECTOR_CONDITIONS, type DetectorSettings } from '#api/agent-config/detector-settings.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { HostFiles } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { controllerTime, eventsIn, judgeEventLog, LOG_ARGUMENTS, TIME_ARGUMENTS } from './event-log.ts'
import { controllerProgram, outputOf } from './host-programs.ts'
import { DCGM_PORT, isOfRoot, judgeDcgm } from './dcgm.ts'
import { judgeRas, RAS_FILES, type RasFaults, rasFaults, rasFaultsAtEnd } from './rasdaemon.ts'
import type { ReadAt } from './sqlite-end.ts'
import {
  CHASSIS,
  criticalParts,
  judgeRedfish,
  membersOf,
  redfishAccess,
  type RedfishAccess,
  SYSTEMS,
} from './redfish.ts'

type Detect = () => Promise<readonly Reading[]>

/** Some forty thousand events. Of a record that grew beyond, only the end of each table is read. */
const MAX_RECORD_BYTES = 8_388_608
const MAX_ACCESS_BYTES = 65_536
/** Eight GPUs with every counter of the exporter take some hundred kilobytes. */
const MAX_METRICS_BYTES = 2_097_152
const MAX_ANSWER_BYTES = 1_048_576
const HTTP_OK = 200
const MS_PER_S = 1_000

interface OwnFile {
  readonly bytes: Buffer
  readonly changed: string
}

/** A file that only the agent's user may write: undefined if there is none, or it is as before. In a thread of its own, since disks hang. */
async function withOwnFile<T>(
  path: string,
  { before, mode }: { readonly before?: string | undefined; readonly mode: number },
  use: (file: FileHandle, size: number) => Promise<T>,
): Promise<{ readonly value: T; readonly changed: string } | undefined> {
  const file = await open(path, constants.O_RDONLY + constants.O_NOFOLLOW + constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const stat = await file.stat()
    const changed = `${stat.ino} ${stat.size} ${stat.mtimeMs}`
    if (changed === before) return undefined
    // oxlint-disable-next-line no-bitwise -- the mode is a set of bits
    if (!stat.isFile() || stat.uid !== getuid?.() || (stat.mode & mode) !== 0)
      throw new Error(`${path} may be written or read by others than the agent's user`)
    return { value: await use(file, stat.size), changed }
  } finally {
    await file.close()
  }
}

async function ownFile(
  path: string,
  maxBytes: number,
  wanted: { readonly before?: string | undefined; readonly mode: number },
): Promise<OwnFile | undefined> {
  const read = await withOwnFile(path, wanted, async (file, size) => {
    if (size > maxBytes) throw new Error(`${path} has ${size} bytes (limit ${maxBytes})`)
    return readWhole(file, size)
  })
  return read === undefined ? undefined : { bytes: read.value, changed: read.changed }
}

async function readWhole(file: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size)
  const { bytesRead } = await file.read(bytes, 0, size, 0)
  return bytes.subarray(0, bytesRead)
}

const WRITABLE_BY_OTHERS = 0o022
const READABLE_BY_OTHERS = 0o077

/** Read, and opened in memory: no lock delays rasdaemon, and a disk that hangs does not hang the agent. Only when it has changed. */
export function rasDetection(host: HostFiles, clock: Pick<Clock, 'now'>, files = RAS_FILES): Detect {
  const known = new Map<string, { readonly changed: string; readonly faults: RasFaults }>()
  const broken = new Set<string>()
  return async () => {
    const failures: { readonly error: unknown; readonly isNew: boolean }[] = []
    for (const path of files)
      try {
        const before = known.get(path)?.changed
        const record = await withOwnFile(path, { before, mode: WRITABLE_BY_OTHERS }, (file, size) =>
          faultsIn(file, size, { bootedAtMs: bootedAt(host, clock), before: known.get(path)?.faults ?? new Map() }),
        )
        if (record !== undefined) known.set(path, { changed: record.changed, faults: record.value })
        broken.delete(path)
      } catch (error) {
        failures.push({ error, isNew: !broken.has(path) })
        broken.add(path)
      }
    // A record that cannot be read must not hide the other one: only its first failure stops a look then.
    const isBlind = [...known.keys()].every((path) => broken.has(path))
    const failure = failures.find(({ isNew }) => isNew || isBlind)
    if (failure !== undefined) throw failure.error
    return known.size === 0 ? [] : judgeRas([...known.values()].map((k) => k.faults))
  }
}

const bootedAt = (host: HostFiles, clock: Pick<Clock, 'now'>): number =>
  clock.now() - Number.parseFloat(host.read('/proc/uptime') ?? '') * MS_PER_S

async function faultsIn(
  file: FileHandle,
  size: number,
  of: { readonly bootedAtMs: number; readonly before: RasFaults },
): Promise<RasFaults> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(':memory:')
  const read: ReadAt = async (offset, bytes) => {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, offset)
    if (bytesRead < bytes) throw new Error('the record is cut')
    return buffer
  }
  try {
    if (size > MAX_RECORD_BYTES) return await rasFaultsAtEnd(read, { database, ...of })
    database.deserialize(await readWhole(file, size))
    return rasFaults(database, of.bootedAtMs)
  } finally {
    database.close()
  }
}

/** Looks in a row without a source until its findings end. An exporter that is updated is back before. */
export const LOOKS_WITHOUT_SOURCE = 5

/** A source that is silent keeps its findings: what it watches may be the reason. One that was removed can never end them. */
function endsWithSource(
  { types, message }: { readonly types: readonly string[]; readonly message: string },
  look: () => Promise<readonly Reading[] | 'NoSource'>,
): Detect {
  let inARow = 0
  return async () => {
    const found = await look()
    inARow = found === 'NoSource' ? inARow + 1 : 0
    if (found !== 'NoSource') return found
    if (inARow < LOOKS_WITHOUT_SOURCE) return []
    return types.map((type) => ({ type, status: 'False', reason: 'NoSource', message }))
  }
}

export function dcgmDetection(host: HostFiles, { timeoutMs }: DetectorSettings['dcgm'], port = DCGM_PORT): Detect {
  const ends = { types: DETECTOR_CONDITIONS.dcgm, message: 'no exporter of DCGM reports on this node any more' }
  return endsWithSource(ends, async () => {
    if (!isOfRoot(host.read, port)) return 'NoSource'
    const url = `http://127.0.0.1:${port}`
    const { ask } = await import('#runtime/outbound/get.ts')
    const limits = { allow: new Set([url]), deadlineMs: timeoutMs, maxBytes: MAX_METRICS_BYTES }
    const answer = await ask(`${url}/metrics`, limits)
    if (answer.kind !== 'Answered' || answer.status !== HTTP_OK) return []
    const readings = judgeDcgm(answer.text)
    return readings.length === 0 ? 'NoSource' : readings
  })
}

/** Another boot of the host, or a cleared log, ends what it says: see event-log.ts. */
export function eventLogDetection(
  root: string,
  { timeoutMs, windowMs }: DetectorSettings['eventLog'],
  uptimeS: () => number,
): Detect {
  const ends = { types: DETECTOR_CONDITIONS.eventLog, message: 'no program asks the management controller any more' }
  return endsWithSource(ends, async () => {
    const program = controllerProgram(root)
    if (program === undefined) return 'NoSource'
    const log = await outputOf(program, LOG_ARGUMENTS, timeoutMs)
    // After the log: no entry is of the future.
    const nowMs = controllerTime(await outputOf(program, TIME_ARGUMENTS, timeoutMs))
    if (nowMs === undefined) return []
    return judgeEventLog(eventsIn(log), { nowMs, windowMs, upMs: uptimeS() * MS_PER_S })
  })
}

export const REDFISH_FILE = '/etc/kubenode/redfish.json'

export function redfishDetection({ timeoutMs }: DetectorSettings['redfish'], path: string): Detect {
  // Controllers lock an account after a few wrong passwords: one that was refused is not sent again.
  let refused: string | undefined
  const ends = { types: DETECTOR_CONDITIONS.redfish, message: 'the management controller is not asked any more' }
  return endsWithSource(ends, async () => {
    const file = await ownFile(path, MAX_ACCESS_BYTES, { before: refused, mode: READABLE_BY_OTHERS })
    if (file === undefined) return 'NoSource'
    const access = redfishAccess(file.bytes.toString('utf8'))
    if (typeof access === 'string') throw new Error(`${path} ${access}`)
    try {
      return judgeRedfish(criticalParts(await answersOf(access, timeoutMs)))
    } catch (error) {
      if (error instanceof Refused) refused = file.changed
      throw error
    }
  })
}

class Refused extends Error {}

/** All that the account may read, or it throws: a controller that is silent or half told says nothing about the host. */
async function answersOf(access: RedfishAccess, timeoutMs: number): Promise<readonly unknown[]> {
  const { ask } = await import('#runtime/outbound/get.ts')
  const { address, user, password, ca } = access
  const credentials = Buffer.from(`${user}:${password}`).toString('base64')
  const limits = {
    allow: new Set([address.origin]),
    deadlineMs: timeoutMs,
    maxBytes: MAX_ANSWER_BYTES,
    headers: { authorization: `Basic ${credentials}` },
    ...defined({ ca }),
  }
  let isDenied = false
  const get = async (what: string, isOptional = false): Promise<unknown> => {
    const answer = await ask(`${address.origin}${what}`, limits)
    if (answer.kind === 'Answered' && answer.status === HTTP_OK) return JSON.parse(answer.text)
    if (answer.kind === 'Answered' && answer.status === UNAUTHORIZED)
      throw new Refused('the controller refused the password')
    // The account may not read this one; it may read others.
    if (answer.kind === 'Answered' && answer.status === FORBIDDEN) {
      isDenied = true
      return undefined
    }
    // Newer controllers have other names for these folders.
    if (isOptional && answer.kind === 'Answered' && answer.status === NOT_FOUND) return undefined
    throw new Error(answer.kind === 'Answered' ? `HTTP ${answer.status} for ${what}` : answer.message)
  }
  const answers: unknown[] = []
  // One after the other: controllers are slow, and some end sessions beyond a few.
  for (const system of membersOf(await get(SYSTEMS), SYSTEMS)) answers.push(await get(system))
  for (const chassis of membersOf(await get(CHASSIS), CHASSIS))
    for (const part of ['Power', 'Thermal']) answers.push(await get(`${chassis}/${part}`, true))
  const told = answers.filter((answer) => answer !== undefined)
  if (isDenied && told.length === 0) throw new Refused('the controller lets this account read nothing')
  return told
}

const NOT_FOUND = 404
const UNAUTHORIZED = 401
const FORBIDDEN = 403
