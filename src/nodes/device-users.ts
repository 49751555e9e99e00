// Decides whether a drain can be limited to the pods that use a faulty accelerator, and which pods those are. Whatever is not known widens the drain: a pod
// whose device has no known place counts as a user, and without usable evidence the whole node is drained.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { SlicedDevice } from './dra/devices-on.ts'
import { podName } from './drain.ts'
import { faultyBuses, NAMING_CONDITIONS } from './named-devices.ts'
import type { Node, Pod } from './objects.ts'

type Step = NonNullable<NonNullable<RemedyOperationJob['status']>['steps']>[number]
type HeldDevices = NonNullable<Step['devices']>
type Verify = Pick<NodeRemedier['spec']['ladder'][number]['verify'], 'conditionCleared'>

/** A device of one of them may be what a pod uses. `FPGAFaulty` names no PCI address, so that it moves all pods. */
const DEVICE_CONDITIONS: readonly string[] = [...NAMING_CONDITIONS, 'FPGAFaulty']

/** A pod that was bound this long before the cordon may have received its device after the evidence. */
const ADMITTED_MS = 60_000
/** Far more than a host has accelerators. */
const MOST_FAULTY = 16

/** What one drain moves. `faulty` absent: every pod. The text is recorded in the step of the repair. */
export interface DrainScope {
  readonly text: string
  readonly faulty?: readonly string[]
}

/** For the drain at this index of a job's operations. `verify` is that of its rung; undefined: not known. Pure. */
export function drainScope(
  { job, node, verify }: { job: RemedyOperationJob; node: Node | undefined; verify: Verify | undefined },
  index: number,
): DrainScope {
  const found = faultyFor(node, verify)
  if (typeof found === 'string') return wholeNode(found)
  const evidence = evidenceBefore(job, index)
  if (typeof evidence === 'string') return wholeNode(evidence)
  const faulty = [...found.buses.keys()]
  return { text: `moves only the pods that may use ${faulty.join(', ')}`, faulty: faulty.toSorted() }
}

const wholeNode = (why: string): DrainScope => ({ text: `moves all pods of the node: ${why}` })

/** What a drain would move if the repair began now: its cordon and its evidence come first. Pure. */
export function scopeIfBegun(
  { job, node, verify }: { job: RemedyOperationJob; node: Node | undefined; verify: Verify | undefined },
  index: number,
): Pick<DrainScope, 'faulty'> & { readonly why?: string } {
  const found = faultyFor(node, verify)
  if (typeof found === 'string') return { why: found }
  const { operations } = job.spec
  const cordon = operations.findIndex((o) => o.cordon !== undefined)
  const knows = operations.slice(0, index).findLastIndex((o) => o.collectEvidence?.kinds.includes('Devices') === true)
  return cordon < 0 || knows < cordon
    ? { why: 'no evidence of devices is collected after a cordon' }
    : { faulty: [...found.buses.keys()].toSorted() }
}

interface FaultyDevices {
  /** Each with a condition that names it. */
  readonly buses: ReadonlyMap<string, string>
  readonly conditions: readonly string[]
}

/** The faulty accelerators of the node, or why they are not known as a whole. */
export function faultyDevices(node: Node | undefined): FaultyDevices | string {
  const reported = (node?.status?.conditions ?? []).filter((c) => DEVICE_CONDITIONS.includes(c.type))
  const conditions = reported.filter((c) => c.status === 'True')
  if (conditions.length === 0) return 'no condition names a faulty device'
  const unclear = reported.find((c) => c.status !== 'True' && c.status !== 'False')
  if (unclear !== undefined) return `${unclear.type} is ${unclear.status}`
  const faulty = new Map<string, string>()
  for (const { type, message = '' } of conditions) {
    const buses = faultyBuses(message)
    if (buses === undefined) return `${type} does not name each faulty device`
    for (const bus of buses) faulty.set(bus, type)
  }
  if (faulty.size > MOST_FAULTY) return `${faulty.size} devices are faulty`
  return { buses: faulty, conditions: conditions.map((c) => c.type) }
}

