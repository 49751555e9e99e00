// Asks a provider for a machine's host. The attempt is recorded first, then the provider is called, then its answer is recorded. After a crash in
// between, the same attempt is repeated with the same token, which leads to the same host.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, type Provisioning, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import { certificateSeconds, handedOver, isAccountToken, tokenText } from '#identity/join-token.ts'
import { isOfKubelet, secretType } from '#nodes/objects.ts'
import type { CreateResult, HostRequest, Provider } from '#providers/port.ts'
import { preconditionsOf, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { MachineTools } from '../hosts/tools.ts'
import { otherOnHost, twoOnHost } from '../hosts/in-use.ts'
import { ownStatusOf } from '../reporting/own-status.ts'
import { answered } from './attempts.ts'
import { type Seen } from '../seen.ts'
import { applySpec } from '../reporting/own-spec.ts'

type Recorded = WriteOutcome<Machine> | { readonly kind: 'Outdated'; readonly reason: string }

const fieldManager = FIELD_MANAGERS.machine

export async function provision(
  tools: MachineTools,
  seen: Seen,
  attempt: Provisioning,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { machine, node, joinToken } = seen
  const { client, clock, providers, join, cluster } = tools
  const provider = providers[machine.spec.provider?.name ?? '']
  if (provider === undefined) return outdated('its provider is not configured in these controllers')
  const token = joinToken && tokenText(joinToken)
  if (joinToken === undefined || token === undefined) return outdated('the join token cannot be read')
  const { waitsFor, ...ground } = join
  if (waitsFor !== undefined) return outdated(waitsFor)
  const recorded = await recordAttempt(tools, machine, attempt, signal)
  if (recorded.kind !== 'Applied') return recorded
  const current = recorded.object
  const name = nameOf(machine)
  const seconds = certificateSeconds(joinToken)
  // A returning host still has the Node that its agent registered before.
  const isRegistered = provider.capabilities.isHostKept && isOfKubelet(node)
  const bundle = {
    ...ground,
    cluster,
    machine: name,
    uid: uidOf(machine),
    node: name,
    ...(isRegistered && { registerNode: false }),
    ...defined({ certificateSeconds: seconds }),
    ...(isAccountToken(joinToken) && { form: 'serviceAccount' as const }),
  }
  const { params = {} } = machine.spec.provider ?? {}
  const { offering } = attempt
  const request = {
    clientToken: attempt.token,
    machine: name,
    machineUid: uidOf(machine),
    ...defined({ offering }),
    params,
    join: { ...bundle, token },
    ...(readmissionOf(machine, clock.now())?.token === true && { joinsAgain: true as const }),
  }
  const result = await asked(tools, seen, provider, request, signal)
  const provisioning = answered(machine, attempt, result, clock.now())
  if (result.kind !== 'Host') return recordAttempt(tools, current, provisioning, signal)
  const next = handedOver(joinToken, provider.capabilities.isHostKept ? bundle : undefined)
  const written = await updateExactly(client, secretType, next, { fieldManager, signal })
  if (written.kind !== 'Applied') return written
  const { providerID, address } = result.host
  if (machine.spec.providerID === providerID) return recordAttempt(tools, current, provisioning, signal)
  const own = { providerID, address, components: machine.spec.components }
  const named = await applySpec(client, current, own, signal)
  return named.kind === 'Applied' ? recordAttempt(tools, named.object, provisioning, signal) : named
}

async function asked(
  { exhausted, sightings, cache }: MachineTools,
  { machine }: Seen,
  provider: Provider,
  request: HostRequest,
  signal: AbortSignal,
): Promise<CreateResult> {
  const forget = sightings.asked(uidOf(machine))
  const result = await provider
    .create(request, signal)
    // An error does not show whether a host was created.
    .catch((e: unknown): CreateResult => ({ kind: 'Unknown', message: messageOf(e) }))
  if (result.kind === 'Exhausted') exhausted.note(machine, request.offering, result)
  if (result.kind === 'Exhausted' || result.kind === 'Refused') forget()
  // A host becomes visible some time after the call has ended, however long the call took.
  else sightings.asked(uidOf(machine))
  if (result.kind !== 'Host') return result
  const { providerID } = result.host
  const other = otherOnHost(cache, providerID, uidOf(machine))
  // The machine may still have got a host of its own.
  return other === undefined ? result : { kind: 'Unknown', message: twoOnHost(providerID, other) }
}

/** Writes only the version that the decision is based on. If that is stale, the write is refused and the provider is not called. */
async function recordAttempt(
  { client, cache }: MachineTools,
  machine: Machine,
  attempt: Provisioning,
  signal: AbortSignal,
): Promise<Recorded> {
  if (jsonEqual(machine.status?.provisioning, attempt)) return unchanged(client, machine, signal)
  const { uid, resourceVersion } = preconditionsOf(machine)
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: machineType.kind,
    metadata: { name: nameOf(machine), uid, resourceVersion },
    status: { ...ownStatusOf(machine), provisioning: attempt },
  }
  const written = await outcomeOf(() =>
    client.apply<Machine>(machineType, object, { fieldManager, force: true, subresource: 'status', signal }),
  )
  if (written.kind === 'Applied') cache.assume(written.object)
  return written
}

/** An attempt is repeated only while it is the latest one on the server. A stale copy would call with a token that was given up. */
async function unchanged(client: KubeClient, machine: Machine, signal: AbortSignal): Promise<Recorded> {
  const read = await outcomeOf(() => client.get(machineType, { name: nameOf(machine) }, { signal }))
  if (read.kind !== 'Applied') return read
  const { object } = read
  const isSame = object?.metadata.resourceVersion === machine.metadata.resourceVersion
  return object !== undefined && isSame
    ? { kind: 'Applied', object }
    : { kind: 'Outdated', reason: 'the Machine was changed meanwhile' }
}
