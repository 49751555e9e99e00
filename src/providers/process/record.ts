// The provider's durable record of a node, written atomically: a crash leaves the old one or the new one.
import { open, readFile, rename } from 'node:fs/promises'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { NodeLayout } from './layout.ts'
import type { ProcessId } from './proc.ts'
import { providersErrors } from '../providers-errors.ts'

export interface NodeRecord {
  readonly clientToken: string
  readonly machineUid: string
  readonly machine: string
  readonly createdAt: string
  /** Stopping: ordered off, but some of it may still run. */
  readonly state: 'Running' | 'Rebooting' | 'Stopping' | 'Stopped' | 'Deleting'
  /** The last started agent. */
  readonly agent?: ProcessId
}

/** Undefined if there is no node; throws for an unreadable one. */
export async function readRecord(node: Pick<NodeLayout, 'dir' | 'record'>): Promise<NodeRecord | undefined> {
  const text = await readText(node.record)
  if (text === undefined) return undefined
  const value = parsed(text)
  if (isRecord(value)) return withOwner(value)
  throw new KubeNodeError(providersErrors.KN11001({ dir: node.dir, record: node.record }))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const STATES: readonly unknown[] = ['Running', 'Rebooting', 'Stopping', 'Stopped', 'Deleting']

/** Before offerings existed, the token was the uid. */
export const withOwner = <R extends { readonly clientToken: string }>(
  record: R & { readonly machineUid?: string },
) => ({
  ...record,
  machineUid: record.machineUid ?? record.clientToken,
})

const isRecord = (v: unknown): v is Omit<NodeRecord, 'machineUid'> & { readonly machineUid?: string } =>
  isObject(v) &&
  typeof v['clientToken'] === 'string' &&
  (v['machineUid'] === undefined || typeof v['machineUid'] === 'string') &&
  typeof v['machine'] === 'string' &&
  typeof v['createdAt'] === 'string' &&
  STATES.includes(v['state']) &&
  (v['agent'] === undefined || isProcessId(v['agent']))

const isProcessId = (v: unknown): v is ProcessId =>
  isObject(v) && Number.isSafeInteger(v['pid']) && typeof v['startTime'] === 'string'

export const writeRecord = (node: Pick<NodeLayout, 'record'>, record: NodeRecord): Promise<void> =>
  writeWhole(node.record, `${JSON.stringify(record)}\n`)

/** Undefined only if the file does not exist; throws any other error. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (e) {
    if (isAbsent(e)) return undefined
    throw e
  }
}

export const isAbsent = (e: unknown): boolean =>
  e instanceof Error && 'code' in e && (e.code === 'ENOENT' || e.code === 'ENOTDIR')

export async function writeWhole(path: string, text: string): Promise<void> {
  const next = `${path}.next`
  const file = await open(next, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
}
