// Which key a machine's agent has: the fingerprint of the public key that was approved last, recorded on the Machine by the approver alone. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { isObject } from '#lib/json.ts'

/** For this very Machine; what was recorded for one of the same name before it, or came with a backup, is no record. */
export function recordedKey({ metadata }: Machine): string | undefined {
  const text = metadata.annotations?.[ANNOTATIONS.agentKey]
  if (text === undefined) return undefined
  try {
    const record: unknown = JSON.parse(text)
    if (!isObject(record) || record['uid'] !== metadata.uid) return undefined
    return typeof record['key'] === 'string' && record['key'] !== '' ? record['key'] : undefined
  } catch {
    return undefined
  }
}

export const keyRecord = ({ metadata }: Machine, key: string): string => JSON.stringify({ uid: metadata.uid, key })
