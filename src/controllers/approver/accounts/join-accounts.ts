// The join account of one machine, for clusters that have no bootstrap tokens or sign no certificates. It works for that machine only, once, for a
// few minutes. It is deleted with its tokens once the agent has joined.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS, JOIN_NAMESPACE, LABELS, joinAccountName } from '#api/names.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { ACCOUNT_TOKEN_FIELD, handOverKey, isAccountToken, isForMachine, tokenExpiresAt } from '#identity/join-token.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import { JOIN_TOKEN_SECONDS } from '#identity/token-life.ts'
import type { Clock } from '#lib/clock.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { type Secret, secretType } from '#nodes/objects.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { requestToken } from './request-token.ts'

export const accountType = coreKind('ServiceAccount')
export const joinAccountKey = (uid: string): ObjectKey => ({ namespace: JOIN_NAMESPACE, name: joinAccountName(uid) })

/** A token with less time left than this is replaced before a host gets it. */
const LEAST_LEFT_MS = 1_000
const fieldManager = FIELD_MANAGERS.approver

/** Created for exactly this machine, not for an earlier one with the same name. */
export const isJoinAccountOf = (account: KubeObject, machine: Machine): boolean =>
  account.metadata.name === joinAccountName(machine.metadata.uid ?? '') && isForMachine(account, machine)

const replacesOf = ({ metadata }: KubeObject): string => metadata.annotations?.[ANNOTATIONS.replacesKey] ?? ''

interface Tools {
  readonly client: KubeClient
  readonly clock: Clock
}

const metadataOf = (
  { namespace = '', name: own }: ObjectKey,
  { metadata }: Machine,
  more: Readonly<Record<string, string>> = {},
) => {
  const { name = '', uid = '' } = metadata
  return {
    namespace,
    name: own,
    labels: { [LABELS.joinToken]: 'true' },
    annotations: { [ANNOTATIONS.machine]: name, [ANNOTATIONS.machineUid]: uid, ...more },
    ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Machine', name, uid }],
  }
}

/** Returns the current token if it is still valid. Otherwise creates a new account and token, which invalidates the old tokens. */
export async function keepJoinAccount(
  { client, clock }: Tools,
  machine: Machine,
  signal: AbortSignal,
): Promise<WriteOutcome<Secret>> {
  const uid = machine.metadata.uid ?? ''
  const read = await outcomeOf(() => client.get(secretType, handOverKey(uid), { signal }))
  if (read.kind !== 'Applied') return read
  const found = read.object
  // Another key replaces the one on record only at a person's request.
  const replaces = readmissionOf(machine, clock.now())?.token === true ? (recordedKey(machine) ?? '') : ''
  const isGood = found !== undefined && isAccountToken(found) && tokenExpiresAt(found) - clock.now() > LEAST_LEFT_MS
  const account = isGood ? await client.get(accountType, joinAccountKey(uid), { signal }) : undefined
  // It stays valid for the key that joined with it: the host may not have its answer yet.
  if (found !== undefined && account !== undefined && (replaces === '' || replacesOf(account) === replaces))
    return { kind: 'Applied', object: found }
  await withdrawJoinAccount({ client }, uid, signal)
  const next: KubeObject = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: metadataOf(joinAccountKey(uid), machine, { [ANNOTATIONS.replacesKey]: replaces }),
    automountServiceAccountToken: false,
  }
  const made = await outcomeOf(() => client.create(accountType, next, { fieldManager, signal }))
  if (made.kind !== 'Applied') return made
  const data = {
    [ACCOUNT_TOKEN_FIELD]: await requestToken(client, joinAccountKey(uid), JOIN_TOKEN_SECONDS, signal),
    expiration: timestamp(clock.now() + JOIN_TOKEN_SECONDS * 1_000),
  }
  const copy: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(handOverKey(uid), machine),
    data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v, 'utf8').toString('base64')])),
  }
  return outcomeOf(() => client.create(secretType, copy, { fieldManager, signal }))
}

export async function withdrawJoinAccount(
  { client }: Pick<Tools, 'client'>,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  await removeExactly(client, accountType, joinAccountKey(uid), signal)
  // Last: if this term stops early, the next term finds this Secret and finishes.
  await removeExactly(client, secretType, handOverKey(uid), signal)
}

/** Removes exactly the object that is there now. A missing object counts as removed. */
export async function removeExactly(
  client: KubeClient,
  type: ResourceType,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<void> {
  const found = await client.get(type, key, { signal })
  if (found === undefined) return
  const outcome = await deleteExactly(client, type, found, { signal })
  if (outcome.kind !== 'Applied' && outcome.kind !== 'Stale') throw outcome.error
}
