// How far the hosts of one run are, in numbers and rows. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { formatAge } from '#lib/duration.ts'
import { countLine } from '#lib/terminal/amount.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { addressOf } from './host-machines.ts'

export type HostState = 'Joined' | 'Failed' | 'Later' | 'Paused' | 'Running' | 'Waiting' | 'Deleted'

export interface HostProgress {
  readonly machine: string
  readonly host: string
  readonly state: HostState
  readonly step?: string
  readonly attempt?: number
  readonly since?: string
  readonly reason?: string
  readonly message?: string
  readonly retryAt?: string
}

/** A shorter wait is one of the attempts at a step. */
const LATER_MS = 60_000

/** `before`: a request that is no longer the one of the Machine, once the controllers have read it. */
export function progressOf(name: string, machine: Machine | undefined, now: number, before?: string): HostProgress {
  const ssh = machine?.spec.ssh
  const base = { machine: name, host: ssh === undefined ? '' : addressOf(ssh) }
  if (machine === undefined) return { ...base, state: 'Deleted' }
  const join = machine.status?.join
  if (machine.status?.agent !== undefined || join?.finished !== undefined) return { ...base, state: 'Joined' }
  if (join === undefined || join.request === before) return { ...base, state: 'Waiting' }
  const { step, attempt, since, reason, message, retryAt } = join
  const shown = {
    ...base,
    step,
    attempt,
    since,
    ...(reason && { reason }),
    ...(message && { message }),
    ...(retryAt && { retryAt }),
  }
  if (reason === undefined) return { ...shown, state: step === 'Reach' && retryAt !== undefined ? 'Paused' : 'Running' }
  if (retryAt === undefined) return { ...shown, state: 'Failed' }
  return { ...shown, state: Date.parse(retryAt) - now > LATER_MS ? 'Later' : 'Running' }
}

/** The requests that failed, by name. A join that is still at one of its attempts is not disturbed. */
export const failedRequests = (machines: readonly Machine[], now: number): ReadonlyMap<string, string> =>
  new Map(
    machines.flatMap((machine) => {
      const name = nameOf(machine)
      const { state } = progressOf(name, machine, now)
      const request = machine.status?.join?.request
      return request !== undefined && (state === 'Failed' || state === 'Later') ? [[name, request] as const] : []
    }),
  )

const SETTLED: ReadonlySet<HostState> = new Set<HostState>(['Joined', 'Failed', 'Later', 'Deleted'])
const isSettled = ({ state }: HostProgress): boolean => SETTLED.has(state)

/** Only hosts that wait for a person are left. */
export const isHeld = (hosts: readonly HostProgress[]): boolean =>
  hosts.every((h) => isSettled(h) || h.state === 'Paused')
export const isOver = (hosts: readonly HostProgress[]): boolean => hosts.every(isSettled)

export const countOf = (hosts: readonly HostProgress[], ...states: readonly HostState[]): number =>
  hosts.filter(({ state }) => states.includes(state)).length

export interface Pace {
  /** Settled when this run began: they say nothing about the rate. */
  readonly settledBefore: number
  readonly elapsedMs: number
}

/** `joining: 340 of 1200, 4.1 a second, 3m left; 50 in progress, 12 failed`. */
export function headLine(hosts: readonly HostProgress[], { settledBefore, elapsedMs }: Pace): string {
  const settled = hosts.filter(isSettled).length
  const total = hosts.length - settledBefore
  const parts = (
    [
      ['in progress', ['Running']],
      ['waiting', ['Waiting']],
      ['paused', ['Paused']],
      ['failed', ['Failed', 'Deleted']],
      ['retried later', ['Later']],
    ] as const
  ).flatMap(([text, states]) => {
    const count = countOf(hosts, ...states)
    return count === 0 ? [] : [`${count} ${text}`]
  })
  const before = settledBefore === 0 ? [] : [`${settledBefore} settled before`]
  return [countLine('joining', settled - settledBefore, total, elapsedMs), [...parts, ...before].join(', ')]
    .filter((part) => part !== '')
    .join('; ')
}

const FIRST: readonly HostState[] = ['Failed', 'Deleted', 'Later', 'Running', 'Paused']
/** The rest of a window shows hosts that move. */
const FAILED_SHOWN = 10
const ROWS_SHOWN = 60

/** Failed hosts first, then those in progress; hosts that wait for their turn and joined ones are numbers only. */
export function tableLines(hosts: readonly HostProgress[], now: number, width: number | undefined): readonly string[] {
  const shown = FIRST.flatMap((state) => {
    const of = hosts.filter((h) => h.state === state)
    return state === 'Running' ? of : of.slice(0, FAILED_SHOWN)
  }).slice(0, ROWS_SHOWN)
  if (shown.length === 0) return []
  const rows = shown.map((h) => [
    h.machine,
    h.host,
    h.step === undefined ? '' : (h.attempt ?? 1) > 1 ? `${h.step} (${h.attempt})` : h.step,
    h.since === undefined ? '' : formatAge(Math.max(0, now - Date.parse(h.since))),
    h.state.toLowerCase(),
    whyIn(h),
  ])
  // A column STATE stays whole, so the long text has its own, which may be cut.
  return alignedRows([['MACHINE', 'HOST', 'STEP', 'FOR', 'STATE', 'WHY'], ...rows], width).split('\n')
}

const causeOf = ({ reason, message }: HostProgress): string =>
  [reason, message].filter((part) => part !== undefined).join(': ')

const retryText = ({ retryAt }: HostProgress): string => `retried at ${retryAt?.slice(11, 19)}`

function whyIn(h: HostProgress): string {
  if (h.state === 'Later') return `${retryText(h)}: ${causeOf(h)}`
  return h.state === 'Paused' ? (h.message ?? '') : causeOf(h)
}

export function outcomeText(h: HostProgress): string {
  switch (h.state) {
    case 'Joined':
      return 'joined'
    case 'Deleted':
      return 'its Machine was deleted'
    case 'Failed':
      return `failed: ${causeOf(h)}`
    case 'Later':
      return `failed, ${retryText(h)}: ${causeOf(h)}`
    case 'Paused':
      return h.message ?? 'paused'
    case 'Waiting':
      return 'waiting for its turn'
    case 'Running':
      return causeOf(h)
    default:
      return h.state satisfies never
  }
}
