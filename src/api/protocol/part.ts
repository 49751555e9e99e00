// The parts of a rollout: a slice of a set, a batch of a canary, a stage of a release. Each is one decision with a parent and a number, made once and carried
// out unchanged, under permits that name both. Its progress (phase, permit, times) is stored next to it. It has the same name everywhere.
import type { Slice } from '../kinds/machine-component-set.ts'
import type { OperationPermit } from '../kinds/operation-permit.ts'
import { shortWord } from '../nouns.ts'
import { type ComponentTarget, type SliceTarget, readPermitTarget, readSliceTarget } from './component-order.ts'

export interface RolloutPart {
  readonly parent: Parent
  /** Its name within the parent, numbered from one: `step 2 slice 1`, `batch 1`, `stage prod`. */
  readonly part: string
  /** Its machines' component target. A stage has its release's content for each cluster. */
  readonly to?: ComponentTarget
  /** Names of machines or clusters. */
  readonly targets: readonly string[]
}

interface Parent {
  readonly kind: string
  readonly name: string
}

type Decided = Pick<Slice, 'step' | 'number' | 'machines'> & SliceTarget

export const partOfSlice = (set: Parent, slice: Decided): RolloutPart => ({
  parent: set,
  part: slicePart(slice),
  to: readSliceTarget(slice),
  targets: slice.machines,
})

const slicePart = ({ step, number }: Pick<Slice, 'step' | 'number'>): string => `step ${step + 1} slice ${number + 1}`

/** Numbered from 0. */
export const batchPart = (number: number): string => `batch ${number + 1}`

/** Limit in the schema of permits. */
const MOST_PART_CHARS = 80

/** The part of a repair: its rule's name. Undefined if the name is too long; then the Defender does not know the rule. */
export function rulePart(rule: string): string | undefined {
  const part = `rule ${rule}`
  return part.length > MOST_PART_CHARS ? undefined : part
}

export const stagePart = (stage: string): string => `stage ${stage}`

/** Whether the part names a rule. */
const REPAIR = 'RemedyOperationJob'

/** Undefined for a permit outside any rollout, or one that an earlier program requested. */
export function partOfPermit({
  requester,
  component,
  targets = [],
}: Partial<OperationPermit['spec']>): RolloutPart | undefined {
  const { kind, name, part } = requester ?? {}
  if (kind === undefined || name === undefined || part === undefined || kind === REPAIR) return undefined
  const to = component && readPermitTarget(component)
  return { parent: { kind, name }, part, ...(to && { to }), targets: targets.map((t) => t.name) }
}

/** What it is for, in words: its own name is made of letters and digits. */
export function purposeOfPermit(spec: Partial<OperationPermit['spec']> = {}): string {
  const part = partOfPermit(spec)
  return part === undefined ? (spec.reason ?? 'an operation') : partName(part)
}

/** Within its parent: `beacon 1.1.0 step 2 slice 1`. */
export const partName = ({ to, part }: Pick<RolloutPart, 'to' | 'part'>): string =>
  to === undefined ? part : `${to.name} ${to.version ?? 'leaves'} ${part}`

/** The part and its parent, without its target: `set/base step 2 slice 1`. */
export const partRef = ({ parent, part }: Pick<RolloutPart, 'parent' | 'part'>): string => `${wordOf(parent)} ${part}`

/** `set/base beacon 1.1.0 step 2 slice 1` */
export const fullPartName = (part: RolloutPart): string => `${wordOf(part.parent)} ${partName(part)}`

const wordOf = ({ kind, name }: Parent): string => shortWord(`${kind.toLowerCase()}/${name}`)

/** Within its set: `beacon 1.1.0 step 2 slice 1`. */
export const sliceName = (slice: Pick<Slice, 'step' | 'number'> & SliceTarget): string =>
  partName({ to: readSliceTarget(slice), part: slicePart(slice) })

type Takers = Pick<Slice, 'machines' | 'released'>

/** The machines still in a slice: the decided ones minus the released ones. */
export const activeMachines = ({ machines, released = [] }: Takers): readonly string[] =>
  released.length === 0 ? machines : machines.filter((m) => !released.includes(m))

export const isActiveIn = ({ machines, released }: Takers, machine: string): boolean =>
  machines.includes(machine) && released?.includes(machine) !== true

/** The same slice with its decision unchanged: it releases all other machines. */
export function continuedWith<S extends Takers>(slice: S, active: ReadonlySet<string>): S {
  const released = slice.machines.filter((m) => !active.has(m))
  return released.length === 0 ? slice : { ...slice, released }
}
