// Pure: what a matching line or a plug-in's exit means: which event is sent, and what the condition becomes. A true condition keeps its first message
// until it ends. Another rule with the same condition is announced once and changes nothing, unless it names another accelerator.
import { goQuote } from '#lib/go-format.ts'
import { withUnnamed } from '#nodes/named-devices.ts'
import type { DefaultCondition } from '#api/agent-config/monitor-config.ts'

type ConditionStatus = 'True' | 'False' | 'Unknown'

export interface ConditionNow {
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
}

export interface MonitorEvent {
  readonly type: 'Warning' | 'Normal'
  readonly reason: string
  readonly message: string
}

export interface Judgement {
  readonly event?: MonitorEvent
  /** The new condition; undefined: unchanged. */
  readonly condition?: ConditionNow
}

export interface Hit {
  readonly condition: string | undefined
  readonly reason: string
  readonly message: string
}

/** The event that reports a condition's new state. */
export const changeEvent = (type: string, { status, reason, message }: ConditionNow): MonitorEvent => ({
  type: status === 'True' ? 'Warning' : 'Normal',
  reason,
  message: `Node condition ${type} is now: ${status}, reason: ${reason}, message: ${goQuote(message)}`,
})

/** Judges a line that matched. `announced`: this reason was already reported since the condition became true. */
export function judgeLine(hit: Hit, now: ConditionNow | undefined, announced: boolean): Judgement {
  const { condition, reason, message } = hit
  if (condition === undefined) return { event: { type: 'Warning', reason, message } }
  if (now?.status !== 'True') {
    const next = { status: 'True', reason, message } as const
    return { event: changeEvent(condition, next), condition: next }
  }
  const event = { type: 'Warning', reason, message } as const
  const shown = withUnnamed(condition, now.message, [message])
  if (shown !== now.message) return { event, condition: { ...now, message: shown } }
  return now.reason === reason || announced ? {} : { event }
}

/** How a plug-in exited: 0 is healthy, 1 is a problem, any other code is no result. */
export interface PluginResult {
  readonly status: 'Ok' | 'NonOk' | 'Unknown'
  readonly message: string
  /** The program cannot run at all, now or later: the check is missing, not unclear. */
  readonly isNotStarted?: boolean
}

/** The latest results of all rules of one condition, in file order: the condition is true while any of them is. */
export function judgePlugins(
  latest: readonly { readonly reason: string; readonly result: PluginResult }[],
  healthy: DefaultCondition,
  now: ConditionNow | undefined,
  showsNewMessages: boolean,
): Judgement {
  const bad = latest.filter((l) => l.result.status === 'NonOk')
  const same = bad.find((l) => l.reason === now?.reason)
  const unclear = latest.find((l) => l.result.status === 'Unknown')
  const { type, reason, message } = healthy
  // The reported reason stays while its rule is still true.
  const reported = (now?.status === 'True' ? same : undefined) ?? bad[0]
  const keeps = now?.status === 'True' && same !== undefined && !showsNewMessages
  const next: ConditionNow =
    reported !== undefined
      ? {
          status: 'True',
          reason: reported.reason,
          message: withUnnamed(
            type,
            keeps ? now.message : reported.result.message,
            bad.map((l) => l.result.message),
          ),
        }
      : unclear !== undefined
        ? { status: 'Unknown', reason, message: unclear.result.message }
        : { status: 'False', reason, message }
  const before = now ?? { status: 'False', reason, message }
  const isOtherMessage = next.status === 'True' && next.message !== before.message
  if (next.status === before.status && (next.status !== 'True' || next.reason === before.reason) && !isOtherMessage)
    return {}
  return { event: changeEvent(type, next), condition: next }
}

/** A rule without a condition: sends one event for each run that found the problem, and one for each run without a result, for example after a timeout. */
export const judgeTemporary = (reason: string, { status, message }: PluginResult): Judgement =>
  status === 'Ok' ? {} : { event: { type: 'Warning', reason, message } }
