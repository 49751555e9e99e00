// Which changes of Clusters are high-risk: a stage with one of them opens after an Approval, unless its pipeline says otherwise. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { RiskyChange } from '#api/kinds/release-pipeline.ts'
import { ROTATED_KEYS, type RotationField } from '#api/rotated-keys.ts'
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import { ANYONE, type Gate, isAskedAs, type Stage } from './gates.ts'
import { type Member, stageAt } from './members.ts'

export interface Risk {
  readonly change: RiskyChange
  /** "cluster prod from 1.35.1 to 1.36.0". */
  readonly text: string
}

type Spec = Pick<Cluster['spec'], 'version' | 'controlPlane'>

const ROTATION_FIELDS = Object.keys(ROTATED_KEYS) as readonly RotationField[]
/** Leaves room for the rest of the gate's sentence. */
const MAX_TEXT = 80

/** `machines`: undefined when they were not counted; unknown is not zero. A stage may allow one of several. */
export function risksOf(
  name: string,
  declared: Spec,
  { spec: now, machines }: { readonly spec: Spec; readonly machines: number | undefined },
): readonly Risk[] {
  if (declared.controlPlane === undefined || now.controlPlane === undefined || machines === 0) return []
  const risks: Risk[] = []
  const [from, to] = [now.version ?? '', declared.version ?? '']
  if (from !== to)
    risks.push({ change: 'Versions', text: shortened(`cluster ${name} from ${from} to ${to}`, MAX_TEXT) })
  const numberOf = ({ controlPlane }: Spec, field: RotationField) => controlPlane?.rotation?.[field] ?? 1
  const rotated = ROTATION_FIELDS.find((field) => numberOf(declared, field) > numberOf(now, field))
  if (rotated !== undefined)
    risks.push({ change: 'Rotations', text: shortened(`cluster ${name}, ${ROTATED_KEYS[rotated].called}`, MAX_TEXT) })
  return risks
}

/** Its machines and everything in it are deleted with it. */
export function deletionRisk(name: string, machines: number | 'Unknown'): Risk | undefined {
  if (machines === 0) return undefined
  const what = machines === 'Unknown' ? 'machines that are not counted' : counted(machines, 'machine')
  return {
    change: 'Deletions',
    text: shortened(`deletion of cluster ${name} with ${what}`, MAX_TEXT),
  }
}

export interface Move {
  readonly stages: readonly Stage[]
  readonly from: Member
  readonly to: Member
  readonly machines: number | undefined
}

/** The next commits would meet fewer gates. Later stages have the stricter ones, so a move to a later stage is none. */
export function moveRisk(name: string, { stages, from, to, machines }: Move): Risk | undefined {
  const [old, next] = [stageAt(stages, from), stageAt(stages, to)]
  if (old === -1 || machines === 0 || next >= old) return undefined
  const where = next === -1 ? 'out of all stages' : `to stage ${stages[next]?.name ?? ''}`
  return { change: 'Moves', text: shortened(`cluster ${name} ${where}`, MAX_TEXT) }
}

const RISK_GATE = 'high-risk'
/** A pipeline that wants certain people has a gate of its own. */
export const RISK_ASKS = { from: [ANYONE], count: 1 }

/** Undefined: the stage allows these changes, or its own gates ask for an Approval before it opens. */
export function riskGate(stage: Stage, risks: readonly Risk[]): Gate | undefined {
  const first = risks.find(({ change }) => stage.withoutApproval?.includes(change) !== true)
  return first === undefined || !mayAsk(stage) ? undefined : gateAbout(stage, first.text)
}

export const mayAsk = ({ before = [] }: Stage): boolean => before.every(({ approval }) => approval === undefined)

export function gateAbout({ before = [] }: Stage, about: string): Gate {
  const isTaken = before.some(({ name }) => name === RISK_GATE)
  return { name: isTaken ? `${RISK_GATE}-changes` : RISK_GATE, approval: RISK_ASKS, about }
}

/** Whether an observation comes from this gate: no pipeline declares it. */
export const isOfRiskGate = (name: string, seen: string): boolean =>
  name.startsWith(RISK_GATE) && isAskedAs(RISK_ASKS, seen)
