// Carries out the actions of a canary. Reads the object again before each one, and decides nothing.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { componentConfig } from '#api/kinds/component-config.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { reportConfirmed } from '#permits/let-go.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { isUndecided } from '#permits/permits.ts'
import { recheck } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { CanaryAction } from './actions.ts'
import { resultOf } from './plan-batches.ts'
import type { Seen } from './seen.ts'
import { MARKING } from './trials/trial.ts'

const fieldManager = FIELD_MANAGERS.canary

export async function act(
  client: KubeClient,
  action: CanaryAction,
  seen: Seen,
  now: number,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const tools = { client, fieldManager, signal }
  if (action.kind === 'RenewPermit') return actOnPermit(tools, action, now)
  // A decision based on an older canary could request or release a permit that the newer one relies on.
  const fresh = await recheck(client, componentCanary, seen.canary, signal)
  if (fresh.kind === 'Stale') return outdated(fresh.seen)
  switch (action.kind) {
    case 'CreateConfig':
      // The name is the digest of the content, so an existing object is the desired one.
      return outcomeOf(() => client.create(componentConfig, action.config as never, { fieldManager, signal })).then(
        (o): ActionOutcome => (o.kind === 'Exists' ? { kind: 'Applied', object: undefined } : o),
      )
    case 'RequestPermit':
      return actOnPermit(tools, action, now)
    case 'Report':
      return report(client, action, seen, signal)
    default:
      return assertNever(action)
  }
}

/** A result frees a slot. Write it only for machines that a fresh read confirms, and that no order can reach under this permit any more. */
function report(
  client: KubeClient,
  { permit, wanted, results }: Extract<CanaryAction, { kind: 'Report' }>,
  { canary }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const isMarking = MARKING.has(canary.status?.phase ?? 'Pending') && results.every((r) => r.result !== 'Released')
  return reportConfirmed({ client, fieldManager, signal }, permit, results, (fresh, { result }) =>
    resultOf(fresh, wanted, isMarking && !isLetGo(fresh, permit.metadata.uid ?? ''), isUndecided(permit)) === result
      ? 'OnceLetGo'
      : 'No',
  )
}
