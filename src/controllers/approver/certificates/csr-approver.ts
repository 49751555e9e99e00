// Answers the certificate requests of agents. The cache only triggers a pass: machine and token are read from the server before any approval.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import { type CertificateRequest, certificateRequestType } from '#identity/certificate-request.ts'
import { secretType } from '#nodes/objects.ts'
import { readContent } from '#identity/request-content.ts'
import type { Controller, ReconcileContext } from '#runtime/controller.ts'
import { controllerIn } from '#runtime/module.ts'
import { type SharedInformer, requireFresh } from '#runtime/informers.ts'
import { type Outcome, done, requeueAfter, retry } from '#runtime/outcome.ts'
import type { ControllerContext } from '../../module.ts'
import { type CsrDecision, type CsrSeen, decide, machineToRead, tokenIdOf } from './csr-decision.ts'
import { joinerUidIn } from '#identity/agent-request.ts'
import { keyRecord, recordedKey, recordWithLife } from '#identity/agent-key.ts'
import { DEFAULT_LIFE_SECONDS } from '#identity/certificate-life.ts'
import { accountType, joinAccountKey } from '../accounts/join-accounts.ts'
import { writeKeyRecord } from './key-record.ts'
import { tokenKey } from '../join-tokens/token.ts'

const BY_NODE_NAME = 'machine-csr/node'
const BY_MACHINE = 'machine-csr/machine'
/** Readmitting a machine wakes its request. This interval covers requests that name no machine. Each pending request costs two reads per pass. */
const REQUEUE_MS = 5 * 60_000
/** One competing Machine is enough to deny. */
const MOST_COMPETING = 4
const fieldManager = FIELD_MANAGERS.approver

export function createApprover(
  context: Omit<ControllerContext, 'config'> & { readonly lifeSeconds?: number },
): Controller {
  const { client, informers, clock, random, events, lifeSeconds = DEFAULT_LIFE_SECONDS } = context
  const requests = informers.of(certificateRequestType, { indexes: { [BY_MACHINE]: machinesOf } })
  const machines = informers.of(machineType, { indexes: { [BY_NODE_NAME]: (m) => [nodeNameOf(m)] } })
  const controller = controllerIn(context, {
    name: 'machine-csr',
    allKeys: () => requests.list().map((r) => r.metadata.name ?? ''),
    reconcile: async (name, { signal, log: keyLog }: ReconcileContext): Promise<Outcome> => {
      requireFresh([requests, machines])
      const request = requests.get(name)
      if (request === undefined) return done
      const { decision, machine } = await readAndDecide({ client, clock, machines, lifeSeconds }, request, signal)
      if (decision.kind === 'Ignore') return done
      keyLog.info('certificate request decided', { decision: decision.kind, reason: decision.message })
      if (decision.kind === 'Wait') {
        if (machine !== undefined)
          events.record(machine, {
            type: 'Warning',
            reason: 'CertificateRequested',
            action: 'Approve',
            note: decision.message,
          })
        return requeueAfter(random.jitter(REQUEUE_MS, 0.2))
      }
      const recorded = await record({ client, machine, decision, lifeSeconds }, signal)
      if (recorded.kind === 'Stale') return done
      if (recorded.kind !== 'Applied') return retry(recorded.error)
      const written = await outcomeOf(() => answer(client, clock, request, decision, signal))
      if (written.kind === 'Stale') return done
      if (written.kind !== 'Applied') return retry(written.error)
      if (decision.kind === 'Deny' && machine !== undefined)
        events.record(machine, {
          type: 'Warning',
          reason: 'CertificateDenied',
          action: 'Approve',
          note: decision.message,
        })
      return done
    },
  })
  requests.onChange((_, now) => {
    if (now?.metadata.name !== undefined && isPending(now)) controller.enqueue(now.metadata.name, { urgent: true })
  })
  machines.onChange((before, now) => {
    const name = now?.metadata.name
    if (name === undefined || !isReadmitted(before, now)) return
    for (const r of requests.byIndex(BY_MACHINE, name))
      if (isPending(r) && r.metadata.name !== undefined) controller.enqueue(r.metadata.name, { urgent: true })
  })
  return controller
}

