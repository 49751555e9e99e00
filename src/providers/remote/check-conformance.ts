// `kubenode provider conformance`: the kit for provider authors, run against a live program, one line per case. Names and tokens are unique to the run, and
// hosts left by a failed case are removed.
import { randomUUID } from 'node:crypto'
import { CONFORMANCE, type ConformanceCase, type ConformanceTools, conformanceFor } from '../conformance.ts'
import type { Host, HostRequest, Provider } from '../port.ts'
import { RemoteProvider, capabilitiesOf } from './provider.ts'
import { placeText, type RemotePlace } from './place.ts'
import { PROTOCOL } from './protocol.ts'
import { WIRE_CONFORMANCE, type WireCase } from './wire-conformance.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'

export interface ConformanceRun {
  readonly place: RemotePlace
  readonly params: Readonly<Record<string, string>>
  /** Per case. */
  readonly withinMs: number
  readonly isJson: boolean
  readonly clock: Clock
  readonly log: Logger
}

interface Result {
  readonly case: string
  readonly result: 'ok' | 'FAILED' | 'skipped'
  readonly message?: string
}

const FIRST_POLL_MS = 50
const LONGEST_POLL_MS = 5_000
const CLEAN_WITHIN_MS = 60_000

export async function runConformance(run: ConformanceRun, io: Io): Promise<void> {
  const { place, clock, log, isJson } = run
  const reported = await capabilitiesOf(place, clock)
  const provider = new RemoteProvider({ name: reported.name, place, clock, log })
  await provider.connect()
  const print = (line: string) => (isJson ? undefined : io.out(shownLine(line)))
  const lineOf = linesOf()
  print(`the provider ${reported.name} at ${placeText(place)} (${PROTOCOL})`)
  const results: Result[] = []
  try {
    const served = conformanceFor(reported.capabilities)
    const add = (result: Result) => {
      results.push(result)
      print(lineOf(result))
    }
    for (const c of CONFORMANCE) {
      const why = served.includes(c) ? whyNot(results) : 'its hosts are kept'
      add(why === undefined ? await resultOf(c, provider, run) : skipped(c, why))
    }
    for (const c of WIRE_CONFORMANCE) {
      const why = whyNot(results)
      add(why === undefined ? await wireResultOf(c, { place, clock, name: reported.name }) : skipped(c, why))
    }
  } finally {
    provider.close()
  }
  const count = (result: Result['result']) => results.filter((r) => r.result === result).length
  print(`${count('ok')} passed, ${count('FAILED')} failed, ${count('skipped')} skipped`)
  if (isJson) io.out(shownJson({ provider: reported.name, place: placeText(place), protocol: PROTOCOL, results }))
  if (count('FAILED') > 0) throw new Exit(EXIT_DIFFERENT)
}

const WIDTH = 7
/** One mistake fails many cases: print its reason once. */
function linesOf() {
  const shown = new Set<string>()
  return ({ case: name, result, message }: Result): string => {
    const isKnown = result === 'FAILED' && message !== undefined && shown.has(message)
    if (message !== undefined) shown.add(message)
    const why = message === undefined ? '' : `: ${isKnown ? 'same reason as above' : message}`
    return `${result.padEnd(WIDTH)} ${name}${why}`
  }
}

/** An unanswered call used up its whole time, and every later case would too. */
const whyNot = (results: readonly Result[]): string | undefined =>
  results.some((r) => r.result === 'FAILED' && r.message?.includes('KN11060') === true)
    ? 'the provider does not answer'
    : undefined

/** Advice for controllers does not help a provider's author. */
const withoutAdvice = (error: unknown): string => messageOf(error).replace(/; retried automatically; .*$/, '')

const skipped = ({ name }: { readonly name: string }, message: string): Result => ({
  case: name,
  result: 'skipped',
  message,
})

