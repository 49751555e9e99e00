// Visits to machines without an agent, as the controllers role makes them: the session, the agent's components with hands over SSH, the report and the
// heartbeat in the names of the Machine.
import type { ReadPool } from '#agent/files/read-pool.ts'
import type { HostPast } from '#agent/over-ssh/visit-parts.ts'
import type { LeaseRenewal } from '#agent/node/lease-renewal.ts'
import { renewLease } from '#agent/node/leases.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS, NODE_LEASES, agentLeaseKey } from '#api/names.ts'
import { fitTexts } from '#api/schema/fit-texts.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { JoinGround, SshNodesConfig } from '#controllers/module.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { VERSION } from '#lib/program-version.ts'
import type { Random } from '#lib/random.ts'
import { ServerVersion } from '#nodes/placement/server-version.ts'
import { leaseType } from '#runtime/lease.ts'
import type { SshSessions } from '#ssh/ssh-sessions.ts'

interface VisitsOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly sessions: Pick<SshSessions, 'converse'>
  readonly join: Pick<JoinGround, 'artifactBase' | 'artifactCaData' | 'trust'>
}

/** As agents ask below the artifact base. */
const TRUST_URL = 'trust.json'
const BEAT_MS = 30_000
/** Far more hosts than one process visits. The oldest are forgotten: at worst, a restart in the past counts once more. */
const MAX_PASTS = 5_000

export function sshVisits({ client, clock, random, log, sessions, join }: VisitsOptions): SshNodesConfig {
  let reads: ReadPool | undefined
  const pasts = new Map<string, HostPast>()
  const pastOf = (uid: string, made: () => HostPast): HostPast => {
    const found = pasts.get(uid) ?? made()
    pasts.delete(uid)
    pasts.set(uid, found)
    const [oldest] = pasts.keys()
    if (pasts.size > MAX_PASTS && oldest !== undefined) pasts.delete(oldest)
    return found
  }
  const server = new ServerVersion(client, () => clock.now())
  const report = async (object: KubeObject, signal: AbortSignal): Promise<void> => {
    const fitted = fitTexts(machineType.schema, object) as KubeObject
    await client.apply(machineType, fitted, {
      fieldManager: FIELD_MANAGERS.agent,
      force: true,
      subresource: 'status',
      signal,
    })
  }
  return {
    visit: async (login, first, machine, signal) => {
      // Loaded with the first visit: most controllers have no such machine.
      const [{ visit, visitSession, isOfHost }, { newHostPast }, { createFetcher }, { ReadPool }] = await Promise.all([
        import('#agent/over-ssh/visit.ts'),
        import('#agent/over-ssh/visit-parts.ts'),
        import('#agent/components/fetch.ts'),
        import('#agent/files/read-pool.ts'),
      ])
      reads ??= new ReadPool()
      const shared = reads
      return sessions.converse(
        visitSession(login),
        async (channel) => {
          const beat = () => renewLease({ client, clock, everyMs: BEAT_MS }, leaseOf(first, machine), signal)
          const failure = await visit({
            channel,
            machine,
            client,
            clock,
            random,
            log,
            version: VERSION,
            trust: 'anchor' in join.trust ? join.trust : { anchor: join.trust },
            trustUrl: TRUST_URL,
            fetcher: createFetcher({ base: join.artifactBase, ...defined({ ca: caOf(join.artifactCaData) }) }),
            past: pastOf(uidOf(first), newHostPast),
            serverVersion: () => server.read(signal),
            leaseRenewal: (node) => leaseRenewal(client, node, signal),
            report: (object) => report(object, signal),
            beat,
            beatEveryMs: BEAT_MS,
            reads: shared,
            signal,
          }).catch((e: unknown) => {
            signal.throwIfAborted()
            // What fails because the session is over, or on the host, is shown in the status; the rest is tried again.
            if (channel.closed === undefined && !isOfHost(e)) throw e
            return { kind: 'Failed' as const, failure: 'PreflightFailed' as const, why: messageOf(e) }
          })
          if (channel.closed !== undefined)
            return { kind: 'Failed' as const, failure: 'Unreachable' as const, why: channel.closed }
          return failure ?? { kind: 'Done' as const }
        },
        signal,
      )
    },
  }
}

/** The controllers may list these Leases, and change none of them. */
async function leaseRenewal(client: KubeClient, node: string, signal: AbortSignal): Promise<LeaseRenewal> {
  try {
    const fieldSelector = `metadata.name=${node}`
    const { items } = await client.list(leaseType, { namespace: NODE_LEASES, fieldSelector, limit: 1, signal })
    const at = Date.parse(items[0]?.spec?.renewTime ?? '')
    return Number.isNaN(at) ? { kind: 'None' } : { kind: 'Renewed', at }
  } catch {
    return { kind: 'Unknown' }
  }
}

/** Not made again for a Machine that was deleted, or whose host was handed back. */
const leaseOf = (machine: Machine, current: () => Machine | undefined) => ({
  ...agentLeaseKey(nameOf(machine)),
  holder: FIELD_MANAGERS.sshNodes,
  machineUid: () => uidOf(machine),
  isWanted: async () => current() !== undefined,
})

const caOf = (data: string | undefined): string | undefined =>
  data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8')
