// The status of an object while its content differs from git: the finding, and the two commands that end it. Pure.
import { waitingSince } from '#runtime/waiting.ts'
import { setCondition, removeCondition } from '#kube/conditions.ts'
import type { Condition } from '#api/schema/object.ts'
import type { Edit } from './committed.ts'
import { defined } from '#lib/defined.ts'

/** The object's name on the command line. */
const NOUNS: Readonly<Record<string, string>> = {
  MachineSet: 'machineset',
  MachineComponentSet: 'set',
  ComponentCanary: 'canary',
  NodeRemedier: 'remedier',
  DefenderPolicy: 'policy',
}

export const putBackCommand = ({ kind, name }: Edit): string => `kubenode put-back ${NOUNS[kind] ?? kind}/${name}`

const allowCommand = ({ kind, name, digest }: Edit): string =>
  `kubenode allow-edit ${NOUNS[kind] ?? kind}/${name} --digest ${digest} --for 8h --reason WHY`

export function editSeen({ digest, committed, allowed }: Edit): string {
  const what = `edited: content ${digest} differs from git (${committed})`
  return allowed === undefined
    ? `${what}; the edit has no effect`
    : `${what}; the edit is in effect until ${allowed.until} (hold ${allowed.hold})`
}

export const editAdvice = (edit: Edit): string =>
  `${putBackCommand(edit)}; to allow the edit, run ${allowCommand(edit)}`

type Conditions = readonly Condition[]

const TYPE = 'UncommittedChange'

/** The conditions without the edit, plus the edit itself: a client that waits for the object must not consider it done. */
export function editedConditions(
  conditions: Conditions | undefined,
  before: Conditions | undefined,
  edit: Edit | undefined,
  now: number,
): Conditions {
  const rest = removeCondition(conditions, TYPE)
  if (edit === undefined) return rest
  const kept = (type: string) => before?.filter((c) => c.type === type) ?? []
  const message = editSeen(edit)
  const reason = edit.allowed === undefined ? TYPE : 'HoldAllowEdit'
  const marked = setCondition([...rest, ...kept(TYPE)], { type: TYPE, status: 'True', reason, message }, now)
  const ready = rest.find((c) => c.type === 'Ready')
  if (edit.allowed !== undefined || ready === undefined) return marked
  const was = kept('Ready')[0] ?? ready
  const { observedGeneration } = ready
  return setCondition(
    marked.map((c) => (c.type === 'Ready' ? was : c)),
    {
      type: 'Ready',
      status: 'False',
      reason,
      message,
      ...defined({ observedGeneration }),
    },
    now,
  )
}

interface EditableStatus {
  readonly conditions?: Conditions
  readonly waitingFor?: {
    readonly predicate: string
    readonly seen?: string
    readonly since: string
    readonly unblock?: string
  }
}

/** The whole status, for kinds with a wait in their status. */
export function withEdit<S extends EditableStatus>(
  status: S,
  before: EditableStatus | undefined,
  edit: Edit | undefined,
  now: number,
): S {
  const conditions = editedConditions(status.conditions, before?.conditions, edit, now)
  const next = status.conditions === undefined && edit === undefined ? status : { ...status, conditions }
  if (edit === undefined || edit.allowed !== undefined) return next
  const wait = { predicate: TYPE, seen: editSeen(edit), unblock: editAdvice(edit) }
  return { ...next, waitingFor: waitingSince(before?.waitingFor, wait, now) }
}
