// Carries out one step of a join: records the attempt, then runs its script on the host. Decides nothing.
import { API_GROUP_VERSION } from '#api/kind.ts'
import {
  type Machine,
  type SshJoin,
  type SshSessionStep,
  type SshSpec,
  machine as machineType,
} from '#api/kinds/machine.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Clock } from '#lib/clock.ts'
import { handOverKey } from '#identity/join-token.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { secretType } from '#nodes/objects.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import { type RescueLine, keyOfSecret, rescueLineOf } from '#ssh/login/key-of-secret.ts'
import { targetOf, trustsGiven } from '#ssh/login/target-of.ts'
import type { SshJoinConfig } from '../module.ts'
import type { JoinAction } from './actions.ts'
import { LIMIT_MS, type StepResult } from './plan.ts'
import type { Seen } from './seen.ts'

export interface JoinTools extends SshJoinConfig {
  readonly client: KubeClient
  readonly clock: Pick<Clock, 'now'>
  readonly cache: Pick<SharedInformer<Machine>, 'assume'>
}

const fieldManager = FIELD_MANAGERS.sshJoin
const NEEDS_TOKEN: ReadonlySet<SshSessionStep> = new Set<SshSessionStep>(['Fetch', 'Start'])

export async function act(
  tools: JoinTools,
  { step, join }: JoinAction,
  { machine, ssh }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome<StepResult>> {
  const recorded = await record(tools, machine, join, signal)
  if (recorded.kind !== 'Applied') return recorded
  return { kind: 'Applied', object: await ran(tools, step, join, machine, ssh, signal) }
}

async function ran(
  { client, clock, sessions, scriptOf }: JoinTools,
  step: SshSessionStep,
  join: SshJoin,
  machine: Machine,
  ssh: SshSpec,
  signal: AbortSignal,
): Promise<StepResult> {
  if (trustsGiven(ssh) !== 1)
    return {
      kind: 'Failed',
      failure: 'HostKeyUnknown',
      why: 'exactly one of hostKey, hostCA and firstUse: true is needed',
    }
  const secret = await client.get(secretType, { namespace: SYSTEM_NAMESPACE, name: ssh.secretRef.name }, { signal })
  const key = keyOfSecret(secret, machine, ssh)
  if (key.kind === 'Refused') return { kind: 'Failed', failure: 'AuthRefused', why: key.why }
  const token = NEEDS_TOKEN.has(step)
    ? await client.get(secretType, handOverKey(uidOf(machine)), { signal })
    : undefined
  const rescue = step === 'Start' ? await rescueLine(client, machine, ssh, signal) : undefined
  if (typeof rescue === 'string') return { kind: 'Failed', failure: 'AuthRefused', why: rescue }
  let script: string
  try {
    script = scriptOf(step, machine, token, clock.now(), rescue)
  } catch (e) {
    if (!(e instanceof KubeNodeError)) throw e
    return { kind: 'NotReady', why: messageOf(e) }
  }
  const result = await sessions.run(
    {
      target: targetOf(ssh, join.hostKey),
      identity: key.identity,
      script,
      sudo: ssh.user !== 'root',
      deadlineMs: LIMIT_MS[step],
    },
    signal,
  )
  return result.kind === 'Done' && rescue !== undefined ? { ...result, rescue: true } : result
}

/** Undefined: the Machine asks for none. A string: why it cannot be installed. */
async function rescueLine(
  client: KubeClient,
  machine: Machine,
  ssh: SshSpec,
  signal: AbortSignal,
): Promise<RescueLine | string | undefined> {
  if (ssh.rescue === undefined) return undefined
  const { name } = ssh.rescue.secretRef
  // Of two lines with one key, sshd takes the first: the line of the join allows every command.
  if (name === ssh.secretRef.name) return 'spec.ssh.rescue needs a Secret of its own'
  const secret = await client.get(secretType, { namespace: SYSTEM_NAMESPACE, name }, { signal })
  const key = keyOfSecret(secret, machine, { ...ssh, secretRef: ssh.rescue.secretRef })
  if (key.kind === 'Refused' || secret === undefined) return key.kind === 'Refused' ? key.why : undefined
  const line = rescueLineOf(secret)
  return typeof line === 'string' ? `Secret ${name} ${line}` : line
}

/** Nothing runs on a host before its attempt is recorded. */
async function record({ client, cache }: JoinTools, machine: Machine, join: SshJoin, signal: AbortSignal) {
  const metadata = { name: nameOf(machine), uid: uidOf(machine) }
  const object = { apiVersion: API_GROUP_VERSION, kind: machineType.kind, metadata, status: { join } }
  const written = await outcomeOf(() =>
    client.apply<Machine>(machineType, object, { fieldManager, force: true, subresource: 'status', signal }),
  )
  if (written.kind === 'Applied') cache.assume(written.object)
  return written
}
