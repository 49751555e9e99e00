// Reads what asks for a reboot on a host.
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { readState } from '../../files/durable.ts'
import type { Files } from '../../files/port.ts'
import { kernelsFile, type NodeDir } from '../../node-dir.ts'
import { programOutput } from '../../program-output.ts'
import { systemUpMs } from '../../up-time.ts'
import type { Reading } from './reading.ts'
import { judgeReboot, REBOOT_FILES, REBOOT_PACKAGES, RPM, RPM_DATABASES, RPM_QUERY } from './reboot-required.ts'

interface RebootDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Pick<Clock, 'now'>
}

const TIMEOUT_MS = 30_000
const MAX_BYTES = 65_536
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }

/** Without a list the packages are unknown, and the reboot is needed all the same. */
export async function rebootRequired({ files, dir, clock }: RebootDeps): Promise<readonly Reading[]> {
  const isAsked = REBOOT_FILES.some((path) => existsSync(join(dir.root, path)))
  const packages = isAsked ? await readFile(join(dir.root, REBOOT_PACKAGES), 'utf8').catch(() => undefined) : undefined
  const upMs = systemUpMs()
  const bootedAt = upMs === undefined ? Infinity : clock.now() - upMs
  // The database of this machine says nothing about a node that is a folder.
  const installed = dir.root === '/' && (await isRpmNewer(bootedAt)) ? await rpmOutput() : undefined
  if (!isAsked && installed === undefined) return [judgeReboot({ isAsked, packages })]
  return [judgeReboot({ isAsked, packages, installed, bootedAt, own: await ownPackages(files, dir) })]
}

/** The database is not read every minute for nothing. */
async function isRpmNewer(bootedAt: number): Promise<boolean> {
  if (!existsSync(RPM)) return false
  const times = await Promise.all(
    RPM_DATABASES.map((path) =>
      stat(path).then(
        (s) => s.mtimeMs,
        () => 0,
      ),
    ),
  )
  return Math.max(...times) > bootedAt
}

async function rpmOutput(): Promise<string> {
  const call = { program: RPM, args: RPM_QUERY, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, environment: ENVIRONMENT }
  return (await programOutput(call)).stdout.text
}

async function ownPackages(files: Files, dir: NodeDir): Promise<ReadonlySet<string>> {
  const own = await readState(files, kernelsFile(dir), (v) => (isObject(v) ? v : undefined))
  return new Set(Object.values(own ?? {}).flatMap((names) => (Array.isArray(names) ? names : [])))
}