const wireResultOf = (c: WireCase, world: Parameters<WireCase['run']>[0]): Promise<Result> =>
  c.run(world).then(
    (skip): Result => (skip === undefined ? { case: c.name, result: 'ok' } : skipped(c, skip)),
    (error: unknown): Result => ({ case: c.name, result: 'FAILED', message: withoutAdvice(error) }),
  )

async function resultOf(c: ConformanceCase, remote: RemoteProvider, run: ConformanceRun): Promise<Result> {
  const { clock, params, withinMs } = run
  const late = new AbortController()
  const timer = clock.after(withinMs, () => late.abort(new Error(`not done within ${withinMs / 1_000} s`)))
  const ended = new Promise<never>((_, reject) => {
    late.signal.addEventListener('abort', () => reject(late.signal.reason as Error), { once: true })
  })
  const mine = new Set<string>()
  const provider = ofThisRun(remote, mine)
  try {
    const skip = c.needs?.(remote) === false ? 'it has no such call' : undefined
    if (skip !== undefined) return { case: c.name, result: 'skipped', message: skip }
    await Promise.race([c.run({ provider, params, until: untilWithin(clock, late.signal) }), ended])
    return { case: c.name, result: 'ok' }
  } catch (error) {
    return { case: c.name, result: 'FAILED', message: withoutAdvice(error) }
  } finally {
    timer.cancel()
    await removed(remote, mine, clock)
  }
}

const untilWithin =
  (clock: Clock, signal: AbortSignal): ConformanceTools['until'] =>
  async (holds) => {
    for (let ms = FIRST_POLL_MS; !(await holds()); ms = Math.min(2 * ms, LONGEST_POLL_MS)) await clock.sleep(ms, signal)
  }

/** Uses names, uids and tokens of this run only; adds the ids of created hosts to `mine`. */
function ofThisRun(remote: RemoteProvider, mine: Set<string>): Provider {
  const run = `-${randomUUID().slice(0, 8)}`
  const plain = (text: string) => (text.endsWith(run) ? text.slice(0, -run.length) : text)
  const seen = (host: Host): Host => ({
    ...host,
    clientToken: plain(host.clientToken),
    machine: plain(host.machine),
    machineUid: plain(host.machineUid),
  })
  const sent = (r: HostRequest): HostRequest => ({
    ...r,
    clientToken: r.clientToken + run,
    machine: r.machine + run,
    machineUid: r.machineUid + run,
    join: { ...r.join, machine: r.machine + run, node: r.machine + run },
  })
  const { power, maintenance, respond } = remote
  return {
    name: remote.name,
    capabilities: remote.capabilities,
    create: async (request, signal) => {
      const made = await remote.create(sent(request), signal)
      if (made.kind !== 'Host') {
        if (made.kind === 'Unknown' && signal?.aborted !== true) throw new Error(made.message)
        return made
      }
      mine.add(made.host.providerID)
      return { kind: 'Host', host: seen(made.host) }
    },
    get: async (id, signal) => {
      const host = await remote.get(id, signal)
      return host && seen(host)
    },
    list: async (signal) => {
      const list = await remote.list(signal)
      return { ...list, hosts: list.hosts.map(seen) }
    },
    delete: (id, signal) => remote.delete(id, signal),
    reboot: (id, how, signal) => remote.reboot(id, how, signal),
    events: (onEvent, signal) => remote.events(onEvent, signal),
    ...defined({ power, maintenance, respond }),
  }
}

async function removed(remote: RemoteProvider, mine: ReadonlySet<string>, clock: Clock): Promise<void> {
  const late = new AbortController()
  const timer = clock.after(CLEAN_WITHIN_MS, () => late.abort(new Error('too late')))
  const until = untilWithin(clock, late.signal)
  await Promise.all(
    [...mine].map((id) => until(async () => (await remote.delete(id, late.signal)) === 'Gone').catch(() => undefined)),
  )
  timer.cancel()
}
