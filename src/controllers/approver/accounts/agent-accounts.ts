// Keeps the accounts and tokens of agents that use service accounts. Each approved Machine has one account with the identity of its Machine and Node,
// and a token sealed to the key on record. The account is deleted with the Machine, on revocation, and when the agent leaves its host.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { AGENTS_NAMESPACE, ANNOTATIONS, FIELD_MANAGERS, agentAccountName } from '#api/names.ts'
import { hasAcceptedKey, hasLeft, recordedKey, tokenKeyOf, recordOfLeft } from '#identity/agent-key.ts'
import { SEALED_TOKEN_FIELD, sealToken, sealedTokenKey } from '#identity/sealed-token.ts'
import { TOKEN_RHYTHM, type TokenRhythm } from '#identity/token-life.ts'
import { timestamp } from '#lib/clock.ts'
import { jsonEqual } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import type { Controller, ReconcileContext } from '#runtime/controller.ts'
import { controllerIn } from '#runtime/module.ts'
import { requireFresh } from '#runtime/informers.ts'
import { type Outcome, done, requeueAfter } from '#runtime/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import type { ControllerContext } from '../../module.ts'
import { accountObjects, sealedTokenObject, uidOfAccount } from './account-objects.ts'
import { accountType, removeExactly } from './join-accounts.ts'
import { requestToken } from './request-token.ts'
import type { KubeClient } from '#kube/client.ts'
import { writeKeyRecord } from '../certificates/key-record.ts'

const BY_UID = 'agent-accounts/uid'
const WORKERS = 8
const fieldManager = FIELD_MANAGERS.approver

const configMapType = coreKind('ConfigMap')
const roleType = coreKind('Role')
const bindingType = coreKind('RoleBinding')
const TYPES: Readonly<Record<string, ResourceType>> = {
  ServiceAccount: accountType,
  Role: roleType,
  RoleBinding: bindingType,
}

/** This Machine has an account: its agent was approved in this form, has not been revoked since, and has not left. */
const hasAccount = (machine: Machine | undefined): machine is Machine =>
  machine !== undefined && tokenKeyOf(machine) !== undefined && hasAcceptedKey(machine) && !hasLeft(machine)

interface AccountsContext extends Omit<ControllerContext, 'config'> {
  readonly rhythm?: TokenRhythm
}

/** If another agent joined in the meantime, its record stays. */
async function recordLeft(client: KubeClient, machine: Machine, signal: AbortSignal): Promise<void> {
  const written = await writeKeyRecord(client, machine, recordOfLeft(machine), signal)
  if (written.kind !== 'Applied' && written.kind !== 'Stale') throw written.error
}

