// Carries out the plan: keeps good rules, and creates jobs under names that make a retry harmless.
import { operationFacts } from '#api/protocol/operations.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ANNOTATIONS, FIELD_MANAGERS, FINALIZERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import {
  type ActiveRule,
  type ControllerRevision,
  REMEDIER_ANNOTATION,
  controllerRevisionType,
} from '#nodes/faults/active-rule.ts'
import { SUPERSEDED_BY } from '#nodes/faults/superseded.ts'
import { deleteExactly, updateExactly } from '#runtime/preconditions.ts'
import type { RemedyAction, WantedJob } from './actions.ts'

const fieldManager = FIELD_MANAGERS.remedy

export function act(
  client: KubeClient,
  action: RemedyAction,
  signal: AbortSignal,
): Promise<WriteOutcome<RemedyOperationJob | undefined>> {
  const options = { fieldManager, signal }
  switch (action.kind) {
    case 'KeepRevision':
      return outcomeOf(() =>
        client.create(controllerRevisionType, revisionOf(action.remedier, action.active), options),
      ).then(keptIsDone)
    case 'DropRevision':
      return deleteExactly(client, controllerRevisionType, action.revision, { signal }).then(deletedIsDone)
    case 'CreateJob':
      return outcomeOf(() => client.create(remedyOperationJob, jobOf(action.job), options)).then(existsIsDone)
    case 'SupersedeJob':
      return updateExactly(client, remedyOperationJob, superseded(action.job, action.by), options).then(deletedIsDone)
    default:
      return assertNever(action)
  }
}

/** The name follows from the content, so an existing object is the desired one. */
const existsIsDone = <T>(outcome: WriteOutcome<T>): WriteOutcome<T | undefined> =>
  outcome.kind === 'Exists' ? DONE : outcome

const keptIsDone = (outcome: WriteOutcome<unknown>): WriteOutcome<undefined> =>
  outcome.kind === 'Exists' || outcome.kind === 'Applied' ? DONE : outcome

const DONE = { kind: 'Applied', object: undefined } as const
const deletedIsDone = (outcome: WriteOutcome<unknown>): WriteOutcome<undefined> =>
  outcome.kind === 'Stale' || outcome.kind === 'Applied' ? DONE : outcome

const superseded = (job: RemedyOperationJob, by: string): RemedyOperationJob => ({
  ...job,
  metadata: { ...job.metadata, annotations: { ...job.metadata.annotations, [SUPERSEDED_BY]: by } },
})

export function revisionOf(remedier: NodeRemedier, active: ActiveRule): ControllerRevision {
  const { name = '', uid = '' } = remedier.metadata
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: active.revision,
      namespace: SYSTEM_NAMESPACE,
      annotations: { [REMEDIER_ANNOTATION]: name },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: nodeRemedier.kind, name, uid, controller: true }],
    },
    revision: active.generation,
    data: { spec: active.spec, ...defined({ commit: active.commit }) },
  }
}

type Operations = RemedyOperationJob['spec']['operations']

const MOST_SKIPPED_CHARS = 400
/** Limit of a step list. */
const MOST_STEPS = 16

/** Saves evidence before a reboot or a new machine wipes it, even if the rule's author did not think of it. */
function withEvidence(operations: Operations, hasAgent: boolean): Operations {
  const first = operations.findIndex((o) => operationFacts(o)?.evidence === 'Destroys')
  const isKept = operations.slice(0, first).some((o) => operationFacts(o)?.evidence === 'Keeps')
  if (first < 0 || isKept || !hasAgent || operations.length >= MOST_STEPS) return operations
  return [{ collectEvidence: { kinds: ['KernelLog', 'Journal'] } }, ...operations]
}

/** The last step before an uncordon. After a replacement it can never run, so such a job is refused as a whole. */
function withAcceptance(
  operations: Operations,
  { script, pod }: ActiveRule['spec']['ladder'][number]['verify'],
): { readonly operations: Operations; readonly acceptance?: number } {
  if (script === undefined && pod === undefined) return { operations }
  const givingBack = operations.findIndex((o) => operationFacts(o)?.givesBack === true)
  const acceptance = givingBack < 0 ? operations.length : givingBack
  const test = script === undefined ? { runPod: pod } : { runScript: script }
  return { operations: operations.toSpliced(acceptance, 0, defined(test)), acceptance }
}

export function jobOf(wanted: WantedJob): RemedyOperationJob {
  const { name, node, active, incident, rung, attempt, dryRun, skipped } = wanted
  const step = active.spec.ladder[rung]
  if (step === undefined) throw new Error(`rule ${active.name} has no rung ${rung}`)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    // The finalizer is there from the start: a job that was deleted too early could be created again.
    metadata: {
      name,
      finalizers: [FINALIZERS.job],
      ...(node.machineUid !== undefined && { annotations: { [ANNOTATIONS.machineUid]: node.machineUid } }),
    },
    spec: {
      ...defined({ machine: node.machine }),
      node: { name: node.name, uid: node.uid },
      remedierRef: { name: active.name, generation: active.generation },
      incident,
      rung,
      ...defined({ skipped: skipped?.map((text) => text.slice(0, MOST_SKIPPED_CHARS)) }),
      attempt,
      ...withAcceptance(withEvidence(step.operations, node.machine !== undefined), step.verify),
      timeout: step.timeout,
      stableFor: step.verify.stableFor,
      dryRun,
      ...defined({ commit: active.commit }),
    },
  }
}
