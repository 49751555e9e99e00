// `kubenode provider orphans`: hosts without a Machine, as listed by the controllers, and the approval to delete some of them.
import { ANNOTATIONS, FIELD_MANAGERS, ORPHAN_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { orphanApproval, orphanApprovalsIn, orphanApprovalsText } from '#api/protocol/orphan-approvals.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { isConflict } from '#kube/errors.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { providerErrors } from './provider-errors.ts'

const configMaps = coreKind('ConfigMap')
const key = { namespace: SYSTEM_NAMESPACE, name: ORPHAN_HOSTS }
/** Each is a read and a write; the controllers write at most once a minute. */
const TRIES = 5

interface OrphanHost {
  readonly host: string
  readonly machine: string
  readonly machineUid: string
  readonly state: string
  readonly since: string
  readonly why?: string
  readonly isApproved: boolean
}

export interface Orphans {
  readonly total: number
  readonly hosts: readonly OrphanHost[]
}

export const readOrphans = async (client: KubeClient, now: number): Promise<Orphans> =>
  orphansIn(await client.get(configMaps, key), now)

const approvalsIn = (found: BuiltIn['ConfigMap'] | undefined, now: number) =>
  orphanApprovalsIn(found?.metadata.annotations?.[ANNOTATIONS.approvedOrphans], now)

function orphansIn(found: BuiltIn['ConfigMap'] | undefined, now: number): Orphans {
  const approved = approvalsIn(found, now)
  const lists = Object.values(found?.data ?? {}).map((text) => parsed(text))
  const hosts = lists.flatMap(({ hosts: all }) => (Array.isArray(all) ? (all as readonly unknown[]) : []))
  return {
    total: lists.reduce((sum, { total: own }) => sum + (typeof own === 'number' ? own : 0), 0),
    hosts: hosts.filter(isHost).map((h) => ({ ...h, isApproved: approved.get(h.host)?.machineUid === h.machineUid })),
  }
}

const TEXTS = ['host', 'machine', 'machineUid', 'state', 'since'] as const
const isHost = (value: unknown): value is Omit<OrphanHost, 'isApproved'> =>
  isObject(value) && TEXTS.every((field) => typeof value[field] === 'string')

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

export function orphanLines({ total, hosts }: Orphans, now: number): readonly string[] {
  if (total === 0) return ['no provider lists a host without a Machine; one that does not answer lists none']
  const rows = [
    ['HOST', 'MADE FOR', 'STATE', 'SINCE', 'NOTE'],
    ...hosts.map((h) => [h.host, h.machine, h.state, ageOf(h.since, now), noteOf(h)]),
  ]
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? []
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return total > hosts.length ? [...lines, `and ${total - hosts.length} more`] : lines
}

const ageOf = (since: string, now: number): string => `${Math.max(0, Math.round((now - Date.parse(since)) / 60_000))}m`

const noteOf = ({ why, isApproved }: OrphanHost): string =>
  [...(isApproved ? ['deletion approved'] : []), ...(why === undefined ? [] : [why])].join('; ')

function hintFor(host: string, listed: readonly string[]): string {
  const meant = didYouMean(host, listed)
  return meant === undefined ? '' : ` (did you mean ${meant}?)`
}

/** Approves exactly these hosts for a day: an id that is later reused for another host is not approved. Drops approvals of hosts that are no longer listed. */
export async function approveDeletion(
  client: KubeClient,
  hosts: readonly string[],
  now: number,
): Promise<readonly string[]> {
  for (let tries = 1; ; tries++) {
    const found = await client.get(configMaps, key)
    const listed = new Map(orphansIn(found, now).hosts.map((h) => [h.host, h]))
    for (const host of hosts)
      if (found === undefined || !listed.has(host))
        throw new KubeNodeError(providerErrors.KN1313_host({ host, hint: hintFor(host, [...listed.keys()]) }))
    const before = [...approvalsIn(found, now)].filter(([host]) => listed.get(host)?.isApproved === true)
    const added = hosts.flatMap((host) => {
      const own = listed.get(host)
      return own === undefined ? [] : [[host, orphanApproval(own.machineUid, now)] as const]
    })
    const { resourceVersion } = found?.metadata ?? {}
    const value = {
      metadata: {
        ...defined({ resourceVersion }),
        annotations: { [ANNOTATIONS.approvedOrphans]: orphanApprovalsText(new Map([...before, ...added])) },
      },
    }
    try {
      await client.patch(configMaps, key, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.cli })
      return [
        ...hosts.map((host) => `${host}: deletion approved`),
        `${counted(hosts.length, 'host is', 'hosts are')} deleted 15 minutes after being listed first, unless a Node or an agent of it was observed; an approval that is not used ends after a day`,
      ]
    } catch (error) {
      if (!isConflict(error) || tries >= TRIES) throw error
    }
  }
}