export function createAgentAccounts(context: AccountsContext): Controller {
  const { client, informers, clock, random, rhythm = TOKEN_RHYTHM } = context
  const machines = informers.of(machineType, { indexes: { [BY_UID]: (m) => [m.metadata.uid ?? ''] } })
  /** What this term has set up. Checked again when it changes, and when a token cannot be created. */
  const inPlace = new Map<string, string>()
  const controller = controllerIn(context, {
    name: 'agent-accounts',
    workers: WORKERS,
    allKeys: () => machines.list().flatMap((m) => (tokenKeyOf(m) === undefined ? [] : [m.metadata.uid ?? ''])),
    reconcile: async (uid, { signal }: ReconcileContext): Promise<Outcome> => {
      requireFresh([machines])
      if (uid === ORPHANS) return findOrphans(signal)
      const [machine] = machines.byIndex(BY_UID, uid)
      if (!hasAccount(machine)) {
        inPlace.delete(uid)
        await removeAccount(uid, signal)
        if (machine !== undefined && hasLeft(machine) && tokenKeyOf(machine) !== undefined)
          await recordLeft(client, machine, signal)
        return done
      }
      await putInPlace(machine, signal)
      try {
        return requeueAfter(await keepToken(machine, signal))
      } catch (error) {
        // Another client may have deleted the account.
        inPlace.delete(uid)
        throw error
      }
    },
  })
  controller.enqueue(ORPHANS)

  /** Accounts of Machines that were deleted while no approver ran. The cluster's garbage collector also finds them. */
  async function findOrphans(signal: AbortSignal): Promise<Outcome> {
    for (const { metadata } of await listAll(client, accountType, { namespace: AGENTS_NAMESPACE, signal })) {
      const uid = uidOfAccount(metadata.name ?? '')
      if (uid !== undefined && !hasAccount(machines.byIndex(BY_UID, uid)[0])) controller.enqueue(uid)
    }
    return done
  }

  /** Delete the account first: without it, every token is refused. */
  async function removeAccount(uid: string, signal: AbortSignal): Promise<void> {
    const key: ObjectKey = { namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) }
    for (const type of [accountType, bindingType, roleType, configMapType])
      await removeExactly(client, type, key, signal)
  }

  /** If a different key is on record, delete and recreate the account. This revokes tokens sealed to the old key. */
  async function putInPlace(machine: Machine, signal: AbortSignal): Promise<void> {
    const { uid = '' } = machine.metadata
    const mark = `${recordedKey(machine)} ${nodeNameOf(machine)}`
    if (inPlace.get(uid) === mark) return
    const [account, ...rights] = accountObjects(machine)
    const key = { namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) }
    const found = await client.get(accountType, key, { signal })
    const isOfKey =
      found?.metadata.annotations?.[ANNOTATIONS.agentKey] === account.metadata.annotations?.[ANNOTATIONS.agentKey]
    if (found !== undefined && !isOfKey) await removeAccount(uid, signal)
    for (const object of rights) await ensure(object, signal)
    if (found === undefined || !isOfKey) await create(accountType, account, signal)
    inPlace.set(uid, mark)
  }

  async function ensure(object: KubeObject, signal: AbortSignal): Promise<void> {
    const type = TYPES[object.kind] as ResourceType
    const key = { namespace: AGENTS_NAMESPACE, name: object.metadata.name ?? '' }
    const found = await client.get(type, key, { signal })
    if (found === undefined) return create(type, object, signal)
    const isSame = ['rules', 'subjects', 'roleRef'].every((f) => jsonEqual(found[f] ?? null, object[f] ?? null))
    if (isSame) return
    await removeExactly(client, type, key, signal)
    await create(type, object, signal)
  }

  async function create(type: ResourceType, object: KubeObject, signal: AbortSignal): Promise<void> {
    const made = await outcomeOf(() => client.create(type, object, { fieldManager, signal }))
    if (made.kind !== 'Applied' && made.kind !== 'Exists') throw made.error
  }

  /** Milliseconds until the token must be replaced. */
  async function keepToken(machine: Machine, signal: AbortSignal): Promise<number> {
    const { uid = '' } = machine.metadata
    const tokenKey = tokenKeyOf(machine) ?? ''
    const replaceMs = rhythm.replaceAfterSeconds * 1_000
    const found = await client.get(configMapType, sealedTokenKey(uid), { signal })
    const issued = found?.metadata.annotations?.[ANNOTATIONS.tokenIssued] ?? ''
    // A timestamp in the future comes from a wrong clock.
    const ageMs = clock.now() - Date.parse(issued)
    const isOfKey = found?.metadata.annotations?.[ANNOTATIONS.agentKey] === recordedKey(machine)
    if (isOfKey && ageMs >= 0 && ageMs < replaceMs) return random.jitter(replaceMs - ageMs, 0.1)
    const token = await requestToken(
      client,
      { namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) },
      rhythm.lifeSeconds,
      signal,
    )
    const { lifeSeconds, askAgainSeconds } = rhythm
    const sealed = sealToken(tokenKey, uid, { token, lifeSeconds, askAgainSeconds })
    const object = sealedTokenObject(machine, { [SEALED_TOKEN_FIELD]: sealed }, timestamp(clock.now()))
    if (found === undefined) await create(configMapType, object, signal)
    else {
      const next = { ...object, metadata: { ...found.metadata, ...object.metadata } }
      const written = await updateExactly(client, configMapType, next, { fieldManager, signal })
      if (written.kind !== 'Applied') throw written.error
    }
    return random.jitter(replaceMs, 0.1)
  }

  machines.onChange((before, now) => {
    const uids = new Set([before, now].flatMap((m) => (m === undefined ? [] : [m.metadata.uid ?? ''])))
    for (const uid of uids) {
      const [was, is] = [before, now].map((m) => (m?.metadata.uid === uid ? m : undefined))
      if (needOf(was) !== needOf(is)) controller.enqueue(uid, { urgent: true })
    }
  })
  return controller
}

const ORPHANS = '*'

/** The fields of a Machine that decide about its account. */
const needOf = (machine: Machine | undefined): string =>
  machine === undefined || tokenKeyOf(machine) === undefined
    ? ''
    : `${recordedKey(machine)} ${nodeNameOf(machine)} ${hasAccount(machine)}`