/** The same, if what the repair has to clear is one of them. */
function faultyFor(node: Node | undefined, verify: Verify | undefined): FaultyDevices | string {
  const found = faultyDevices(node)
  if (typeof found === 'string') return found
  if (verify === undefined) return 'what the repair has to clear is not known'
  const { conditionCleared: wanted } = verify
  return wanted === undefined || found.conditions.includes(wanted) ? found : `${wanted} names no device`
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

/** Whether a drain has to know where the devices of claims are. */
export const needsPlaces = (job: RemedyOperationJob, { index, faulty }: Pick<Step, 'index' | 'faulty'>): boolean => {
  const held = faulty === undefined ? [] : evidenceBefore(job, index)
  return typeof held !== 'string' && held.some(({ bus }) => bus === undefined)
}

/** The pods that this drain may move, by its recorded scope. Undefined: all. */
export function usersOfFaulty(
  job: RemedyOperationJob,
  { index, faulty }: Pick<Step, 'index' | 'faulty'>,
  places: readonly SlicedDevice[] = [],
): ((pod: Pod) => boolean) | undefined {
  if (faulty === undefined) return undefined
  const held = evidenceBefore(job, index)
  const cordonedAt = Date.parse(cordonStep(job)?.startedAt ?? cordonStep(job)?.finishedAt ?? '')
  if (typeof held === 'string' || Number.isNaN(cordonedAt)) return undefined
  const placed = new Map(places.map(({ driver, pool, device, bus }) => [`${driver}\n${pool}/${device}`, bus]))
  const mayBeFaulty = ({ bus, resource, device }: HeldDevices[number]): boolean => {
    const at = bus ?? placed.get(`${resource}\n${device}`)
    return at === undefined || faulty.includes(at)
  }
  const users = new Set(held.filter(mayBeFaulty).map(({ pod }) => pod))
  const resources = Map.groupBy(held, ({ pod }) => pod)
  return (pod) =>
    users.has(podName(pod)) ||
    mayOpenDevices(pod) ||
    mayHoldUnseen(pod, new Set(resources.get(podName(pod))?.map(({ resource }) => resource))) ||
    !(boundAt(pod) < cordonedAt - ADMITTED_MS)
}

/** Whether the pod asks for a device or may open one: the most that a drain of users of one device moves. */
export const mayUseDevices = (pod: Pod): boolean => mayOpenDevices(pod) || mayHoldUnseen(pod, new Set())

/** NaN: unknown, and then it counts as new. */
const boundAt = ({ metadata, status }: Pod): number =>
  Date.parse(
    status?.conditions?.find((c) => c.type === 'PodScheduled' && c.status === 'True')?.lastTransitionTime ??
      metadata.creationTimestamp ??
      '',
  )

/** The kubelet lists no device of an init container that ends, and lists a device of a claim under the driver's name. */
function mayHoldUnseen({ spec }: Pod, resources: ReadonlySet<string>): boolean {
  const containers = spec?.containers ?? []
  const lasting = spec?.initContainers?.filter((c) => c.restartPolicy === 'Always') ?? []
  const ending = spec?.initContainers?.filter((c) => c.restartPolicy !== 'Always') ?? []
  const wanted = new Set([...containers, ...lasting].flatMap(extendedResources))
  return (
    !wanted.isSubsetOf(resources) ||
    ending.some((c) => extendedResources(c).length > 0 || c.resources?.claims !== undefined) ||
    ((spec?.resourceClaims?.length ?? 0) > 0 && resources.isSubsetOf(wanted)) ||
    (resources.size === 0 && /nvidia/i.test(spec?.runtimeClassName ?? '')) ||
    [...containers, ...lasting, ...ending].some((c) => c.env?.some(showsDevices) === true)
  )
}

type Container = NonNullable<Pod['spec']>['containers'][number]

/** Those of devices are named as `vendor/device`. */
const extendedResources = ({ resources }: Container): readonly string[] =>
  Object.keys({ ...resources?.limits, ...resources?.requests }).filter((name) => name.includes('/'))

/** NVIDIA's runtime shows a container what this variable names, whether the kubelet gave it out or not. */
const showsDevices = ({ name, value }: NonNullable<Container['env']>[number]): boolean =>
  name === 'NVIDIA_VISIBLE_DEVICES' && value !== 'void' && value !== 'none'

/** A privileged container can open every device without the kubelet's knowledge, and a folder of the host may hold /dev. */
const mayOpenDevices = ({ spec }: Pod): boolean =>
  [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some((c) => c.securityContext?.privileged === true) ||
  spec?.volumes?.some(({ hostPath }) => hostPath !== undefined && holdsDevices(hostPath.path)) === true

/** Kubernetes refuses `..` in it. */
function holdsDevices(path: string): boolean {
  const [first] = path.split('/').filter((name) => name !== '' && name !== '.')
  return first === undefined || first === 'dev'
}
