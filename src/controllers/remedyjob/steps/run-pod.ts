// Runs a pod on the node of a repair: creates one for each attempt, then waits for its end. Once it is recorded, a missing pod is a lost result.
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { ACCEPTANCE_NAMESPACE, FIELD_MANAGERS } from '#api/names.ts'
import type { Operation } from '#api/protocol/operations.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { parseDuration } from '#lib/duration.ts'
import { sha256Hex } from '#lib/sha256.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import {
  acceptancePodOf,
  noTemplateText,
  podKey,
  podRefOf,
  podResult,
  podTemplateType,
  templateKey,
} from '#nodes/acceptance-pod.ts'
import { podType } from '#nodes/objects.ts'
import type { Clearance } from '#permits/under-permit.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import type { JobStep, Seen } from '../seen.ts'
import { type JobTools, applied, failed } from './step-tools.ts'

const RUN_CHARS = 16

interface About {
  readonly step: JobStep
  readonly seen: Seen
}

export async function runPod(
  _clearance: Clearance,
  tools: Pick<JobTools, 'client' | 'clock'>,
  wanted: NonNullable<Operation['runPod']>,
  about: About,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { step, seen } = about
  const run = runOf(about)
  const pod = await tools.client.get(podType, podKey(run), { signal })
  const found = pod && podRefOf(pod, uidOf(seen.job), seen.job.spec.node.uid)
  const ref = step.pod ?? found
  if (ref === undefined && pod !== undefined) return failed(`some other client made pod ${nameOf(pod)}`)
  if (ref === undefined) return create(tools, wanted, about, signal)
  if (pod === undefined || found?.uid !== ref.uid) return failed(`no result: pod ${ref.name} was deleted`)
  const keeps = { pod: ref }
  const result = podResult(pod)
  if (result.kind === 'Open')
    return applied({ output: `pod ${ACCEPTANCE_NAMESPACE}/${ref.name} is ${result.seen}`, keeps })
  const { outcome, output } = result
  if (outcome === 'Succeeded') return applied({ outcome, output, keeps })
  return applied({ outcome: 'Failed', output: outcome === 'Failed' ? output : `no result: ${output}`, keeps })
}

const runOf = ({ step, seen }: About): string =>
  sha256Hex(`${uidOf(seen.job)}\n${step.index}\n${step.attempts}`).slice(0, RUN_CHARS)

async function create(
  { client, clock }: { readonly client: KubeClient } & Pick<JobTools, 'clock'>,
  wanted: NonNullable<Operation['runPod']>,
  about: About,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { job } = about.seen
  const template = await client.get(podTemplateType, templateKey(wanted.template), { signal })
  if (template === undefined) return failed(noTemplateText(wanted.template))
  const { apiVersion, kind } = remedyOperationJob.example
  const untilMs = Date.parse(job.status?.startedAt ?? '') + parseDuration(job.spec.timeout)
  const pod = acceptancePodOf({
    run: runOf(about),
    node: job.spec.node,
    owner: { ...job, apiVersion, kind },
    template,
    timeoutMs: untilMs - clock.now(),
  })
  const outcome = await outcomeOf(() => client.create(podType, pod, { fieldManager: FIELD_MANAGERS.remedyJob, signal }))
  if (outcome.kind === 'Denied') return failed(`cannot create its pod: ${outcome.error.serverMessage}`)
  if (outcome.kind !== 'Applied') return outcome
  const ref = podRefOf(outcome.object, uidOf(job), job.spec.node.uid)
  const output = `pod ${ACCEPTANCE_NAMESPACE}/${nameOf(pod)} created`
  return applied(ref === undefined ? { output } : { output, keeps: { pod: ref } })
}
