// The record of a component's process, so that the next agent finds it again.
import { isObject } from '#lib/json.ts'
import type { Service } from './port.ts'
import type { ProcessId } from './proc.ts'

export interface KnownProcess {
  readonly id: ProcessId
  readonly bootId: string
  readonly slot: string
  readonly restart: Service['restart']
  readonly killMode: Service['killMode']
  /** The id of this start; empty when an older agent started it. */
  readonly start: string
}

export function parseProcess(bytes: Buffer | undefined): KnownProcess | undefined {
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const isGood =
      isObject(value) &&
      isObject(value['id']) &&
      Number.isSafeInteger(value['id']['pid']) &&
      Number(value['id']['pid']) > 1 &&
      typeof value['id']['startTime'] === 'string' &&
      typeof value['slot'] === 'string' &&
      typeof value['bootId'] === 'string'
    return isGood ? ({ start: '', ...value } as unknown as KnownProcess) : undefined
  } catch {
    // The agent writes this file durably, so this content is foreign. The mark in the environment finds the process if it exists.
    return undefined
  }
}
