// The folder between the provider and the process of its hollow agents: one small file per host, written atomically. The file's existence is the host.
import { join } from 'node:path'
import { isObject } from '#lib/json.ts'
import { isMachineName } from '../machine-name.ts'
import { readText, withOwner } from '../process/record.ts'

export interface HollowHost {
  readonly clientToken: string
  readonly machineUid: string
  readonly machine: string
  readonly createdAt: string
  /** Changes with every boot. */
  readonly bootId: string
  readonly params: Readonly<Record<string, string>>
}

const ENDING = '.json'

export const hostsFolder = (dir: string): string => join(dir, 'hosts')
/** A host's agent requests a reboot with a file of its name. */
export const rebootsFolder = (dir: string): string => join(dir, 'reboots')
export const rebootFile = (dir: string, machine: string): string => join(rebootsFolder(dir), machine + ENDING)
export const hostFile = (dir: string, machine: string): string => join(hostsFolder(dir), machine + ENDING)

/** Undefined for other files, such as one being written. */
export function machineOfFile(file: string): string | undefined {
  const name = file.endsWith(ENDING) ? file.slice(0, -ENDING.length) : ''
  return isMachineName(name) ? name : undefined
}

/** Undefined if there is no such host. An unparseable file counts as no host: only a person could have written it. */
export async function readHost(dir: string, machine: string): Promise<HollowHost | undefined> {
  const text = await readText(hostFile(dir, machine))
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    return isHost(value) && value.machine === machine ? withOwner(value) : undefined
  } catch {
    return undefined
  }
}

const isHost = (v: unknown): v is Omit<HollowHost, 'machineUid'> & { readonly machineUid?: string } =>
  isObject(v) &&
  (v['machineUid'] === undefined || typeof v['machineUid'] === 'string') &&
  ['clientToken', 'machine', 'createdAt', 'bootId'].every((name) => typeof v[name] === 'string') &&
  isObject(v['params']) &&
  Object.values(v['params']).every((p) => typeof p === 'string')