/** As claimed by the requester, so used only to wake the request. */
const machinesOf = ({ metadata: { annotations } }: CertificateRequest): readonly string[] => {
  const name = annotations?.[ANNOTATIONS.machine]
  return name === undefined ? [] : [name]
}

const isReadmitted = (before: Machine | undefined, now: Machine | undefined): boolean =>
  before?.metadata.annotations?.[ANNOTATIONS.readmit] !== now?.metadata.annotations?.[ANNOTATIONS.readmit]

const isPending = ({ status }: CertificateRequest): boolean =>
  status?.conditions?.some((c) => c.type === 'Approved' || c.type === 'Denied') !== true

interface DecisionTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly machines: SharedInformer<Machine>
  readonly lifeSeconds: number
}

async function readAndDecide(
  { client, clock, machines, lifeSeconds }: DecisionTools,
  request: CertificateRequest,
  signal: AbortSignal,
): Promise<{ readonly decision: CsrDecision; readonly machine: Machine | undefined }> {
  const content = await readContent(request.spec.request)
  const name = machineToRead(content)
  const id = tokenIdOf(request)
  const machine = name === undefined ? undefined : await client.get(machineType, { name }, { signal })
  const uid = joinerUidIn(request.spec)
  const token =
    id !== undefined
      ? await client.get(secretType, tokenKey(id), { signal })
      : uid !== undefined && uid === machine?.metadata.uid
        ? await client.get(accountType, joinAccountKey(uid), { signal })
        : undefined
  const competing = machine === undefined ? [] : await competingOf(machine, { client, machines }, signal)
  const seen: CsrSeen = { request, content, machine, token, competing }
  return { decision: decide(seen, clock.now(), lifeSeconds), machine }
}

/** The cache finds the candidates; the server confirms them. */
async function competingOf(
  machine: Machine,
  { client, machines }: Pick<DecisionTools, 'client' | 'machines'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const node = nodeNameOf(machine)
  const others = machines.byIndex(BY_NODE_NAME, node).filter((m) => m.metadata.name !== machine.metadata.name)
  const read = await Promise.all(
    others.slice(0, MOST_COMPETING).map(({ metadata: { name = '' } }) => client.get(machineType, { name }, { signal })),
  )
  return read.flatMap((m) => (m !== undefined && nodeNameOf(m) === node ? (m.metadata.name ?? []) : []))
}

/**
 * Write the record before the answer, and only on the version of the Machine that the decision is based on. Two requests with one token have two
 * keys, so only one of them gets its record written.
 */
async function record(
  { client, machine, decision, lifeSeconds }: Recording,
  signal: AbortSignal,
): Promise<WriteOutcome<unknown>> {
  const done = { kind: 'Applied', object: undefined } as const
  const text = machine && recordFor(machine, decision, lifeSeconds)
  if (machine === undefined || text === undefined) return done
  return writeKeyRecord(client, machine, text, signal)
}

interface Recording {
  readonly client: KubeClient
  readonly machine: Machine | undefined
  readonly decision: CsrDecision
  readonly lifeSeconds: number
}

/** The record to write before the answer. Undefined if it is already written, or if there is nothing to record. */
function recordFor(machine: Machine, decision: CsrDecision, lifeSeconds: number): string | undefined {
  if (decision.kind === 'Deny') return decision.tooLong === true ? recordWithLife(machine, lifeSeconds) : undefined
  if (decision.kind !== 'Approve' || recordedKey(machine) === decision.key) return undefined
  const { key, by, tokenKey } = decision
  return keyRecord(machine, key, { by, seconds: lifeSeconds, tokenKey })
}

function answer(
  client: KubeClient,
  clock: Clock,
  request: CertificateRequest,
  decision: Extract<CsrDecision, { readonly kind: 'Approve' | 'Deny' }>,
  signal: AbortSignal,
): Promise<CertificateRequest> {
  const condition = {
    type: decision.kind === 'Approve' ? 'Approved' : 'Denied',
    status: 'True',
    reason: decision.kind === 'Approve' ? 'KubeNodeAgent' : 'CertificateDenied',
    message: decision.message,
    lastUpdateTime: timestamp(clock.now()),
  }
  const conditions = [...(request.status?.conditions ?? []), condition]
  const next: CertificateRequest = { ...request, status: { ...request.status, conditions } }
  return client.update(certificateRequestType, next, { subresource: 'approval', fieldManager, signal })
}
