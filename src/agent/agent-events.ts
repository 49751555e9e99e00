// Events of this agent as admission policy `kubenode-agents` accepts them: reported under its own names, marked with the uid of its Machine, on one line.
import { ANNOTATIONS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder, type EventRecorder, type NewEvent } from '#kube/events.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface AgentEventsOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly machine: string
  /** The uid from the certificate, not from the Machine that the agent read: the policy accepts only events about this uid. */
  readonly machineUid: () => string | undefined
}

export type AgentEvents = (controller: string, lost?: () => void) => EventRecorder

/** Log lines become event notes: replaces line breaks and any character that a terminal would act on. */
const onOneLine = (text: string): string =>
  printableLine(
    text
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .filter(Boolean)
      .join(' '),
  )

export function agentEvents({ client, clock, machine, machineUid }: AgentEventsOptions): AgentEvents {
  const annotations = (): Readonly<Record<string, string>> => ({ [ANNOTATIONS.machineUid]: machineUid() ?? '' })
  return (controller, lost) => {
    const options = { client, clock, controller, instance: machine, annotations }
    const recorder = createEventRecorder(lost === undefined ? options : { ...options, lost })
    return {
      record: (regarding: KubeObject, event: NewEvent) =>
        recorder.record(regarding, { ...event, reason: onOneLine(event.reason), note: onOneLine(event.note) }),
      flush: () => recorder.flush(),
    }
  }
}
