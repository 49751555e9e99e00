// Carries out what was planned: keeps good rules, and makes jobs under names that make a second try harmless.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS, FINALIZERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import {
  type ActiveRule,
  type ControllerRevision,
  REMEDIER_ANNOTATION,
  controllerRevisionType,
} from '#nodeops/rules/active-rule.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { RemedyAction, WantedJob } from './plan.ts'

const fieldManager = FIELD_MANAGERS.remedy

export function act(client: KubeClient, action: RemedyAction, signal: AbortSignal): Promise<WriteOutcome<unknown>> {
  const options = { fieldManager, signal }
  switch (action.kind) {
    case 'KeepRevision':
      return outcomeOf(() =>
        client.create(controllerRevisionType, revisionOf(action.remedier, action.active), options),
      ).then(existsIsDone)
    case 'DropRevision':
      return deleteExactly(client, controllerRevisionType, action.revision, { signal }).then(goneIsDone)
    case 'CreateJob':
      return outcomeOf(() => client.create(remedyOperationJob, jobOf(action.job), options)).then(existsIsDone)
    default:
      return assertNever(action)
  }
}

/** The name follows from the content: what is there already is what was wanted. */
const existsIsDone = (outcome: WriteOutcome<unknown>): WriteOutcome<unknown> =>
  outcome.kind === 'Exists' ? { kind: 'Applied', object: undefined } : outcome

const goneIsDone = (outcome: WriteOutcome<unknown>): WriteOutcome<unknown> =>
  outcome.kind === 'Stale' ? { kind: 'Applied', object: undefined } : outcome

function revisionOf(remedier: NodeRemedier, active: ActiveRule): ControllerRevision {
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
    data: { spec: active.spec, ...(active.commit !== undefined && { commit: active.commit }) },
  }
}

function jobOf({ name, node, active, incident, rung, attempt, dryRun }: WantedJob): RemedyOperationJob {
  const step = active.spec.ladder[rung]
  if (step === undefined) throw new Error(`rule ${active.name} has no rung ${rung}`)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    // From its first moment on: a job that was deleted too early could be made again.
    metadata: { name, finalizers: [FINALIZERS.job] },
    spec: {
      ...(node.machine !== undefined && { machine: node.machine }),
      node: { name: node.name, uid: node.uid },
      remedierRef: { name: active.name, generation: active.generation },
      incident,
      rung,
      attempt,
      operations: step.operations,
      timeout: step.timeout,
      stableFor: step.verify.stableFor,
      dryRun,
      ...(active.commit !== undefined && { commit: active.commit }),
    },
  }
}
