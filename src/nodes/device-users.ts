// Decides whether a drain can be limited to the pods that use a faulty accelerator, and which pods those are. Whatever is not known widens the drain: a pod
// whose device has no known place counts as a user, and without usable evidence the whole node is drained.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { pciBus } from '#lib/pci-bus.ts'
import { podName } from './drain.ts'
import type { Node, Pod } from './objects.ts'

type Step = NonNullable<NonNullable<RemedyOperationJob['status']>['steps']>[number]
type HeldDevices = NonNullable<Step['devices']>

/** Conditions whose message names each faulty accelerator by its PCI address. */
export const DEVICE_CONDITIONS: readonly string[] = ['GPUNeedsReset', 'GPUNeedsReboot', 'GPUFaulty', 'FPGAFaulty']

/** A pod that was bound this long before the cordon may have received its device after the evidence. */
const ADMITTED_MS = 60_000
/** Far more than a host has accelerators. */
const MOST_FAULTY = 16

/** What one drain moves. `faulty` absent: every pod. The text is recorded in the step of the repair. */
export interface DrainScope {
  readonly text: string
  readonly faulty?: readonly string[]
}

/** How lines of the kernel's log begin that name an accelerator. What follows the address may contain names that users choose. */
const OF_KERNEL = /^(?:NVRM: (?:Xid \(PCI:|(?:The NVIDIA )?GPU (?:at )?(?:PCI:)?)|amdgpu )/

/** The buses of all accelerators that a condition names. Undefined: it has a part that names none. */
export function faultyBuses(message: string): readonly string[] | undefined {
  const line = OF_KERNEL.exec(message)?.[0]
  const parts = line === undefined ? message.split('; ') : [message.slice(line.length)]
  const found = parts.map((part) => (/ and \d+ more$/.test(part) ? undefined : pciBus(part)))
  return found.every((bus) => bus !== undefined) ? [...new Set(found)] : undefined
}

/** For the drain at this index of a job's operations. Pure. */
export function drainScope(job: RemedyOperationJob, node: Node | undefined, index: number): DrainScope {
  const wholeNode = (why: string): DrainScope => ({ text: `moves all pods of the node: ${why}` })
  const conditions = (node?.status?.conditions ?? []).filter(
    (c) => c.status === 'True' && DEVICE_CONDITIONS.includes(c.type),
  )
  if (conditions.length === 0) return wholeNode('no condition names a faulty device')
  const faulty = new Set<string>()
  for (const { type, message = '' } of conditions) {
    const buses = faultyBuses(message)
    if (buses === undefined) return wholeNode(`${type} does not name each faulty device`)
    for (const bus of buses) faulty.add(bus)
  }
  if (faulty.size > MOST_FAULTY) return wholeNode(`${faulty.size} devices are faulty`)
  const evidence = evidenceBefore(job, index)
  if (typeof evidence === 'string') return wholeNode(evidence)
  return { text: `moves only the pods that may use ${[...faulty].join(', ')}`, faulty: [...faulty].toSorted() }
}

/** The devices that pods held after the node was cordoned, or why they are not known. */
function evidenceBefore(job: RemedyOperationJob, index: number): HeldDevices | string {
  const cordoned = cordonStep(job)
  if (cordoned?.finishedAt === undefined) return 'the repair did not cordon it'
  const evidence = (job.status?.steps ?? []).findLast(
    (s) => s.index < index && s.index > cordoned.index && s.operation === 'collectEvidence',
  )
  if (evidence === undefined) return 'no evidence was collected after the cordon'
  if (evidence.outcome !== 'Succeeded' || evidence.devices === undefined)
    return 'which pods use devices was not collected'
  return evidence.devices
}

const cordonStep = ({ status }: RemedyOperationJob): Step | undefined =>
  status?.steps?.find((s) => s.operation === 'cordon')

/** The pods that this drain may move, by its recorded scope. Undefined: all. */
export function usersOfFaulty(
  job: RemedyOperationJob,
  { index, faulty }: Pick<Step, 'index' | 'faulty'>,
): ((pod: Pod) => boolean) | undefined {
  if (faulty === undefined) return undefined
  const held = evidenceBefore(job, index)
  const cordonedAt = Date.parse(cordonStep(job)?.startedAt ?? cordonStep(job)?.finishedAt ?? '')
  if (typeof held === 'string' || Number.isNaN(cordonedAt)) return undefined
  const users = new Set(held.filter(({ bus }) => bus === undefined || faulty.includes(bus)).map(({ pod }) => pod))
  return (pod) => users.has(podName(pod)) || mayOpenDevices(pod) || !(boundAt(pod) < cordonedAt - ADMITTED_MS)
}

/** NaN: unknown, and then it counts as new. */
const boundAt = ({ metadata, status }: Pod): number =>
  Date.parse(
    status?.conditions?.find((c) => c.type === 'PodScheduled' && c.status === 'True')?.lastTransitionTime ??
      metadata.creationTimestamp ??
      '',
  )

/** A privileged container can open every device without the kubelet's knowledge, and a folder of the host may hold /dev. */
const mayOpenDevices = ({ spec }: Pod): boolean =>
  [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some((c) => c.securityContext?.privileged === true) ||
  spec?.volumes?.some(({ hostPath }) => hostPath !== undefined && holdsDevices(hostPath.path)) === true

/** Kubernetes refuses `..` in it. */
function holdsDevices(path: string): boolean {
  const [first] = path.split('/').filter((name) => name !== '' && name !== '.')
  return first === undefined || first === 'dev'
}
