// Switches and reports components that run as pods of a DaemonSet, so that they look like any other component to their set. Pure. A version is the
// newest template of the workload. If the template names another version, that version is waited for.
import type { ComponentOrder, ComponentStatus } from '#api/kinds/machine.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { isPodReady, type Pod } from '#nodes/objects.ts'
import { isReportOf } from '../components/desired.ts'
import { shortened } from '#lib/shortened.ts'

/** What was read about one workload and its pods on the node. */
export interface WorkloadSeen {
  readonly component: string
  readonly daemonSet: BuiltIn['DaemonSet'] | undefined
  /** Hash of the newest template. Undefined if unknown. */
  readonly newestHash: string | undefined
  readonly pods: readonly Pod[]
}

export type WorkloadReading =
  | { readonly kind: 'Report'; readonly report: ComponentStatus }
  /** Pods with an older template to delete now. */
  | { readonly kind: 'Replace'; readonly report: ComponentStatus; readonly pods: readonly Pod[] }

const HASH = 'controller-revision-hash'

const hashOf = (pod: Pod): string | undefined => pod.metadata.labels?.[HASH]

export const isWorkload = (definition: MachineComponent | undefined): boolean => definition?.spec.type === 'DaemonSet'

/** It no longer changes, so it need not be read. */
export const isSettled = (entry: ComponentOrder, report: ComponentStatus | undefined): boolean =>
  report !== undefined && isReportOf(report, entry) && (report.state === 'Healthy' || report.state === 'Failed')

export interface WorkloadInput {
  readonly entry: ComponentOrder
  readonly before: ComponentStatus | undefined
  readonly seen: WorkloadSeen | undefined
  /** Nothing runs on the node yet that could be disrupted. */
  readonly isClosed: boolean
  readonly now: number
}

type State = ComponentStatus['state']

export function workloadReading(input: WorkloadInput): WorkloadReading {
  const { entry, before, seen } = input
  const reading = (state: State, message?: string, isIn = false): WorkloadReading => ({
    kind: 'Report',
    report: reportOf(input, state, message, isIn),
  })
  // Unknown changes nothing: the last report of this attempt stays.
  if (seen === undefined)
    return before !== undefined && isReportOf(before, entry)
      ? { kind: 'Report', report: before }
      : reading('Fetching', 'its DaemonSet was not observed yet')
  const trouble = troubleOf(seen, entry.version)
  if (trouble !== undefined) return reading(trouble.isFinal ? 'Failed' : 'Fetching', trouble.message)
  const mayMove = entry.switch?.attempt === entry.attempt || input.isClosed
  const old = seen.pods.filter((p) => hashOf(p) !== seen.newestHash)
  const going = old.filter((p) => p.metadata.deletionTimestamp !== undefined)
  if (old.length > 0 && !mayMove) return reading('Staged', 'its pod has an older template')
  const remaining = old.filter((p) => !going.includes(p))
  if (remaining.length > 0)
    return {
      kind: 'Replace',
      report: reportOf(input, 'Switching', 'its pod is being replaced', false),
      pods: remaining,
    }
  const ready = seen.pods.some((p) => hashOf(p) === seen.newestHash && isPodReady(p))
  if (ready && going.length === 0) return reading('Healthy', undefined, true)
  return reading(mayMove ? 'Probing' : 'Fetching', 'no Ready pod with the current template on the node')
}

function troubleOf(
  { component, daemonSet, newestHash }: WorkloadSeen,
  version: string,
): { readonly isFinal: boolean; readonly message: string } | undefined {
  if (daemonSet === undefined) return { isFinal: false, message: `DaemonSet of ${component} not found` }
  const { namespace = '', name = '' } = daemonSet.metadata
  const what = `DaemonSet ${namespace}/${name}`
  if (daemonSet.spec?.updateStrategy?.type !== 'OnDelete')
    return { isFinal: true, message: `${what} has to have the update strategy OnDelete` }
  const template = daemonSet.spec.template.metadata?.annotations?.[ANNOTATIONS.componentVersion]
  if (template !== undefined && template !== version)
    return { isFinal: false, message: shortened(`${what} is at ${template}, not at ${version}`, 200) }
  if (newestHash === undefined)
    return { isFinal: false, message: shortened(`cannot find the current revision of ${what}`, 200) }
  return undefined
}

/** The previous version counts until the new pod is Ready. */
function reportOf(
  { entry, before, now }: WorkloadInput,
  state: State,
  message: string | undefined,
  isIn: boolean,
): ComponentStatus {
  const isSame = before !== undefined && isReportOf(before, entry) && before.state === state
  const version = isIn ? entry.version : before?.version
  return {
    name: entry.name,
    ...defined({ version }),
    desired: entry.version,
    attempt: entry.attempt,
    state,
    since: isSame ? before.since : timestamp(now),
    ...(message !== undefined && { message: message.slice(0, 200) }),
  }
}
