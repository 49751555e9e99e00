// What the host's management controller (BMC) says through Redfish: fans, power supplies, temperatures, memory, processors and drives that it calls critical. Pure.
import { isObject } from '#lib/json.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

/** The controller to ask, from a file of the host that only root may write: a user who could change the address would receive the password. */
export interface RedfishAccess {
  readonly address: URL
  readonly user: string
  readonly password: string
  /** Certificates to believe, as PEM: controllers sign their own. The address has to be a name in it. */
  readonly ca: string | undefined
}

const MAX_WORD = 512

/** A text says what is wrong with the file; it never contains a value of it. */
export function redfishAccess(text: string): RedfishAccess | string {
  const value = parsed(text)
  if (!isObject(value)) return 'is no JSON object'
  const word = (key: string): string | undefined => {
    const w = value[key]
    return typeof w === 'string' && w !== '' && w.length <= MAX_WORD ? w : undefined
  }
  const [address, user, password] = [word('address'), word('user'), word('password')]
  if (address === undefined || user === undefined || password === undefined) return 'needs address, user and password'
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url?.protocol !== 'https:' || url.username !== '') return 'needs an address with https://'
  const ca = typeof value['ca'] === 'string' ? value['ca'] : undefined
  return { address: url, user, password, ca }
}

export const SYSTEMS = '/redfish/v1/Systems'
export const CHASSIS = '/redfish/v1/Chassis'
const MOST_MEMBERS = 8
const MOST_PARTS = 256
/** A link is followed only if it stays below the collection: the controller's answer names no other place. */
const MEMBER = /^[A-Za-z0-9._-]{1,64}$/

export function membersOf(collection: unknown, folder: string): readonly string[] {
  return listIn(collection, 'Members')
    .slice(0, MOST_MEMBERS)
    .flatMap((m) => {
      const id = isObject(m) ? m['@odata.id'] : undefined
      if (typeof id !== 'string' || !id.startsWith(`${folder}/`)) return []
      const name = id.slice(folder.length + 1).replace(/\/$/, '')
      return MEMBER.test(name) && !/^\.+$/.test(name) ? [`${folder}/${name}`] : []
    })
}

/** Parts of a system or a chassis that the controller calls critical. "Warning" may be a fan that was replaced. */
export function criticalParts(answers: readonly unknown[]): readonly string[] {
  return answers.flatMap((answer) => [
    ...['MemorySummary', 'ProcessorSummary'].flatMap((key) => {
      const summary = isObject(answer) ? answer[key] : undefined
      return isCritical(summary) ? [`${key.replace('Summary', '').toLowerCase()} is critical`] : []
    }),
    ...['Fans', 'PowerSupplies', 'Temperatures', 'Voltages', 'Redundancy'].flatMap((key) =>
      listIn(answer, key)
        .slice(0, MOST_PARTS)
        .flatMap((part) => (isCritical(part) ? [`${partName(part, key)} is critical`] : [])),
    ),
  ])
}

function partName(part: unknown, key: string): string {
  const { Name: name, FanName: fan } = isObject(part) ? part : {}
  const said = typeof name === 'string' ? name : fan
  return typeof said === 'string' ? said.slice(0, 60) : key
}

function isCritical(part: unknown): boolean {
  const status = isObject(part) ? part['Status'] : undefined
  if (!isObject(status) || status['State'] === 'Absent' || status['State'] === 'Disabled') return false
  return status['Health'] === 'Critical' || status['HealthRollup'] === 'Critical'
}

const listIn = (value: unknown, key: string): readonly unknown[] => {
  const list = isObject(value) ? value[key] : undefined
  return Array.isArray(list) ? list : []
}

export const judgeRedfish = (critical: readonly string[]): readonly Reading[] => [
  readingOf(
    { type: 'HardwareAlarm', calm: { reason: 'NoAlarms', message: 'the management controller raises no alarm' } },
    [...new Set(critical)].toSorted(),
  ),
]

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
