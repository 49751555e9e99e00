// One host of a real cloud from its creation to its end. Whatever fails, everything that carries the tag of the run is deleted, and what could not be deleted is named.
import { type Clock, timestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { CreateResult, Host, HostRequest, Provider } from '#providers/port.ts'
import type { LivePlan } from './plan.ts'

interface LiveTools {
  readonly provider: Provider
  readonly clock: Clock
  readonly say: (line: string) => void
  /** Ends the steps; the cleaning up is done all the same. */
  readonly signal: AbortSignal
}

const ASK_EVERY_MS = 5_000
/** Of a start or a stop; vendors need minutes. */
const STEP_MS = 10 * 60_000
const CLEAN_MS = 20 * 60_000

export interface LiveResult {
  readonly failed: readonly string[]
  /** Hosts that may still be there. */
  readonly left: readonly string[]
}

export async function liveRun(plan: LivePlan, tools: LiveTools): Promise<LiveResult> {
  const { say } = tools
  for (const line of plan.says) say(line)
  const failed: string[] = []
  const ids = new Set<string>()
  try {
    await steps(plan, tools, ids)
  } catch (e) {
    failed.push(messageOf(e))
    say(`failed: ${messageOf(e)}`)
  }
  const left = await cleanUp(tools, ids)
  for (const id of left) say(`NOT DELETED: ${id}; delete what has the tag kubenode.io/cluster=${plan.cluster}`)
  return { failed, left }
}

function requestOf({ cluster, params }: LivePlan): HostRequest {
  const machine = `live-${cluster.slice(-12)}`
  return {
    clientToken: cluster.slice(-36),
    machine,
    machineUid: cluster.slice(-36),
    params,
    join: {
      server: 'https://192.0.2.1:6443',
      caData: '',
      token: 'none',
      machine,
      node: machine,
      cluster,
      artifactBase: 'https://192.0.2.1/',
      trust: { sequence: 1, threshold: 1, keys: [] },
    },
  }
}

async function steps(plan: LivePlan, tools: LiveTools, ids: Set<string>): Promise<void> {
  const { provider, say, signal } = tools
  const request = requestOf(plan)
  const made = async (): Promise<Host> => {
    signal.throwIfAborted()
    const result: CreateResult = await provider.create(request)
    if (result.kind !== 'Host') throw new Error(`create answered ${JSON.stringify(result)}`)
    ids.add(result.host.providerID)
    return result.host
  }
  const { providerID } = await made()
  say(`created ${providerID}`)
  if ((await made()).providerID !== providerID) throw new Error('the same token made a second host')
  const isState = (state: Host['state']) => async () => (await provider.get(providerID))?.state === state
  await until(tools, 'it runs', isState('Running'))
  await until(tools, 'the list shows it', async () =>
    (await provider.list()).hosts.some((h) => h.providerID === providerID),
  )
  if ((await provider.list()).hosts.length !== 1) throw new Error('the list shows other hosts too')
  await provider.power?.(providerID, 'Off', { hard: true })
  await until(tools, 'it is stopped', isState('Stopped'))
  await provider.power?.(providerID, 'On')
  await until(tools, 'it runs again', isState('Running'))
  await provider.reboot(providerID, { hard: true })
  say(`maintenance events: ${(await provider.maintenance?.())?.events.length ?? 'not served'}`)
}

async function until({ clock, say, signal }: LiveTools, what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = clock.monotonic() + STEP_MS
  for (let last = 'never'; clock.monotonic() < end;) {
    signal.throwIfAborted()
    try {
      if (await holds()) return say(`${timestamp(clock.now())} ${what}`)
    } catch (e) {
      last = messageOf(e)
    }
    await clock.sleep(ASK_EVERY_MS, signal)
    if (clock.monotonic() >= end) throw new Error(`not within ${STEP_MS / 60_000} minutes: ${what}; last: ${last}`)
  }
}

/** Until no list has shown a host for as long as a new one may be missing: a create without an answer may have made one. */
async function cleanUp({ provider, clock, say }: LiveTools, ids: Set<string>): Promise<readonly string[]> {
  const end = clock.monotonic() + CLEAN_MS
  let emptySince: number | undefined
  while (clock.monotonic() < end) {
    try {
      for (const { providerID } of (await provider.list()).hosts) ids.add(providerID)
      for (const id of ids)
        if ((await provider.delete(id)) === 'Gone') {
          ids.delete(id)
          say(`deleted ${id}`)
        }
      if (ids.size > 0) emptySince = undefined
      else emptySince ??= clock.monotonic()
      if (emptySince !== undefined && clock.monotonic() - emptySince >= provider.capabilities.visibleWithinMs) return []
    } catch (e) {
      emptySince = undefined
      say(`deleting again: ${messageOf(e)}`)
    }
    await clock.sleep(ASK_EVERY_MS)
  }
  return ids.size > 0 ? [...ids] : ['whatever was not listed']
}
